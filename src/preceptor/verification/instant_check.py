"""Bounds that cost no search, worked out anew in NumPy.

Every round costs at least the floor of the best set, and the first one, whose state is known,
exactly what its cheapest set costs. Where losses are in closed form there is more: a deviation y(e)
= shift + D e has |y(e)| >= d'y(e) / |d| for any d. Taken at the first one, d = y(e(0)), d'y cannot
fall below |d|² by more than showings can take off the positive y_i = (D'd)_i e_i(0). In round t no
test was shown more than t times and all together no more than kt times, so that is at most the sum
of the kt largest of all single gains. Where errors fall in jumps, gains are sorted first, which can
only take off more.

For uncorrelated tests whose errors only shrink the optimum itself has a short proof
(`uncorrelated_bound`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from preceptor._base.discounting import total_weight, weight_between
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.risks import SquaredError
from preceptor.problem import Problem
from preceptor.verification.own_losses import AT_A_TIME, OwnLosses
from preceptor.verification.slow_value import rounds_that_count

# Rounds looked at one by one before the floor takes over, and how many are looked at.
_ROUNDS = 400
_EPS = float(np.finfo(np.float64).eps)


def instant_bound(problem: Problem, parts: Iterable[OwnLosses]) -> float:
    """The better of both bounds over all sets, which come in parts where they are very many."""
    discount, horizon = problem.discount, problem.horizon
    widest = len(problem.budget.maximise(np.ones(problem.size)))
    errors = problem.initial_errors[None, :]
    first, floor, slack = np.inf, np.inf, 0.0
    looked_at = _looked_at(horizon)
    rounds = np.full(looked_at.size, np.inf)
    for losses in parts:
        each = [float(losses.losses(row, errors)[0]) for row in range(len(losses.sets))]
        first, floor = min(first, *each), min(floor, float(losses.floors.min()))
        slack = max(slack, losses.slack)
        rounds = np.minimum(rounds, _projected(losses, widest, looked_at))
    rest = weight_between(discount, 1, horizon)
    bound = first + rest * floor - slack * (1.0 + rest)
    if not np.all(np.isfinite(rounds)):
        return bound
    # What a round costs at least does not grow from round to round: the next one looked at counts.
    times = np.arange(int(looked_at[-1]) + 1)
    weights = discount ** times.astype(np.float64)
    if horizon is not None:
        weights[horizon:] = 0.0
    total = float(weights @ rounds[np.searchsorted(looked_at, times)])
    total += weight_between(discount, times.size, horizon) * floor
    return max(bound, total - slack * total_weight(discount, horizon) - 1e-12 * abs(total))


def in_parts(problem: Problem) -> Iterator[OwnLosses]:
    """All sets, some at a time, where all at once would not fit."""
    widest = len(problem.budget.maximise(np.ones(problem.size)))
    family = problem.budget.subsets(problem.size)
    while part := list(islice(family, max(1, AT_A_TIME // (widest * problem.size)))):
        yield OwnLosses.of(problem, part)


def _projected(losses: OwnLosses, widest: int, rounds: IntArray) -> FloatArray:
    """What each of these rounds costs at least along one direction for each set; -inf if unknown.

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


def _looked_at(horizon: int | None) -> IntArray:
    """Every round at first, then ever fewer; one of them is the last."""
    rounds = [0]
    while rounds[-1] < min(_ROUNDS, horizon or _ROUNDS):
        rounds.append(rounds[-1] + 1 + rounds[-1] // 30)
    return np.array(rounds, dtype=np.int64)


def _gains(losses: OwnLosses, showings: int) -> FloatArray:
    """(n, showings) what showings take off each error, as shares of it, the largest first."""
    table = losses.errors_after(range(showings + 1))
    now = table[:, :1]
    shares = np.where(now != 0.0, table / np.where(now != 0.0, now, 1.0), 1.0)
    taken = np.maximum(shares[:, :-1] - shares[:, 1:], 0.0)
    return np.sort(taken, axis=1)[:, ::-1]


def _least_of_round(
    losses: OwnLosses,
    t: int,
    widest: int,
    order: IntArray,
    square: FloatArray,
    parts: FloatArray,
    gains: FloatArray,
) -> float:
    """The least that any set can cost in round t; sets come in order of what they cost at least."""
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


def uncorrelated_bound(losses: OwnLosses) -> float:
    """The optimum for uncorrelated tests; -inf where tests tell something about each other.

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
    spent = sizes[:, :rounds] @ weights  # rounds after that count as nothing: no more than they do
    prices = problem.budget.prices(problem.size)
    shown = variance * (spent - truth**2 * weight) + prices * weight
    constant = (world.noise_variance + float(variance @ truth**2)) * weight
    least = min(float(shown[list(each)].sum()) for each in losses.sets)
    return constant + least - losses.slack * weight
