"""Compiled sweep over the capped count lattice, plane by plane.

Legend: coordinates are counts since the start, coordinate 0 the fast one (rows run along it);
V value, A action; u = shift + Σ_{others} reading·e for the tests that stand still along a row, so
that the variance along it is |u|² + floor + 2u·G(x) + |G(x)|² with G(x) the fast tests' part.
"""

from __future__ import annotations

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inner_jit, jit
from preceptor.model._loss_kernels import expected_risk, yes_no_charges


@inner_jit
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


@inner_jit
def row_costs(constant, weights, parts, square, later, discount, out):
    """constant + square + weights . parts + discount later along a row, two parts at a time.

    That is what squared errors cost, and what comes after: one pass for sets of up to two tests.
    """
    first, second = parts[0], parts[min(1, weights.size - 1)]
    a, b = weights[0], 0.0
    if weights.size > 1:
        b = weights[1]
    for x in range(out.size):
        out[x] = constant + square[x] + a * first[x] + b * second[x] + discount * later[x]
    for r in range(2, weights.size):
        c, third = weights[r], parts[r]
        for x in range(out.size):
            out[x] += c * third[x]


@inner_jit
def offer(cost, best, chosen, k):
    """Keep set k wherever it beats what is there."""
    for x in range(best.size):
        better = cost[x] < best[x]
        best[x] = cost[x] if better else best[x]
        chosen[x] = k if better else chosen[x]


@jit
def sweep_planes(
    first, stop, planes, caps, strides, coordinate, member_of, discount, floor, shift, reading,
    prices, code, numbers, surface, err, fast_part, fast_square, next_part, table, values,
    actions, halt,
):  # fmt: skip
    """V and A for every state of some planes, given those of all later states.

    A plane is all counts of coordinates 0 and 1; `planes` numbers them. `member_of` (sets, d):
    whether a set moves a coordinate. `err` (n, showings) errors by count.
    `fast_part`, `next_part` (sets, rows, counts): what tests of coordinates 0 and 1 contribute.
    `table` (sets, states) holds losses computed elsewhere, or is empty. Nothing is known of V if
    halt[0] is set before the end.
    """
    d = caps.size
    n = coordinate.size
    sets, rows = shift.shape
    length = caps[0] + 1
    count = np.zeros(max(d, 2), dtype=np.int64)
    lines = np.zeros((3, length))
    cost, nothing, along = lines[0], lines[1], lines[2]
    room = np.empty((4, length if code == 3 else 0))
    # What is cheapest now, and along the row only; as wide as costs, so that both move together.
    chosen, along_set = np.empty(length, dtype=np.int64), np.empty(length, dtype=np.int64)
    # What tests contribute that stand still in a plane.
    still = np.empty((sets, rows))
    u, twice = np.empty(rows), np.empty(rows)
    forever = 1.0 / (1.0 - discount)
    in_plane = caps[1] + 1 if d > 1 else 1
    for place in range(first * in_plane, stop * in_plane):
        if halt[0]:
            return
        plane = planes[place // in_plane]
        count[1] = in_plane - 1 - place % in_plane
        at = (plane * in_plane + count[1]) * length
        if count[1] == in_plane - 1:
            rest = plane
            for c in range(2, d):
                count[c] = rest % (caps[c] + 1)
                rest //= caps[c] + 1
            for k in range(sets):
                for r in range(rows):
                    total = shift[k, r]
                    for i in range(n):
                        c = coordinate[i]
                        if c == -1:
                            total += reading[k, r, i] * err[i, 0]
                        elif c > 1:
                            total += reading[k, r, i] * err[i, count[c]]
                    still[k, r] = total
        best = values[at : at + length]
        action = actions[at : at + length]
        best[:] = np.inf
        chosen[:] = 0
        along[:] = np.inf
        moves_along = False
        for k in range(sets):
            jump = 0
            for c in range(1, d):
                if member_of[k, c] and count[c] < caps[c]:
                    jump += strides[c]
            fast = 1 if member_of[k, 0] else 0
            later, after = nothing, 0.0
            if jump:
                later, after = values[at + jump : at + jump + length], discount
            if table.size == 0:
                constant = floor[k] + prices[k]
                for r in range(rows):
                    u[r] = still[k, r] + next_part[k, r, count[1]]
                    constant += u[r] * u[r]
                    twice[r] = 2.0 * u[r]
            # At the cap of the fast count sets that show it stay there.
            end = length - fast
            if table.size == 0 and code == 0:
                row_costs(
                    constant, twice, fast_part[k], fast_square[k], later[fast:], after, cost[:end]
                )
                if fast:
                    last = constant + fast_square[k, end] + after * later[end]
                    for r in range(rows):
                        last += twice[r] * fast_part[k, r, end]
                    cost[end] = last
            else:
                if table.size:
                    copy_into(cost, table[k, at : at + length])
                else:
                    row_losses(
                        k, u, floor, prices, code, numbers, surface, fast_part, fast_square, room,
                        cost,
                    )  # fmt: skip
                for x in range(end):
                    cost[x] += after * later[x + fast]
                if fast:
                    cost[end] += after * later[end]
            if jump:
                offer(cost, best, chosen, k)
            elif fast:
                # At its cap the fast count stands still, so this set stays forever.
                last = cost[length - 1] * forever
                if last < best[length - 1]:
                    best[length - 1] = last
                    chosen[length - 1] = k
                offer(cost, along, along_set, k)
                moves_along = True
            else:
                for x in range(length):
                    cost[x] *= forever
                offer(cost, best, chosen, k)
        if moves_along:
            after = best[length - 1]
            for x in range(length - 2, -1, -1):
                through = along[x] + discount * after
                if through < best[x]:
                    best[x] = through
                    chosen[x] = along_set[x]
                after = best[x]
        for x in range(length):
            action[x] = action.dtype.type(chosen[x])
