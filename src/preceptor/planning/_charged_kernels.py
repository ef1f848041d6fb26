"""Compiled rounds of a learner by showings under any charge for the variance of the residual.

Legend: m (n,) showings since the start; a model is the tuple (shown, err, floor, shift, reading,
prices, low, per, spline) with shown (sets, n) and err (n, counts) errors by showings. A round with
set s costs risk(v) + prices[s], where v = floor[s] + |d|² and d = shift[s] + reading[s] e. The risk
is a cubic in sqrt(v) on each of many equal cells: spline (cells, 4), `low` the smallest sqrt(v),
`per` cells per unit. A tail is the tuple (word, turns, share): of all turns of the word those
numbered turns[j] are played, with the weights share[j].

What everything after some round costs if test i was shown once more (sign 0) or once less (sign 1)
is `one[sign, i]` above the present cost, and two such changes together cost
`two[sign_i, sign_j, i, j]` beyond the sum of both, for i < j. So the price of a set that differs
from the present one by up to two tests is exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.jit import inner_jit, jit

if TYPE_CHECKING:
    from preceptor._base.values import FloatArray, IntArray

    Word = tuple[IntArray, IntArray, FloatArray]
    Model = tuple[
        IntArray,
        FloatArray,
        FloatArray,
        FloatArray,
        FloatArray,
        FloatArray,
        float,
        float,
        FloatArray,
    ]


@inner_jit
def risk_of(v: float, low: float, per: float, spline: FloatArray) -> float:
    """The risk at variance v."""
    place = (math.sqrt(max(v, 0.0)) - low) * per
    cell = min(max(int(place), 0), spline.shape[0] - 1)
    u = place - cell
    risk: float = spline[cell, 0] + u * (
        spline[cell, 1] + u * (spline[cell, 2] + u * spline[cell, 3])
    )
    return risk


@inner_jit
def charged_loss(s: int, m: IntArray, model: Model) -> float:
    """Loss of set s at counts m."""
    _shown, err, floor, shift, reading, prices, low, per, spline = model
    v = floor[s]
    for r in range(shift.shape[1]):
        d = shift[s, r]
        for i in range(m.size):
            d += reading[s, r, i] * err[i, m[i]]
        v += d * d
    loss: float = risk_of(v, low, per, spline) + prices[s]
    return loss


@inner_jit
def show(s: int, times: int, shown: IntArray, m: IntArray) -> None:
    """Counts m after showing set s some times."""
    for i in range(m.size):
        m[i] += times * shown[s, i]


@inner_jit
def turn_to(word: IntArray, turn: int, shown: IntArray, m: IntArray, now: IntArray) -> None:
    """Counts `now` after this many turns of the word from counts m."""
    for i in range(m.size):
        now[i] = m[i]
    for r in range(word.size):
        show(word[r], turn, shown, now)


@inner_jit
def tail_cost(discount: float, tail: Word, model: Model, m: IntArray, now: IntArray) -> float:
    """Cost of the tail from counts m on; `now` (n,) is scratch."""
    word, turns, share = tail
    total = 0.0
    for j in range(turns.size):
        turn_to(word, turns[j], model[0], m, now)
        weight = share[j]
        for r in range(word.size):
            total += weight * charged_loss(word[r], now, model)
            show(word[r], 1, model[0], now)
            weight *= discount
    return total


@jit
def play_charged(
    x: IntArray, since: int, discount: float, tail: Word, model: Model, m: IntArray, losses:
    FloatArray,
) -> float:  # fmt: skip
    """Counts before each round (T+1, n) and losses (T,), from round `since` on; cost of the tail.

    The tail's cost is discounted to its own first round.
    """
    for t in range(since, x.size):
        losses[t] = charged_loss(x[t], m[t], model)
        for i in range(m.shape[1]):
            m[t + 1, i] = m[t, i] + model[0][x[t], i]
    return tail_cost(discount, tail, model, m[x.size], np.empty_like(m[0]))


@jit
def replay_blocks(
    x: IntArray, first: int, blocks: IntArray, discount: float, tail: Word, model: Model, m:
    IntArray, out: FloatArray,
) -> None:  # fmt: skip
    """Costs from round `first` on with each of these blocks (b, rounds) there instead.

    Discounted to round `first`, where counts are m.
    """
    now = np.empty_like(m)
    room = np.empty_like(m)
    for b in range(blocks.shape[0]):
        for i in range(m.size):
            now[i] = m[i]
        total = 0.0
        weight = 1.0
        for t in range(first, x.size):
            s = blocks[b, t - first] if t - first < blocks.shape[1] else x[t]
            total += weight * charged_loss(s, now, model)
            show(s, 1, model[0], now)
            weight *= discount
        out[b] = total + weight * tail_cost(discount, tail, model, now, room)


@inner_jit
def add_round(
    s: int, m: IntArray, weight: float, model: Model, one: FloatArray, two: FloatArray, along:
    FloatArray, step: FloatArray, moved: FloatArray,
) -> None:  # fmt: skip
    """Add what a round adds to `one` and `two`; along (2, n), step and moved (2, n) are scratch."""
    _shown, err, floor, shift, reading, _prices, low, per, spline = model
    n = m.size
    slope, square = along[0], along[1]
    v = floor[s]
    along[:] = 0.0
    for r in range(shift.shape[1]):
        d = shift[s, r]
        for i in range(n):
            d += reading[s, r, i] * err[i, m[i]]
        v += d * d
        for i in range(n):
            slope[i] += 2.0 * d * reading[s, r, i]
            square[i] += reading[s, r, i] * reading[s, r, i]
    base = risk_of(v, low, per, spline)
    for i in range(n):
        for sign in range(2):
            other = err[i, m[i] + 1] if sign == 0 else err[i, max(m[i] - 1, 0)]
            p = other - err[i, m[i]] if square[i] > 0.0 else 0.0
            step[sign, i] = p
            moved[sign, i] = 0.0
            if p != 0.0:
                change = p * (slope[i] + p * square[i])
                moved[sign, i] = risk_of(v + change, low, per, spline) - base
                one[sign, i] += weight * moved[sign, i]
    for i in range(n):
        for j in range(i + 1, n):
            both = 0.0
            for r in range(shift.shape[1]):
                both += 2.0 * reading[s, r, i] * reading[s, r, j]
            for a in range(2):
                p = step[a, i]
                for b in range(2):
                    q = step[b, j]
                    if p == 0.0 or q == 0.0:
                        continue
                    change = p * (slope[i] + p * square[i]) + q * (slope[j] + q * square[j])
                    together = risk_of(v + change + p * q * both, low, per, spline) - base
                    two[a, b, i, j] += weight * (together - moved[a, i] - moved[b, j])


@jit
def add_rounds(
    x: IntArray, first: int, end: int, weights: FloatArray, model: Model, m: IntArray, one:
    FloatArray, two: FloatArray,
) -> None:  # fmt: skip
    """`one` and `two` before round `first`, from those before round `end`."""
    n = m.shape[1]
    along, step, moved = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    for t in range(end - 1, first - 1, -1):
        add_round(x[t], m[t], weights[t], model, one, two, along, step, moved)


@jit
def start_at_tail(
    tail: Word, weight: float, discount: float, model: Model, m: IntArray, one: FloatArray,
    two: FloatArray,
) -> None:  # fmt: skip
    """`one` and `two` of the tail alone, whose first round has this weight and counts m."""
    word, turns, share = tail
    n = m.size
    along, step, moved = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    now = np.empty_like(m)
    one[:] = 0.0
    two[:] = 0.0
    for j in range(turns.size):
        turn_to(word, turns[j], model[0], m, now)
        here = weight * share[j]
        for r in range(word.size):
            add_round(word[r], now, here, model, one, two, along, step, moved)
            show(word[r], 1, model[0], now)
            here *= discount


@jit
def price_sets(
    positions: IntArray, present: int, m: IntArray, weight: float, model: Model, one:
    FloatArray, two: FloatArray, out: FloatArray, changed: IntArray,
) -> None:  # fmt: skip
    """What each set costs in a round and changes later, and by how many tests it differs."""
    n = m.size
    shown = model[0]
    signs = np.empty(n, dtype=np.int64)
    tests = np.empty(n, dtype=np.int64)
    for p in range(positions.size):
        s = positions[p]
        total, count = weight * charged_loss(s, m, model), 0
        for i in range(n):
            if shown[s, i] != shown[present, i]:
                tests[count] = i
                signs[count] = 0 if shown[s, i] > shown[present, i] else 1
                total += one[signs[count], i]
                for c in range(count):
                    total += two[signs[c], signs[count], tests[c], i]
                count += 1
        out[p] = total
        changed[p] = count
