"""Compiled: scores of sets and what they are charged, for people whose weights are known.

Letters as in `scores.py`. How a round moves the state z (n numbers) is said by `mode`:

    0   exposures: one more if shown, times `fade` if hidden; weights follow from curves elsewhere
    1   weights: keep z + push, and rows z on top for the shown ones (no rows for most kinds)
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import hot_jit, jit
from preceptor.model._surface_kernels import pair_charge, pair_slopes


@hot_jit
def read_score(s, k, seen, members, solved, w):
    """w = Ω_SS⁻¹ seen_S, for seen = Ωh."""
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += solved[s, i, j] * seen[members[s, j]]
        w[i] = total


@hot_jit
def moments_of(s, k, w, variance, target, spread):
    """c and vp of a score w·x_S; V w is left in `spread`."""
    shared, own = 0.0, 0.0
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += variance[s, i, j] * w[j]
        spread[i] = total
        shared += target[s, i] * w[i]
        own += w[i] * total
    return shared, max(own, 0.0)


@hot_jit
def seen_of(omega, weights, seen):
    """Ωh."""
    for i in range(seen.size):
        total = 0.0
        for j in range(seen.size):
            total += omega[i, j] * weights[j]
        seen[i] = total


@jit
def path_losses(
    path, weights, losses, omega, members, sizes, solved, variance, target, prices, numbers,
    surface,
):  # fmt: skip
    """Loss of each round, with the weights (rounds, n) that people have then."""
    seen = np.empty(omega.shape[0])
    w, spread = np.empty(members.shape[1]), np.empty(members.shape[1])
    for t in range(path.size):
        s = path[t]
        k = sizes[s]
        seen_of(omega, weights[t], seen)
        read_score(s, k, seen, members, solved, w)
        shared, own = moments_of(s, k, w, variance, target, spread)
        losses[t] = pair_charge(numbers, surface, shared, own) + prices[s]


@jit
def path_slopes(
    path, weights, slopes, omega, members, sizes, solved, variance, target, prices, numbers,
    surface,
):  # fmt: skip
    """How the loss of each round changes per unit of each weight (rounds, n)."""
    n = omega.shape[0]
    seen = np.empty(n)
    w, spread = np.empty(members.shape[1]), np.empty(members.shape[1])
    turned = np.empty(members.shape[1])
    for t in range(path.size):
        s = path[t]
        k = sizes[s]
        seen_of(omega, weights[t], seen)
        read_score(s, k, seen, members, solved, w)
        shared, own = moments_of(s, k, w, variance, target, spread)
        by_shared, by_own = pair_slopes(numbers, surface, shared, own)
        for i in range(k):
            turned[i] = 0.0
        for i in range(k):
            slope = by_shared * target[s, i] + 2.0 * by_own * spread[i]
            for j in range(k):
                turned[j] += solved[s, i, j] * slope
        for j in range(n):
            total = 0.0
            for i in range(k):
                total += turned[i] * omega[members[s, i], j]
            slopes[t, j] = total


@jit
def walk_states(path, states, members, sizes, mode, fade, keep, push, rows):
    """States (rounds + 1, n) before every round and after the last; the first one is given."""
    n = states.shape[1]
    for t in range(path.size):
        s = path[t]
        now, later = states[t], states[t + 1]
        if mode == 0:
            for i in range(n):
                later[i] = now[i] * fade
            for i in range(sizes[s]):
                later[members[s, i]] = now[members[s, i]] + 1.0
            continue
        for i in range(n):
            later[i] = keep[s, i] * now[i] + push[s, i]
        if rows.shape[0] > 0:
            for i in range(sizes[s]):
                total = 0.0
                for j in range(n):
                    total += rows[s, i, j] * now[j]
                later[members[s, i]] += total


@jit
def walk_back(path, slopes, adjoints, discount, members, sizes, mode, fade, keep, rows):
    """Slopes of what is left of the cost (rounds + 1, n), per unit of state; the last is given."""
    n = adjoints.shape[1]
    for t in range(path.size - 1, -1, -1):
        s = path[t]
        later, now = adjoints[t + 1], adjoints[t]
        if mode == 0:
            for i in range(n):
                now[i] = slopes[t, i] + discount * fade * later[i]
            for i in range(sizes[s]):
                j = members[s, i]
                now[j] = slopes[t, j] + discount * later[j]
            continue
        for i in range(n):
            now[i] = slopes[t, i] + discount * keep[s, i] * later[i]
        if rows.shape[0] > 0:
            for i in range(sizes[s]):
                factor = discount * later[members[s, i]]
                for j in range(n):
                    now[j] += factor * rows[s, i, j]


@jit
def set_prices(
    positions, state, weights, adjoint, discount, out, mode, fade, keep, push, rows, omega,
    members, sizes, solved, variance, target, prices, numbers, surface,
):  # fmt: skip
    """Each set's loss now, and to first order what it makes of all later rounds."""
    n = state.size
    seen = np.empty(n)
    w, spread = np.empty(members.shape[1]), np.empty(members.shape[1])
    seen_of(omega, weights, seen)
    fading = 0.0
    for i in range(n):
        fading += adjoint[i] * state[i] * fade
    for position in range(positions.size):
        s = positions[position]
        k = sizes[s]
        read_score(s, k, seen, members, solved, w)
        shared, own = moments_of(s, k, w, variance, target, spread)
        later = 0.0
        if mode == 0:
            later = fading
            for i in range(k):
                j = members[s, i]
                later += adjoint[j] * (state[j] + 1.0 - fade * state[j])
        else:
            for i in range(n):
                later += adjoint[i] * (keep[s, i] * state[i] + push[s, i])
            if rows.shape[0] > 0:
                for i in range(k):
                    total = 0.0
                    for j in range(n):
                        total += rows[s, i, j] * state[j]
                    later += adjoint[members[s, i]] * total
        out[position] = pair_charge(numbers, surface, shared, own) + prices[s] + discount * later
