"""Compiled: how the cost of what is left changes with people's mean weights and their spread.

The other direction of `_belief_kernels.py`: slopes go backward through a schedule, and with them
every set is priced in one round.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.jit import hot_jit, jit
from preceptor.model._surface_kernels import pair_slopes
from preceptor.people._belief_kernels import (
    averages,
    gain_of,
    pace_of,
    play_beliefs,
    read_belief,
    root_of,
)
from preceptor.people._score_kernels import moments_of

# Slopes across a spread of nothing are taken this far apart, in units of score variance.
_APART = 1e-7


@hot_jit
def _slope(
    s, k, point, turned, weight2, along, pace_weight, kappa, numbers2, surface2, variance, target,
    numbers, surface, out,
):  # fmt: skip
    """Slope of loss + weight2 s² - pace_weight along·κ2 w, per unit of w, at a point."""
    shared, own = moments_of(s, k, point, variance, target, turned)
    by_shared, by_own = pair_slopes(numbers, surface, shared, own)
    also_shared, also_own = pair_slopes(numbers2, surface2, shared, own)
    by_shared += weight2 * also_shared
    by_own += weight2 * also_own
    pace, slower = pace_of(kappa, own)
    inside = 0.0
    for i in range(k):
        inside += along[i] * point[i]
    by_own -= pace_weight * slower * inside
    for i in range(k):
        out[i] = by_shared * target[s, i] + 2.0 * by_own * turned[i] - pace_weight * pace * along[i]


@jit
def back_beliefs(
    path, rates, states, adjoints, discount, pull, all_weights, leak, home, kappa, numbers2,
    surface2, omega, members, sizes, solved, variance, target, prices, numbers, surface,
):  # fmt: skip
    """Slopes of what is left of the cost, per unit of state (rounds + 1, ...); the last is given.

    The mean, the spread and what the spread does to both are followed; how the mean changes the
    pace at which spread shrinks is not.
    """
    n, widest = omega.shape[0], members.shape[1]
    F, FC, BG = np.empty((widest, n)), np.empty((widest, n)), np.empty((widest, n))
    MB, XF = np.empty((widest, n)), np.empty((widest, n))
    W, L, J = np.empty((widest, widest)), np.empty((widest, widest)), np.empty((widest, widest))
    M, G, X = np.empty((widest, widest)), np.empty((widest, widest)), np.empty((widest, widest))
    up, down = np.empty(widest), np.empty(widest)
    w, q, point, turned = np.empty(widest), np.empty(widest), np.empty(widest), np.empty(widest)
    push, along, slope = np.empty(widest), np.empty(widest), np.empty(widest)
    for t in range(path.size - 1, -1, -1):
        s = path[t]
        k, rate = sizes[s], rates[t]
        h, C = states[t, :n], states[t, n:].reshape((n, n))
        later, D = adjoints[t + 1, :n], adjoints[t + 1, n:].reshape((n, n))
        now, E = adjoints[t, :n], adjoints[t, n:].reshape((n, n))
        kept = (1.0 - leak) * discount
        kept2 = (1.0 - leak) * kept
        for i in range(n):
            now[i] = kept * later[i]
            for j in range(n):
                E[i, j] = kept2 * D[i, j]
        if k == 0:
            continue
        read_belief(s, k, n, h, C, omega, members, solved, F, FC, w, W)
        averages(
            s, k, w, W, L, point, turned, q, J, kappa, numbers2, surface2, variance, target,
            numbers, surface,
        )  # fmt: skip
        gain_of(s, k, rate, variance, J, M)
        # B'λ, B'Λ and B'ΛB, already discounted
        for i in range(k):
            row = members[s, i]
            push[i] = now[row]
            for j in range(n):
                BG[i, j] = E[row, j]
            if all_weights:
                push[i] = 0.0
                for j in range(n):
                    push[i] += F[i, j] * now[j]
                    total = 0.0
                    for l in range(n):
                        total += F[i, l] * E[l, j]
                    BG[i, j] = total
        trace = 0.0
        for i in range(k):
            for j in range(k):
                if all_weights:
                    total = 0.0
                    for l in range(n):
                        total += BG[i, l] * F[j, l]
                    G[i, j] = total
                else:
                    G[i, j] = BG[i, members[s, j]]
                trace += G[i, j] * variance[s, i, j]
        for i in range(k):
            along[i] = 0.0
            for j in range(k):
                along[i] += variance[s, i, j] * push[j]
        # Slopes at the points: their mean, and their differences for the spread.
        root_of(s, k, W, variance, _APART, L)
        reach = math.sqrt(k)
        weight2 = rate * rate * trace
        for i in range(k):
            slope[i] = 0.0
        for at in range(k):
            for side in range(2):
                for i in range(k):
                    point[i] = w[i] + (reach if side == 0 else -reach) * L[i, at]
                _slope(
                    s, k, point, turned, weight2, along, rate, kappa, numbers2, surface2, variance,
                    target, numbers, surface, up if side == 0 else down,
                )  # fmt: skip
            for i in range(k):
                slope[i] += (up[i] + down[i]) / (2.0 * k)
                X[i, at] = (up[i] - down[i]) / (2.0 * reach)
        # X L⁻¹, column by column from the last
        for i in range(k):
            for j in range(k - 1, -1, -1):
                total = X[i, j]
                for l in range(j + 1, k):
                    total -= X[i, l] * L[l, j]
                X[i, j] = total / L[j, j]
        for i in range(k):
            for j in range(i + 1):
                middle = 0.25 * (X[i, j] + X[j, i])
                X[i, j] = middle
                X[j, i] = middle
        # M'GM on top, and the cross term F'M'(B'Λ)
        for i in range(k):
            for j in range(k):
                total = 0.0
                for a in range(k):
                    for b in range(k):
                        total += M[a, i] * G[a, b] * M[b, j]
                X[i, j] += total
            for j in range(n):
                total = 0.0
                for a in range(k):
                    total += M[a, i] * BG[a, j]
                MB[i, j] = total
        for i in range(k):
            for j in range(n):
                total = MB[i, j]
                for l in range(k):
                    total += X[i, l] * F[l, j]
                XF[i, j] = total
        for i in range(k):
            for j in range(n):
                now[j] += F[i, j] * slope[i]
                for l in range(n):
                    # F'(MB + XF) + MB'F, where MB is counted once in XF
                    E[j, l] += F[i, j] * XF[i, l] + MB[i, j] * F[i, l]


@jit
def belief_prices(
    positions, state, rate, adjoint, discount, out, pull, all_weights, leak, home, kappa, numbers2,
    surface2, omega, members, sizes, solved, variance, target, prices, numbers, surface,
):  # fmt: skip
    """out[p] = loss of the p-th set + δ x slopes x the belief after it."""
    states, losses = np.empty((2, state.size)), np.empty(1)
    states[0] = state
    for p in range(positions.size):
        play_beliefs(
            positions[p : p + 1], np.full(1, rate), states, losses, pull, all_weights, leak, home,
            kappa, numbers2, surface2, omega, members, sizes, solved, variance, target, prices,
            numbers, surface,
        )  # fmt: skip
        later = 0.0
        for x in range(state.size):
            later += adjoint[x] * states[1, x]
        out[p] = losses[0] + discount * later
