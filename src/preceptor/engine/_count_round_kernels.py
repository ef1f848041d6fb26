"""One round, one set: what a tangent of the loss and minima over counts prove.

Legend (a round is t, a set is S, a test is i, shown or not s = 1, 0, its count m, its error e):
  psi[i, m]    the three functions of a count; phi_t(m) = sum_i theta_t,i . psi[i, m_i]
  y            shift_S + D_S e, the deviation; the round costs G(sqrt(floor_S + |y|^2)) + price_S
  q            slope of that in y at a point y0; a convex loss lies above its tangents
  f[i, s, x]   delta theta_{t+1},i . psi(m + s) - theta_t,i . psi(m) at the count m of point x
  X[i, s, x]   its derivative in (theta_t,i, theta_{t+1},i): (-psi(m), delta psi(m + s))
  h_S(y0)      L_S(y0) + q'(shift_S - y0) + sum_i min_x (D_S'q)_i e[i, s, x] + f[i, s, x]
h_S(y0) bounds L_S + delta phi_{t+1}(m + 1_S) - phi_t(m) from below for every y0 and all counts.
With a temperature tc > 0 minima over counts are soft ones, which only the ascent uses.
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

    Codes are those of `loss/_loss_kernels.py`; below 0 the line is the one of the nearest of
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
def round_points(reach, now, later, psi, err, low, high, caps, grid, delta, e, f, X, sizes):
    """Points of a round in which every test was shown at most `reach` times.

    Counts come from `grid`, the last one is always there. From its cap on an error lies between
    `low` and `high`, and a line over that is least at one of them.
    """
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
def set_bound(
    y, floor, shift, D, price, code, tau, knots, shown, e, f, sizes, tc, q, mean, spread, weight
):
    """h_S(y); fills q, and for each test the mean of its error and its variance over tc."""
    square = floor
    for j in range(y.size):
        square += y[j] * y[j]
    s = max(math.sqrt(square), 1e-150)
    value, slope, _ = tangent(code, tau, knots, s)
    total = value + price
    for j in range(y.size):
        q[j] = slope / s * y[j]
        total += q[j] * (shift[j] - y[j])
    for i in range(mean.size):
        tilt = 0.0
        for j in range(y.size):
            tilt += D[j, i] * q[j]
        side = 1 if shown[i] else 0
        least, mean[i], variance = soft_least(
            e[i, side], f[i, side], sizes[i, side], tilt, tc, weight
        )
        spread[i] = variance / tc if tc > 0.0 else 0.0
        total += least
    return total


@inner_jit
def bend_parts(y, floor, D, code, tau, knots, spread, root, W, B):
    """W = H^(1/2) D and the Cholesky factor B of I + W diag(spread) W', H the loss's curvature."""
    k, n = D.shape
    length = 0.0
    for j in range(k):
        length += y[j] * y[j]
    s = max(math.sqrt(floor + length), 1e-150)
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
def climb(
    y, floor, shift, D, price, code, tau, knots, shown, e, f, sizes, tc, limit, tolerance, steps,
    q, mean, spread, weight, root, W, B, lines,
):  # fmt: skip
    """Raise h_S(y) by damped Newton steps in y until it reaches `limit` or gains are small."""
    k, n = D.shape
    r, d, trial = lines[1], lines[2], lines[3]
    value = set_bound(
        y, floor, shift, D, price, code, tau, knots, shown, e, f, sizes, tc, q, mean, spread, weight
    )
    for _ in range(steps):
        if value >= limit:
            break
        bend_parts(y, floor, D, code, tau, knots, spread, root, W, B)
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
            found = set_bound(
                trial, floor, shift, D, price, code, tau, knots, shown, e, f, sizes, tc, q, mean,
                spread, weight,
            )  # fmt: skip
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
