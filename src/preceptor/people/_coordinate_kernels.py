"""Compiled recursions for people whose errors each move by a map of their own.

Legend: round with set s takes error e_i to keep[s,i] e_i + push[s,i]; g = (e, 1), N = n + 1;
P = E[gg'] (N, N) the state, Q (N, N) the adjoint: everything from some round on costs <Q, P>. In
most rounds most errors move as they do while hidden (calm_keep, calm_push); moved[s] lists those
that do not, padded with -1. A round costs least_s + E|bend_s + F_s (Ωe)_S|².
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import hot_jit, jit
from preceptor.people._moment_kernels import fade, fade_back, times


@hot_jit
def _row(s, r, omega, members, sizes, bend, factor, row):
    """One row (N,) of what the deviation of set s is of g: F_s Ω[S,:] and the bend."""
    n = omega.shape[0]
    for x in range(n):
        row[x] = 0.0
    for j in range(sizes[s]):
        f = factor[s, r, j]
        i = members[s, j]
        for x in range(n):
            row[x] += f * omega[i, x]
    row[n] = bend[s, r]


@jit
def walk_errors(
    path, states, losses, keep, push, omega, members, sizes, least, bend, factor
):  # fmt: skip
    """Losses (T,) of a path, and moments before each round (T+1, N, N) from the first of them."""
    N = states.shape[1]
    row = np.empty(N)
    for t in range(path.size):
        s = path[t]
        P = states[t]
        losses[t] = least[s]
        for r in range(sizes[s]):
            _row(s, r, omega, members, sizes, bend, factor, row)
            for x in range(N):
                product = 0.0
                for y in range(N):
                    product += P[x, y] * row[y]
                losses[t] += row[x] * product
        later = states[t + 1]
        later[:, :] = P
        fade(later, keep[s], push[s])


@jit
def walk_back(
    path, discount, adjoints, keep, push, omega, members, sizes, least, bend, factor
):  # fmt: skip
    """Adjoints before each round of a path (T+1, N, N) from the last of them."""
    N = adjoints.shape[1]
    row = np.empty(N)
    for t in range(path.size - 1, -1, -1):
        s = path[t]
        Q = adjoints[t]
        fade_back(adjoints[t + 1], keep[s], push[s], Q)
        for i in range(N):
            for j in range(N):
                Q[i, j] *= discount
        Q[N - 1, N - 1] += least[s]
        for r in range(sizes[s]):
            _row(s, r, omega, members, sizes, bend, factor, row)
            for i in range(N):
                for j in range(N):
                    Q[i, j] += row[i] * row[j]


@jit
def repeat_forever(word, discount, keep, push, omega, members, sizes, least, bend, factor, Q):
    """Q of a word of sets repeated without end: every product of two errors is a geometric sum."""
    n = keep.shape[1]
    a = np.ones(n)
    b = np.zeros(n)
    far = 1.0
    for t in range(word.size):
        s = word[t]
        far *= discount
        for i in range(n):
            b[i] = keep[s, i] * b[i] + push[s, i]
            a[i] *= keep[s, i]
    turn = np.zeros((word.size + 1, n + 1, n + 1))
    walk_back(word, discount, turn, keep, push, omega, members, sizes, least, bend, factor)
    for i in range(n):
        for j in range(n):
            Q[i, j] = turn[0, i, j] / (1.0 - far * a[i] * a[j])
    corner = turn[0, n, n]
    for i in range(n):
        turned = 0.0
        for j in range(n):
            turned += Q[i, j] * b[j]
        edge = (turn[0, i, n] + far * a[i] * turned) / (1.0 - far * a[i])
        Q[i, n] = edge
        Q[n, i] = edge
        corner += far * b[i] * (2.0 * edge + turned)
    Q[n, n] = corner / (1.0 - far)


@jit
def error_prices(
    positions, P, Q, discount, calm_keep, calm_push, moved, keep, push, omega, members, sizes,
    least, bend, factor, out,
):  # fmt: skip
    """out[p] = loss of s + δ <Q, P after s>: a few products with P and Q for all sets."""
    n = calm_keep.size
    OP, OPO, q = np.empty((n, n + 1)), np.empty((n, n)), np.empty(n)
    times(omega, P, OP)
    times(OP, omega, OPO)
    # An error that moves otherwise than while hidden is δ_i = k e_i + p beside its calm self:
    # by_error and by_one are what E[g e_i] and E[g] after a calm round cost along it.
    calm = P.copy()
    fade(calm, calm_keep, calm_push)
    by_error, by_one = np.empty(n), np.empty(n)
    ahead = Q[n, n] * P[n, n]
    for i in range(n):
        q[i] = OP[i, n]
        by_error[i] = Q[i, n] * P[n, i]
        by_one[i] = Q[i, n] * P[n, n]
        for j in range(n):
            by_error[i] += Q[i, j] * (calm_keep[j] * P[j, i] + calm_push[j] * P[n, i])
            by_one[i] += Q[i, j] * calm[j, n]
            ahead += Q[i, j] * calm[i, j]
        ahead += 2.0 * Q[i, n] * calm[i, n]
    for p in range(positions.size):
        s = positions[p]
        loss = least[s]
        for r in range(sizes[s]):
            loss += bend[s, r] * bend[s, r] * P[n, n]
            for a in range(sizes[s]):
                product = 2.0 * bend[s, r] * q[members[s, a]]
                for b in range(sizes[s]):
                    product += OPO[members[s, a], members[s, b]] * factor[s, r, b]
                loss += factor[s, r, a] * product
        change = 0.0
        for x in range(moved.shape[1]):
            i = moved[s, x]
            if i < 0:
                break
            k, c = keep[s, i] - calm_keep[i], push[s, i] - calm_push[i]
            change += 2.0 * (k * by_error[i] + c * by_one[i])
            for y in range(x + 1):
                j = moved[s, y]
                l, d = keep[s, j] - calm_keep[j], push[s, j] - calm_push[j]
                both = k * (l * P[i, j] + d * P[i, n]) + c * (l * P[n, j] + d * P[n, n])
                change += (1.0 if x == y else 2.0) * Q[i, j] * both
        out[p] = loss + discount * (ahead + change)
