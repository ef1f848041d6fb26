"""All rounds of the general dual, piece by piece; the legend is in `_count_round_kernels`.

A piece j is a round, or all inner rounds of a block: potentials theta[now[j]] before and
theta[later[j]] after, every test shown at most reach[j] times. Each piece writes only its own rows,
so results do not depend on the number of threads.
"""

import math

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inner_jit, jit
from preceptor.engine._count_round_kernels import (
    bend_parts,
    climb,
    count_moments,
    keep_hull,
    round_points,
    set_bound,
    soft_least,
)

# Sets that weigh less than this in a round are left out of its curvature.
SMALL = 1e-4
# So many wide temperatures above the least one, a set weighs less than that.
WINDOW = 9.3


@inner_jit
def add_outer(H, v, scale):
    """Lower half of scale v v'."""
    for q in range(v.size):
        x = scale * v[q]
        if x != 0.0:
            for r in range(q + 1):
                H[q, r] += x * v[r]


@jit
def soft_pieces(
    first, stop, now, later, reach, theta, psi, err, low, high, caps, grid, delta, floor, shift,
    reading, prices, code, tau, knots, shown, lists, sizes, temp, wide, second, y0, soft, best,
    grad, hess, halt,
):  # fmt: skip
    """Soft minimum of pieces first..stop-1 over their listed sets, with derivatives if `second`.

    temp is the temperature of the sets and twice that of the counts; curvature is read at `wide`
    times both. soft (R,), best (R,) the least one's place in its list, grad (R, 6n), hess
    (R, 6n, 6n) lower halves; y0 (R, C, rows) is read as a start and overwritten. Pieces that are
    not done when halt[0] is set are left as they are.
    """
    n = caps.size
    k = shift.shape[1]
    places = grid.size + 2
    e, f = np.empty((n, 2, places)), np.empty((n, 2, places))
    X, counts = np.empty((n, 2, places, 6)), np.empty((n, 2), dtype=np.int64)
    hull_e, hull_f = np.empty((n, 2, places)), np.empty((n, 2, places))
    hull_counts = np.empty((n, 2), dtype=np.int64)
    square, lines = np.empty((2, k, k)), np.empty((5, k))
    root, B, q = square[0], square[1], lines[0]
    W, of_tests = np.empty((k, n)), np.empty((2, n))
    mean, spread = of_tests[0], of_tests[1]
    weight, vectors = np.empty(places), np.empty((2, 6 * n))
    psi_set, psi_all = vectors[0], vectors[1]
    centres, crosses, covs = np.empty((n, 6)), np.empty((n, 6)), np.empty((n, 6, 6))
    tc, steps = 0.5 * temp, np.int64(8)
    for p in range(first, stop):
        if halt[0]:
            return
        round_points(
            reach[p], theta[now[p]], theta[later[p]], psi, err, low, high, caps, grid, delta, e, f,
            X, counts,
        )  # fmt: skip
        # soft minima are below minima by no more than this
        soft_by = 0.0
        for i in range(n):
            soft_by += tc * math.log(counts[i, 0])
            for s in range(2):
                size = counts[i, s]
                copy_into(hull_e[i, s, :size], e[i, s, :size])
                copy_into(hull_f[i, s, :size], f[i, s, :size])
                hull_counts[i, s] = keep_hull(hull_e[i, s], hull_f[i, s], size)
        C = sizes[p]
        value = np.empty(C)
        least = np.inf
        start = best[p] if best[p] < C else 0
        for step in range(C):
            c = (start + step) % C  # last winner first: it gives the others an early exit
            S = lists[p, c]
            limit = least + WINDOW * wide * temp
            value[c] = (
                set_bound(
                    y0[p, c], floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S],
                    hull_e, hull_f, hull_counts, 0.0, q, mean, spread, weight,
                )
                - soft_by
            )  # fmt: skip
            if value[c] >= limit:
                continue
            value[c] = climb(
                y0[p, c], floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S], e,
                f, counts, tc, limit, 1e-3 * tc, steps, q, mean, spread, weight, root, W, B, lines,
            )  # fmt: skip
            if value[c] < least:
                least = value[c]
                best[p] = c
        total, total_wide = 0.0, 0.0
        for c in range(C):
            total += math.exp(-(value[c] - least) / temp)
            share = math.exp(-(value[c] - least) / (wide * temp))
            if share >= SMALL:
                total_wide += share
        soft[p] = least - temp * math.log(total)
        if not second:
            continue
        g, H = grad[p], hess[p]
        g[:] = 0.0
        psi_all[:] = 0.0
        H[:, :] = 0.0
        for c in range(C):
            S = lists[p, c]
            w = math.exp(-(value[c] - least) / temp) / total
            share = math.exp(-(value[c] - least) / (wide * temp))
            if w < 1e-9 and share < SMALL:
                continue
            set_bound(
                y0[p, c], floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S], e,
                f, counts, tc, q, mean, spread, weight,
            )  # fmt: skip
            for i in range(n):
                tilt = 0.0
                for j in range(k):
                    tilt += reading[S, j, i] * q[j]
                s = 1 if shown[S, i] else 0
                if w >= 1e-9:
                    soft_least(e[i, s], f[i, s], counts[i, s], tilt, tc, weight)
                    for a in range(6):
                        x = 0.0
                        for z in range(counts[i, s]):
                            x += weight[z] * X[i, s, z, a]
                        g[(a // 3) * 3 * n + 3 * i + a % 3] += w * x
                if share >= SMALL:
                    _, spread[i] = count_moments(
                        e[i, s], f[i, s], X[i, s], counts[i, s], tilt, wide * tc, weight,
                        centres[i], crosses[i], covs[i],
                    )  # fmt: skip
            if share >= SMALL:
                share /= total_wide
                bend_parts(y0[p, c], floor[S], reading[S], code, tau, knots, spread, root, W, B)
                for i in range(n):
                    for a in range(6):
                        at = (a // 3) * 3 * n + 3 * i + a % 3
                        psi_set[at] = centres[i, a]
                        psi_all[at] += share * centres[i, a]
                        for b in range(a + 1):
                            H[at, (b // 3) * 3 * n + 3 * i + b % 3] += share * covs[i, a, b]
                add_outer(H, psi_set, share / (wide * temp))
                for j in range(k):
                    for i in range(n):
                        x = W[j, i]
                        for r in range(j):
                            x -= B[j, r] * W[r, i]
                        W[j, i] = x / B[j, j]
                        for a in range(6):
                            psi_set[(a // 3) * 3 * n + 3 * i + a % 3] = W[j, i] * crosses[i, a]
                    add_outer(H, psi_set, -share)
        add_outer(H, psi_all, -1.0 / (wide * temp))


@jit
def exact_pieces(
    first, stop, now, later, reach, theta, psi, err, low, high, caps, grid, delta, floor, shift,
    reading, prices, code, tau, knots, shown, actions, cool, most, y0, values, least, halt,
):  # fmt: skip
    """Certified minimum of pieces first..stop-1 over every action and every count.

    y0 (R, A, rows) are the tangent points tried first; those of sets that decide are improved at
    the temperatures `cool`, for at most so many sets a piece. values (R, A) the bounds of single
    sets, least (R,) the minimum. Pieces that are not done when halt[0] is set prove nothing.
    """
    n = caps.size
    k = shift.shape[1]
    places = grid.size + 2
    e, f = np.empty((n, 2, places)), np.empty((n, 2, places))
    X, counts = np.empty((n, 2, places, 6)), np.empty((n, 2), dtype=np.int64)
    square, lines = np.empty((2, k, k)), np.empty((5, k))
    root, B, q, y = square[0], square[1], lines[0], lines[4]
    steps = np.int64(20)
    W, of_tests = np.empty((k, n)), np.empty((3, n))
    mean, spread, common = of_tests[0], of_tests[1], of_tests[2]
    weight = np.empty(places)
    for p in range(first, stop):
        if halt[0]:
            least[p] = -np.inf
            continue
        round_points(
            reach[p], theta[now[p]], theta[later[p]], psi, err, low, high, caps, grid, delta, e, f,
            X, counts,
        )  # fmt: skip
        for i in range(n):
            for s in range(2):
                counts[i, s] = keep_hull(e[i, s], f[i, s], counts[i, s])
        done = np.zeros(actions.size, dtype=np.bool_)
        improved = 0
        for c in range(actions.size):
            S = actions[c]
            values[p, c] = set_bound(
                y0[p, c], floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S], e,
                f, counts, 0.0, q, mean, spread, weight,
            )  # fmt: skip
        while True:
            at = 0
            for c in range(1, actions.size):
                if values[p, c] < values[p, at]:
                    at = c
            if done[at] or improved >= most:
                break
            done[at] = True
            improved += 1
            S = actions[at]
            copy_into(y, y0[p, at])
            for z in range(cool.size):
                climb(
                    y, floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S], e, f,
                    counts, cool[z], np.inf, 1e-2 * cool[z], steps, q, mean, spread, weight, root,
                    W, B, lines,
                )  # fmt: skip
                found = set_bound(
                    y, floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S], e, f,
                    counts, 0.0, q, mean, spread, weight,
                )  # fmt: skip
                if found > values[p, at]:
                    values[p, at] = found
                    copy_into(y0[p, at], y)
            if improved == 1:
                # Errors at which the least set is least are a good guess for all the others.
                set_bound(
                    y, floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S], e, f,
                    counts, cool[0], q, common, spread, weight,
                )  # fmt: skip
                for c in range(actions.size):
                    if done[c]:
                        continue
                    S = actions[c]
                    for j in range(k):
                        y[j] = shift[S, j]
                        for i in range(n):
                            y[j] += reading[S, j, i] * common[i]
                    found = set_bound(
                        y, floor[S], shift[S], reading[S], prices[S], code, tau, knots, shown[S],
                        e, f, counts, 0.0, q, mean, spread, weight,
                    )  # fmt: skip
                    if found > values[p, c]:
                        values[p, c] = found
                        copy_into(y0[p, c], y)
        least[p] = values[p, at]
