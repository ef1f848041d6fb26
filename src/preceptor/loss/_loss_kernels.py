"""Compiled loops over states and sets.

Legend: q = Ωe, what the person's errors e look like through the covariance Ω they impute from;
d = how far the person reads a set from its best reading, |d|² its squared length, first = d_0.

A risk is a code, numbers and a surface:

    code  risk              numbers
    0     squared error     -
    1     Huber             τ
    2     absolute error    -
    3     yes or no         see `pair_charge`; the surface is a table of cubics, cell by cell
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inner_jit, jit
from preceptor.model._surface_kernels import pair_charge, pair_charges


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
def yes_no_charges(numbers, surface, floor, first, square, x, y, out):
    """What answers cost whose scores are d off the best reading of the true one.

    `first` and `square` are d_0 and |d|² of many states of one set; x and y are room. With
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
    """What a round costs with set's floor, the first row of d, and |d|²."""
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
    width = line.size
    if d == 0:
        for x in range(width):
            here[x] = plus
        return
    path[d - 1] = test[node]
    above = lengths[d - 1]
    a, w0 = q[path[0]], row[node, 0]
    if d == 1:
        for x in range(width):
            y = w0 * a[x]
            here[x] = plus + above[x] + y * y
        return
    b, w1 = q[path[1]], row[node, 1]
    if d == 2:
        for x in range(width):
            y = w0 * a[x] + w1 * b[x]
            here[x] = plus + above[x] + y * y
        return
    c, w2 = q[path[2]], row[node, 2]
    if d == 3:
        for x in range(width):
            y = w0 * a[x] + w1 * b[x] + w2 * c[x]
            here[x] = plus + above[x] + y * y
        return
    e, w3 = q[path[3]], row[node, 3]
    if d == 4:
        for x in range(width):
            y = w0 * a[x] + w1 * b[x] + w2 * c[x] + w3 * e[x]
            here[x] = plus + above[x] + y * y
        return
    f, w4 = q[path[4]], row[node, 4]
    if d == 5:
        for x in range(width):
            y = w0 * a[x] + w1 * b[x] + w2 * c[x] + w3 * e[x] + w4 * f[x]
            here[x] = plus + above[x] + y * y
        return
    for x in range(width):
        line[x] = w0 * a[x] + w1 * b[x] + w2 * c[x] + w3 * e[x] + w4 * f[x]
    for j in range(5, d):
        g = q[path[j]]
        w = row[node, j]
        for x in range(width):
            line[x] += w * g[x]
    for x in range(width):
        here[x] = plus + above[x] + line[x] * line[x]


@jit
def tree_losses(
    first, last, q, depth, test, set_index, row, floor, prices, code, numbers, surface, out
):
    """out[s, b] = risk(floor_s + |L_s⁻¹ q_b|²) + price_s, for q (tests, states).

    For the sets of nodes first..last-1, which begin and end with whole branches of the root. States
    are taken in blocks small enough that everything a walk touches stays in cache; beyond that
    the time goes into writing `out`. For outcomes that are numbers.
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
            if at_end:  # nothing is below it, so that only its loss is wanted
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
