"""Compiled recursions for people whose errors each move by a map of their own.

Legend: round with set s takes error e_i to keep[s,i] e_i + push[s,i]; g = (e, 1), N = n + 1;
Q (N, N) the adjoint: everything from some round on costs g'Qg. In most rounds most errors move as
they do while hidden (calm_keep, calm_push); moved[s] lists those that do not, padded with -1.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import jit
from preceptor.people._deviation_kernels import losses_of_all, round_loss, round_rows


@jit
def walk_errors(
    x, since, discount, keep, push, omega, members, sizes, least, bend, factor, states, paid
):  # fmt: skip
    """Errors before each round (T+1, n) and what was paid before it (T+1,), from round `since`."""
    q = np.empty(members.shape[1])
    weight = discount**since
    for t in range(since, x.size):
        s = x[t]
        e = states[t]
        cost = round_loss(s, e, omega, members, sizes, least, bend, factor, q)
        paid[t + 1] = paid[t] + weight * cost
        for i in range(e.size):
            states[t + 1, i] = keep[s, i] * e[i] + push[s, i]
        weight *= discount


@jit
def play(x, discount, keep, push, omega, members, sizes, least, bend, factor, e, out):
    """Losses (T,) of a schedule from errors e (moved in place); gives their discounted sum."""
    q = np.empty(members.shape[1])
    weight = 1.0
    total = 0.0
    for t in range(x.size):
        s = x[t]
        cost = round_loss(s, e, omega, members, sizes, least, bend, factor, q)
        out[t] = cost
        total += weight * cost
        for i in range(e.size):
            e[i] = keep[s, i] * e[i] + push[s, i]
        weight *= discount
    return total


@jit
def quadratic(Q, e):
    """g'Qg."""
    n = e.size
    total = Q[n, n]
    for i in range(n):
        row = 2.0 * Q[i, n]
        for j in range(n):
            row += Q[i, j] * e[j]
        total += e[i] * row
    return total


@jit
def step_back(s, discount, keep, push, omega, members, sizes, least, bend, factor, Q, zero, R, u):
    """Q <- L_s + δ A_s'QA_s, in place; `zero` are n zeros."""
    n = zero.size
    a = keep[s]
    b = push[s]
    corner = Q[n, n]
    for i in range(n):
        row = Q[i, n]
        for j in range(n):
            row += Q[i, j] * b[j]
        corner += b[i] * (row + Q[i, n])
        Q[n, i] = row
    Q[n, n] = discount * corner + least[s]
    for i in range(n):
        scaled = discount * a[i]
        for j in range(n):
            Q[i, j] *= scaled * a[j]
        Q[i, n] = scaled * Q[n, i]
    round_rows(s, zero, omega, members, sizes, bend, factor, R, u)
    for r in range(sizes[s]):
        for i in range(n):
            f = R[r, i]
            for j in range(n):
                Q[i, j] += f * R[r, j]
            Q[i, n] += f * u[r]
        Q[n, n] += u[r] * u[r]
    for i in range(n):
        Q[n, i] = Q[i, n]


@jit
def repeat_forever(word, discount, keep, push, omega, members, sizes, least, bend, factor, Q):
    """Q of a word of sets repeated without end: every product of two errors is a geometric sum."""
    n = keep.shape[1]
    k = members.shape[1]
    zero = np.zeros(n)
    R = np.empty((k, n))
    u = np.empty(k)
    a = np.ones(n)
    b = np.zeros(n)
    for i in range(n + 1):
        for j in range(n + 1):
            Q[i, j] = 0.0
    far = 1.0
    for t in range(word.size):
        s = word[t]
        far *= discount
        for i in range(n):
            b[i] = keep[s, i] * b[i] + push[s, i]
            a[i] *= keep[s, i]
    for t in range(word.size - 1, -1, -1):
        step_back(
            word[t], discount, keep, push, omega, members, sizes, least, bend, factor, Q, zero,
            R, u,
        )  # fmt: skip
    for i in range(n):
        for j in range(n):
            Q[i, j] /= 1.0 - far * a[i] * a[j]
    corner = Q[n, n]
    for i in range(n):
        turned = 0.0
        for j in range(n):
            turned += Q[i, j] * b[j]
        edge = (Q[i, n] + far * a[i] * turned) / (1.0 - far * a[i])
        Q[i, n] = edge
        Q[n, i] = edge
        corner += far * b[i] * (2.0 * edge + turned)
    Q[n, n] = corner / (1.0 - far)


@jit
def tail_values(words, lengths, discount, keep, push, omega, members, sizes, least, bend, factor,
                e, out):  # fmt: skip
    """out[w] = cost of repeating the w-th word (padded) without end from errors e."""
    Q = np.empty((e.size + 1, e.size + 1))
    for w in range(lengths.size):
        repeat_forever(
            words[w, : lengths[w]], discount, keep, push, omega, members, sizes, least, bend,
            factor, Q,
        )  # fmt: skip
        out[w] = quadratic(Q, e)


@jit
def error_prices(
    positions, e, paid, weight, discount, Q, keep, push, calm_keep, calm_push, moved, omega,
    members, sizes, least, bend, factor, out,
):  # fmt: skip
    """out[p] = paid + weight (loss_s(e) + δ g'Qg after s): one product with Q for all sets."""
    n = e.size
    q = np.empty(n)
    calm = np.empty(n)
    turned = np.empty(n)
    d = np.empty(moved.shape[1])
    for i in range(n):
        product = 0.0
        for j in range(n):
            product += omega[i, j] * e[j]
        q[i] = product
        calm[i] = calm_keep[i] * e[i] + calm_push[i]
    ahead = Q[n, n]
    for i in range(n):
        product = Q[i, n]
        for j in range(n):
            product += Q[i, j] * calm[j]
        turned[i] = 2.0 * product
        ahead += calm[i] * (product + Q[i, n])
    losses_of_all(positions, q, members, sizes, least, bend, factor, out)
    for p in range(positions.size):
        s = positions[p]
        change = 0.0
        for x in range(moved.shape[1]):
            i = moved[s, x]
            if i < 0:
                break
            d[x] = keep[s, i] * e[i] + push[s, i] - calm[i]
            row = turned[i] + Q[i, i] * d[x]
            for y in range(x):
                row += 2.0 * Q[i, moved[s, y]] * d[y]
            change += d[x] * row
        out[p] = paid + weight * (out[p] + discount * (ahead + change))
