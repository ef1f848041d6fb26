"""Compiled loops over what it costs to show one set for the rest of the time.

Legend: still = e now; moved = Σ_t δ^t e(t) if the test is shown; zeroth = Σ_t δ^t; see
`model.evaluation.TailSums`.
"""

from __future__ import annotations

import numpy as np

from preceptor._base._array_kernels import copy_into, fill_with, largest_of
from preceptor._base.jit import inner_jit, jit
from preceptor.model._loss_kernels import charge, tree_lengths


@jit
def best_commits_summed(
    counts, limits, discount, length, err, membership, floor, shift, reading, prices, code,
    numbers, surface, least, best, best_set,
):  # fmt: skip
    """For each state (counts (states, n)) the least cost of one set forever, and the set.

    Rounds are added up, and a set is dropped as soon as the least possible rest is too much.

    `err` (n, showings) holds errors by count; no round costs less than `least`, and what costs more
    than `limits` (states,) is of no interest: it may be given as infinite.
    """
    n = err.shape[0]
    rows = shift.shape[1]
    e = np.empty(n)
    rest = np.zeros(length + 1)  # discounted floor of the rounds from u on
    for u in range(length - 1, -1, -1):
        rest[u] = least + discount * rest[u + 1]
    for b in range(counts.shape[0]):
        best[b] = np.inf
        best_set[b] = -1
        for k in range(floor.size):
            cost, factor = 0.0, 1.0
            for u in range(length):
                lowest = cost + factor * rest[u]
                if lowest >= best[b] or lowest > limits[b]:
                    cost = np.inf
                    break
                for i in range(n):
                    e[i] = err[i, counts[b, i] + (u if membership[k, i] else 0)]
                first, square = 0.0, 0.0
                for r in range(rows):
                    deviation = shift[k, r]
                    for i in range(n):
                        deviation += reading[k, r, i] * e[i]
                    if r == 0:
                        first = deviation
                    square += deviation * deviation
                charged = charge(code, numbers, surface, floor[k], first, square)
                cost += factor * (charged + prices[k])
                factor *= discount
            if cost < best[b]:
                best[b] = cost
                best_set[b] = k


@jit
def learning_terms(counts, err0, sigma, zeroth, first, retention, scale, second, q, linear, cross):
    """What a block of states contributes to the cost of any set (see `tree_commits`)."""
    width, n = counts.shape
    still = np.empty((n, width))
    moved = np.empty((n, width))
    for i in range(n):
        for x in range(width):
            still[i, x] = err0[i] * retention[i, counts[x, i]]
            moved[i, x] = err0[i] * first[i, counts[x, i]]
    for i in range(n):
        fill_with(q[i], 0.0)
        for j in range(n):
            weight = sigma[i, j]
            for x in range(width):
                q[i, x] += weight * still[j, x]
        for x in range(width):
            linear[i, x] = q[i, x] * (zeroth * still[i, x] - moved[i, x])
    for i in range(n):
        for j in range(i + 1):
            weight = sigma[i, j]
            a, b, ma, mb = still[i], still[j], moved[i], moved[j]
            here = cross[i, j]
            if second.size:
                both = err0[i] * err0[j]
                for x in range(width):
                    pair = both * second[i, j, counts[x, i], counts[x, j]]
                    here[x] = weight * (zeroth * a[x] * b[x] - a[x] * mb[x] - b[x] * ma[x] + pair)
            else:
                kept = zeroth + scale[i, j]
                for x in range(width):
                    here[x] = weight * (kept * a[x] * b[x] - a[x] * mb[x] - b[x] * ma[x])
            if i != j:
                copy_into(cross[j, i], here)


@inner_jit
def visit(
    node, q, linear, cross, depth, test, set_index, row, cost_floor, zeroth, path, lengths,
    learned, line, best, best_set,
):  # fmt: skip
    """Evaluate one node for a block of states, given its ancestors, and offer its set."""
    d = depth[node]
    tree_lengths(q, depth, test, row, node, path, lengths, line, 0.0, lengths[d])
    width = line.size
    if d > 0:
        j = test[node]
        above = learned[d - 1]
        here = learned[d]
        own = cross[j, j]
        alone = linear[j]
        for x in range(width):
            here[x] = above[x] + own[x] - 2.0 * alone[x]
        for position in range(d - 1):
            pair = cross[j, path[position]]
            for x in range(width):
                here[x] += 2.0 * pair[x]
    s = set_index[node]
    if s < 0:
        return
    length = lengths[d]
    gained = learned[d]
    least = cost_floor[s]
    for x in range(width):
        cost = least + zeroth * length[x] + gained[x]
        # among equals the first set in the family's order, whatever the order of the walk
        better = cost < best[x] or (cost == best[x] and s < best_set[x])
        best[x] = cost if better else best[x]
        best_set[x] = s if better else best_set[x]


@jit
def tree_commits(
    counts, err0, sigma, zeroth, first, retention, scale, second, depth, test, set_index, row,
    after, cost_floor, least_below, limits, best, best_set,
):  # fmt: skip
    """Best set to commit to for every state, walking the sets as a tree.

    With M_S[:, i] = Σ[:, i] for i in S, the cost of showing S is
    zeroth·(floor + |L⁻¹q_S|²) - 2 Σ_S linear_i + Σ_{S×S} cross_ij, where linear_i (n, states) and
    cross_ij (n, n, states) are what the errors still have to lose, alone and in pairs. Branches
    whose costs are all bounded (`least_below`) above the worst best of the block are left out. A
    state whose best is above its entry in `limits` is of no interest, and what it gets may not be
    its best.
    """
    block = 64
    n = err0.size
    deepest = row.shape[1]
    path = np.zeros(deepest + 1, dtype=np.int64)
    for start in range(0, counts.shape[0], block):
        stop = min(start + block, counts.shape[0])
        width = stop - start
        q = np.empty((n, width))
        linear = np.empty((n, width))
        cross = np.empty((n, n, width))
        learning_terms(
            counts[start:stop], err0, sigma, zeroth, first, retention, scale, second, q, linear,
            cross,
        )  # fmt: skip
        lengths = np.zeros((deepest + 1, width))
        learned = np.zeros((deepest + 1, width))
        line = np.empty(width)
        here, here_set = best[start:stop], best_set[start:stop]
        fill_with(here, np.inf)
        fill_with(here_set, cost_floor.size)
        limit = largest_of(limits[start:stop])
        ceiling = limit
        node, since = np.int64(0), 0
        while node < depth.size:
            if least_below[node] > ceiling:
                node = after[node]
                continue
            visit(
                node, q, linear, cross, depth, test, set_index, row, cost_floor, zeroth, path,
                lengths, learned, line, here, here_set,
            )  # fmt: skip
            node += 1
            since += 1
            if since == 32:
                ceiling = min(largest_of(here), limit)
                since = 0
