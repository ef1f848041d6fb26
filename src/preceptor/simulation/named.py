"""People to plan for, by name: the crowd, or one kind of person, matched to a half-life.

All of them start with the same beliefs, and a first showing teaches those who learn about equally
much, so that plans for different kinds can be compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preceptor.errors import InvalidInput
from preceptor.model.evaluation import people_of as members_of
from preceptor.model.person import BY_SHOWINGS, Person
from preceptor.model.problem import Problem
from preceptor.people.by_showings import Learner
from preceptor.people.coordinatewise import Drifting, Indirect, NoLearning
from preceptor.people.crowd import Crowd
from preceptor.people.curves import Geometric
from preceptor.people.folding import Folding
from preceptor.people.forgetful import Forgetful
from preceptor.people.human import Human
from preceptor.people.matched import (
    DEFAULT_HALF_LIFE,
    matched_delta_rate,
    matched_prior_variance,
    matched_scatter,
)
from preceptor.people.outcome_learners import Bayesian, DeltaRule
from preceptor.planning.candidate_sets import most_predictive_set
from preceptor.simulation.cast import acting_in, people_of
from preceptor.simulation.exemplar import ExemplarLearner

CROWD = "crowd"
# For kinds that interpolate between two theories.
_HALFWAY = 0.5


def person_of_kind(problem: Problem, kind: str, half_life: float) -> Person:
    """Return a person of this kind that resembles the problem's person, who learns by showings.

    Parameters
    ----------
    problem
        With a person who learns by showings.
    kind
        One of `KINDS`.
    half_life
        Showings after which half of a weight's error is gone; the same as in that person's curve.

    Returns
    -------
    Person
        With the same initial beliefs.

    Raises
    ------
    InvalidInput
        An unknown kind.
    """
    check_kind(kind)
    return KINDS[kind](problem, half_life)


def check_kind(kind: object) -> None:
    """Raise `InvalidInput` for a kind that is not one of `KINDS`."""
    if kind not in KINDS:
        raise InvalidInput(f"person: {kind!r} is not known; there are {', '.join(KINDS)}")


def _crowd(problem: Problem, half_life: float) -> Person:
    at_once = len(problem.budget.maximise(np.ones(problem.size)))
    return Crowd.default(problem.world, problem.learner.initial, half_life=half_life, tests=at_once)


def _delta_rule(problem: Problem, half_life: float) -> Person:
    widest = problem.budget.maximise(np.diag(problem.world.covariance).copy())
    learned = 1.0 - 0.5 ** (1.0 / half_life)
    return DeltaRule(problem.learner.initial, matched_delta_rate(problem.world, learned, widest))


def _bayesian(problem: Problem, half_life: float) -> Person:
    return Bayesian(
        problem.learner.initial,
        matched_prior_variance(problem.world, problem.initial_errors),
        matched_scatter(problem.world, most_predictive_set(problem)),
    )


KINDS: dict[str, Callable[[Problem, float], Person]] = {
    CROWD: _crowd,
    BY_SHOWINGS: lambda problem, _: problem.learner,
    "delta-rule": _delta_rule,
    "bayesian": _bayesian,
    "forgetful": lambda p, _: Forgetful(p.learner.initial, p.by_showings.curves),
    "drifting": lambda p, _: Drifting(p.learner.initial, p.by_showings.curves),
    "folding": lambda p, _: Folding(p.learner.initial, p.by_showings.curves, _HALFWAY),
    "indirect": lambda p, _: Indirect(p.learner.initial, p.by_showings.curves, _HALFWAY),
    "no-learning": lambda p, _: NoLearning(p.learner.initial),
}
"""Constructors by the names that `advise` and `preceptor plan --person` take."""

# Kinds without a half-life: one never learns, the other as fast as is rational.
WITHOUT_SPEED = ("no-learning", "bayesian")
# Further names of simulated people: what users type, and the name in `simulation`.
HUMANS = {
    "paper": "paper",
    "lms": "least mean squares",
    "bayes": "Bayesian",
    "forgets": "forgets",
    "ignores": "ignores correlation",
}
# A simulated person who remembers cases, and how fast similarity falls with distance for them.
EXEMPLAR, _SENSITIVITY = "exemplar", 0.7
# All names of people that can be planned for and simulated, and of those that can be simulated.
PERSON_NAMES = (*HUMANS, *(kind for kind in KINDS if kind not in HUMANS))
HUMAN_NAMES = (*PERSON_NAMES, EXEMPLAR)


# --- Simulated people by name: the kinds that can be planned for, and the rest of the cast ---
#
# Kinds have the names that `advise` takes; five of them also have the short names of the cast.
# Each resembles the problem's own person: the same initial weights, and about the same initial
# speed.

# Kinds that are in the cast under another name.
_SHORT = {"by-showings": "paper", "delta-rule": "lms", "bayesian": "bayes", "forgetful": "forgets"}


def person_named(problem: Problem, name: str) -> Person:
    """Return the person with a name, adapted to a problem.

    Parameters
    ----------
    problem
        The problem whose person they resemble.
    name
        One of `PERSON_NAMES`.

    Returns
    -------
    Person
        With the problem's initial weights.

    Raises
    ------
    InvalidInput
        An unknown name.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)
    >>> person_named(problem, "lms") == person_named(problem, "delta-rule")
    True
    """
    if name not in PERSON_NAMES:
        raise InvalidInput(f"human: {name!r}, must be one of {', '.join(PERSON_NAMES)}")
    like = resembled(problem)
    short = _SHORT.get(name, name)
    if short in HUMANS:
        return people_of(like)[HUMANS[short]]
    return person_of_kind(like, name, DEFAULT_HALF_LIFE)


def human_named(problem: Problem, name: str | None, noise: float = 0.0) -> Human:
    """Return a simulated person by name; without a name, the problem's own.

    Parameters
    ----------
    problem
        The problem whose person they resemble.
    name
        One of `HUMAN_NAMES`, or None.
    noise
        Standard deviation of the response noise, in units of the outcome.

    Returns
    -------
    Human
        In the state before the first round.

    Raises
    ------
    InvalidInput
        An unknown name.
    """
    if name == EXEMPLAR:
        return ExemplarLearner(problem.world, _SENSITIVITY, noise)
    person = problem.learner if name is None else person_named(problem, name)
    return acting_in(problem, person, noise)


def resembled(problem: Problem) -> Problem:
    """Return the problem with a person who learns by showings, as the cast needs."""
    if problem.learns_by_showings:
        return problem
    known = [each for each in members_of(problem).values() if isinstance(each, Learner)]
    usual = Geometric.from_half_life(DEFAULT_HALF_LIFE)
    person = known[0] if known else Learner(problem.learner.initial, usual)
    return problem.replace(learner=person)
