"""The same problem with one assumption changed by some share.

Learning speed, first beliefs and correlation are what a plan rests on and what nobody knows
exactly. Each function here gives the problem that would be true instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput, NotSerializable
from preceptor.model.matrices import average_correlation
from preceptor.model.world import World
from preceptor.people.bayesian import Bayesian
from preceptor.people.by_showings import Learner
from preceptor.people.curved import Curved
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.person import Person
from preceptor.problem import Problem

# A correlation matrix is never made worse conditioned than this.
_MOST_CONDITION = 1e8


def faster(problem: Problem, factor: float) -> Problem | None:
    """Learning `factor` times as fast: so many times fewer showings for the same progress.

    For somebody who learns from outcomes, steps that are so many times larger, or a prior that is
    so much wider; None for somebody who does not learn, or in a way of their own.
    """
    if problem.learns_by_showings:
        return problem.replace(learner=problem.by_showings.faster(factor))
    person = problem.learner
    if isinstance(person, Curved):
        curves = [curve.faster(factor) for curve in person.curve_of]
        same = all(curve == curves[0] for curve in curves)
        return _with(problem, curves=curves[0].to_dict() if same else [c.to_dict() for c in curves])
    if isinstance(person, DeltaRule):
        return _with(problem, rate=factor * person.rate)
    if isinstance(person, Bayesian):
        return _with(problem, prior_variance=(factor * person.prior_variance).tolist())
    return None


def further_off(problem: Problem, factor: float) -> Problem | None:
    """First beliefs `factor` times as far from the truth, in the same direction."""
    truth, learner = problem.world.coefficients, problem.learner
    initial = truth - factor * (truth - learner.initial)
    if problem.learns_by_showings:
        known = problem.by_showings
        return problem.replace(learner=Learner(initial, known.curves, known.imputation))
    return _with(problem, initial=initial.tolist())


def _with(problem: Problem, **fields: Any) -> Problem | None:
    """The problem with a person who differs in some fields; None for people of one's own."""
    try:
        person = Person.from_dict({**problem.learner.to_dict(), **fields})
    except (NotSerializable, InvalidInput):
        return None
    return problem.replace(learner=person)


def more_correlated(problem: Problem, factor: float) -> Problem | None:
    """Tests whose correlations are, on average, `factor` times as large; None if that cannot be.

    Scaling the entries soon leaves the correlation matrices, so the matrix R is raised to a power
    and brought back to a diagonal of ones: a power below 1 moves it towards independence, above
    1 towards fewer common causes, and it stays positive definite. Variances, coefficients
    and noise stay, and so does the prevalence of a yes-or-no outcome.
    """
    world = problem.world
    scale = np.sqrt(np.diag(world.covariance))
    correlation = world.covariance / np.outer(scale, scale)
    target = factor * average_correlation(correlation)
    if target == 0.0:
        return None
    changed = _with_average(correlation, target)
    if changed is None:
        return None
    covariance = changed * np.outer(scale, scale)
    latent = world.latent_correlation
    if latent is not None:
        return None  # the covariance follows from the copula, which is not known for this one
    other = World(
        world.coefficients,
        covariance,
        world.noise_variance,
        world.names,
        units=world.units,
        groups=world.groups,
        outcome=world.outcome,
    )
    return problem.replace(world=other)


def _with_average(correlation: FloatArray, target: float) -> FloatArray | None:
    """The power of the matrix whose average correlation is the target, by bisection."""
    values, vectors = np.linalg.eigh(correlation)
    most = np.log(_MOST_CONDITION) / np.log(values[-1] / values[0])

    def power(exponent: float) -> FloatArray:
        raised = (vectors * values**exponent) @ vectors.T
        deviations = np.sqrt(np.diag(raised))
        whole: FloatArray = raised / np.outer(deviations, deviations)
        return whole

    low, high = 0.0, float(most)
    if average_correlation(power(high)) < target:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if average_correlation(power(middle)) < target else (low, middle)
    changed = power(high)
    return (changed + changed.T) / 2
