"""Whom a plan is for: somebody who is given, or who is in a file, or who is made of a few words."""

from __future__ import annotations

import re
from pathlib import Path

from preceptor._base.progress import Progress, report
from preceptor.advice.choices import DEFAULT_HALF_LIFE, Beliefs, Time, person_for, refuse_choices
from preceptor.advice.kinds import CROWD, WITH_CURVES, WITHOUT_SPEED, check_kind, person_of_kind
from preceptor.advice.learner_file import read_known
from preceptor.errors import InvalidInput
from preceptor.model.budgets import Budget
from preceptor.model.risks import Risk
from preceptor.model.world import World
from preceptor.people.person import BY_SHOWINGS, Person
from preceptor.problem import Problem


def problem_for(
    world: World,
    budget: Budget,
    time: Time,
    risk: Risk | None = None,
    *,
    person: str | Person | None,
    learner: Person | str | Path | None,
    participant: str | None,
    newcomer: bool | None = None,
    beliefs: Beliefs | None,
    standardised: bool,
    half_life: float | None,
    alpha: float | None,
    progress: Progress | None,
) -> Problem:
    """The problem of showing tests to this person; arguments are those of `advise`.

    A `newcomer` need not be in the learner file: they are taken for one of those who are.
    """
    kind = _kind(person, learner, alpha, half_life, progress)
    if isinstance(learner, (str, Path)):
        refuse_choices(
            beliefs=beliefs, half_life=half_life, alpha=alpha, standardised=standardised or None
        )
        known_from = read_known(learner, world, participant, pooled=bool(newcomer))
        report(progress, "estimating", sentence=f"Note: {known_from.in_words()}")
        learner, participant = known_from.person, None
    known = _person(world, person, learner, participant, beliefs, standardised, half_life, alpha)
    try:
        problem = Problem(world, known, budget, time.discount, time.horizon, risk)
        if kind is None:
            return problem
        showings = DEFAULT_HALF_LIFE if half_life is None else half_life
        return problem.replace(learner=person_of_kind(problem, kind, showings))
    except InvalidInput as error:
        # Here a budget is made of `tests`, so that is what the message should name.
        faults = [re.sub(r"^budget:", "tests:", fault) for fault in error.faults]
        raise type(error)(faults) from None


def _kind(
    person: str | Person | None,
    learner: Person | str | Path | None,
    alpha: float | None,
    half_life: float | None,
    progress: Progress | None,
) -> str | None:
    """Which kind of person to make, if one is not there already."""
    if person is not None and learner is not None:
        raise InvalidInput("person: `learner` says already who it is; leave one of them out")
    if learner is not None or isinstance(person, Person):
        return None
    if person is None and alpha is None:
        return CROWD
    if person is None:
        said = (
            "Note: `alpha` is about people who learn by showings, so the plan is for one of them; "
            "`half_life` plans for a crowd"
        )
        report(progress, "estimating", sentence=said)
        return BY_SHOWINGS
    check_kind(person)
    if alpha is not None and person not in WITH_CURVES:
        remedy = "leave it out" if person in WITHOUT_SPEED else "give `half_life` instead"
        raise InvalidInput(
            f"alpha: says how fast one learns by showings, which {person!r} is not about; {remedy}"
        )
    if half_life is not None and person in WITHOUT_SPEED:
        raise InvalidInput(
            f"half_life: says how fast somebody learns, which {person!r} is not about; leave it out"
        )
    return person


def _person(
    world: World,
    person: str | Person | None,
    learner: Person | None,
    participant: str | None,
    beliefs: Beliefs | None,
    standardised: bool,
    half_life: float | None,
    alpha: float | None,
) -> Person:
    """The person who was given, or who is made of first beliefs and speed."""
    if participant is not None:
        raise InvalidInput(
            "participant: names somebody in a learner file or a log; give `learner` or `log`"
        )
    given = person if isinstance(person, Person) else learner
    if given is None:
        return person_for(
            world,
            beliefs="zero" if beliefs is None else beliefs,
            standardised=standardised,
            half_life=half_life,
            alpha=alpha,
        )
    refuse_choices(
        beliefs=beliefs, half_life=half_life, alpha=alpha, standardised=standardised or None
    )
    return given
