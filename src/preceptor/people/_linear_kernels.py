"""Compiled recursions of second moments: one round forward, one back, and prices of all sets.

The state is P = E[g g'] with g = (errors, 1), n + 1 numbers each. A round with set S of k tests
applies a low-rank update to P. Prices of all sets share a few products of n + 1 by n + 1 matrices
per round; each set then reads k by k slices of them. Names follow `moments.py`; `readings` are the
tuple (members, sizes, omega, variance, solved, offset, residual), `rules` (own, pull, gain2,
all_weights, cap, keep, push, fixed); `fixed` says whether the last test of every set is a
constant, whose fourth moment is 1 and not 3.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.jit import hot_jit, inline_jit, jit


@inline_jit
def _capped(cap, variance):
    """Of a normal surprise z clipped at ±cap: mean slope, E[clip²] and half of E[(clip²)''].

    The last one is also the derivative of the second with respect to the variance; then those of
    the first and the last.
    """
    if cap <= 0.0:
        return 1.0, variance, 1.0, 0.0, 0.0
    ratio = cap / math.sqrt(variance)
    within = math.erf(ratio / math.sqrt(2.0))
    edge = ratio * math.exp(-0.5 * ratio * ratio) / math.sqrt(2.0 * math.pi)
    half = within - 2.0 * edge
    square = variance * half + cap * cap * (1.0 - within)
    return within, square, half, -edge / variance, -edge * ratio * ratio / variance


@hot_jit
def multiply(left, right, rows, inner, columns, out):
    """out = left @ right, of leading blocks; small loops compile far faster than BLAS calls."""
    for i in range(rows):
        for j in range(columns):
            out[i, j] = 0.0
        for l in range(inner):
            factor = left[i, l]
            for j in range(columns):
                out[i, j] += factor * right[l, j]


@hot_jit
def multiply_turned(left, right, rows, inner, columns, out):
    """out = left @ right.T, of leading blocks."""
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for l in range(inner):
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
def imputing_rows(s, k, n, members, omega, solved, out):
    """F = Ω_SS⁻¹ Ω[S,:] (k, n): how shown tests take up the weights of hidden ones."""
    for i in range(k):
        for j in range(n):
            total = 0.0
            for l in range(k):
                total += solved[s, i, l] * omega[members[s, l], j]
            out[i, j] = total


@hot_jit
def _solved_slice(s, k, matrix, members, solved, out):
    """out = Ω_SS⁻¹ matrix[S, S] (k, k)."""
    for i in range(k):
        for j in range(k):
            total = 0.0
            for l in range(k):
                total += solved[s, i, l] * matrix[members[s, l], members[s, j]]
            out[i, j] = total


@hot_jit
def _gain(s, k, N, pace, members, own, pull, U, K):
    """K = pace (diag(own) I_S + pull U), shape (k, N)."""
    multiply(pull[s], U, k, k, N, K)
    for i in range(k):
        K[i, members[s, i]] += own[s, i]
        for j in range(N):
            K[i, j] *= pace


@hot_jit
def _directions(s, k, members, reading, all_weights, directions):
    """B' (k, n): which weights a surprise moves."""
    n = directions.shape[1]
    for i in range(k):
        for j in range(n):
            directions[i, j] = reading[i, j] if all_weights else 0.0
        if not all_weights:
            directions[i, members[s, i]] = 1.0


@hot_jit
def _spread_of(s, k, W, variance, gain2, loss, cap, half, square, fixed, VW, out):
    """𝓜[W] + N2 of a full step: the scatter (k, k) that surprises add beyond their mean."""
    slope = _capped(cap, loss)[0]
    multiply(variance[s], W, k, k, k, VW)
    multiply_turned(VW, variance[s], k, k, k, out)
    beyond = 2.0 * half - slope * slope
    for i in range(k):
        for j in range(k):
            out[i, j] = gain2[s] * (beyond * out[i, j] + square * variance[s, i, j])
    if fixed:
        out[k - 1, k - 1] -= gain2[s] * 2.0 * half * W[k - 1, k - 1]


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
    """out = L'QL: the adjoint before the errors faded."""
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
def step(P, s, rate, later, readings, rules):
    """Write the state after a round with set s into `later`; return its expected squared error."""
    own, pull, gain2, all_weights, cap, keep, push, fixed = rules
    members, sizes, omega, variance, solved, offset, residual = readings
    k = sizes[s]
    N = P.shape[0]
    n = N - 1
    later[:, :] = P
    if k == 0:
        fade(later, keep, push)
        return residual[s]
    U, B = np.empty((k, N)), np.empty((k, n))
    imputing_rows(s, k, n, members, omega, solved, U)
    U[:, n] = offset[s, :k]
    _directions(s, k, members, U, all_weights, B)
    UP, W = np.empty((k, N)), np.empty((k, k))
    multiply(U, P, k, N, N, UP)
    multiply_turned(UP, U, k, N, k, W)
    loss = residual[s]
    for i in range(k):
        for j in range(k):
            loss += variance[s, i, j] * W[i, j]
    slope, square, half, _, _ = _capped(cap, loss)
    K, KP = np.empty((k, N)), np.empty((k, N))
    _gain(s, k, N, rate * slope, members, own, pull, U, K)
    multiply(K, P, k, N, N, KP)
    inner, scatter = np.empty((k, k)), np.zeros((k, k))
    multiply_turned(KP, K, k, N, k, inner)
    if gain2[s] != 0.0:
        VW = np.empty((k, k))
        _spread_of(s, k, W, variance, gain2, loss, cap, half, square, fixed, VW, scatter)
    for i in range(k):
        for j in range(k):
            inner[i, j] += rate * rate * scatter[i, j]
    if all_weights:
        across = np.empty((k, n))
        multiply(inner, B, k, k, n, across)
        _add_turned_times(B, KP, -1.0, later)
        _add_turned_times(KP, B, -1.0, later)
        _add_turned_times(B, across, 1.0, later)
    else:
        for i in range(k):
            row = members[s, i]
            for j in range(N):
                later[row, j] -= KP[i, j]
                later[j, row] -= KP[i, j]
        for i in range(k):
            for j in range(k):
                later[members[s, i], members[s, j]] += inner[i, j]
    fade(later, keep, push)
    return loss


@jit
def step_back(Q, P, s, rate, discount, price, before, readings, rules):
    """Write the adjoint before a round with set s into `before`, given the one after it, Q.

    Where surprises are capped the round depends on the state P; the adjoint is then the gradient.
    """
    own, pull, gain2, all_weights, cap, keep, push, fixed = rules
    members, sizes, omega, variance, solved, offset, residual = readings
    k = sizes[s]
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
    if k == 0:
        return
    U, B = np.empty((k, N)), np.empty((k, n))
    imputing_rows(s, k, n, members, omega, solved, U)
    U[:, n] = offset[s, :k]
    _directions(s, k, members, U, all_weights, B)
    loss = residual[s]
    W = np.zeros((k, k))
    if cap > 0.0:
        UP = np.empty((k, N))
        multiply(U, P, k, N, N, UP)
        multiply_turned(UP, U, k, N, k, W)
        for i in range(k):
            for j in range(k):
                loss += variance[s, i, j] * W[i, j]
    slope, _, half, by_slope, by_half = _capped(cap, loss)
    K, BQ = np.empty((k, N)), np.empty((k, N))
    G, GK = np.empty((k, k)), np.empty((k, N))
    _gain(s, k, N, rate * slope, members, own, pull, U, K)
    if all_weights:
        multiply(B, Q, k, n, N, BQ)
        multiply_turned(BQ, B, k, n, k, G)
    else:
        for i in range(k):
            for j in range(N):
                BQ[i, j] = Q[members[s, i], j]
            for j in range(k):
                G[i, j] = BQ[i, members[s, j]]
    multiply(G, K, k, k, N, GK)
    _add_turned_times(K, GK, discount, before)
    _add_turned_times(K, BQ, -discount, before)
    _add_turned_times(BQ, K, -discount, before)
    # The charge on P through W: this round's error, and the scatter of later weights.
    charge = np.zeros((k, k))
    constant = 0.0
    if gain2[s] != 0.0:
        factor = rate * rate * gain2[s]
        VG = np.empty((k, k))
        multiply(variance[s], G, k, k, k, VG)
        multiply_turned(VG, variance[s], k, k, k, charge)
        trace = 0.0
        for i in range(k):
            trace += VG[i, i]
        # d/dv of -2 <Q, B K P> + <G, K P K' + 𝓜 + N2>, where a cap makes K depend on v
        rising = factor * trace * half
        constant = rising * residual[s]
        if cap > 0.0:
            turned, quartic = 0.0, 0.0  # <Q, B K P> and <G, V W V>
            for i in range(k):
                for j in range(N):
                    for l in range(N):
                        turned += K[i, j] * P[j, l] * BQ[i, l]
                for j in range(k):
                    quartic += charge[i, j] * W[i, j]
            if fixed:
                quartic -= G[k - 1, k - 1] * W[k - 1, k - 1]
            rising += 2.0 * (factor * quartic * by_half - turned / slope * by_slope)
        beyond = 2.0 * half - slope * slope
        for i in range(k):
            for j in range(k):
                charge[i, j] = factor * beyond * charge[i, j] + rising * variance[s, i, j]
        if fixed:
            charge[k - 1, k - 1] -= 2.0 * factor * half * G[k - 1, k - 1]
    for i in range(k):
        for j in range(k):
            charge[i, j] = variance[s, i, j] + discount * charge[i, j]
    charged = np.empty((k, N))
    multiply(charge, U, k, k, N, charged)
    _add_turned_times(U, charged, 1.0, before)
    before[n, n] += discount * constant


@jit
def walk_back(path, states, rates, discount, prices, adjoints, readings, rules):
    """Fill the adjoints before each round of a path (T+1, N, N), given the last of them."""
    for t in range(path.size - 1, -1, -1):
        s = path[t]
        step_back(
            adjoints[t + 1], states[t], s, rates[t], discount, prices[s], adjoints[t], readings,
            rules,
        )  # fmt: skip


@jit
def prices(P, Q, rate, discount, positions, costs, out, readings, rules):
    """Cost of this round and all later ones for each set, given the adjoint Q after the round."""
    own, pull, gain2, all_weights, cap, keep, push, fixed = rules
    members, sizes, omega, variance, solved, offset, residual = readings
    N = P.shape[0]
    n = N - 1
    if keep.size > 0:
        after = Q
        Q = np.empty((N, N))
        fade_back(after, keep, push, Q)
    OP, OPO, OPQ = np.empty((n, N)), np.empty((n, n)), np.empty((n, N))
    multiply(omega, P, n, n, N, OP)
    multiply_turned(OP, omega, n, n, n, OPO)  # Ω is symmetric
    multiply(OP, Q, n, N, N, OPQ)
    PQ_last, PQ_diagonal = np.zeros(N), np.zeros(n)
    stay = 0.0
    for i in range(N):
        for j in range(N):
            PQ_last[j] += P[n, i] * Q[i, j]
            stay += P[i, j] * Q[i, j]
            if i < n:
                PQ_diagonal[i] += P[i, j] * Q[i, j]
    has_own = np.any(own != 0.0)
    # Ω P Q B, the last row of P Q B, and B' Q B, before each set takes its slices
    OPQB, PQB_last, BQB = OPQ, PQ_last, Q
    if all_weights:
        OPQB, OQ, BQB, PQB_last = np.empty((n, n)), np.empty((n, N)), np.empty((n, n)), np.zeros(N)
        multiply_turned(OPQ, omega, n, n, n, OPQB)
        multiply(omega, Q, n, n, N, OQ)
        multiply_turned(OQ, omega, n, n, n, BQB)
        for i in range(n):
            for j in range(n):
                PQB_last[j] += PQ_last[i] * omega[i, j]
    widest = members.shape[1]
    W, H, G = np.empty((widest, widest)), np.empty((widest, widest)), np.empty((widest, widest))
    X, half_way = np.empty((widest, widest)), np.empty((widest, widest))
    mean = np.empty(widest)
    for position in range(positions.size):
        s = positions[position]
        k = sizes[s]
        if k == 0:
            out[position] = residual[s] + costs[s] + discount * stay
            continue
        # W = U P U'
        _solved_slice(s, k, OPO, members, solved, half_way)
        multiply_turned(half_way, solved[s], k, k, k, W)
        for i in range(k):
            mean[i] = 0.0
            for l in range(k):
                mean[i] += solved[s, i, l] * OP[members[s, l], n]
        loss = residual[s]
        for i in range(k):
            for j in range(k):
                W[i, j] += mean[i] * offset[s, j] + offset[s, i] * mean[j]
                W[i, j] += offset[s, i] * offset[s, j] * P[n, n]
                loss += variance[s, i, j] * W[i, j]
        # H = U P Q B and G = B' Q B
        _solved_slice(s, k, OPQB, members, solved, H)
        for i in range(k):
            for j in range(k):
                H[i, j] += offset[s, i] * PQB_last[members[s, j]]
                G[i, j] = BQB[members[s, i], members[s, j]]
        if all_weights:
            multiply_turned(H, solved[s], k, k, k, half_way)
            H, half_way = half_way, H
            _solved_slice(s, k, BQB, members, solved, half_way)
            multiply_turned(half_way, solved[s], k, k, k, G)
        slope, square, half, _, _ = _capped(cap, loss)
        # turned = <Q, B K P>, kept = <G, K P K'>
        multiply(pull[s], W, k, k, k, half_way)
        multiply_turned(half_way, pull[s], k, k, k, X)
        turned, kept = 0.0, 0.0
        for i in range(k):
            for j in range(k):
                turned += pull[s, i, j] * H[j, i]
                kept += G[i, j] * X[i, j]
        if has_own:
            _solved_slice(s, k, OP, members, solved, X)  # U P restricted to the shown tests
            for i in range(k):
                turned += own[s, i] * PQ_diagonal[members[s, i]]
                for j in range(k):
                    X[i, j] += offset[s, i] * P[n, members[s, j]]
            multiply(pull[s], X, k, k, k, half_way)
            for i in range(k):
                for j in range(k):
                    both = own[s, i] * P[members[s, i], members[s, j]] + 2.0 * half_way[i, j]
                    kept += G[i, j] * both * own[s, j]
        spread = 0.0
        if gain2[s] != 0.0:
            _spread_of(s, k, W, variance, gain2, loss, cap, half, square, fixed, half_way, X)
            for i in range(k):
                for j in range(k):
                    spread += G[i, j] * X[i, j]
        pace = rate * slope
        later = stay - 2.0 * pace * turned + pace * pace * kept + rate * rate * spread
        out[position] = loss + costs[s] + discount * later


@jit
def walk(path, rates, prices, states, losses, readings, rules):
    """Losses (T,) of a path, and moments before each round (T+1, N, N) from the first of them."""
    for t in range(path.size):
        s = path[t]
        loss = step(states[t], s, rates[t], states[t + 1], readings, rules)
        losses[t] = loss + prices[s]


# Compiled recursions for people each of whose errors moves independently.
#
# Legend: round with set s takes error e_i to keep[s,i] e_i + push[s,i]; g = (e, 1), N = n + 1; P =
# E[gg'] (N, N) the state, Q (N, N) the adjoint: the cost from some round on is <Q, P>. Most sets
# move most errors by the same map (usual_keep, usual_push); moved[s] lists those that do not,
# padded with -1. The loss of a round is least_s + E|bend_s + F_s (Ωe)_S|².


@hot_jit
def _row(s, r, omega, members, sizes, bend, factor, row):
    """One row (N,) of the linear map from g to the deviation of set s: F_s Ω[S,:] and the bend."""
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
def walk_errors(path, states, losses, keep, push, model):
    """Losses (T,) of a path, and moments before each round (T+1, N, N) from the first of them."""
    omega, members, sizes, least, bend, factor = model
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
def walk_errors_back(path, discount, adjoints, keep, push, model):
    """Adjoints before each round of a path (T+1, N, N) from the last of them."""
    omega, members, sizes, least, bend, factor = model
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
def repeat_forever(word, discount, keep, push, model, Q):
    """Q of a sequence of sets repeated forever: every product of two errors is a geometric sum."""
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
    walk_errors_back(word, discount, turn, keep, push, model)
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
def error_prices(positions, P, Q, discount, usual_keep, usual_push, moved, keep, push, model, out):
    """out[p] = loss of s + δ <Q, P after s>: a few products with P and Q for all sets."""
    omega, members, sizes, least, bend, factor = model
    n = usual_keep.size
    OP, OPO, q = np.empty((n, n + 1)), np.empty((n, n)), np.empty(n)
    multiply(omega, P, n, n, n + 1, OP)
    multiply(OP, omega, n, n, n, OPO)
    # An error that does not move as usual differs from the usual one by δ_i = k e_i + p:
    # by_error and by_one are the prices of E[g e_i] and E[g] after a usual round along it.
    usual = P.copy()
    fade(usual, usual_keep, usual_push)
    by_error, by_one = np.empty(n), np.empty(n)
    ahead = Q[n, n] * P[n, n]
    for i in range(n):
        q[i] = OP[i, n]
        by_error[i] = Q[i, n] * P[n, i]
        by_one[i] = Q[i, n] * P[n, n]
        for j in range(n):
            by_error[i] += Q[i, j] * (usual_keep[j] * P[j, i] + usual_push[j] * P[n, i])
            by_one[i] += Q[i, j] * usual[j, n]
            ahead += Q[i, j] * usual[i, j]
        ahead += 2.0 * Q[i, n] * usual[i, n]
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
            k, c = keep[s, i] - usual_keep[i], push[s, i] - usual_push[i]
            change += 2.0 * (k * by_error[i] + c * by_one[i])
            for y in range(x + 1):
                j = moved[s, y]
                l, d = keep[s, j] - usual_keep[j], push[s, j] - usual_push[j]
                both = k * (l * P[i, j] + d * P[i, n]) + c * (l * P[n, j] + d * P[n, n])
                change += (1.0 if x == y else 2.0) * Q[i, j] * both
        out[p] = loss + discount * (ahead + change)
