"""Compiled loops of the exact planners.

Legend: V[x] best prefix loss of the state with rank x; s_j partial sums of its coordinates; a
*run* is the stretch of ranks in which only s_0 moves, so that every count changes by +1, 0 or -1
from one state to the next and every set leads to one stretch of the next layer. Loops over a run
have no branches, which lets the compiler use vector instructions.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import hot_jit, inner_jit, jit
from preceptor.model._loss_kernels import expected_risk, yes_no_charges


@inner_jit
def place_run(t, s, d, total, hidden, coordinate, base, step):
    """Counts along a run: test i has been shown base[i] + step[i]·s_0 times."""
    for i in range(coordinate.size):
        c = coordinate[i]
        if c == -1:
            base[i] = 0
            step[i] = 0
            continue
        if c == 0:
            b, w = 0, 1
        elif c == 1:
            b, w = s[1], -1
        elif c > 1:
            b, w = s[c] - s[c - 1], 0
        elif d == 1:
            b, w = total * t, -1
        else:
            b, w = total * t - s[d - 1], 0
        if hidden:
            b, w = t - b, -w
        base[i] = b
        step[i] = w


@inner_jit
def next_run(s, d, top):
    """Advance s_1..s_{d-1} in order of rank; False when the layer is done."""
    j = 1
    while j < d:
        limit = s[j + 1] if j + 1 < d else top
        if s[j] < limit:
            s[j] += 1
            return True
        s[j] = 0
        j += 1
    return False


@inner_jit
def run_losses(
    length, base, step, err, mirrored, pad, floor, shift, reading, prices, code, numbers, surface,
    set_index, line, room, out,
):  # fmt: skip
    """Losses of one set along a run, into out[:length].

    `mirrored` is `err` read from its end, so that falling counts are read forward as well. `line`
    and `room` (4, length) are room for a row of the deviation, and for what answers depend on.
    """
    n = base.size
    rows = shift.shape[1]
    for x in range(length):
        out[x] = floor[set_index]
    for r in range(rows):
        constant = shift[set_index, r]
        for i in range(n):
            if step[i] == 0:
                constant += reading[set_index, r, i] * err[i, pad + base[i]]
        for x in range(length):
            line[x] = constant
        for i in range(n):
            weight = reading[set_index, r, i]
            if step[i] != 0 and weight != 0.0:
                at = pad + base[i]
                if step[i] > 0:
                    row = err[i, at : at + length]
                else:
                    at = err.shape[1] - 1 - at
                    row = mirrored[i, at : at + length]
                for x in range(length):
                    line[x] += weight * row[x]
        for x in range(length):
            out[x] += line[x] * line[x]
        if code == 3 and r == 0:
            for x in range(length):
                room[0, x] = line[x]
    if code == 3:
        least = floor[set_index]
        for x in range(length):
            room[1, x] = out[x] - least
        yes_no_charges(
            numbers, surface, least, room[0], room[1], room[2], room[3], out[:length]
        )  # fmt: skip
    elif code != 0:
        for x in range(length):
            out[x] = expected_risk(code, numbers[0], out[x])
    price = prices[set_index]
    if price != 0.0:
        for x in range(length):
            out[x] += price


@hot_jit
def relax_run(values, losses, weight, length, target, next_values, parents, set_index):
    """Offer every state of a run this set: keep it where it beats what its successor has."""
    reached = next_values[target : target + length]
    parent = parents[target : target + length]
    chosen = parents.dtype.type(set_index)
    for x in range(length):
        cost = values[x] + weight * losses[x]
        # Both stores happen always: a choice of values can be vectorised, a branch cannot.
        better = cost < reached[x]
        reached[x] = cost if better else reached[x]
        parent[x] = chosen if better else parent[x]


@inner_jit
def target_rank(s, d, moves, set_index, binomials):
    """Where the state with s_0 = 0 goes when the set is shown."""
    rank = moves[set_index, 0]
    for j in range(1, d):
        rank += binomials[j, s[j] + moves[set_index, j]]
    return rank


@jit
def forward(
    rounds, discount, growth, total, hidden, coordinate, moves, binomials, offsets, err, pad,
    floor, shift, reading, prices, code, numbers, surface, parents, least, least_at, halt,
):  # fmt: skip
    """Algorithm 1: V over the last layer, with parent sets of all layers in `parents`.

    It means nothing if halt[0] is set before the end.

    Unless they are empty, `least` and `least_at` get the least V of each layer and its rank.
    """
    d = moves.shape[1]
    n = coordinate.size
    sets = floor.size
    longest = growth * rounds + 1
    largest = offsets[rounds] - offsets[rounds - 1]
    values = np.full(max(largest, 1), np.inf)
    next_values = np.empty(max(largest, 1))
    base = np.empty(n, dtype=np.int64)
    step = np.empty(n, dtype=np.int64)
    line = np.empty(longest)
    room = np.empty((4, longest if code == 3 else 0))
    losses = np.empty(longest)
    width = err.shape[1]
    mirrored = np.empty((n, width))
    for i in range(n):
        for x in range(width):
            mirrored[i, x] = err[i, width - 1 - x]
    s = np.zeros(d, dtype=np.int64)
    values[0] = 0.0
    weight = 1.0
    for t in range(rounds):
        layer = parents[offsets[t] : offsets[t + 1]]
        next_values[: layer.size] = np.inf
        top = growth * t
        s[:] = 0
        at = 0
        while True:
            if halt[0]:
                return values[:largest]
            length = (s[1] if d > 1 else top) + 1
            place_run(t, s, d, total, hidden, coordinate, base, step)
            for k in range(sets):
                run_losses(
                    length, base, step, err, mirrored, pad, floor, shift, reading, prices, code,
                    numbers, surface, k, line, room, losses,
                )  # fmt: skip
                target = target_rank(s, d, moves, k, binomials)
                relax_run(values[at:], losses, weight, length, target, next_values, layer, k)
            at += length
            if not next_run(s, d, top):
                break
        values, next_values = next_values, values
        weight *= discount
        if least.size > 0:
            best = 0
            for x in range(layer.size):
                if values[x] < values[best]:
                    best = x
            least[t + 1] = values[best]
            least_at[t + 1] = best
    return values[:largest]


@jit
def backtrack(sums, moves, binomials, offsets, parents, path):
    """Fill `path` with the sets that lead to the state with these partial sums."""
    for t in range(path.size - 1, -1, -1):
        rank = 0
        for j in range(sums.size):
            rank += binomials[j, sums[j]]
        chosen = parents[offsets[t] + rank]
        path[t] = chosen
        for j in range(sums.size):
            sums[j] -= moves[chosen, j]


@jit
def layer_counts(t, growth, total, hidden, coordinate, d, out):
    """Counts (states, n) of every state of a layer, in order of rank."""
    n = coordinate.size
    base = np.empty(n, dtype=np.int64)
    step = np.empty(n, dtype=np.int64)
    s = np.zeros(d, dtype=np.int64)
    top = growth * t
    at = 0
    while True:
        length = (s[1] if d > 1 else top) + 1
        place_run(t, s, d, total, hidden, coordinate, base, step)
        for x in range(length):
            for i in range(n):
                out[at + x, i] = base[i] + step[i] * x
        at += length
        if not next_run(s, d, top):
            break


@jit
def relax_layer(t, weight, growth, moves, binomials, losses, values, next_values, parents):
    """One layer of Algorithm 1 with losses (sets, states) that were computed elsewhere."""
    d = moves.shape[1]
    s = np.zeros(d, dtype=np.int64)
    top = growth * t
    next_values[:] = np.inf
    at = 0
    while True:
        length = (s[1] if d > 1 else top) + 1
        for k in range(moves.shape[0]):
            target = target_rank(s, d, moves, k, binomials)
            relax_run(values[at:], losses[k, at:], weight, length, target, next_values, parents, k)
        at += length
        if not next_run(s, d, top):
            break
