"""Compiled loop of the one-dimensional bound.

Legend: y_i what test i contributes to w'e now; share_im how much of it can be gone after m
showings (concave in m); the most that K showings can remove is min over λ of
Kλ + Σ_i max_m (y_i share_im - λm), so any λ gives a valid bound and bisection a good one.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import inner_jit, jit


@inner_jit
def most_removed(y, gone, step, limit, showings):
    """Upper bound on Σ_i y_i gone[i, m_i] over m_i <= limit, Σ m_i <= showings (y_i > 0 only)."""
    n = y.size
    high = 0.0
    everything = 0.0
    for i in range(n):
        if y[i] > 0.0:
            high = max(high, y[i] * step[i, 0])
            everything += y[i] * gone[i, limit]
    best = everything
    low = 0.0
    for _ in range(40):
        price = 0.5 * (low + high)
        total = showings * price
        used = 0
        for i in range(n):
            if y[i] <= 0.0:
                continue
            # steps fall, so the ones worth their price come first
            a, b = 0, limit
            while a < b:
                middle = (a + b) // 2
                if y[i] * step[i, middle] > price:
                    a = middle + 1
                else:
                    b = middle
            used += a
            total += y[i] * gone[i, a] - price * a
        best = min(best, total)
        if used > showings:
            low = price
        else:
            high = price
        if high - low <= 1e-9 * high:
            break
    return best


@jit
def projected_rounds(order, cost_floor, squared, y, gone, step, widest, rounds, out, halt):
    """out[t]: least over sets of floor + (w'e)²/|deviation|² that round rounds[t] can have.

    Sets come in `order` of their floor, so a round is done when the floor alone is too high. Rounds
    that are not done when halt[0] is set get the least floor.
    """
    out[:] = cost_floor[order[0]]
    for position in range(rounds.size):
        t = rounds[position]
        best = np.inf
        for k in order:
            if cost_floor[k] >= best:
                break
            if halt[0]:
                return
            cost = cost_floor[k]
            if squared[k] > 0.0:
                left = squared[k] - most_removed(y[k], gone, step, t, widest * t)
                if left > 0.0:
                    cost += left * left / squared[k]
            best = min(best, cost)
        out[position] = best
