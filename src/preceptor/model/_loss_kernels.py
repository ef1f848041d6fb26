"""Kernels: charges of yes-or-no answers, losses over states and sets, and sums over time.

Charges of yes-or-no answers are interpolated from a surface (`surfaces.py`). Legend: c
covariance of the person's score with the true one, s² its variance. The axes are c/s and, for
decisions, theta/s, for probabilities s/(1 + s). numbers: total variance, theta, whether answers are
decisions, the cost of a constant score; for each axis its first position and positions per unit,
then the last position on each; whether costs were divided by (1 + s)².
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base._array_kernels import copy_into, fill_with
from preceptor._base.jit import inner_jit, jit

# A score whose variance is a smaller share of the total is constant up to rounding.
_STILL = 1e-14

# Slopes at smaller variances are taken at this one, because a decision jumps at 0.
_LEAST_VARIANCE = 1e-4


@inner_jit
def on_surface(surface, x, y):
    """Evaluate the bicubic surface (rows, columns, 16) at a position."""
    i, j = min(int(x), surface.shape[0] - 1), min(int(y), surface.shape[1] - 1)
    s, t = x - i, y - j
    c = surface[i, j]
    c0 = ((c[12] * s + c[8]) * s + c[4]) * s + c[0]
    c1 = ((c[13] * s + c[9]) * s + c[5]) * s + c[1]
    c2 = ((c[14] * s + c[10]) * s + c[6]) * s + c[2]
    c3 = ((c[15] * s + c[11]) * s + c[7]) * s + c[3]
    return ((c3 * t + c2) * t + c1) * t + c0


@inner_jit
def slopes_on_surface(surface, x, y):
    """The surface and its two slopes, per unit of position along x and y."""
    i, j = min(int(x), surface.shape[0] - 1), min(int(y), surface.shape[1] - 1)
    s, t = x - i, y - j
    c = surface[i, j]
    value, along_x, along_y = 0.0, 0.0, 0.0
    for q in range(3, -1, -1):
        row = ((c[12 + q] * s + c[8 + q]) * s + c[4 + q]) * s + c[q]
        turned = (3.0 * c[12 + q] * s + 2.0 * c[8 + q]) * s + c[4 + q]
        along_y = along_y * t + value
        value = value * t + row
        along_x = along_x * t + turned
    return value, along_x, along_y


@inner_jit
def pair_charges(numbers, surface, x, y, out):
    """Cost of answers for covariances x and variances y; both are overwritten.

    Positions on the surface come first, in a separate loop that can be vectorised.
    """
    theta, low, high = numbers[1], numbers[4], numbers[6]
    wide, tall, last, top = numbers[5], numbers[7], numbers[8], numbers[9]
    decides = numbers[2] > 0.0
    still = _STILL * numbers[0]
    for k in range(out.size):
        variance = y[k]
        scale = 1.0 / math.sqrt(max(variance, still))
        second = theta * scale if decides else 1.0 / (1.0 + scale)
        place = min(max((x[k] * scale - low) * wide, 0.0), last)
        x[k] = -1.0 if variance < still else place
        y[k] = min(max((second - high) * tall, 0.0), top)
    for k in range(out.size):
        out[k] = numbers[3] if x[k] < 0.0 else on_surface(surface, x[k], y[k])
    if numbers[10] > 0.0:
        for k in range(out.size):
            if x[k] >= 0.0:
                left = 1.0 - (high + y[k] / tall)
                out[k] /= left * left


@inner_jit
def pair_charge(numbers, surface, shared, variance):
    """Cost of answers for one covariance and variance."""
    if variance < _STILL * numbers[0]:
        return numbers[3]
    scale = 1.0 / math.sqrt(variance)
    second = numbers[1] * scale if numbers[2] > 0.0 else 1.0 / (1.0 + scale)
    x = min(max((shared * scale - numbers[4]) * numbers[5], 0.0), numbers[8])
    y = min(max((second - numbers[6]) * numbers[7], 0.0), numbers[9])
    value = on_surface(surface, x, y)
    if numbers[10] > 0.0:
        left = 1.0 - (numbers[6] + y / numbers[7])
        value /= left * left
    return value


@inner_jit
def pair_slopes(numbers, surface, shared, variance):
    """Slopes of `pair_charge` per unit of the covariance and of the variance."""
    by_shared, by_variance, _ = threshold_slopes(numbers, surface, numbers[1], shared, variance)
    return by_shared, by_variance


@inner_jit
def threshold_charge(numbers, surface, theta, shared, variance):
    """`pair_charge` of decisions whose threshold is at another distance theta, of either sign.

    A constant score is at the edge of the surface.
    """
    scale = 1.0 / math.sqrt(max(variance, _STILL * numbers[0]))
    x = min(max((shared * scale - numbers[4]) * numbers[5], 0.0), numbers[8])
    y = min(max((theta * scale - numbers[6]) * numbers[7], 0.0), numbers[9])
    return on_surface(surface, x, y)


@inner_jit
def threshold_slopes(numbers, surface, theta, shared, variance):
    """Slopes per unit of covariance, variance and, for decisions, of theta."""
    variance = max(variance, _LEAST_VARIANCE)
    deviation = math.sqrt(variance)
    cross = shared / deviation
    decides = numbers[2] > 0.0
    second = theta / deviation if decides else deviation / (1.0 + deviation)
    x = (cross - numbers[4]) * numbers[5]
    y = (second - numbers[6]) * numbers[7]
    inside_x, inside_y = min(max(x, 0.0), numbers[8]), min(max(y, 0.0), numbers[9])
    value, along_x, along_y = slopes_on_surface(surface, inside_x, inside_y)
    # Beyond the edges of the surface costs are constant.
    by_cross = along_x * numbers[5] if x == inside_x else 0.0
    by_second = along_y * numbers[7] if y == inside_y else 0.0
    if decides:
        turned = -0.5 * second / variance
    else:
        turned = 0.5 / (deviation * (1.0 + deviation) * (1.0 + deviation))
    by_shared = by_cross / deviation
    by_variance = by_second * turned - 0.5 * by_cross * cross / variance
    if numbers[10] > 0.0:
        grown = 1.0 + deviation
        by_shared *= grown * grown
        by_variance = by_variance * grown * grown + value * grown / deviation
    return by_shared, by_variance, by_second / deviation if decides else 0.0


# Kernels: losses over states and sets.
#
# Legend: q = Ωe for the person's errors e and the covariance Ω they impute from; d = deviation of
# the person's reading of a set from the best one, |d|² its squared length, first = d_0.
#
# A risk is a code, numbers and a surface:
#
#     code  risk              numbers
#     0     squared error     -
#     1     Huber             τ
#     2     absolute error    -
#     3     yes or no         see `pair_charge`; the surface is a table of cubics, cell by cell


@jit
def expected_risk(code, tau, v):
    """Expected charge of a normal residual of variance v."""
    if code == 0:
        return v
    if code == 2:
        return math.sqrt(v * (2.0 / math.pi))
    sigma = math.sqrt(v)
    if sigma < 1e-150 * tau:
        return 0.5 * v
    z = tau / sigma
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    outside = 0.5 * math.erfc(z / math.sqrt(2.0))
    return v * (0.5 - outside) + sigma * tau * density - tau * tau * outside


@jit
def yes_no_charges(numbers, surface, floor, first, square, x, y, out):
    """Cost of answers whose scores deviate by d from the best reading of the true score.

    `first` and `square` are d_0 and |d|² of many states of one set; x and y are workspace. With
    A² = total - floor the variance that the set explains, c = A² - A d_0 is the covariance of the
    person's score with the true one and s² = A² - 2A d_0 + |d|² its variance.
    """
    explained = max(numbers[0] - floor, 0.0)
    length = math.sqrt(explained)
    for k in range(out.size):
        along = length * first[k]
        x[k] = explained - along
        y[k] = x[k] - along + square[k]
    pair_charges(numbers, surface, x, y, out)


@inner_jit
def yes_no_charge(numbers, surface, floor, first, square):
    """The same for one state."""
    explained = max(numbers[0] - floor, 0.0)
    along = math.sqrt(explained) * first
    shared = explained - along
    return pair_charge(numbers, surface, shared, shared - along + square)


@inner_jit
def charge(code, numbers, surface, floor, first, square):
    """Loss of a round given the set's floor, the first row of d, and |d|²."""
    if code == 3:
        return yes_no_charge(numbers, surface, floor, first, square)
    return expected_risk(code, numbers[0], floor + square)


@jit
def packed_losses(q, members, sizes, floor, shift, factor, prices, code, numbers, surface, out):
    """out[b, s] = risk(floor_s, shift_s + F_s q_b) + price_s."""
    for b in range(q.shape[0]):
        for s in range(sizes.size):
            k = sizes[s]
            first, square = 0.0, 0.0
            for i in range(k):
                deviation = shift[s, i]
                for j in range(k):
                    deviation += factor[s, i, j] * q[b, members[s, j]]
                if i == 0:
                    first = deviation
                square += deviation * deviation
            out[b, s] = charge(code, numbers, surface, floor[s], first, square) + prices[s]


@inner_jit
def tree_lengths(q, depth, test, row, node, path, lengths, line, plus, here):
    """plus + |L⁻¹q_S|² of one node for a block of states, into here; see `tree_losses`."""
    d = depth[node]
    if d == 0:
        fill_with(here, plus)
        return
    path[d - 1] = test[node]
    above = lengths[d - 1]
    a, w0 = q[path[0]], row[node, 0]
    for x in range(line.size):
        line[x] = w0 * a[x]
    # Two tests at a time, so that `line` is read and written half as often.
    for j in range(1, d - 1, 2):
        b, c, w1, w2 = q[path[j]], q[path[j + 1]], row[node, j], row[node, j + 1]
        for x in range(line.size):
            line[x] += w1 * b[x] + w2 * c[x]
    if d % 2 == 0:
        b, w1 = q[path[d - 1]], row[node, d - 1]
        for x in range(line.size):
            line[x] += w1 * b[x]
    for x in range(line.size):
        here[x] = plus + above[x] + line[x] * line[x]


@jit
def tree_losses(
    first, last, q, depth, test, set_index, row, floor, prices, code, numbers, surface, out
):
    """out[s, b] = risk(floor_s + |L_s⁻¹ q_b|²) + price_s, for q (tests, states).

    For the sets of nodes first..last-1, which must be whole branches of the root. States are taken
    in blocks small enough that everything a traversal touches stays in cache; the remaining time
    goes into writing `out`. For numeric outcomes.
    """
    block = 256
    states = q.shape[1]
    deepest = row.shape[1]
    path = np.zeros(deepest + 1, dtype=np.int64)
    for start in range(0, states, block):
        stop = min(start + block, states)
        part = np.empty((q.shape[0], stop - start))
        for i in range(q.shape[0]):
            copy_into(part[i], q[i, start:stop])
        lengths = np.zeros((deepest + 1, stop - start))
        line = np.empty(stop - start)
        for node in range(first, last):
            s, d = set_index[node], depth[node]
            here, plus = lengths[d], 0.0
            at_end = code == 0 and d == deepest
            if at_end:  # a leaf: only its loss is needed
                here, plus = out[s, start:stop], floor[s] + prices[s]
            tree_lengths(part, depth, test, row, node, path, lengths, line, plus, here)
            if at_end or s < 0:
                continue
            target = out[s, start:stop]
            if code == 0:
                least = floor[s] + prices[s]
                for x in range(target.size):
                    target[x] = least + here[x]
            else:
                for x in range(target.size):
                    target[x] = expected_risk(code, numbers[0], floor[s] + here[x]) + prices[s]


# Kernels: tables of discounted sums of retentions.
#
# Legend: r_i(m) retention of test i after m showings, δ discount.


@jit
def fill_tail_tables(retention, discount, length, first, second):
    """first[i,p] = Σ δ^t r_i(p+t) and second[i,j,p,q] = Σ δ^t r_i(p+t) r_j(q+t), t < length.

    Only the far edge is summed; the rest follows backward by adding one term and dropping another.
    """
    n, size = first.shape
    last = size - 1
    far = discount**length
    for i in range(n):
        total = 0.0
        for t in range(length - 1, -1, -1):
            total = retention[i, last + t] + discount * total
        first[i, last] = total
        for p in range(last - 1, -1, -1):
            total = retention[i, p] + discount * total - far * retention[i, p + length]
            first[i, p] = total
        for j in range(n):
            for edge in range(2 * last + 1):
                p = last if edge <= last else edge - last - 1
                q = edge if edge <= last else last
                total = 0.0
                for t in range(length - 1, -1, -1):
                    total = retention[i, p + t] * retention[j, q + t] + discount * total
                second[i, j, p, q] = total
                while p > 0 and q > 0:
                    p -= 1
                    q -= 1
                    leaving = far * retention[i, p + length] * retention[j, q + length]
                    total = retention[i, p] * retention[j, q] + discount * total - leaving
                    second[i, j, p, q] = total
