"""Compiled: how yes and no move the mean and the spread of people's weights, and what that costs.

The state is the mean h of the weights and their covariance C, n + n² numbers. A set reads from it
the mean w = Fh and the covariance W = FCF' of what shown tests weigh, F = Ω_SS⁻¹ Ω[S,:]. Averages
over people are averages over the 2k points w ± √k L_i with LL' = W, which are right up to third
moments. Letters as in `scores.py` and `uncertain_answers.py`.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.jit import hot_jit, jit
from preceptor.model._surface_kernels import pair_charge
from preceptor.people._score_kernels import moments_of

# Score variances below this are no spread.
_NO_SPREAD = 1e-13


@hot_jit
def pace_of(kappa, own):
    """κ2 and its slope per unit of variance, read off a table over s/(1 + s)."""
    deviation = math.sqrt(own)
    last = kappa.shape[1] - 1
    place = deviation / (1.0 + deviation) * last
    i = min(int(place), last - 1)
    part = place - i
    return (
        kappa[0, i] + part * (kappa[0, i + 1] - kappa[0, i]),
        kappa[1, i] + part * (kappa[1, i + 1] - kappa[1, i]),
    )


@hot_jit
def root_of(s, k, W, variance, apart, L):
    """L with LL' = W plus a little, and whether there is any spread at all."""
    spread = 0.0
    for i in range(k):
        for j in range(k):
            spread += variance[s, i, j] * W[j, i]
    for i in range(k):
        for j in range(i + 1):
            total = W[i, j]
            if i == j:
                total += apart / variance[s, i, i]
            for l in range(j):
                total -= L[i, l] * L[j, l]
            if i == j:
                L[i, i] = math.sqrt(max(total, 1e-3 * apart / variance[s, i, i]))
            else:
                L[i, j] = total / L[j, j]
        for j in range(i + 1, k):
            L[i, j] = 0.0
    return spread > _NO_SPREAD


@hot_jit
def averages(
    s, k, w, W, L, point, turned, q, J, kappa, numbers2, surface2, variance, target, numbers,
    surface,
):  # fmt: skip
    """Mean loss and squared surprise; E[κ2 w] into q, and E of its slopes (k, k) into J."""
    spread = root_of(s, k, W, variance, _NO_SPREAD, L)
    points = 2 * k if spread else 1
    loss, square = 0.0, 0.0
    for i in range(k):
        q[i] = 0.0
        for j in range(k):
            J[i, j] = 0.0
    share, reach = 1.0 / max(points, 1), math.sqrt(k)
    for at in range(points):
        for i in range(k):
            point[i] = w[i]
            if spread:
                point[i] += (reach if at % 2 == 0 else -reach) * L[i, at // 2]
        shared, own = moments_of(s, k, point, variance, target, turned)
        loss += share * pair_charge(numbers, surface, shared, own)
        square += share * pair_charge(numbers2, surface2, shared, own)
        pace, slower = pace_of(kappa, own)
        for i in range(k):
            q[i] += share * pace * point[i]
            J[i, i] += share * pace
            for j in range(k):
                J[i, j] += share * 2.0 * slower * point[i] * turned[j]
    return loss, square


@hot_jit
def gain_of(s, k, rate, variance, J, M):
    """M = -rate V J: how far shown weights answer to what they weigh now."""
    for i in range(k):
        for j in range(k):
            total = 0.0
            for l in range(k):
                total += variance[s, i, l] * J[l, j]
            M[i, j] = -rate * total


@hot_jit
def read_belief(s, k, n, h, C, omega, members, solved, F, FC, w, W):
    """F, FC, w = Fh and W = FCF'."""
    for i in range(k):
        w[i] = 0.0
        for j in range(n):
            total = 0.0
            for l in range(k):
                total += solved[s, i, l] * omega[members[s, l], j]
            F[i, j] = total
            w[i] += total * h[j]
    for i in range(k):
        for j in range(n):
            FC[i, j] = 0.0
        for l in range(n):
            factor = F[i, l]
            for j in range(n):
                FC[i, j] += factor * C[l, j]
    for i in range(k):
        for j in range(k):
            total = 0.0
            for l in range(n):
                total += FC[i, l] * F[j, l]
            W[i, j] = total


@jit
def play_beliefs(
    path, rates, states, losses, pull, all_weights, leak, home, kappa, numbers2, surface2, omega,
    members, sizes, solved, variance, target, prices, numbers, surface,
):  # fmt: skip
    """States (rounds + 1, n + n²) along a path, and what each round costs."""
    n, widest = omega.shape[0], members.shape[1]
    F, FC, BM = np.empty((widest, n)), np.empty((widest, n)), np.empty((widest, n))
    W, L, J = np.empty((widest, widest)), np.empty((widest, widest)), np.empty((widest, widest))
    M, X = np.empty((widest, widest)), np.empty((widest, widest))
    w, q, point, turned = np.empty(widest), np.empty(widest), np.empty(widest), np.empty(widest)
    for t in range(path.size):
        s = path[t]
        k, rate = sizes[s], rates[t]
        h, C = states[t, :n], states[t, n:].reshape((n, n))
        later, D = states[t + 1, :n], states[t + 1, n:].reshape((n, n))
        read_belief(s, k, n, h, C, omega, members, solved, F, FC, w, W)
        loss, square = averages(
            s, k, w, W, L, point, turned, q, J, kappa, numbers2, surface2, variance, target,
            numbers, surface,
        )  # fmt: skip
        losses[t] = loss + prices[s]
        gain_of(s, k, rate, variance, J, M)
        # M FC, and the spread that the round adds among directions: M W M' + rate² E[s²] V
        for i in range(k):
            for j in range(n):
                total = 0.0
                for l in range(k):
                    total += M[i, l] * FC[l, j]
                BM[i, j] = total
        for i in range(k):
            for j in range(k):
                total = rate * rate * square * variance[s, i, j]
                for a in range(k):
                    for b in range(k):
                        total += M[i, a] * W[a, b] * M[j, b]
                X[i, j] = total
        later[:] = h
        D[:, :] = C
        for i in range(k):
            step = pull * target[s, i]
            for j in range(k):
                step -= variance[s, i, j] * q[j]
            if all_weights:
                for j in range(n):
                    later[j] += rate * step * F[i, j]
                    for l in range(n):
                        D[j, l] += F[i, j] * BM[i, l] + BM[i, j] * F[i, l]
                for l in range(k):
                    for a in range(n):
                        for b in range(n):
                            D[a, b] += F[i, a] * X[i, l] * F[l, b]
                continue
            row = members[s, i]
            later[row] += rate * step
            for j in range(n):
                D[row, j] += BM[i, j]
                D[j, row] += BM[i, j]
            for l in range(k):
                D[row, members[s, l]] += X[i, l]
        if leak > 0.0:
            for i in range(n):
                later[i] = (1.0 - leak) * later[i] + leak * home[i]
                for j in range(n):
                    D[i, j] *= (1.0 - leak) * (1.0 - leak)
