"""Bounds that take no search, recomputed in NumPy.

Every round costs at least the floor of the best set, and the first one, whose state is known,
exactly what its cheapest set costs. Where losses are in closed form there is more: a deviation y(e)
= shift + D e has |y(e)| >= d'y(e) / |d| for any d. For d = y(e(0)), d'y cannot fall below |d|² by
more than showings can remove from the positive y_i = (D'd)_i e_i(0). Up to round t no test was
shown more than t times, and all together no more than kt times, so that is at most the sum of the
kt largest single gains. Where errors fall in jumps, gains are sorted first, which can only remove
more.

For uncorrelated tests whose errors only shrink the optimum itself has a short proof
(`uncorrelated_bound`).

Where there are too many sets to list, bounds rest on the floor of each: the loss of its best
reader. Given tests P, let C be the covariance of all tests, c that of each with the outcome's
score, v its remaining variance (Schur complements). Two more tests i and j explain

    (c_i² C_jj - 2 c_i c_j C_ij + c_j² C_ii) / (C_ii C_jj - C_ij²),

which is one expression for whole tables of pairs; so only sets without their last two tests are
enumerated. Where a denominator is too small to be trusted, everything counts as explained. Where
enumerating would take more than minutes, an eigenvalue bounds all sets at once
(`eigenvalue_floor`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from preceptor._base.numerics import total_weight, weight_between
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.budgets import AtMost, Exactly, Knapsack
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk, SquaredError
from preceptor.model.score_pairs import ScorePair
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.proofs.losses import AT_A_TIME, ReferenceLosses, expected_charge
from preceptor.proofs.slow_value import rounds_that_count

# Denominators smaller than this share of what they are a difference of are not trusted.
_TRUSTED = 1e-9


def least_round(problem: Problem) -> tuple[float, str]:
    """Return the least that any round can cost, and how that was found."""
    if problem.loss.kind != "closed-form":
        return 0.0, "no loss is negative"
    count = problem.budget.count(problem.size)
    # Up to 400,000 prefixes are enumerated, each of which stands for about n²/2 sets.
    few = 2 * count <= 400_000 * problem.size**2
    if few and isinstance(problem.budget, AtMost | Exactly | Knapsack):
        return _walked(problem), f"floors of all {count:,} sets computed again"
    if count <= 3_000_000:
        return _listed(problem), f"floors of all {count:,} sets computed again"
    return eigenvalue_floor(problem), f"floor of {count:,} sets bounded by an eigenvalue"


def _charge(problem: Problem, variance: FloatArray, price: FloatArray, size: int) -> float:
    """The least loss of best readers who leave these variances of the score, at these prices."""
    world, risk = problem.world, problem.risk
    spread = float(world.coefficients @ world.covariance @ world.coefficients)
    # Rounding of a floor, as a share of the outcome's variance.
    left = np.maximum(variance - 1e-10 * spread, 0.0)
    if isinstance(risk, YesNoRisk):
        # More information costs less, so the least variance bounds all sets of that size.
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
    """The state after one more test is known; its own row becomes 0."""
    covariance, shared, left = state
    row, variance = covariance[test], covariance[test, test]
    return (
        covariance - np.outer(row, row / variance),
        shared - row * (shared[test] / variance),
        left - shared[test] ** 2 / variance,
    )


def _prefixes(problem: Problem, root: State) -> Iterator[tuple[tuple[int, ...], float, State]]:
    """Sets with at least two tests fewer than the most, their cost, and the state given them."""
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
        if size < most - 2:  # its extensions are enumerated too
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

    With R = λI + BB' every test is independent noise of variance λ plus a mix B_i'f of common
    factors with |B_i|² = 1 - λ. A reader of k tests does not know the noise of the others, and
    knows the factors with a precision of at most 1 + k (1 - λ)/λ in any direction.
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


# Rounds bounded individually; after them the floor is used.
_ROUNDS = 400
_EPS = float(np.finfo(np.float64).eps)


def instant_bound(problem: Problem, parts: Iterable[ReferenceLosses]) -> float:
    """Return the better of both bounds over all sets, which come in parts if there are many."""
    discount, horizon = problem.discount, problem.horizon
    widest = len(problem.budget.maximise(np.ones(problem.size)))
    errors = problem.initial_errors[None, :]
    first, floor, slack = np.inf, np.inf, 0.0
    sampled = _sampled_rounds(horizon)
    rounds = np.full(sampled.size, np.inf)
    for losses in parts:
        each = [float(losses.losses(row, errors)[0]) for row in range(len(losses.sets))]
        first, floor = min(first, *each), min(floor, float(losses.floors.min()))
        slack = max(slack, losses.slack)
        rounds = np.minimum(rounds, _projected(losses, widest, sampled))
    rest = weight_between(discount, 1, horizon)
    bound = first + rest * floor - slack * (1.0 + rest)
    if not np.all(np.isfinite(rounds)):
        return bound
    # The bound of a round does not grow from round to round, so the next sampled round is used.
    times = np.arange(int(sampled[-1]) + 1)
    weights = discount ** times.astype(np.float64)
    if horizon is not None:
        weights[horizon:] = 0.0
    total = float(weights @ rounds[np.searchsorted(sampled, times)])
    total += weight_between(discount, times.size, horizon) * floor
    return max(bound, total - slack * total_weight(discount, horizon) - 1e-12 * abs(total))


def in_parts(problem: Problem) -> Iterator[ReferenceLosses]:
    """All sets in batches, where all at once would not fit."""
    widest = len(problem.budget.maximise(np.ones(problem.size)))
    family = problem.budget.subsets(problem.size)
    while part := list(islice(family, max(1, AT_A_TIME // (widest * problem.size)))):
        yield ReferenceLosses.of(problem, part)


def _projected(losses: ReferenceLosses, widest: int, rounds: IntArray) -> FloatArray:
    """Lower bound for each of these rounds along one direction per set; -inf if unknown.

    The largest set of the family shows `widest` tests.
    """
    problem = losses.problem
    if losses.shared or not losses.is_increasing or not problem.learns_by_showings:
        return np.full(rounds.size, -np.inf)
    errors = problem.initial_errors
    deviation = losses.shift + losses.reading @ errors  # (sets, widest)
    square = np.sum(deviation**2, axis=1)
    parts = np.einsum("skn,sk->sn", losses.reading, deviation) * errors
    gains = _gains(losses, int(rounds[-1]))
    order = np.argsort(losses.floors, kind="stable")
    return np.array(
        [_least_of_round(losses, int(t), widest, order, square, parts, gains) for t in rounds]
    )


def _sampled_rounds(horizon: int | None) -> IntArray:
    """Every round at first, then increasingly fewer, including the last."""
    rounds = [0]
    while rounds[-1] < min(_ROUNDS, horizon or _ROUNDS):
        rounds.append(rounds[-1] + 1 + rounds[-1] // 30)
    return np.array(rounds, dtype=np.int64)


def _gains(losses: ReferenceLosses, showings: int) -> FloatArray:
    """(n, showings) what each showing removes from an error, as a share of it, largest first."""
    table = losses.errors_after(range(showings + 1))
    now = table[:, :1]
    shares = np.where(now != 0.0, table / np.where(now != 0.0, now, 1.0), 1.0)
    taken = np.maximum(shares[:, :-1] - shares[:, 1:], 0.0)
    return np.sort(taken, axis=1)[:, ::-1]


def _least_of_round(
    losses: ReferenceLosses,
    t: int,
    widest: int,
    order: IntArray,
    square: FloatArray,
    parts: FloatArray,
    gains: FloatArray,
) -> float:
    """The least that any set can cost in round t; sets come in order of their floors."""
    least, first, tests = np.inf, 0, gains.shape[0]
    size = 16
    while first < order.size and losses.floors[order[first]] < least:
        rows = order[first : first + size]
        first += rows.size
        size = min(4 * size, max(1, AT_A_TIME // max(tests * t, 1)))
        left = square[rows]
        if t:
            each = np.maximum(parts[rows], 0.0)[:, :, None] * gains[:, :t]
            each = each.reshape(rows.size, -1)
            top = min(widest * t, each.shape[1])
            if top < each.shape[1]:
                each = -np.partition(-each, top - 1, axis=1)[:, :top]
            left = np.maximum(left - each.sum(axis=1), 0.0)
        scale = np.where(square[rows] > 0.0, square[rows], 1.0)
        least = min(least, float(np.min(losses.charged(rows, left * left / scale))))
    return least


def uncorrelated_bound(losses: ReferenceLosses) -> float:
    """The optimum for uncorrelated tests; -inf if tests are correlated.

    A round costs a constant plus c_i(m_i) for every test shown, and c_i never grows. Let test i be
    shown in rounds t_0 < t_1 < ..., at a cost of Σ_j δ^{t_j} c_i(j). Since δ^{t_j - j} and c_i(j)
    both never grow in j, Chebyshev's inequality for sums, with weights δ^j, says that this is at
    least (Σ_j δ^{t_j} / Σ_j δ^j) Σ_j δ^j c_i(j). So a schedule costs at least the average, over its
    rounds and with their weights, of Σ_{i in S} Σ_j δ^j c_i(j), and no less than the least of these
    over all sets.
    """
    problem, discount = losses.problem, losses.problem.discount
    world = problem.world
    imputes = problem.learner.imputing_covariance(world)
    diagonal = not np.any(imputes - np.diag(np.diag(imputes))) and world.is_diagonal
    if not diagonal or losses.shared or not isinstance(problem.risk, SquaredError):
        return -np.inf
    weight = total_weight(discount, problem.horizon)
    rounds = rounds_that_count(problem)
    weights = discount ** np.arange(rounds)
    variance, truth = np.diag(world.covariance), world.coefficients
    sizes = losses.errors_after(range(rounds + 1)) ** 2
    if np.any(np.diff(sizes, axis=1) > 0.0):
        return -np.inf
    spent = sizes[:, :rounds] @ weights  # later rounds count as 0, a lower bound
    prices = problem.budget.prices(problem.size)
    shown = variance * (spent - truth**2 * weight) + prices * weight
    constant = (world.noise_variance + float(variance @ truth**2)) * weight
    least = min(float(shown[list(each)].sum()) for each in losses.sets)
    return constant + least - losses.slack * weight
