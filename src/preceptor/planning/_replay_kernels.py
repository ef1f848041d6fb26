"""Compiled local search for any curve and any built-in risk: changes are priced by replaying.

Legend: x (T,) set of each round, the last entry standing for every later round up to H; m counts
since the start; err (n, counts) errors by count; a round costs risk(floor, shift + reading e)
+ price.
"""

from __future__ import annotations

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inner_jit, jit
from preceptor.loss._loss_kernels import charge


@inner_jit
def round_cost(k, m, err, floor, shift, reading, prices, code, numbers, surface):
    first, square = 0.0, 0.0
    for r in range(shift.shape[1]):
        deviation = shift[k, r]
        for i in range(m.size):
            deviation += reading[k, r, i] * err[i, m[i]]
        if r == 0:
            first = deviation
        square += deviation * deviation
    return charge(code, numbers, surface, floor[k], first, square) + prices[k]


@inner_jit
def replay_from(
    x, start, horizon, m, weight, discount, limit, rest, membership, err, floor, shift, reading,
    prices, code, numbers, surface,
):  # fmt: skip
    """Discounted cost of rounds start..horizon-1 from counts m (changed in place).

    Gives up with infinity once the cost so far plus the least that can follow exceeds `limit`;
    rest[u] is the discounted floor of u more rounds.
    """
    total = 0.0
    last = x.size - 1
    for t in range(start, horizon):
        if total + weight * rest[horizon - t] >= limit:
            return np.inf
        k = x[min(t, last)]
        total += weight * round_cost(
            k, m, err, floor, shift, reading, prices, code, numbers, surface
        )
        for i in range(m.size):
            if membership[k, i]:
                m[i] += 1
        weight *= discount
    return total


@inner_jit
def prefix_states(
    x, discount, membership, err, floor, shift, reading, prices, code, numbers, surface, m, paid
):
    """Counts before each round (T+1, n) and discounted cost paid before it (T+1,)."""
    m[0] = 0
    paid[0] = 0.0
    weight = 1.0
    for t in range(x.size):
        k = x[t]
        cost = round_cost(k, m[t], err, floor, shift, reading, prices, code, numbers, surface)
        paid[t + 1] = paid[t] + weight * cost
        for i in range(m.shape[1]):
            m[t + 1, i] = m[t, i] + (1 if membership[k, i] else 0)
        weight *= discount


@jit
def improve_rounds(
    x, first, stop, horizon, discount, rest, membership, err, floor, shift, reading, prices,
    code, numbers, surface, order,
):  # fmt: skip
    """Change rounds first..stop-1, blocks that begin there, or swap them, where that helps.

    Returns the value. `order` lists the sets worth trying, first to last.
    """
    rounds = x.size
    n = membership.shape[1]
    m = np.empty((rounds + 1, n), dtype=np.int64)
    paid = np.empty(rounds + 1)
    now = np.empty(n, dtype=np.int64)
    y = np.empty(rounds, dtype=np.int64)
    prefix_states(
        x, discount, membership, err, floor, shift, reading, prices, code, numbers, surface, m, paid
    )
    now[:] = 0
    value = replay_from(
        x, np.int64(0), horizon, now, 1.0, discount, np.inf, rest, membership, err, floor, shift,
        reading, prices, code, numbers, surface,
    )  # fmt: skip
    lengths = np.empty(5, dtype=np.int64)
    lengths[0], lengths[1], lengths[2], lengths[3], lengths[4] = 1, 3, 10, 40, rounds
    for t in range(first, stop):
        for move in range(lengths.size + 11):
            if move < lengths.size:
                candidates = order.size
            else:
                candidates = 1
            for c in range(candidates):
                copy_into(y, x)
                if move < lengths.size:
                    if order[c] == x[t] and lengths[move] == 1:
                        continue
                    y[t : min(rounds, t + lengths[move])] = order[c]
                else:
                    other = t + 1 + move - lengths.size
                    if other >= rounds or x[other] == x[t]:
                        continue
                    y[t], y[other] = x[other], x[t]
                copy_into(now, m[t])
                tail = replay_from(
                    y, t, horizon, now, discount**t, discount,
                    value - paid[t] - 1e-12 * abs(value), rest, membership, err, floor, shift,
                    reading, prices, code, numbers, surface,
                )  # fmt: skip
                if paid[t] + tail < value - 1e-12 * abs(value):
                    value = paid[t] + tail
                    copy_into(x, y)
                    prefix_states(
                        x, discount, membership, err, floor, shift, reading, prices, code,
                        numbers, surface, m, paid,
                    )  # fmt: skip
    return value
