"""The dual over counts: one round and one set, then all rounds, piece by piece.

A tangent of the loss and minima over counts prove a bound of one round and one set.

Legend (a round is t, a set is S, a test is i, shown or not s = 1, 0, its count m, its error e):
  psi[i, m]    the three functions of a count; phi_t(m) = sum_i theta_t,i . psi[i, m_i]
  y            shift_S + D_S e, the deviation; the round costs G(sqrt(floor_S + |y|^2)) + price_S
  q            slope of that in y at a point y0; a convex loss lies above its tangents
  f[i, s, x]   delta theta_{t+1},i . psi(m + s) - theta_t,i . psi(m) at the count m of point x
  X[i, s, x]   its derivative in (theta_t,i, theta_{t+1},i): (-psi(m), delta psi(m + s))
  h_S(y0)      L_S(y0) + q'(shift_S - y0) + sum_i min_x (D_S'q)_i e[i, s, x] + f[i, s, x]
h_S(y0) bounds L_S + delta phi_{t+1}(m + 1_S) - phi_t(m) from below for every y0 and all counts.
With a temperature tc > 0 minima over counts are soft ones, which only the ascent uses.

Kernels take tuples: `model` (floor, shift, reading, prices, code, tau, knots, shown) of losses,
`states` (psi, err, low, high, caps) of counts, `points` (e, f, sizes) of a round; `room` (q, mean,
spread, weight) and `bends` (root, W, B) are scratch.
"""

import math

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inner_jit, jit

# Where a soft minimum cannot tell a point from nothing, in temperatures.
FAR = 30.0


@jit
def tangent(code, tau, knots, s):
    """Height, slope and curvature at s of a line below G, the charge of a normal miss of size s.

    Codes are those of `model/_loss_kernels.py`; below 0 the line is the one of the nearest of
    `knots` (any, 3): size, charge, slope, sizes growing by a constant factor.
    """
    if code == 0:
        return s * s, 2.0 * s, 2.0
    if code == 2:
        slope = math.sqrt(2.0 / math.pi)
        return s * slope, slope, 0.0
    if code == 1:
        if s < 1e-150 * tau:
            return 0.5 * s * s, s, 1.0
        z = tau / s
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        outside = 0.5 * math.erfc(z / math.sqrt(2.0))
        value = s * s * (0.5 - outside) + s * tau * density - tau * tau * outside
        return value, s * (1.0 - 2.0 * outside), max(1.0 - 2.0 * outside - 2.0 * z * density, 0.0)
    last = knots.shape[0] - 1
    ratio = math.log(knots[last, 0] / knots[0, 0]) / last
    place = math.log(max(s, knots[0, 0]) / knots[0, 0]) / ratio
    j = min(max(int(place + 0.5), 0), last)
    up = min(j + 1, last)
    bend = (knots[up, 2] - knots[up - 1, 2]) / (knots[up, 0] - knots[up - 1, 0])
    return knots[j, 1] + knots[j, 2] * (s - knots[j, 0]), knots[j, 2], max(bend, 0.0)


@inner_jit
def round_points(reach, now, later, states, grid, delta, points, X):
    """Points of a round in which every test was shown at most `reach` times.

    Counts come from `grid`, the last one is always there. From its cap on an error lies between
    `low` and `high`, and a line over that is least at one of them.
    """
    psi, err, low, high, caps = states
    e, f, sizes = points
    for i in range(caps.size):
        limit = min(reach, caps[i])
        x = 0
        for g in range(grid.size + 2):
            m = limit
            if g < grid.size and grid[g] < limit:
                m = grid[g]
            error = err[i, m]
            at_cap = m == limit and reach >= caps[i]
            if at_cap:
                error = low[i]
            for s in range(2):
                after = min(m + s, caps[i])
                total = 0.0
                for c in range(3):
                    X[i, s, x, c] = -psi[i, m, c]
                    X[i, s, x, 3 + c] = delta * psi[i, after, c]
                    total += now[i, c] * X[i, s, x, c] + later[i, c] * X[i, s, x, 3 + c]
                f[i, s, x] = total
                e[i, s, x] = error
            x += 1
            if at_cap and high[i] > low[i]:
                for s in range(2):
                    for c in range(6):
                        X[i, s, x, c] = X[i, s, x - 1, c]
                    f[i, s, x] = f[i, s, x - 1]
                    e[i, s, x] = high[i]
                x += 1
            if m == limit:
                break
        sizes[i, 0] = x
        sizes[i, 1] = x


@inner_jit
def keep_hull(e, f, size):
    """Keep the points that can be least for some slope, in place; how many there are.

    Errors that go back and forth are kept whole, which is as valid.
    """
    step = 1
    if e[size - 1] < e[0]:
        step = -1
    for x in range(1, size):
        if step * (e[x] - e[x - 1]) < 0.0:
            return size
    if step < 0:
        for x in range(size // 2):
            e[x], e[size - 1 - x] = e[size - 1 - x], e[x]
            f[x], f[size - 1 - x] = f[size - 1 - x], f[x]
    kept = 0
    for x in range(size):
        a, b = e[x], f[x]
        if kept > 0 and e[kept - 1] == a:
            if f[kept - 1] <= b:
                continue
            kept -= 1
        while kept > 1 and (f[kept - 1] - f[kept - 2]) * (a - e[kept - 2]) >= (b - f[kept - 2]) * (
            e[kept - 1] - e[kept - 2]
        ):
            kept -= 1
        e[kept] = a
        f[kept] = b
        kept += 1
    return kept


@inner_jit
def soft_least(e, f, size, slope, tc, weight):
    """Soft minimum of f + slope e with its weights, and mean and variance of e under them."""
    least = np.inf
    at = 0
    for x in range(size):
        v = f[x] + slope * e[x]
        weight[x] = v
        if v < least:
            least = v
            at = x
    if tc == 0.0:
        return least, e[at], 0.0
    total, first, second = 0.0, 0.0, 0.0
    for x in range(size):
        gap = (weight[x] - least) / tc
        if gap < FAR:
            w = math.exp(-gap)
            d = e[x] - e[at]
            weight[x] = w
            total += w
            first += w * d
            second += w * d * d
        else:
            weight[x] = 0.0
    first /= total
    for x in range(size):
        weight[x] /= total
    return least - tc * math.log(total), e[at] + first, max(second / total - first * first, 0.0)


@inner_jit
def set_bound(S, y, model, points, tc, room):
    """h_S(y); fills q, and for each test the mean of its error and its variance over tc."""
    floor, shift, reading, prices, code, tau, knots, shown = model
    e, f, sizes = points
    q, mean, spread, weight = room
    square = floor[S]
    for j in range(y.size):
        square += y[j] * y[j]
    s = max(math.sqrt(square), 1e-150)
    value, slope, _ = tangent(code, tau, knots, s)
    total = value + prices[S]
    for j in range(y.size):
        q[j] = slope / s * y[j]
        total += q[j] * (shift[S, j] - y[j])
    for i in range(mean.size):
        tilt = 0.0
        for j in range(y.size):
            tilt += reading[S, j, i] * q[j]
        side = 1 if shown[S, i] else 0
        least, mean[i], variance = soft_least(
            e[i, side], f[i, side], sizes[i, side], tilt, tc, weight
        )
        spread[i] = variance / tc if tc > 0.0 else 0.0
        total += least
    return total


@inner_jit
def bend_parts(S, y, model, spread, bends):
    """W = H^(1/2) D and the Cholesky factor B of I + W diag(spread) W', H the loss's curvature."""
    floor, _, reading, _, code, tau, knots, _ = model
    root, W, B = bends
    D = reading[S]
    k, n = D.shape
    length = 0.0
    for j in range(k):
        length += y[j] * y[j]
    s = max(math.sqrt(floor[S] + length), 1e-150)
    _, slope, bend = tangent(code, tau, knots, s)
    across = max(slope / s, 1e-300)
    along = max(across + (bend - across) * (length / (s * s)), 0.0)
    extra = 0.0
    if length > 0.0:
        extra = (math.sqrt(along) - math.sqrt(across)) / length
    for j in range(k):
        for r in range(k):
            root[j, r] = extra * y[j] * y[r]
        root[j, j] += math.sqrt(across)
    for j in range(k):
        for i in range(n):
            x = 0.0
            for r in range(k):
                x += root[j, r] * D[r, i]
            W[j, i] = x
    for j in range(k):
        for r in range(j + 1):
            x = 1.0 if j == r else 0.0
            for i in range(n):
                x += W[j, i] * spread[i] * W[r, i]
            for c in range(r):
                x -= B[j, c] * B[r, c]
            B[j, r] = math.sqrt(max(x, 1e-300)) if j == r else x / B[r, r]


@inner_jit
def climb(S, y, model, points, tc, limit, tolerance, steps, room, bends, lines):
    """Raise h_S(y) by damped Newton steps in y until it reaches `limit` or gains are small."""
    shift, D = model[1][S], model[2][S]
    mean, spread = room[1:3]
    root, W, B = bends
    k, n = D.shape
    r, d, trial = lines[1], lines[2], lines[3]
    value = set_bound(S, y, model, points, tc, room)
    for _ in range(steps):
        if value >= limit:
            break
        bend_parts(S, y, model, spread, bends)
        for j in range(k):
            x = shift[j] - y[j]
            for i in range(n):
                x += D[j, i] * mean[i]
            trial[j] = x  # where the errors would put y, less y
        gain = 0.0
        for j in range(k):
            x = 0.0
            for c in range(k):
                x += root[j, c] * trial[c]
            for c in range(j):
                x -= B[j, c] * r[c]
            r[j] = x / B[j, j]
            gain += r[j] * r[j]
        if gain <= tolerance:
            break
        for j in range(k - 1, -1, -1):
            for c in range(j + 1, k):
                r[j] -= B[c, j] * r[c]
            r[j] /= B[j, j]
        for j in range(k):
            d[j] = trial[j]
        for i in range(n):
            x = 0.0
            for c in range(k):
                x += W[c, i] * r[c]
            for j in range(k):
                d[j] -= D[j, i] * spread[i] * x
        size = 1.0
        better = False
        for _half in range(6):
            for j in range(k):
                trial[j] = y[j] + size * d[j]
            found = set_bound(S, trial, model, points, tc, room)
            if found > value:
                better = True
                break
            size *= 0.3
        if not better:
            break
        value = found
        copy_into(y, trial)
    return value


@inner_jit
def count_moments(e, f, X, size, slope, tc, weight, mean, cross, cov):
    """Mean of X (6,), its covariance with e over tc, its own covariance over tc (lower half)."""
    least, centre, variance = soft_least(e, f, size, slope, tc, weight)
    for c in range(6):
        total = 0.0
        for x in range(size):
            total += weight[x] * X[x, c]
        mean[c] = total
        cross[c] = 0.0
        for r in range(c + 1):
            cov[c, r] = 0.0
    for x in range(size):
        w = weight[x] / tc
        if w > 0.0:
            for c in range(6):
                d = w * (X[x, c] - mean[c])
                cross[c] += d * (e[x] - centre)
                for r in range(c + 1):
                    cov[c, r] += d * (X[x, r] - mean[r])
    return least, variance / tc


# All rounds of the general dual, piece by piece; the legend is at the top.
#
# A piece j is a round, or all inner rounds of a block: potentials theta[now[j]] before and
# theta[later[j]] after, every test shown at most reach[j] times. Each piece writes only its own
# rows, so results do not depend on the number of threads.

# Sets that weigh less than this in a round are left out of its curvature.
SMALL = 1e-4
# A set this many wide temperatures above the smallest one weighs less than that.
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
    first, stop, now, later, reach, theta, states, grid, delta, model, lists, sizes, temp, wide,
    second, y0, soft, best, grad, hess, halt,
):  # fmt: skip
    """Soft minimum of pieces first..stop-1 over their listed sets, with derivatives if `second`.

    temp is the temperature of the sets and twice that of the counts; curvature is read at `wide`
    times both. soft (R,), best (R,) the least one's place in its list, grad (R, 6n), hess
    (R, 6n, 6n) lower halves; y0 (R, C, rows) is read as a start and overwritten. Pieces that are
    not done when halt[0] is set are left as they are.
    """
    shift, reading, shown = model[1], model[2], model[7]
    n, k, places = shown.shape[1], shift.shape[1], grid.size + 2
    e, f = np.empty((n, 2, places)), np.empty((n, 2, places))
    X, counts = np.empty((n, 2, places, 6)), np.empty((n, 2), dtype=np.int64)
    hull_e, hull_f = np.empty((n, 2, places)), np.empty((n, 2, places))
    hull_counts = np.empty((n, 2), dtype=np.int64)
    square, lines = np.empty((2, k, k)), np.empty((5, k))
    W, B, q, of_tests = np.empty((k, n)), square[1], lines[0], np.empty((2, n))
    spread, weight, vectors = of_tests[1], np.empty(places), np.empty((2, 6 * n))
    points, hull = (e, f, counts), (hull_e, hull_f, hull_counts)
    room, bends = (q, of_tests[0], spread, weight), (square[0], W, B)
    psi_set, psi_all = vectors[0], vectors[1]
    centres, crosses, covs = np.empty((n, 6)), np.empty((n, 6)), np.empty((n, 6, 6))
    tc, steps = 0.5 * temp, np.int64(8)
    for p in range(first, stop):
        if halt[0]:
            return
        round_points(reach[p], theta[now[p]], theta[later[p]], states, grid, delta, points, X)
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
            value[c] = set_bound(S, y0[p, c], model, hull, 0.0, room) - soft_by
            if value[c] >= limit:
                continue
            value[c] = climb(
                S, y0[p, c], model, points, tc, limit, 1e-3 * tc, steps, room, bends, lines
            )
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
            set_bound(S, y0[p, c], model, points, tc, room)
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
                bend_parts(S, y0[p, c], model, spread, bends)
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
    first, stop, now, later, reach, theta, states, grid, delta, model, actions, cool, most, y0,
    values, least, halt,
):  # fmt: skip
    """Certified minimum of pieces first..stop-1 over every action and every count.

    y0 (R, A, rows) are the tangent points tried first; those of sets that decide are improved at
    the temperatures `cool`, for a limited number per piece. values (R, A) the bounds of single
    sets, least (R,) the minimum. Pieces that are not done when halt[0] is set prove nothing.
    """
    shift, reading, shown = model[1], model[2], model[7]
    n, k, places = shown.shape[1], shift.shape[1], grid.size + 2
    e, f = np.empty((n, 2, places)), np.empty((n, 2, places))
    X, counts = np.empty((n, 2, places, 6)), np.empty((n, 2), dtype=np.int64)
    square, lines = np.empty((2, k, k)), np.empty((5, k))
    q, y, steps = lines[0], lines[4], np.int64(20)
    of_tests, weight = np.empty((3, n)), np.empty(places)
    spread, common = of_tests[1], of_tests[2]
    points, bends = (e, f, counts), (square[0], np.empty((k, n)), square[1])
    room, room_of_common = (q, of_tests[0], spread, weight), (q, common, spread, weight)
    for p in range(first, stop):
        if halt[0]:
            least[p] = -np.inf
            continue
        round_points(reach[p], theta[now[p]], theta[later[p]], states, grid, delta, points, X)
        for i in range(n):
            for s in range(2):
                counts[i, s] = keep_hull(e[i, s], f[i, s], counts[i, s])
        done = np.zeros(actions.size, dtype=np.bool_)
        improved = 0
        for c in range(actions.size):
            S = actions[c]
            values[p, c] = set_bound(S, y0[p, c], model, points, 0.0, room)
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
                    S, y, model, points, cool[z], np.inf, 1e-2 * cool[z], steps, room, bends, lines
                )
                found = set_bound(S, y, model, points, 0.0, room)
                if found > values[p, at]:
                    values[p, at] = found
                    copy_into(y0[p, at], y)
            if improved == 1:
                # Errors at which the least set is least are a good guess for all the others.
                set_bound(S, y, model, points, cool[0], room_of_common)
                for c in range(actions.size):
                    if done[c]:
                        continue
                    S = actions[c]
                    for j in range(k):
                        y[j] = shift[S, j]
                        for i in range(n):
                            y[j] += reading[S, j, i] * common[i]
                    found = set_bound(S, y, model, points, 0.0, room)
                    if found > values[p, c]:
                        values[p, c] = found
                        copy_into(y0[p, c], y)
        least[p] = values[p, at]
