"""Compiled sweep over the capped count lattice.

Legend: coordinates are counts since the start, coordinate 0 the fast one (rows run along it);
V value, A action; u = shift + Σ_{others} reading·e for the tests that stand still along a row, so
that the variance along it is |u|² + floor + 2u·G(x) + |G(x)|² with G(x) the fast tests' part.
"""

from __future__ import annotations

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import jit
from preceptor.loss._loss_kernels import expected_risk, yes_no_charges


@jit
def row_losses(
    k, u, floor, prices, code, numbers, surface, fast_part, fast_square, room, out
):  # fmt: skip
    """Losses of set k along a row, given what the other tests contribute.

    `room` (4, length) is for what yes-or-no answers depend on.
    """
    length = out.size
    constant = floor[k]
    for r in range(u.size):
        constant += u[r] * u[r]
    for x in range(length):
        out[x] = constant + fast_square[k, x]
    for r in range(u.size):
        weight = 2.0 * u[r]
        if weight != 0.0:
            part = fast_part[k, r]
            for x in range(length):
                out[x] += weight * part[x]
    if code == 3:
        for x in range(length):
            room[0, x] = u[0] + fast_part[k, 0, x]
            room[1, x] = out[x] - floor[k]
        yes_no_charges(numbers, surface, floor[k], room[0], room[1], room[2], room[3], out)
    elif code != 0:
        for x in range(length):
            # rounding may leave a variance a hair below its floor, even below zero
            out[x] = expected_risk(code, numbers[0], max(out[x], floor[k]))
    if prices[k] != 0.0:
        for x in range(length):
            out[x] += prices[k]


@jit
def offer(cost, best, action, k):
    """Keep set k wherever it beats what is there."""
    chosen = action.dtype.type(k)
    for x in range(best.size):
        better = cost[x] < best[x]
        best[x] = cost[x] if better else best[x]
        action[x] = chosen if better else action[x]


@jit
def edge_value(potentials, constants, count, out):
    """Best of the separable lower bounds along a row, into out."""
    out[:] = -np.inf
    for b in range(constants.size):
        total = constants[b]
        for c in range(1, count.size):
            total += potentials[b, c, count[c]]
        fast = potentials[b, 0]
        for x in range(out.size):
            out[x] = max(out[x], total + fast[x])


@jit
def sweep(
    caps, strides, coordinate, member_of, discount, floor, shift, reading, prices, code, numbers,
    surface, err, fast_part, fast_square, table, potentials, constants, values, actions, halt,
):  # fmt: skip
    """One backward pass: V and A for every state of the box, the last row first.

    `member_of` (sets, d): whether a set moves a coordinate. `err` (n, showings) errors by count.
    `table` (sets, states) holds losses computed elsewhere, or is empty. With `potentials`
    (bounds, d, counts) and `constants` (bounds,), states at the edge of the box take the largest
    of these separable lower bounds on their cost instead, and V becomes a lower bound itself.
    Nothing is known of V if halt[0] is set before the end.
    """
    bounded = constants.size > 0
    d = caps.size
    n = coordinate.size
    sets, rows = shift.shape
    length = caps[0] + 1
    count = np.empty(d, dtype=np.int64)
    u = np.empty(rows)
    cost = np.empty(length)
    room = np.empty((4, length if code == 3 else 0))
    along = np.empty(length)  # cheapest loss among sets that only move along the row
    along_set = np.zeros(length, dtype=actions.dtype)
    forever = 1.0 / (1.0 - discount)
    for row in range(values.size // length - 1, -1, -1):
        if halt[0]:
            return
        at = row * length
        rest = row
        for c in range(1, d):
            count[c] = rest % (caps[c] + 1)
            rest //= caps[c] + 1
        best = values[at : at + length]
        action = actions[at : at + length]
        best[:] = np.inf
        along[:] = np.inf
        moves_along = False
        if bounded:
            at_edge = False
            for c in range(1, d):
                at_edge = at_edge or count[c] == caps[c]
            edge_value(potentials, constants, count, cost)
            if at_edge:
                copy_into(best, cost)
                continue
            edge = cost[length - 1]
        for k in range(sets):
            if table.size:
                for x in range(length):
                    cost[x] = table[k, at + x]
            else:
                for r in range(rows):
                    total = shift[k, r]
                    for i in range(n):
                        c = coordinate[i]
                        if c == -1:
                            total += reading[k, r, i] * err[i, 0]
                        elif c > 0:
                            total += reading[k, r, i] * err[i, count[c]]
                    u[r] = total
                row_losses(
                    k, u, floor, prices, code, numbers, surface, fast_part, fast_square, room, cost
                )
            jump = 0
            for c in range(1, d):
                if member_of[k, c] and count[c] < caps[c]:
                    jump += strides[c]
            fast = member_of[k, 0]
            if jump:
                target = values[at + jump : at + jump + length]
                if fast:
                    for x in range(length - 1):
                        cost[x] += discount * target[x + 1]
                    cost[length - 1] += discount * target[length - 1]
                else:
                    for x in range(length):
                        cost[x] += discount * target[x]
                offer(cost, best, action, k)
            elif fast:
                # At its cap the fast count stands still, so this set stays forever.
                last = cost[length - 1] * forever
                if last < best[length - 1]:
                    best[length - 1] = last
                    action[length - 1] = k
                offer(cost, along, along_set, k)
                moves_along = True
            else:
                for x in range(length):
                    cost[x] *= forever
                offer(cost, best, action, k)
        if bounded:
            best[length - 1] = edge
        if moves_along:
            after = best[length - 1]
            for x in range(length - 2, -1, -1):
                through = along[x] + discount * after
                if through < best[x]:
                    best[x] = through
                    action[x] = along_set[x]
                after = best[x]
