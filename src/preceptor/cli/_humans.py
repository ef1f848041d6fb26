"""Simulated people by the names that commands take: those of the cast, and kinds of person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preceptor.advice.choices import DEFAULT_HALF_LIFE
from preceptor.advice.kinds import KINDS, person_of_kind
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import people_of
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric

if TYPE_CHECKING:
    from preceptor import Problem
    from preceptor.people.human import Human

# What people type, and what the cast calls them.
HUMANS = {
    "paper": "paper",
    "lms": "least mean squares",
    "bayes": "Bayesian",
    "sgd": "SGDRegressor",
    "forgets": "forgets",
    "ignores": "ignores correlation",
}
# Those of `preceptor plan --person` besides.
EVERYBODY = (*HUMANS, *(kind for kind in KINDS if kind not in HUMANS))


def human_named(problem: Problem, name: str | None, noise: float) -> Human:
    """Somebody who acts in a problem; without a name the person it was made for."""
    from preceptor.simulation import humans_of
    from preceptor.simulation.cast import acting_in

    if name is None:
        return acting_in(problem, problem.learner, noise)
    if name in HUMANS:
        return humans_of(resembled(problem), response_noise=noise)[HUMANS[name]]
    if name not in KINDS:
        raise InvalidInput(f"--human: {name!r}, must be one of {', '.join(EVERYBODY)}")
    like = resembled(problem)
    return acting_in(problem, person_of_kind(like, name, DEFAULT_HALF_LIFE), noise)


def resembled(problem: Problem) -> Problem:
    """The problem with somebody who learns by showings, whom the cast can resemble."""
    if problem.learns_by_showings:
        return problem
    known = [each for each in people_of(problem).values() if isinstance(each, Learner)]
    usual = Geometric.from_half_life(DEFAULT_HALF_LIFE)
    person = known[0] if known else Learner(problem.learner.initial, usual)
    return problem.replace(learner=person)
