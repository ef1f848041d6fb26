"""Compiled expectations under yes/no outcomes, for weights that are known and for their moments.

Letters as in `set_readings.py`; `scores` are the tuple (omega, members, sizes, solved, variance,
target, prices, numbers, surface, levels), `moves` (keep, push, rows). A round changes the state z
(n numbers: weights, or exposure from which curves give the weights elsewhere) to keep z + push,
plus rows z for the shown ones (no rows for most kinds).

If people learn the level, the last test of every set is a constant of 1 and `levels` are evenly
spaced places at which charges are tabulated; otherwise `levels` is empty, and there is one table.
The variance of the score is then w'Vw without the square of the level.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.jit import hot_jit, jit
from preceptor.model._loss_kernels import (
    pair_charge,
    pair_slopes,
    threshold_charge,
    threshold_slopes,
)
from preceptor.people._linear_kernels import imputing_rows, multiply, multiply_turned


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
def near_levels(level, levels):
    """First of four levels around one, and its distance from it in steps, for cubics."""
    step = levels[1] - levels[0]
    place = min(max((level - levels[0]) / step, 0.0), levels.size - 1.0)
    first = min(max(int(place) - 1, 0), levels.size - 4)
    return first, place - first, step


@hot_jit
def cubic(i, t):
    """Weight of the i-th of four points 0, 1, 2, 3 in the cubic through them, and its slope."""
    if i == 0:
        return -(t - 1.0) * (t - 2.0) * (t - 3.0) / 6.0, -(3.0 * t * t - 12.0 * t + 11.0) / 6.0
    if i == 1:
        return t * (t - 2.0) * (t - 3.0) / 2.0, (3.0 * t * t - 10.0 * t + 6.0) / 2.0
    if i == 2:
        return -t * (t - 1.0) * (t - 3.0) / 2.0, -(3.0 * t * t - 8.0 * t + 3.0) / 2.0
    return t * (t - 1.0) * (t - 2.0) / 6.0, (3.0 * t * t - 6.0 * t + 2.0) / 6.0


@hot_jit
def charge_of(k, w, shared, own, numbers, surface, levels):
    """Cost of answers with effective weights w, of which the last is the level if there is one."""
    if levels.size == 0:
        return pair_charge(numbers[0], surface[0], shared, own)
    level = w[k - 1]
    own = max(own - level * level, 0.0)
    if numbers[0, 2] > 0.0:
        return threshold_charge(numbers[0], surface[0], numbers[0, 1] - level, shared, own)
    first, t, _ = near_levels(level, levels)
    total = 0.0
    for i in range(4):
        weight, _ = cubic(i, t)
        total += weight * pair_charge(numbers[first + i], surface[first + i], shared, own)
    return total


@hot_jit
def slopes_of(k, w, shared, own, numbers, surface, levels):
    """Slopes of `charge_of` per unit of covariance, variance of the score, and level."""
    if levels.size == 0:
        by_shared, by_own = pair_slopes(numbers[0], surface[0], shared, own)
        return by_shared, by_own, 0.0
    level = w[k - 1]
    own = max(own - level * level, 0.0)
    if numbers[0, 2] > 0.0:
        theta = numbers[0, 1] - level
        by_shared, by_own, by_theta = threshold_slopes(numbers[0], surface[0], theta, shared, own)
        return by_shared, by_own, -by_theta
    first, t, step = near_levels(level, levels)
    by_shared, by_own, by_level = 0.0, 0.0, 0.0
    for i in range(4):
        weight, turn = cubic(i, t)
        along, across = pair_slopes(numbers[first + i], surface[first + i], shared, own)
        by_shared += weight * along
        by_own += weight * across
        by_level += turn * pair_charge(numbers[first + i], surface[first + i], shared, own) / step
    return by_shared, by_own, by_level


@hot_jit
def seen_of(omega, weights, seen):
    """Ωh."""
    for i in range(seen.size):
        total = 0.0
        for j in range(seen.size):
            total += omega[i, j] * weights[j]
        seen[i] = total


@jit
def path_losses(path, weights, losses, scores):
    """Loss of each round, given the weights (rounds, n)."""
    omega, members, sizes, solved, variance, target, prices, numbers, surface, levels = scores
    seen = np.empty(omega.shape[0])
    w, spread = np.empty(members.shape[1]), np.empty(members.shape[1])
    for t in range(path.size):
        s = path[t]
        k = sizes[s]
        seen_of(omega, weights[t], seen)
        read_score(s, k, seen, members, solved, w)
        shared, own = moments_of(s, k, w, variance, target, spread)
        losses[t] = charge_of(k, w, shared, own, numbers, surface, levels) + prices[s]


@jit
def path_slopes(path, weights, slopes, scores):
    """Gradient of the loss of each round with respect to the weights (rounds, n)."""
    omega, members, sizes, solved, variance, target, _, numbers, surface, levels = scores
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
        by_shared, by_own, by_level = slopes_of(k, w, shared, own, numbers, surface, levels)
        for i in range(k):
            turned[i] = 0.0
        for i in range(k):
            slope = by_shared * target[s, i] + 2.0 * by_own * spread[i]
            if levels.size > 0 and i == k - 1:
                slope = by_level
            for j in range(k):
                turned[j] += solved[s, i, j] * slope
        for j in range(n):
            total = 0.0
            for i in range(k):
                total += turned[i] * omega[members[s, i], j]
            slopes[t, j] = total


@jit
def walk_states(path, states, moves, scores):
    """States (rounds + 1, n) before every round and after the last; the first one is given."""
    keep, push, rows = moves
    members, sizes = scores[1:3]
    n = states.shape[1]
    for t in range(path.size):
        s = path[t]
        now, later = states[t], states[t + 1]
        for i in range(n):
            later[i] = keep[s, i] * now[i] + push[s, i]
        if rows.shape[0] > 0:
            for i in range(sizes[s]):
                total = 0.0
                for j in range(n):
                    total += rows[s, i, j] * now[j]
                later[members[s, i]] += total


@jit
def walk_states_back(path, slopes, adjoints, discount, moves, scores):
    """Gradients of the remaining cost (rounds + 1, n) per unit of state; the last is given."""
    keep, _, rows = moves
    members, sizes = scores[1:3]
    n = adjoints.shape[1]
    for t in range(path.size - 1, -1, -1):
        s = path[t]
        later, now = adjoints[t + 1], adjoints[t]
        for i in range(n):
            now[i] = slopes[t, i] + discount * keep[s, i] * later[i]
        if rows.shape[0] > 0:
            for i in range(sizes[s]):
                factor = discount * later[members[s, i]]
                for j in range(n):
                    now[j] += factor * rows[s, i, j]


@jit
def set_prices(positions, state, weights, adjoint, discount, out, moves, scores):
    """Each set's loss now, plus its first-order effect on all later rounds."""
    keep, push, rows = moves
    omega, members, sizes, solved, variance, target, prices, numbers, surface, levels = scores
    n = state.size
    seen = np.empty(n)
    w, spread = np.empty(members.shape[1]), np.empty(members.shape[1])
    seen_of(omega, weights, seen)
    for position in range(positions.size):
        s = positions[position]
        k = sizes[s]
        read_score(s, k, seen, members, solved, w)
        shared, own = moments_of(s, k, w, variance, target, spread)
        later = 0.0
        for i in range(n):
            later += adjoint[i] * (keep[s, i] * state[i] + push[s, i])
        if rows.shape[0] > 0:
            for i in range(k):
                total = 0.0
                for j in range(n):
                    total += rows[s, i, j] * state[j]
                later += adjoint[members[s, i]] * total
        charge = charge_of(k, w, shared, own, numbers, surface, levels)
        out[position] = charge + prices[s] + discount * later


# Compiled recursion of the mean and covariance of weights under yes/no outcomes, and its cost.
#
# The state is the mean h of the weights and their covariance C, n + n² numbers. For a set S with F
# = Ω_SS⁻¹ Ω[S,:], the effective weights of the shown tests have mean w = Fh and covariance W =
# FCF'. Averages over people are averages over the 2k sigma points w ± √k L_i with LL' = W, which
# match all moments up to the third. Letters as in `yes_no_expectation.py`.

# Score variances below this count as zero.
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
def pace_at(terms, base, own):
    """κ2 at a base score, its slopes per unit of variance and of base, and the share of yes.

    The slope of the share per unit of variance is half of that of κ2 per unit of base.
    """
    pace, slower, moved, share = 0.0, 0.0, 0.0, 0.0
    for i in range(terms.shape[1]):
        square = terms[1, i] * terms[1, i] + own
        width = math.sqrt(square)
        z = base / width
        height = terms[0, i] * math.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * width)
        pace += height
        slower += height * 0.5 * (z * z - 1.0) / square
        moved -= height * z / width
        share += terms[0, i] * 0.5 * math.erfc(-z / math.sqrt(2.0))
    return pace, slower, moved, share


@hot_jit
def root_of(s, k, W, variance, apart, L):
    """Write L with LL' = W plus a small ridge; return whether W is more than rounding."""
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
def averages(s, k, w, W, L, point, turned, q, J, rule, scores):
    """Mean loss and squared surprise; E[κ2 w] into q, and E of its slopes (k, k) into J."""
    kappa, numbers2, surface2, terms, base, prevalence = rule[4:]
    variance, target, _, numbers, surface, levels = scores[4:]
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
        loss += share * charge_of(k, point, shared, own, numbers, surface, levels)
        square += share * charge_of(k, point, shared, own, numbers2, surface2, levels)
        if levels.size > 0:
            # The last row is that of the level, which moves by the share of yes that is expected.
            level = point[k - 1]
            pace, slower, moved, yes = pace_at(terms, base + level, max(own - level * level, 0.0))
            for i in range(k - 1):
                q[i] += share * pace * point[i]
                J[i, i] += share * pace
                for j in range(k - 1):
                    J[i, j] += share * 2.0 * slower * point[i] * turned[j]
                J[i, k - 1] += share * moved * point[i]
                J[k - 1, i] += share * moved * turned[i]
            q[k - 1] += share * (yes - prevalence)
            J[k - 1, k - 1] += share * pace
            continue
        pace, slower = pace_of(kappa, own)
        for i in range(k):
            q[i] += share * pace * point[i]
            J[i, i] += share * pace
            for j in range(k):
                J[i, j] += share * 2.0 * slower * point[i] * turned[j]
    return loss, square


@hot_jit
def gain_of(s, k, rate, variance, J, M):
    """M = -rate V J: derivative of the step of the shown weights with respect to w."""
    multiply(variance[s], J, k, k, k, M)
    for i in range(k):
        for j in range(k):
            M[i, j] *= -rate


@hot_jit
def read_belief(s, k, n, h, C, omega, members, solved, F, FC, w, W):
    """F, FC, w = Fh and W = FCF'."""
    imputing_rows(s, k, n, members, omega, solved, F)
    for i in range(k):
        w[i] = 0.0
        for j in range(n):
            w[i] += F[i, j] * h[j]
    multiply(F, C, k, n, n, FC)
    multiply_turned(FC, F, k, n, k, W)


@jit
def play_beliefs(path, rates, states, losses, rule, scores):
    """States (rounds + 1, n + n²) along a path, and the loss of each round."""
    pull, all_weights, leak, home = rule[:4]
    omega, members, sizes, solved, variance, target, prices = scores[:7]
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
        loss, square = averages(s, k, w, W, L, point, turned, q, J, rule, scores)
        losses[t] = loss + prices[s]
        gain_of(s, k, rate, variance, J, M)
        # M FC, and the covariance that the round adds: X = M W M' + rate² E[s²] V
        multiply(M, FC, k, k, n, BM)
        multiply(M, W, k, k, k, L)
        multiply_turned(L, M, k, k, k, X)
        for i in range(k):
            for j in range(k):
                X[i, j] += rate * rate * square * variance[s, i, j]
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


# Compiled gradients of the remaining cost with respect to the mean and covariance of weights.
#
# The backward pass of the recursion above: gradients propagate backward through a schedule, and
# price every set in one round.

# Step of the difference quotient where there is no spread, in units of score variance.
_APART = 1e-7


@hot_jit
def _slope(s, k, point, turned, weight2, along, pace_weight, rule, scores, out):
    """Slope of loss + weight2 s² - pace_weight along·κ2 w, per unit of w, at a point."""
    kappa, numbers2, surface2, terms, base, _ = rule[4:]
    variance, target, _, numbers, surface, levels = scores[4:]
    shared, own = moments_of(s, k, point, variance, target, turned)
    by_shared, by_own, by_level = slopes_of(k, point, shared, own, numbers, surface, levels)
    also_shared, also_own, also_level = slopes_of(k, point, shared, own, numbers2, surface2, levels)
    by_shared += weight2 * also_shared
    by_own += weight2 * also_own
    inside = 0.0
    if levels.size > 0:
        level = point[k - 1]
        pace, slower, moved, _ = pace_at(terms, base + level, max(own - level * level, 0.0))
        for i in range(k - 1):
            inside += along[i] * point[i]
        by_own -= pace_weight * (slower * inside + 0.5 * moved * along[k - 1])
        for i in range(k - 1):
            out[i] = by_shared * target[s, i] + 2.0 * by_own * turned[i]
            out[i] -= pace_weight * pace * along[i]
        out[k - 1] = by_level + weight2 * also_level
        out[k - 1] -= pace_weight * (moved * inside + pace * along[k - 1])
        return
    pace, slower = pace_of(kappa, own)
    for i in range(k):
        inside += along[i] * point[i]
    by_own -= pace_weight * slower * inside
    for i in range(k):
        out[i] = by_shared * target[s, i] + 2.0 * by_own * turned[i] - pace_weight * pace * along[i]


@jit
def back_beliefs(path, rates, states, adjoints, discount, rule, scores):
    """Gradients of the remaining cost (rounds + 1, ...) per unit of state; the last is given.

    Includes the effect of mean and covariance on each other, except that of the mean on the rate
    at which the covariance shrinks.
    """
    all_weights, leak = rule[1:3]
    omega, members, sizes, solved, variance = scores[:5]
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
        averages(s, k, w, W, L, point, turned, q, J, rule, scores)
        gain_of(s, k, rate, variance, J, M)
        # B'λ, B'Λ and B'ΛB, already discounted
        for i in range(k):
            row = members[s, i]
            push[i] = now[row]
            for j in range(n):
                BG[i, j] = E[row, j]
            for j in range(k):
                G[i, j] = BG[i, members[s, j]]
        if all_weights:
            multiply(F, E, k, n, n, BG)
            multiply_turned(BG, F, k, n, k, G)
            for i in range(k):
                push[i] = 0.0
                for j in range(n):
                    push[i] += F[i, j] * now[j]
        trace = 0.0
        for i in range(k):
            along[i] = 0.0
            for j in range(k):
                trace += G[i, j] * variance[s, i, j]
                along[i] += variance[s, i, j] * push[j]
        # Slopes at the sigma points: their mean, and their differences for the covariance.
        root_of(s, k, W, variance, _APART, L)
        reach = math.sqrt(k)
        weight2 = rate * rate * trace
        for i in range(k):
            slope[i] = 0.0
        for at in range(k):
            for side in range(2):
                for i in range(k):
                    point[i] = w[i] + (reach if side == 0 else -reach) * L[i, at]
                out = up if side == 0 else down
                _slope(s, k, point, turned, weight2, along, rate, rule, scores, out)
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
        multiply(G, M, k, k, k, L)
        multiply(M.T, L, k, k, k, J)
        for i in range(k):
            for j in range(k):
                X[i, j] += J[i, j]
        multiply(M.T, BG, k, k, n, MB)
        multiply(X, F, k, k, n, XF)
        for i in range(k):
            for j in range(n):
                now[j] += F[i, j] * slope[i]
                for l in range(n):
                    E[j, l] += F[i, j] * (XF[i, l] + MB[i, l]) + MB[i, j] * F[i, l]


@jit
def belief_prices(positions, state, rates, adjoint, discount, out, rule, scores):
    """out[p] = loss of the p-th set + δ x gradient x the state after it."""
    states, losses = np.empty((2, state.size)), np.empty(1)
    states[0] = state
    for p in range(positions.size):
        play_beliefs(positions[p : p + 1], rates, states, losses, rule, scores)
        later = 0.0
        for x in range(state.size):
            later += adjoint[x] * states[1, x]
        out[p] = losses[0] + discount * later
