"""What no round can go below, whichever of very many sets is shown, set by set in NumPy.

Where sets are too many to be listed, bounds rest on the floor of each: what its best reader leaves.
Given tests P, let C be the covariance of all tests, c that of each with the outcome's score, v what
is left of its variance (Schur complements). Two more tests i and j explain

    (c_i² C_jj - 2 c_i c_j C_ij + c_j² C_ii) / (C_ii C_jj - C_ij²),

which is one expression for whole tables of pairs; so only sets without their last two tests are
walked one by one. Where a denominator is too small to be trusted, everything counts as explained.
Beyond what can be walked in minutes an eigenvalue bounds all sets at once (`eigenvalue_floor`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.budgets import AtMost, Exactly, Knapsack
from preceptor.model.risks import NumberRisk
from preceptor.model.score_pairs import ScorePair
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.problem import Problem
from preceptor.verification.own_losses import AT_A_TIME, expected_charge

# Prefixes of sets that are walked one by one, and sets that are looked at in batches.
_PREFIXES, _LISTED = 400_000, 3_000_000
# Denominators smaller than this share of what they are a difference of are not trusted.
_TRUSTED = 1e-9
# What rounding may do to a floor, as a share of the outcome's variance.
_SLACK = 1e-10


def least_round(problem: Problem) -> tuple[float, str]:
    """The least that any round can cost, and how that was found."""
    if problem.loss.kind != "closed-form":
        return 0.0, "no loss is negative"
    count = problem.budget.count(problem.size)
    # Each prefix stands for about n²/2 sets.
    few = 2 * count <= _PREFIXES * problem.size**2
    if few and isinstance(problem.budget, AtMost | Exactly | Knapsack):
        return _walked(problem), f"floors of all {count:,} sets computed again"
    if count <= _LISTED:
        return _listed(problem), f"floors of all {count:,} sets computed again"
    return eigenvalue_floor(problem), f"floor of {count:,} sets bounded by an eigenvalue"


def _charge(problem: Problem, variance: FloatArray, price: FloatArray, size: int) -> float:
    """The least charge of best readers who leave these variances of the score, at these prices."""
    world, risk = problem.world, problem.risk
    spread = float(world.coefficients @ world.covariance @ world.coefficients)
    left = np.maximum(variance - _SLACK * spread, 0.0)
    if isinstance(risk, YesNoRisk):
        # Whoever knows more pays less, so the least variance stands for all sets of that size.
        assert world.outcome is not None
        known = np.array([min(max(spread - float(left.min()), 0.0), world.score_variance)])
        reader = ScorePair.best_reader(
            world.outcome.from_score, world.base_score, world.score_variance, known
        )
        cheapest = np.sort(problem.budget.prices(problem.size))[:size].sum()
        return float(problem.risk.best(reader)[0]) + float(cheapest)  # type: ignore[attr-defined]
    assert isinstance(risk, NumberRisk)
    if not risk.is_increasing:
        return float(price.min())
    if not price.any():
        left = left.min(keepdims=True)
    return float(np.min(expected_charge(risk, world.noise_variance + left) + price))


def _listed(problem: Problem) -> float:
    """Set by set in batches of equally large ones."""
    sigma, a = problem.world.covariance, problem.world.coefficients
    target, spread = sigma @ a, float(a @ sigma @ a)
    prices = problem.budget.prices(problem.size)
    least = np.inf
    for members in _batches(problem):
        inner = sigma[members[:, :, None], members[:, None, :]]
        shown = target[members]
        weights = np.linalg.solve(inner, shown[:, :, None])[:, :, 0]
        left = spread - np.sum(weights * shown, axis=1)
        cost = _charge(problem, left, prices[members].sum(axis=1), members.shape[1])
        least = min(least, cost)
    return least


def _batches(problem: Problem) -> Iterator[np.ndarray]:
    batch: list[tuple[int, ...]] = []
    most = max(1, AT_A_TIME // problem.size**2)
    for shown in problem.budget.subsets(problem.size):
        if batch and (len(shown) != len(batch[0]) or len(batch) == most):
            yield np.array(batch, dtype=np.int64).reshape(len(batch), -1)
            batch = []
        batch.append(shown)
    yield np.array(batch, dtype=np.int64).reshape(len(batch), -1)


def _most(problem: Problem) -> tuple[int, int, FloatArray, float]:
    """Fewest and most tests of a set, costs and their limit."""
    budget, n = problem.budget, problem.size
    if isinstance(budget, Knapsack):
        costs = np.asarray(budget.costs)
        limit = budget.limit * (1.0 + 1e-12) + 1e-12
        return 0, int(np.sum(np.cumsum(np.sort(costs)) <= limit)), costs, limit
    assert isinstance(budget, AtMost | Exactly)
    fewest = budget.k if isinstance(budget, Exactly) else 0
    return fewest, min(budget.k, n), np.zeros(n), 0.0


State = tuple[FloatArray, FloatArray, float]


def _given(state: State, test: int) -> State:
    """The same after one more test is known; its own row becomes 0."""
    covariance, shared, left = state
    row, variance = covariance[test], covariance[test, test]
    return (
        covariance - np.outer(row, row / variance),
        shared - row * (shared[test] / variance),
        left - shared[test] ** 2 / variance,
    )


def _prefixes(problem: Problem, root: State) -> Iterator[tuple[tuple[int, ...], float, State]]:
    """Sets of at most two tests fewer than the most, what they cost, what is left given them."""
    _, most, costs, limit = _most(problem)
    n = problem.size
    stack: list[tuple[tuple[int, ...], float, State]] = [((), 0.0, root)]
    while stack:
        tests, spent, state = stack.pop()
        yield tests, spent, state
        if len(tests) >= most - 2:
            continue
        for test in range((tests[-1] + 1) if tests else 0, n):
            cost = spent + float(costs[test])
            if cost <= limit:
                stack.append(((*tests, test), cost, _given(state, test)))


def _walked(problem: Problem) -> float:
    """Prefix by prefix, with tables of pairs."""
    fewest, most, costs, limit = _most(problem)
    n, prices = problem.size, problem.budget.prices(problem.size)
    sigma, a = problem.world.covariance, problem.world.coefficients
    spread = float(a @ sigma @ a)
    best = np.inf
    lowest = np.full(most + 1, np.inf)  # of variances by size, where prices do not matter
    free = not prices.any() or isinstance(problem.risk, YesNoRisk)

    def look(left: FloatArray, price: FloatArray, size: int) -> None:
        nonlocal best
        if not left.size or not fewest <= size <= most:
            return
        if free:
            lowest[size] = min(lowest[size], float(left.min()))
        else:
            best = min(best, _charge(problem, left, price, size))

    for tests, spent, state in _prefixes(problem, (sigma, sigma @ a, spread)):
        covariance, shared, left = state
        size, paid = len(tests), float(prices[list(tests)].sum())
        look(np.array([left]), np.array([paid]), size)
        if size < most - 2:  # what it grows into is walked as well
            continue
        rest = np.arange((tests[-1] + 1) if tests else 0, n)
        rest = rest[spent + costs[rest] <= limit]
        if not rest.size:
            continue
        variance, c = np.diag(covariance)[rest], shared[rest]
        trusted = variance > _TRUSTED * np.diag(sigma)[rest]
        single = np.where(trusted, c * c / np.where(trusted, variance, 1.0), left)
        look(left - single, paid + prices[rest], size + 1)
        if rest.size < 2 or size + 2 > most:
            continue
        i, j = np.triu_indices(rest.size, 1)
        if limit:
            fits = spent + costs[rest[i]] + costs[rest[j]] <= limit
            i, j = i[fits], j[fits]
        between = covariance[rest[i], rest[j]]
        whole = variance[i] * variance[j]
        under = whole - between * between
        sure = (under > _TRUSTED * whole) & trusted[i] & trusted[j]
        over = c[i] ** 2 * variance[j] - 2.0 * c[i] * c[j] * between + c[j] ** 2 * variance[i]
        pair = np.where(sure, over / np.where(sure, under, 1.0), left)
        look(left - pair, paid + prices[rest[i]] + prices[rest[j]], size + 2)
    if free:
        for size in np.flatnonzero(np.isfinite(lowest)).tolist():
            best = min(best, _charge(problem, lowest[size : size + 1], np.zeros(1), size))
    return best


def eigenvalue_floor(problem: Problem) -> float:
    """A floor of all sets of at most k tests at once, from the least eigenvalue of correlations.

    With R = λI + BB' every test is noise of its own, of variance λ, and a mix B_i'f of common
    factors with |B_i|² = 1 - λ. Who sees k tests does not know the own noise of the others, and the
    factors with a precision of no more than 1 + k (1 - λ)/λ in any direction.
    """
    world, n = problem.world, problem.size
    scale = np.sqrt(np.diag(world.covariance))
    correlation = world.covariance / np.outer(scale, scale)
    own = 0.999999 * float(np.linalg.eigvalsh(correlation)[0])  # a hair less, for rounding
    if own <= 0.0:
        hidden = 0.0
    else:
        alpha = world.coefficients * scale
        sizes = np.sort(np.abs(alpha))
        k = len(problem.budget.maximise(np.ones(n)))
        common = float(np.sqrt(max(alpha @ correlation @ alpha - own * alpha @ alpha, 0.0)))
        unseen = max(common - np.sqrt(1.0 - own) * float(sizes[n - k :].sum()), 0.0)
        hidden = own * float(np.sum(sizes[: n - k] ** 2))
        hidden += unseen**2 / (1.0 + k * (1.0 - own) / own)
    return _charge(problem, np.array([hidden]), np.zeros(1), 0)
