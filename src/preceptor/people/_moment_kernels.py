"""Compiled recursions of second moments: one round forward, one back, and prices of all sets.

The state is P = E[g g'] with g = (errors, 1), n + 1 numbers each. A round with set S, k of whose
tests are shown, moves it by low-rank updates. Prices of all sets share a few products of n + 1 by
n + 1 matrices per round; each set then reads k by k slices of them. Names follow `moments.py`.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.jit import hot_jit, inline_jit, jit

_ROOT_TWO = math.sqrt(2.0)


@inline_jit
def _capped(cap, variance):
    """Of a normal surprise z clipped at ±cap: mean slope, E[clip²] and half of E[(clip²)'']."""
    if cap <= 0.0:
        return 1.0, variance, 1.0
    ratio = cap / math.sqrt(variance)
    within = math.erf(ratio / _ROOT_TWO)
    density = math.exp(-0.5 * ratio * ratio) / math.sqrt(2.0 * math.pi)
    square = variance * (within - 2.0 * ratio * density) + cap * cap * (1.0 - within)
    return within, square, within - 2.0 * ratio * density


@hot_jit
def times(left, right, out):
    """out = left @ right as far as both go: small loops load far faster than BLAS calls."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        for l in range(min(left.shape[1], right.shape[0])):
            factor = left[i, l]
            for j in range(out.shape[1]):
                out[i, j] += factor * right[l, j]


@hot_jit
def _times_turned(left, right, out):
    """out = left @ right.T, as far as both go."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for l in range(min(left.shape[1], right.shape[1])):
                total += left[i, l] * right[j, l]
            out[i, j] = total


@hot_jit
def _add_turned_times(left, right, factor, out):
    """out += factor * left.T @ right."""
    for l in range(left.shape[0]):
        for i in range(left.shape[1]):
            share = factor * left[l, i]
            for j in range(right.shape[1]):
                out[i, j] += share * right[l, j]


@hot_jit
def _reading(s, size, members, omega, solved, offset, reading):
    """U = [F | c] (k, n+1): errors to the error of the weights as read off the shown tests."""
    n = omega.shape[0]
    for i in range(size):
        for j in range(n):
            total = 0.0
            for l in range(size):
                total += solved[s, i, l] * omega[members[s, l], j]
            reading[i, j] = total
        reading[i, n] = offset[s, i]


@hot_jit
def _directions(s, size, members, reading, all_weights, directions):
    """B' (k, n): which weights a surprise moves."""
    n = directions.shape[1]
    for i in range(size):
        for j in range(n):
            directions[i, j] = reading[i, j] if all_weights else 0.0
        if not all_weights:
            directions[i, members[s, i]] = 1.0


@hot_jit
def _spread_of(s, size, W, variance, gain2, loss, cap, half, square, VW, out):
    """𝓜[W] + N2 of a full step: what surprises scatter beyond their mean (k, k)."""
    factor = gain2[s]
    if factor == 0.0:
        for i in range(size):
            for j in range(size):
                out[i, j] = 0.0
        return
    slope, _, _ = _capped(cap, loss)
    for i in range(size):
        for j in range(size):
            total = 0.0
            for l in range(size):
                total += variance[s, i, l] * W[l, j]
            VW[i, j] = total
    beyond = 2.0 * half - slope * slope
    for i in range(size):
        for j in range(size):
            total = 0.0
            for l in range(size):
                total += VW[i, l] * variance[s, l, j]
            out[i, j] = factor * (beyond * total + square * variance[s, i, j])


@hot_jit
def fade(P, keep, push):
    """P <- L P L' with L g = (keep e + push, 1), in place; nothing if `keep` is empty."""
    n = keep.size
    for i in range(n):
        for j in range(n + 1):
            P[i, j] = keep[i] * P[i, j] + push[i] * P[n, j]
    for i in range(n):
        for j in range(n + 1):
            P[j, i] = keep[i] * P[j, i] + push[i] * P[j, n]


@hot_jit
def fade_back(Q, keep, push, out):
    """out = L'QL: what errors cost before they faded."""
    n = keep.size
    corner = Q[n, n]
    for i in range(n):
        edge = Q[i, n]
        for j in range(n):
            out[i, j] = keep[i] * keep[j] * Q[i, j]
            edge += Q[i, j] * push[j]
        out[i, n] = keep[i] * edge
        out[n, i] = out[i, n]
        corner += push[i] * (edge + Q[i, n])
    out[n, n] = corner


@jit
def step(
    P, s, rate, later, members, sizes, omega, variance, solved, offset, residual, own, pull,
    gain2, all_weights, cap, keep, push,
):  # fmt: skip
    """The state after a round with set s, into `later`; gives its expected squared error."""
    size = sizes[s]
    N = P.shape[0]
    n = N - 1
    if size == 0:
        later[:, :] = P
        fade(later, keep, push)
        return residual[s]
    U = np.empty((size, N))
    _reading(s, size, members, omega, solved, offset, U)
    B = np.empty((size, n))
    _directions(s, size, members, U, all_weights, B)
    UP, W = np.empty((size, N)), np.empty((size, size))
    times(U, P, UP)
    _times_turned(UP, U, W)
    loss = residual[s]
    for i in range(size):
        for j in range(size):
            loss += variance[s, i, j] * W[i, j]
    slope, square, half = _capped(cap, loss)
    KP = np.zeros((size, N))
    K = np.zeros((size, N))
    for i in range(size):
        for j in range(N):
            total = own[s, i] * P[members[s, i], j]
            for l in range(size):
                total += pull[s, i, l] * UP[l, j]
            KP[i, j] = rate * slope * total
        for j in range(N):
            total = 0.0
            for l in range(size):
                total += pull[s, i, l] * U[l, j]
            K[i, j] = rate * slope * total
        K[i, members[s, i]] += rate * slope * own[s, i]
    inner = np.empty((size, size))
    _times_turned(KP, K, inner)
    scatter = np.empty((size, size))
    room = np.empty((size, size))
    _spread_of(s, size, W, variance, gain2, loss, cap, half, square, room, scatter)
    for i in range(size):
        for j in range(size):
            inner[i, j] += rate * rate * scatter[i, j]
    later[:, :] = P
    if all_weights:
        for l in range(size):
            for i in range(n):
                for j in range(N):
                    later[i, j] -= B[l, i] * KP[l, j]
                    later[j, i] -= B[l, i] * KP[l, j]
        across = np.empty((size, n))
        times(inner, B, across)
        _add_turned_times(B, across, 1.0, later)
    else:
        for i in range(size):
            row = members[s, i]
            for j in range(N):
                later[row, j] -= KP[i, j]
                later[j, row] -= KP[i, j]
        for i in range(size):
            for j in range(size):
                later[members[s, i], members[s, j]] += inner[i, j]
    fade(later, keep, push)
    return loss


@jit
def back(
    Q, P, s, rate, discount, price, before, members, sizes, omega, variance, solved, offset,
    residual, own, pull, gain2, all_weights, cap, keep, push,
):  # fmt: skip
    """The adjoint before a round with set s from the one after it, Q, into `before`.

    Where surprises are capped the round depends on the state P; the adjoint is then the gradient.
    """
    size = sizes[s]
    N = Q.shape[0]
    n = N - 1
    if keep.size > 0:
        after = Q
        Q = np.empty((N, N))
        fade_back(after, keep, push, Q)
    for i in range(N):
        for j in range(N):
            before[i, j] = discount * Q[i, j]
    before[n, n] += residual[s] + price
    if size == 0:
        return
    U = np.empty((size, N))
    _reading(s, size, members, omega, solved, offset, U)
    B = np.empty((size, n))
    _directions(s, size, members, U, all_weights, B)
    slope, half = 1.0, 1.0
    loss = residual[s]
    W = np.zeros((size, size))
    if cap > 0.0:
        UP = np.empty((size, N))
        times(U, P, UP)
        _times_turned(UP, U, W)
        for i in range(size):
            for j in range(size):
                loss += variance[s, i, j] * W[i, j]
        slope, _, half = _capped(cap, loss)
    K = np.zeros((size, N))
    for i in range(size):
        for j in range(N):
            total = 0.0
            for l in range(size):
                total += pull[s, i, l] * U[l, j]
            K[i, j] = rate * slope * total
        K[i, members[s, i]] += rate * slope * own[s, i]
    BQ = np.zeros((size, N))  # B' Q
    if all_weights:
        for i in range(size):
            for l in range(n):
                for j in range(N):
                    BQ[i, j] += B[i, l] * Q[l, j]
    else:
        for i in range(size):
            for j in range(N):
                BQ[i, j] = Q[members[s, i], j]
    G = np.zeros((size, size))  # B' Q B
    for i in range(size):
        for j in range(size):
            if all_weights:
                for l in range(n):
                    G[i, j] += BQ[i, l] * B[j, l]
            else:
                G[i, j] = BQ[i, members[s, j]]
    GK = np.empty((size, N))
    times(G, K, GK)
    _add_turned_times(K, GK, discount, before)
    _add_turned_times(K, BQ, -discount, before)
    _add_turned_times(BQ, K, -discount, before)
    # What P is charged through W: the round's own error, and the scatter of later weights.
    charge = np.zeros((size, size))
    constant = 0.0
    if gain2[s] != 0.0:
        factor = rate * rate * gain2[s]
        VG = np.zeros((size, size))
        for i in range(size):
            for j in range(size):
                for l in range(size):
                    VG[i, j] += variance[s, i, l] * G[l, j]
        trace = 0.0
        for i in range(size):
            trace += VG[i, i]
        beyond = 2.0 * half - slope * slope
        for i in range(size):
            for j in range(size):
                total = 0.0
                for l in range(size):
                    total += VG[i, l] * variance[s, l, j]
                charge[i, j] = factor * beyond * total
                if cap <= 0.0:
                    charge[i, j] += factor * trace * variance[s, i, j]
        if cap <= 0.0:
            constant = factor * trace * residual[s]
        else:
            # d/dv of -2 <Q, B K P> + <G, K P K' + 𝓜 + N2>, numerically: three smooth scalars.
            nudge = 1e-5 * loss
            up_slope, up_square, up_half = _capped(cap, loss + nudge)
            low_slope, low_square, low_half = _capped(cap, loss - nudge)
            turned = 0.0  # <Q, B K P>
            for i in range(size):
                for j in range(N):
                    for l in range(N):
                        turned += K[i, j] * P[j, l] * BQ[i, l]
            quartic = 0.0  # <G, V W V>
            for i in range(size):
                for j in range(size):
                    for a in range(size):
                        quartic += VG[a, i] * W[i, j] * variance[s, j, a]
            rising = (
                -2.0 * turned / slope * (up_slope - low_slope)
                + 2.0 * factor * quartic * (up_half - low_half)
                + factor * trace * (up_square - low_square)
            ) / (2.0 * nudge)
            for i in range(size):
                for j in range(size):
                    charge[i, j] += rising * variance[s, i, j]
            # The gradient misses what does not vary with P; totals are replayed, so that is fine.
    for i in range(size):
        for j in range(size):
            charge[i, j] = variance[s, i, j] + discount * charge[i, j]
    charged = np.empty((size, N))
    times(charge, U, charged)
    _add_turned_times(U, charged, 1.0, before)
    before[n, n] += discount * constant


@jit
def walk_back(
    path, states, rates, discount, prices, adjoints, members, sizes, omega, variance, solved,
    offset, residual, own, pull, gain2, all_weights, cap, keep, push,
):  # fmt: skip
    """Adjoints before each round of a path (T+1, N, N) from the last of them."""
    for t in range(path.size - 1, -1, -1):
        s = path[t]
        back(
            adjoints[t + 1], states[t], s, rates[t], discount, prices[s], adjoints[t], members,
            sizes, omega, variance, solved, offset, residual, own, pull, gain2,
            all_weights, cap, keep, push,
        )  # fmt: skip


@jit
def prices(
    P, Q, rate, discount, positions, costs, out, members, sizes, omega, variance, solved, offset,
    residual, own, pull, gain2, all_weights, cap, keep, push,
):  # fmt: skip
    """Cost of this round and all later ones for each set, given the adjoint Q after the round."""
    N = P.shape[0]
    n = N - 1
    if keep.size > 0:
        after = Q
        Q = np.empty((N, N))
        fade_back(after, keep, push, Q)
    OP = np.empty((n, N))  # rows of Ω P
    times(omega, P, OP)
    OPO = np.empty((n, n))
    _times_turned(OP, omega, OPO)  # Ω is symmetric
    across = OP[:, n].copy()
    OPQ = np.empty((n, N))
    times(OP, Q, OPQ)
    PQ_last = np.zeros(N)
    for i in range(N):
        for j in range(N):
            PQ_last[j] += P[n, i] * Q[i, j]
    stay = 0.0
    for i in range(N):
        for j in range(N):
            stay += P[i, j] * Q[i, j]
    has_own = np.any(own != 0.0)
    PQ_diagonal = np.zeros(n)
    if has_own:
        for i in range(n):
            for j in range(N):
                PQ_diagonal[i] += P[i, j] * Q[i, j]
    if all_weights:
        OPQO, OQ, OQO = np.empty((n, n)), np.empty((n, N)), np.empty((n, n))
        _times_turned(OPQ, omega, OPQO)
        times(omega, Q, OQ)
        _times_turned(OQ, omega, OQO)
        PQO_last = np.zeros(N)
        for i in range(n):
            for j in range(n):
                PQO_last[j] += PQ_last[i] * omega[i, j]
    else:
        OPQO, OQO, PQO_last = OPQ, omega, PQ_last
    widest = members.shape[1]
    W = np.empty((widest, widest))
    H = np.empty((widest, widest))
    G = np.empty((widest, widest))
    X = np.empty((widest, widest))
    half_way = np.empty((widest, widest))
    scatter = np.empty((widest, widest))
    for position in range(positions.size):
        s = positions[position]
        size = sizes[s]
        if size == 0:
            out[position] = residual[s] + costs[s] + discount * stay
            continue
        # W = U P U'
        for i in range(size):
            for j in range(size):
                total = 0.0
                for l in range(size):
                    total += solved[s, i, l] * OPO[members[s, l], members[s, j]]
                half_way[i, j] = total
        for i in range(size):
            mean = 0.0
            for l in range(size):
                mean += solved[s, i, l] * across[members[s, l]]
            X[i, 0] = mean
        for i in range(size):
            for j in range(i + 1):
                total = (
                    X[i, 0] * offset[s, j]
                    + offset[s, i] * X[j, 0]
                    + offset[s, i] * offset[s, j] * P[n, n]
                )
                for l in range(size):
                    total += half_way[i, l] * solved[s, j, l]
                W[i, j] = total
                W[j, i] = total
        loss = residual[s]
        for i in range(size):
            for j in range(size):
                loss += variance[s, i, j] * W[i, j]
        # H = U P Q B and G = B' Q B
        for i in range(size):
            for j in range(size):
                if all_weights:
                    total = offset[s, i] * PQO_last[members[s, j]]
                    for l in range(size):
                        total += solved[s, i, l] * OPQO[members[s, l], members[s, j]]
                    half_way[i, j] = total
                else:
                    total = offset[s, i] * PQ_last[members[s, j]]
                    for l in range(size):
                        total += solved[s, i, l] * OPQ[members[s, l], members[s, j]]
                    H[i, j] = total
                    G[i, j] = Q[members[s, i], members[s, j]]
        if all_weights:
            for i in range(size):
                for j in range(size):
                    total = 0.0
                    for l in range(size):
                        total += half_way[i, l] * solved[s, j, l]
                    H[i, j] = total
            for i in range(size):
                for j in range(size):
                    total = 0.0
                    for l in range(size):
                        total += solved[s, i, l] * OQO[members[s, l], members[s, j]]
                    half_way[i, j] = total
            for i in range(size):
                for j in range(size):
                    total = 0.0
                    for l in range(size):
                        total += half_way[i, l] * solved[s, j, l]
                    G[i, j] = total
        slope, square, half = _capped(cap, loss)
        # <Q, B K P>, and half_way = pull W
        turned = 0.0
        for i in range(size):
            for j in range(size):
                turned += pull[s, i, j] * H[j, i]
                total = 0.0
                for l in range(size):
                    total += pull[s, i, l] * W[l, j]
                half_way[i, j] = total
        if has_own:
            for i in range(size):
                turned += own[s, i] * PQ_diagonal[members[s, i]]
        # <G, K P K'>
        kept = 0.0
        for i in range(size):
            for j in range(size):
                total = 0.0
                for l in range(size):
                    total += half_way[i, l] * pull[s, j, l]
                kept += G[i, j] * total
        if has_own:
            for i in range(size):
                for j in range(size):
                    # X = U P restricted to the shown tests
                    total = offset[s, i] * P[n, members[s, j]]
                    for l in range(size):
                        total += solved[s, i, l] * OP[members[s, l], members[s, j]]
                    X[i, j] = total
            for i in range(size):
                for j in range(size):
                    mixed = 0.0
                    for l in range(size):
                        mixed += pull[s, i, l] * X[l, j]
                    kept += G[i, j] * (
                        own[s, i] * own[s, j] * P[members[s, i], members[s, j]]
                        + 2.0 * mixed * own[s, j]
                    )
        spread = 0.0
        if gain2[s] != 0.0:
            _spread_of(s, size, W, variance, gain2, loss, cap, half, square, X, scatter)
            for i in range(size):
                for j in range(size):
                    spread += G[i, j] * scatter[i, j]
        pace = rate * slope
        later = stay - 2.0 * pace * turned + pace * pace * kept + rate * rate * spread
        out[position] = loss + costs[s] + discount * later


@jit
def walk(
    path, rates, prices, states, losses, members, sizes, omega, variance, solved, offset,
    residual, own, pull, gain2, all_weights, cap, keep, push,
):  # fmt: skip
    """Losses (T,) of a path, and moments before each round (T+1, N, N) from the first of them."""
    for t in range(path.size):
        s = path[t]
        loss = step(
            states[t], s, rates[t], states[t + 1], members, sizes, omega, variance, solved,
            offset, residual, own, pull, gain2, all_weights, cap, keep, push,
        )  # fmt: skip
        losses[t] = loss + prices[s]
