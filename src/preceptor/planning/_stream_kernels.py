"""What every set explains of the outcome, one set after the other, without a list of them.

Sets are walked as a tree, tests in order of rising cost. Legend, for a node with tests P chosen:

    M   (tests, tests)  covariance of the tests given P (a Schur complement); upper triangle only
    D   (tests,)        its diagonal
    B   (tests,)        covariance of each test with the outcome, given P
    base                what P explains, less its prices

Adding test p explains B_p²/D_p more; given p too, M_ij loses M_pi M_pj / M_pp. So a whole row of
sets P + i + j is one loop without branches or divisions: is num² > wanted · den for any j? Only a
row in which that is so is looked at again.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import hot_jit, jit


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
