"""The best single set, shown in every round: the baseline of the paper's figures."""

from __future__ import annotations

import time

import numpy as np

from preceptor._base.numerics import negligible_after, total_weight, weights
from preceptor._base.progress import Status
from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.model.evaluation import commit_value, fixed_costs, weights_of
from preceptor.model.plan import Plan
from preceptor.model.policies import Stationary
from preceptor.model.problem import Problem
from preceptor.model.risks import SquaredError
from preceptor.planning.bounds import instant_bound
from preceptor.planning.candidate_sets import shape_of
from preceptor.planning.solver import Solver, accuracy_notes

_FIXED = "Best among policies that never change the set; others may do much better."


def solve_stationary(problem: Problem) -> Plan:
    """Compare every set shown throughout. Exact among stationary policies only.

    Parameters
    ----------
    problem
        What to plan.

    Returns
    -------
    Plan
        The best fixed set.
    """
    started = time.perf_counter()
    costs = fixed_costs(problem) @ weights_of(problem)
    best = int(np.argmin(costs))
    value, one = float(costs[best]), costs.size == 1
    return Plan(
        problem=problem,
        policy=Stationary(problem.sets[best]),
        value=value,
        lower_bound=value if one else instant_bound(problem),
        status=Status.BOUNDED,
        method="stationary",
        seconds=time.perf_counter() - started,
        states=len(problem.sets),
        notes=(*accuracy_notes(problem), *(() if one else (_FIXED,))),
    ).settled()


STATIONARY = Solver(
    "stationary", solve_stationary, proves="the best fixed set; a bound", all_people=True
)


# Uncorrelated tests: one sort solves the problem exactly.
#
# Without correlation nothing can be filled in, so showing test i in round t saves exactly
# Σ_ii(a_i² - φ_i(m)e_i²) minus its price. Summed over rounds with the test always shown this is a
# score, and the allowed set with the largest total score, shown in every round, is optimal: a test
# gets better the more it is shown, so it pays to start at once or not at all.


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
    value = commit_value(problem, counts, shown, problem.horizon)
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
    return np.asarray(saved - problem.budget.prices(problem.size))


INDEPENDENT = Solver(
    "independent",
    solve_independent,
    proves="the optimum, for uncorrelated tests",
    why_not=lambda problem: shape_of(problem).why_not_independent,
)
