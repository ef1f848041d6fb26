"""Uncorrelated tests: one sort solves the problem exactly.

Without correlation nothing can be filled in, so showing test i in round t saves exactly
Σ_ii(a_i² - φ_i(m)e_i²) minus its price. Summed over rounds with the test always shown this is a
score, and the allowed set with the largest total score, shown in every round, is optimal: a test
gets better the more it is shown, so it pays to start at once or not at all.
"""

from __future__ import annotations

import time

import numpy as np

from preceptor._base.discounting import negligible_after, total_weight, weights
from preceptor._base.progress import Status
from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.evaluation.value import commit_value
from preceptor.model.risks import SquaredError
from preceptor.plan import Plan
from preceptor.planning.bounds import instant_bound
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver
from preceptor.policies import Stationary
from preceptor.problem import Problem


def solve_independent(problem: Problem, *, ignore_correlation: bool = False) -> Plan:
    """Always show the tests with the best scores.

    Parameters
    ----------
    problem
        What to plan.
    ignore_correlation
        Choose the set as if the tests were uncorrelated (the index rule of earlier work), even if
        they are not. Its value is the true one.

    Returns
    -------
    Plan
        Optimal for uncorrelated tests; otherwise with a bound.

    Raises
    ------
    NotApplicable
        The rule does not cover this problem; correlated tests are refused unless asked for.
    """
    started = time.perf_counter()
    why_not = shape_of(problem).why_not_independent
    if why_not and not (ignore_correlation and isinstance(problem.risk, SquaredError)):
        advice = "" if "risk" in why_not else " (ignore_correlation=True uses its rule anyway)"
        raise NotApplicable(f"independent: {why_not}{advice}")
    shown = problem.budget.maximise(index_scores(problem))
    counts = np.array(problem.start_counts, dtype=np.int64)
    value = commit_value(problem, counts, shown, problem.horizon).value
    bound = value if not why_not else instant_bound(problem)
    notes: tuple[str, ...] = ()
    if why_not:
        notes = (f"Chosen as if tests were independent, but {why_not}: not optimal in general.",)
    return Plan(
        problem=problem,
        policy=Stationary(shown),
        value=value,
        lower_bound=bound,
        status=Status.OPTIMAL if not why_not else Status.BOUNDED,
        method="independent",
        seconds=time.perf_counter() - started,
        states=problem.size,
        notes=notes,
        options={"ignore_correlation": True} if ignore_correlation else {},
    ).settled()


def index_scores(problem: Problem) -> FloatArray:
    """What always showing a test saves (n,), per unit of discounted time."""
    discount = problem.discount
    weight = total_weight(discount, problem.horizon)
    rounds = problem.horizon
    length = negligible_after(discount) if rounds is None else rounds
    times = np.arange(length)
    decay = weights(discount, length)
    left = np.array(
        [
            float(decay @ curve.phi(start + times)) / weight
            for curve, start in zip(problem.by_showings.curve_of, problem.start_counts, strict=True)
        ]
    )
    world = problem.world
    truth = world.coefficients
    error = truth - problem.learner.initial
    saved = np.diag(world.covariance) * (truth**2 - left * error**2)
    scores: FloatArray = saved - problem.budget.prices(problem.size)
    return scores


INDEPENDENT = Solver(
    "independent",
    solve_independent,
    proves="the optimum, for uncorrelated tests",
    why_not=lambda problem: shape_of(problem).why_not_independent,
)
