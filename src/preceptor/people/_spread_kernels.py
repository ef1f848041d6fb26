"""Compiled parts of costs that come from not knowing errors exactly.

Legend as in `_coordinate_kernels`; C (n, n) is the covariance of the errors before a round. A round
with set s costs tr(F_s Ω[S,:] C Ω[:,S] F_s') on top, and takes C_ij to keep[s,i] keep[s,j] C_ij.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import hot_jit, jit
from preceptor.people._coordinate_kernels import quadratic, repeat_forever


@hot_jit
def spread_loss(s, C, omega, members, sizes, factor, row):
    """What not knowing errors adds to the cost of a round; `row` (n,) is scratch."""
    n = C.shape[0]
    total = 0.0
    for r in range(sizes[s]):
        for x in range(n):
            row[x] = 0.0
        for j in range(sizes[s]):
            f = factor[s, r, j]
            i = members[s, j]
            for x in range(n):
                row[x] += f * omega[i, x]
        for x in range(n):
            product = 0.0
            for y in range(n):
                product += C[x, y] * row[y]
            total += row[x] * product
    return total


@jit
def walk_spread(x, since, discount, keep, omega, members, sizes, factor, spreads, paid):
    """C before each round (T+1, n, n) and what was paid for it before (T+1,), from `since` on."""
    n = spreads.shape[1]
    row = np.empty(n)
    weight = discount**since
    for t in range(since, x.size):
        s = x[t]
        C = spreads[t]
        paid[t + 1] = paid[t] + weight * spread_loss(s, C, omega, members, sizes, factor, row)
        for i in range(n):
            for j in range(n):
                spreads[t + 1, i, j] = keep[s, i] * keep[s, j] * C[i, j]
        weight *= discount


@jit
def play_spread(x, discount, keep, omega, members, sizes, factor, C, out):
    """What C (moved in place) adds to each loss (T,); gives the discounted sum."""
    n = C.shape[0]
    row = np.empty(n)
    weight = 1.0
    total = 0.0
    for t in range(x.size):
        s = x[t]
        out[t] = spread_loss(s, C, omega, members, sizes, factor, row)
        total += weight * out[t]
        for i in range(n):
            for j in range(n):
                C[i, j] *= keep[s, i] * keep[s, j]
        weight *= discount
    return total


@jit
def rest_of(Q, C):
    """What C adds to everything from here on: the sum of Q_ij C_ij."""
    total = 0.0
    for i in range(C.shape[0]):
        for j in range(C.shape[0]):
            total += Q[i, j] * C[i, j]
    return total


@jit
def spread_prices(
    positions, C, weight, discount, Q, keep, calm_keep, moved, omega, members, sizes, factor, out,
):  # fmt: skip
    """out[p] += weight (loss of C with s + δ what is left of C later): two products for all."""
    n = C.shape[0]
    half = np.empty((n, n))
    Z = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            product = 0.0
            for x in range(n):
                product += omega[i, x] * C[x, j]
            half[i, j] = product
    for i in range(n):
        for j in range(n):
            product = 0.0
            for x in range(n):
                product += half[i, x] * omega[x, j]
            Z[i, j] = product
    # H = Q * C entry by entry; keep_s differs from the calm one in a few entries d
    turned = np.empty(n)
    d = np.empty(moved.shape[1])
    ahead = 0.0
    for i in range(n):
        product = 0.0
        for j in range(n):
            product += Q[i, j] * C[i, j] * calm_keep[j]
        turned[i] = 2.0 * product
        ahead += calm_keep[i] * product
    for p in range(positions.size):
        s = positions[p]
        loss = 0.0
        for r in range(sizes[s]):
            for a in range(sizes[s]):
                product = 0.0
                for b in range(sizes[s]):
                    product += Z[members[s, a], members[s, b]] * factor[s, r, b]
                loss += factor[s, r, a] * product
        change = 0.0
        for x in range(moved.shape[1]):
            i = moved[s, x]
            if i < 0:
                break
            d[x] = keep[s, i] - calm_keep[i]
            row = turned[i] + Q[i, i] * C[i, i] * d[x]
            for y in range(x):
                row += 2.0 * Q[i, moved[s, y]] * C[i, moved[s, y]] * d[y]
            change += d[x] * row
        out[p] += weight * (loss + discount * (ahead + change))


@jit
def spread_tails(words, lengths, discount, keep, push, omega, members, sizes, least, bend, factor,
                 e, C, out):  # fmt: skip
    """out[w] = average cost of repeating the w-th word (padded) without end."""
    Q = np.empty((e.size + 1, e.size + 1))
    for w in range(lengths.size):
        if lengths[w] == 0:
            out[w] = 0.0
            continue
        repeat_forever(
            words[w, : lengths[w]], discount, keep, push, omega, members, sizes, least, bend,
            factor, Q,
        )  # fmt: skip
        out[w] = quadratic(Q, e) + rest_of(Q, C)
