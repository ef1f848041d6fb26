"""Compiled loops over states and sets.

Legend: q = Ωe, what the person's errors e look like through the covariance Ω they impute from;
d = how far the person reads a set from its best reading, |d|² its squared length, first = d_0.

A risk is a code, numbers and a surface:

    code  risk              numbers
    0     squared error     -
    1     Huber             τ
    2     absolute error    -
    3     yes or no         see `yes_no_charge`; the surface is a table of B-spline coefficients
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import jit


@jit
def expected_risk(code, tau, v):
    """What a normal residual of variance v costs."""
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
def on_surface(surface, x, y):
    """A tensor product of cubic B-splines with knots at all whole numbers, at (x, y).

    Coefficients (rows, columns) belong to knots from -1 on: x lies in 0..rows-3, y in
    0..columns-3.
    """
    i = min(int(x), surface.shape[0] - 4)
    j = min(int(y), surface.shape[1] - 4)
    s, t = x - i, y - j
    s1, t1 = 1.0 - s, 1.0 - t
    a0, a3 = s1 * s1 * s1, s * s * s
    a1, a2 = 4.0 - 3.0 * s * s * (2.0 - s), 4.0 - 3.0 * s1 * s1 * (2.0 - s1)
    b0, b3 = t1 * t1 * t1, t * t * t
    b1, b2 = 4.0 - 3.0 * t * t * (2.0 - t), 4.0 - 3.0 * t1 * t1 * (2.0 - t1)
    r0, r1, r2, r3 = surface[i], surface[i + 1], surface[i + 2], surface[i + 3]
    total = a0 * (b0 * r0[j] + b1 * r0[j + 1] + b2 * r0[j + 2] + b3 * r0[j + 3])
    total += a1 * (b0 * r1[j] + b1 * r1[j + 1] + b2 * r1[j + 2] + b3 * r1[j + 3])
    total += a2 * (b0 * r2[j] + b1 * r2[j + 1] + b2 * r2[j + 2] + b3 * r2[j + 3])
    total += a3 * (b0 * r3[j] + b1 * r3[j + 1] + b2 * r3[j + 2] + b3 * r3[j + 3])
    return total * (1.0 / 36.0)


@jit
def yes_no_charge(numbers, surface, floor, first, square):
    """What answers cost whose score is d off the best reading of the true one.

    With A² = total - floor the variance that the set explains, c = A² - A d_0 is the covariance of
    the person's score with the true one and s² = A² - 2A d_0 + |d|² its variance. The surface is
    over c/s and, for decisions, theta/s, for probabilities s/(1 + s). numbers: total, theta,
    whether answers are decisions, what a score costs that never moves; the first place on each axis
    and places per unit of it, the last place on the second; whether costs were divided by (1 + s)².
    """
    explained = max(numbers[0] - floor, 0.0)
    along = math.sqrt(explained) * first
    shared = explained - along
    variance = shared - along + square
    if variance < 1e-280:
        return numbers[3]
    scale = 1.0 / math.sqrt(variance)
    second = numbers[1] * scale if numbers[2] > 0.0 else 1.0 / (1.0 + scale)
    x = min(max((shared * scale - numbers[4]) * numbers[5], 0.0), surface.shape[0] - 3.0)
    y = min(max((second - numbers[6]) * numbers[7], 0.0), numbers[8])
    value = on_surface(surface, x, y)
    if numbers[9] > 0.0:
        grown = 1.0 + 1.0 / scale
        value *= grown * grown
    return value


@jit
def charge(code, numbers, surface, floor, first, square):
    """What a round costs with set's floor, the first row of d, and |d|²."""
    if code == 3:
        return yes_no_charge(numbers, surface, floor, first, square)
    return expected_risk(code, numbers[0], floor + square)


@jit
def yes_no_charges(numbers, surface, floor, first, square, out):
    """`yes_no_charge` of many states of one set."""
    for b in range(out.size):
        out[b] = yes_no_charge(numbers, surface, floor, first[b], square[b])


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


@jit
def tree_lengths(q, depth, test, row, node, path, lengths, line):
    """|L⁻¹q_S|² of one node for a block of states, into lengths[depth]."""
    d = depth[node]
    width = line.size
    if d == 0:
        for x in range(width):
            lengths[0, x] = 0.0
        return
    path[d - 1] = test[node]
    above = lengths[d - 1]
    here = lengths[d]
    a = q[path[0]]
    if d == 1:
        w0 = row[node, 0]
        for x in range(width):
            y = w0 * a[x]
            here[x] = above[x] + y * y
        return
    b = q[path[1]]
    w0, w1 = row[node, 0], row[node, 1]
    if d == 2:
        for x in range(width):
            y = w0 * a[x] + w1 * b[x]
            here[x] = above[x] + y * y
        return
    c = q[path[2]]
    w2 = row[node, 2]
    if d == 3:
        for x in range(width):
            y = w0 * a[x] + w1 * b[x] + w2 * c[x]
            here[x] = above[x] + y * y
        return
    e = q[path[3]]
    w3 = row[node, 3]
    if d == 4:
        for x in range(width):
            y = w0 * a[x] + w1 * b[x] + w2 * c[x] + w3 * e[x]
            here[x] = above[x] + y * y
        return
    for x in range(width):
        line[x] = w0 * a[x] + w1 * b[x] + w2 * c[x] + w3 * e[x]
    for j in range(4, d):
        f = q[path[j]]
        w = row[node, j]
        for x in range(width):
            line[x] += w * f[x]
    for x in range(width):
        here[x] = above[x] + line[x] * line[x]


@jit
def tree_losses(q, depth, test, set_index, row, floor, prices, code, numbers, surface, out):
    """out[s, b] = risk(floor_s + |L_s⁻¹ q_b|²) + price_s, for q (tests, states).

    States are taken in blocks small enough that everything a walk touches stays in cache. For
    outcomes that are numbers.
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
        for node in range(depth.size):
            tree_lengths(part, depth, test, row, node, path, lengths, line)
            s = set_index[node]
            if s < 0:
                continue
            here = lengths[depth[node]]
            target = out[s, start:stop]
            if code == 0:
                least = floor[s] + prices[s]
                for x in range(target.size):
                    target[x] = least + here[x]
            else:
                for x in range(target.size):
                    target[x] = expected_risk(code, numbers[0], floor[s] + here[x]) + prices[s]
