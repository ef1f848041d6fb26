"""Compiled loops of bounds that need no search.

First the one-dimensional bound. Legend: y_i what test i contributes to w'e now; share_im how much
of it can be gone after m showings (concave in m); the most that K showings can remove is min over λ
of Kλ + Σ_i max_m (y_i share_im - λm), so any λ gives a valid bound and bisection a good one.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import hot_jit, inner_jit, jit


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


# The variance of the outcome that every set explains, set by set, without storing them.
#
# Sets are walked as a tree, tests in order of rising cost. Legend, for a node with tests P chosen:
#
#     M   (tests, tests)  covariance of the tests given P (a Schur complement); upper triangle only
#     D   (tests,)        its diagonal
#     B   (tests,)        covariance of each test with the outcome, given P
#     base                what P explains, less its prices
#
# Adding test p explains B_p²/D_p more; given p too, M_ij loses M_pi M_pj / M_pp. So a whole row of
# sets P + i + j is one loop without branches or divisions: is num² > wanted · den for any j? Only
# a row in which that is so is looked at again.


@hot_jit
def beaten_in_row(row, l, li, B, D, share, inverse, wanted, price):
    """How many of these tests j explain more than `wanted`, given P and i, beyond their price."""
    count = 0
    for j in range(row.size):
        m = row[j] - li * l[j]
        num = B[j] - share * m
        den = D[j] - inverse * m * m
        count += num * num > (wanted + price[j]) * den
    return count


@jit
def stream_from(first, M, B, D, cost, spare, most, price, best):
    """Raise best[size] to what the best set of that size explains, of those beginning with `first`.

    M (most, tests, tests), B and D (most, tests) hold the root at depth 0 and are room below it.
    `spare` is the limit of the costs, `most` of the number of tests. Prices are taken off.
    """
    n = cost.size
    depths = M.shape[0]
    at = np.zeros(depths, dtype=np.int64)
    base = np.zeros(depths)
    left = np.empty(depths)
    l = np.empty(n)
    d = 0
    at[0], left[0] = first, spare
    while d >= 0:
        p = at[d]
        if p >= n or cost[p] > left[d] or (d == 0 and p > first):
            d -= 1
            continue
        at[d] += 1
        gained = base[d] + B[d, p] * B[d, p] / D[d, p] - price[p]
        if gained > best[d + 1]:
            best[d + 1] = gained
        rest = left[d] - cost[p]
        # how many more tests fit: the cheapest come next
        fits, total = 0, 0.0
        while fits < 3 and p + 1 + fits < n and d + 1 + fits < most:
            total += cost[p + 1 + fits]
            if total > rest:
                break
            fits += 1
        if fits == 0:
            continue
        above = M[d]
        root = 1.0 / np.sqrt(D[d, p])
        y = B[d, p] * root
        b, v = B[d + 1], D[d + 1]
        for j in range(p + 1, n):
            l[j] = above[p, j] * root
            b[j] = B[d, j] - l[j] * y
            v[j] = D[d, j] - l[j] * l[j]
        if fits >= 3:
            below = M[d + 1]
            for i in range(p + 1, n):
                li = l[i]
                for j in range(i + 1, n):
                    below[i, j] = above[i, j] - li * l[j]
            d += 1
            at[d], base[d], left[d] = p + 1, gained, rest
            continue
        end = n
        for i in range(p + 1, n):
            if cost[i] > rest:
                break
            inverse = 1.0 / v[i]
            share = b[i] * inverse
            with_i = gained + b[i] * share - price[i]
            if with_i > best[d + 2]:
                best[d + 2] = with_i
            if fits < 2:
                continue
            while end > i + 1 and cost[i] + cost[end - 1] > rest:
                end -= 1
            row, wanted = above[i], best[d + 3] - with_i
            if beaten_in_row(
                row[i + 1 : end],
                l[i + 1 : end],
                l[i],
                b[i + 1 : end],
                v[i + 1 : end],
                share,
                inverse,
                wanted,
                price[i + 1 : end],
            ):
                for j in range(i + 1, end):
                    m = row[j] - l[i] * l[j]
                    num = b[j] - share * m
                    den = v[j] - inverse * m * m
                    best[d + 3] = max(best[d + 3], with_i + num * num / den - price[j])
