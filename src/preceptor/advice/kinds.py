"""Whom to plan for, by name: the crowd, or one kind of person, matched to a half-life.

Everybody starts with the same beliefs, and a first showing teaches all of those who learn about as
much, so that plans for different kinds can be compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preceptor.advice.alternatives import most_predictive_set
from preceptor.errors import InvalidInput
from preceptor.people.bayesian import Bayesian
from preceptor.people.crowd import Crowd
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.drifting import Drifting
from preceptor.people.folding import Folding
from preceptor.people.forgetful import Forgetful
from preceptor.people.indirect import Indirect
from preceptor.people.matched import matched_delta_rate, matched_prior_variance, matched_scatter
from preceptor.people.no_learning import NoLearning
from preceptor.people.person import BY_SHOWINGS, Person
from preceptor.problem import Problem

CROWD = "crowd"
# How far people go whose kind is a dial between two theories.
_HALFWAY = 0.5


def person_of_kind(problem: Problem, kind: str, half_life: float) -> Person:
    """Somebody of this kind who resembles the problem's own person, who learns by showings.

    Parameters
    ----------
    problem
        With somebody who learns by showings.
    kind
        One of `KINDS`.
    half_life
        Showings after which half of a weight's error is gone, which the person's curve says too.

    Returns
    -------
    Person
        With the same first beliefs.

    Raises
    ------
    InvalidInput
        A kind that is not known.
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
"""By the names that `advise` and `preceptor plan --person` take: who that is."""

# Those for whom no half-life says anything: one never learns, the other as fast as is rational.
WITHOUT_SPEED = ("no-learning", "bayesian")
# Those who learn along a curve, so that it can be given as `alpha` too.
WITH_CURVES = (BY_SHOWINGS, "forgetful", "drifting", "folding", "indirect")
# Simulated people go by these names too: what people type, and what the cast calls them.
HUMANS = {
    "paper": "paper",
    "lms": "least mean squares",
    "bayes": "Bayesian",
    "forgets": "forgets",
    "ignores": "ignores correlation",
}
# All names under which somebody can be simulated (`simulation/named.py`).
EVERYBODY = (*HUMANS, *(kind for kind in KINDS if kind not in HUMANS))
