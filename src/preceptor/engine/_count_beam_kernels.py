"""Compiled layers of the beam over counts; the legend is in `_count_round_kernels`.

m (K, n) counts, prefix (K,) discounted cost so far, pot (n, .) the terms of phi_{t+1} up to the
caps, G (K, A) prefix of each child, F (K, A) its bound, prefix + delta^t L + delta^(t+1) (phi + C).
`most` (n,) are counts beyond which nothing about a test changes, so that it need not be counted.
"""

import math

import numpy as np

from preceptor._base.jit import inner_jit, jit
from preceptor.engine._count_round_kernels import tangent


@inner_jit
def state_loss(S, e, floor, shift, reading, prices, code, tau, knots):
    """What a round costs that shows set S to somebody with errors e."""
    square = floor[S]
    for j in range(shift.shape[1]):
        y = shift[S, j]
        for i in range(e.size):
            y += reading[S, j, i] * e[i]
        square += y * y
    height, _, _ = tangent(code, tau, knots, math.sqrt(square))
    return height + prices[S]


@jit
def expand_counts(
    first, stop, m, prefix, err, caps, floor, shift, reading, prices, code, tau, knots, shown,
    actions, least, pot, constant, weight, delta, limit, F, G,
):  # fmt: skip
    """Bounds F and prefixes G of all children; a child at or above `limit` gets F = inf.

    `least` (A,) is what each action costs at least, whatever the errors.
    """
    n = m.shape[1]
    room = np.empty((2, n))
    e, gain = room[0], room[1]
    for p in range(first, stop):
        base = constant
        for i in range(n):
            count = m[p, i]
            here = pot[i, min(count, caps[i])]
            e[i] = err[i, count]
            base += here
            gain[i] = pot[i, min(count + 1, caps[i])] - here
        for c in range(actions.size):
            S = actions[c]
            rest = base
            for i in range(n):
                if shown[S, i]:
                    rest += gain[i]
            rest *= delta * weight
            if prefix[p] + weight * least[c] + rest >= limit:
                F[p, c] = np.inf
                continue
            loss = prefix[p] + weight * state_loss(
                S, e, floor, shift, reading, prices, code, tau, knots
            )
            G[p, c] = loss
            F[p, c] = loss + rest if loss + rest < limit else np.inf


@jit
def best_repeat(
    m, err, most, floor, shift, reading, prices, code, tau, knots, shown, actions, delta, limit
):
    """The action that is cheapest shown forever from counts m, about, and what it costs.

    Counts stop at the end of the table; nothing above `limit` is looked for.
    """
    n = m.size
    e = np.empty(n)
    best, at = limit, actions[0]
    for c in range(actions.size):
        S = actions[c]
        total, weight, moved = 0.0, 1.0, True
        j = 0
        while moved and total < best:
            moved = False
            for i in range(n):
                count = m[i]
                if shown[S, i]:
                    count = min(m[i] + j, most[i])
                    moved = moved or count < most[i]
                e[i] = err[i, count]
            loss = state_loss(S, e, floor, shift, reading, prices, code, tau, knots)
            if moved:
                total += weight * loss
            else:
                total += weight * loss / (1.0 - delta)
            weight *= delta
            j += 1
        if total < best:
            best, at = total, S
    return at, best
