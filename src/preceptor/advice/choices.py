"""What people say about a person, a budget and the time to come, as the model's numbers.

Arguments carry the names that users know; every message begins with the one it is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.discounting import discount_for
from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray
from preceptor._base.words import as_known
from preceptor.advice.kinds import CROWD, WITH_CURVES, WITHOUT_SPEED, check_kind, person_of_kind
from preceptor.advice.learner_file import read_known
from preceptor.errors import InvalidInput
from preceptor.model.budgets import AtMost, Budget, Knapsack
from preceptor.model.links import PROBIT
from preceptor.model.risks import Risk
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, Decision, LogLoss
from preceptor.people.beliefs import BELIEFS
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.people.person import BY_SHOWINGS, Person
from preceptor.problem import Problem

DEFAULT_TESTS = 3
DEFAULT_HALF_LIFE = 14.0
DEFAULT_CASES = 100.0
# What can be named in place of a risk.
RISKS: dict[str, type[Risk]] = {each.kind: each for each in (Decision, Brier, LogLoss)}


class Time(NamedTuple):
    """What a case counts against the one before, and how many there are (None for no end)."""

    discount: float
    horizon: int | None


Beliefs = str | Mapping[str, float] | Sequence[float] | FloatArray


def person_for(
    world: World,
    *,
    beliefs: Beliefs = "zero",
    standardised: bool = False,
    half_life: float | None = None,
    alpha: float | None = None,
) -> Learner:
    """Somebody who starts with these beliefs and learns by showings at this speed.

    `beliefs` is "zero", "equal" or "marginal"; or weights by name of column, in units of the
    outcome per unit of the test (per standard deviation of it if `standardised`), 0 for columns
    that are not named; or an array (n,) in the world's own units.
    """
    if half_life is not None and alpha is not None:
        raise InvalidInput("half_life: says the same thing as `alpha`; give one of them")
    if alpha is not None:
        curve = Geometric(alpha)
    else:
        showings = DEFAULT_HALF_LIFE if half_life is None else half_life
        try:
            curve = Geometric.from_half_life(showings)
        except InvalidInput:
            raise InvalidInput(
                f"half_life: {half_life!r}, must be a number of showings of at least 0.01"
            ) from None
    if isinstance(beliefs, Mapping):
        return Learner(_weights(world, beliefs, standardised), curve)
    if standardised:
        raise InvalidInput("standardised: is about weights by name; give such `beliefs`")
    if not isinstance(beliefs, str):
        return Learner(beliefs, curve)
    if beliefs not in BELIEFS:
        raise InvalidInput(f"beliefs: {beliefs!r}, must be {', '.join(BELIEFS)}, or weights")
    return Learner(BELIEFS[beliefs](world), curve)


def budget_for(
    world: World,
    *,
    tests: int | Budget | None = None,
    costs: Mapping[str, float] | None = None,
    prices: Mapping[str, float] | None = None,
    limit: float | None = None,
) -> Budget:
    """At most so many tests per case, or tests that together cost at most the limit.

    `costs` (by name of test) restrict what may be shown at once; `prices` are added to the loss.
    """
    if isinstance(tests, Budget):
        if costs or prices or limit is not None:
            raise InvalidInput("tests: is a budget; leave out `costs`, `prices` and `limit`")
        return tests
    price: float | FloatArray = 0.0
    if prices:
        price = _by_test(world, "prices", prices, missing=0.0)
    if not costs:
        if limit is not None:
            raise InvalidInput("limit: needs costs to add up; give `costs` too")
        usual = min(DEFAULT_TESTS, len(world.tests))
        return AtMost(usual if tests is None else tests, price=price)
    if tests is not None:
        raise InvalidInput("tests: costs decide how many tests fit; leave it out, or `costs`")
    if limit is None:
        raise InvalidInput("limit: say what the tests of a case may cost together")
    return Knapsack(_by_test(world, "costs", costs), limit, price=price)


def time_from(
    cases: float | None = None, about: float | None = None, discount: float | None = None
) -> Time:
    """How long it goes on: `cases` are counted, `about` so many matter of teaching without an end.

    A discount factor says the same as `about`; beside `cases` it says how much later ones count.
    """
    faults = []
    if about is not None and cases is not None:
        faults.append(
            "about: is for teaching without an end, which `cases` gives one; give one of them"
        )
    if about is not None and discount is not None:
        faults.append("about: says the same thing as `discount`; give one of them")
    if cases is not None and not (is_number(cases) and cases >= 1 and float(cases).is_integer()):
        faults.append(
            f"cases: {_as_typed(cases)}, must be a whole number of at least 1; `about` is for "
            "teaching without an end"
        )
    if about is not None and not (is_number(about) and about >= 1.0):
        faults.append(f"about: {_as_typed(about)}, must be a number of at least 1")
    InvalidInput.raise_if(faults)
    if cases is not None:
        return Time(1.0 if discount is None else discount, int(cases))
    if discount is not None:
        return Time(discount, None)
    return Time(discount_for(DEFAULT_CASES if about is None else about), None)


def _as_typed(number: Any) -> str:
    """The command line reads 0 as 0.0, which nobody typed."""
    whole = isinstance(number, float) and number.is_integer()
    return f"{number:.0f}" if whole and abs(number) < 1e15 else f"{number}"


def _weights(world: World, named: Mapping[str, float], standardised: bool) -> npt.ArrayLike:
    called, faults = as_known("beliefs", named, world.labels)
    InvalidInput.raise_if(faults)
    given = {called[name]: float(weight) for name, weight in named.items()}
    weights = np.array([given.get(label, 0.0) for label in world.labels])
    if standardised:
        return weights / np.sqrt(np.diag(world.covariance))
    return weights if world.units is None else weights * world.units.scales


def _by_test(
    world: World, what: str, numbers: Mapping[str, float], missing: float | None = None
) -> FloatArray:
    """One number per test, by name."""
    called, faults = as_known(what, numbers, world.tests)
    given = {called[name]: float(number) for name, number in numbers.items() if name in called}
    absent = [name for name in world.tests if name not in given] if missing is None else []
    if absent:
        faults.append(f"{what}: none for {', '.join(absent)}; give one for each test")
    InvalidInput.raise_if(faults)
    return np.array([given.get(name, missing or 0.0) for name in world.tests])


def refuse_choices(**choices: object) -> None:
    """What is already decided by the data must not be given again."""
    given = [name for name, value in choices.items() if value is not None]
    InvalidInput.raise_if(
        f"{name}: already decided by what else is given; leave out `{name}`" for name in given
    )


def reading_as(link: str | None, as_number: bool) -> dict[str, Any]:
    """Arguments of `fit_world` about an outcome of two values, from what was said about it."""
    return {"link": PROBIT if link is None else link, "as_number": as_number}


def risk_for(
    world: World,
    *,
    risk: str | Risk | None = None,
    miss_cost: float | None = None,
    false_alarm_cost: float | None = None,
    link: str | None = None,
    as_number: bool = False,
) -> Risk | None:
    """The risk that was asked for; None for the usual one of this world.

    Parameters
    ----------
    world
        Whose outcome it charges.
    risk
        "decision", "brier" or "log-loss", or a risk.
    miss_cost
        What saying no costs when the truth is yes; 1 if left out.
    false_alarm_cost
        What saying yes costs when the truth is no; 1 if left out.
    link
        Only to refuse it where the outcome is a number.
    as_number
        Whether a yes-or-no outcome was asked to be read as a number.

    Returns
    -------
    Risk or None
        For a `Problem` in that world.

    Raises
    ------
    InvalidInput
        Costs for an outcome that is a number, or that make no sense.
    """
    costs = {"miss_cost": miss_cost, "false_alarm_cost": false_alarm_cost}
    given = {name: cost for name, cost in costs.items() if cost is not None}
    if not world.is_binary:
        about = {**given, "link": link, "risk": risk if isinstance(risk, str) else None}
        name = "the outcome" if world.units is None else world.units.outcome
        remedy = "leave out `as_number`" if as_number else "leave it out"
        InvalidInput.raise_if(
            f"{each}: is about outcomes that are yes or no, but {name} is read as a number; "
            f"{remedy}"
            for each, value in about.items()
            if value is not None
        )
        return risk if isinstance(risk, Risk) else None
    if isinstance(risk, str) and risk not in RISKS:
        raise InvalidInput(f"risk: {risk!r}, must be {', '.join(RISKS)}")
    if given and risk is not None and risk != Decision.kind:
        InvalidInput.raise_if(
            f"{each}: is what a wrong decision costs, but `risk` says otherwise; leave one of them "
            "out"
            for each in given
        )
    InvalidInput.raise_if(
        f"{name}: {cost:g}, must be a cost above 0"
        for name, cost in given.items()
        if not is_number(cost) or not 0.0 < cost < 1e50
    )
    if isinstance(risk, Risk):
        return risk
    if risk is None or risk == Decision.kind:
        return Decision(given.get("miss_cost", 1.0), given.get("false_alarm_cost", 1.0))
    return RISKS[risk]()


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
    if kind is None:  # the person is there already, and has beliefs and a speed of their own
        refuse_choices(
            beliefs=beliefs, half_life=half_life, alpha=alpha, standardised=standardised or None
        )
    if isinstance(learner, (str, Path)):
        known_from = read_known(learner, world, participant, pooled=bool(newcomer))
        report(progress, "estimating", sentence=f"Note: {known_from.in_words()}")
        learner, participant = known_from.person, None
    if participant is not None:
        raise InvalidInput(
            "participant: names somebody in a learner file or a log; give `learner` or `log`"
        )
    known = person if isinstance(person, Person) else learner
    if known is None:
        first = "zero" if beliefs is None else beliefs
        known = person_for(
            world, beliefs=first, standardised=standardised, half_life=half_life, alpha=alpha
        )
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
