"""Compiled rounds of a learner by showings under any charge for the variance of the residual.

Legend: m (n,) showings since the start, whole numbers; a model is the tuple (shown, err, floor,
shift, reading, prices, low, per, spline) with shown (sets, n) and err (n, counts) errors by
showings. A round with set s costs risk(v) + prices[s], where v = floor[s] + |d|² and d = shift[s] +
reading[s] e. The risk is a cubic in sqrt(v) on each of many equal cells: spline (cells, 4), `low`
the smallest sqrt(v), `per` cells per unit. A tail is the tuple (word, turns, share): of all turns
of the word those numbered turns[j] are played, with the weights share[j].

What everything after some round costs if test i was shown once more (sign 0) or once less (sign 1)
is `one[sign, i]` above the present cost, and two such changes together cost
`two[sign_i, sign_j, i, j]` beyond the sum of both, for i < j. So the price of a set that differs
from the present one by up to two tests is exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inner_jit, jit

if TYPE_CHECKING:
    from preceptor._base.values import FloatArray, IntArray

    Word = tuple[IntArray, IntArray, FloatArray]
    Model = tuple[Any, ...]


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
def charged_loss(s: int, m: FloatArray, model: Model) -> float:
    """Loss of set s at counts m."""
    _shown, err, floor, shift, reading, prices, low, per, spline = model
    v = floor[s]
    for r in range(shift.shape[1]):
        d = shift[s, r]
        for i in range(m.size):
            d += reading[s, r, i] * err[i, int(m[i])]
        v += d * d
    loss: float = risk_of(v, low, per, spline) + prices[s]
    return loss


@inner_jit
def show(s: int, times: int, shown: IntArray, m: FloatArray) -> None:
    """Counts m after showing set s some times."""
    for i in range(m.size):
        m[i] += times * shown[s, i]


@inner_jit
def turn_to(word: IntArray, turn: int, shown: IntArray, m: FloatArray, now: FloatArray) -> None:
    """Counts `now` after this many turns of the word from counts m."""
    copy_into(now, m)
    for r in range(word.size):
        show(word[r], turn, shown, now)


@jit
def play_charged(x: IntArray, model: Model, m: FloatArray, losses: FloatArray) -> None:
    """Counts after each round, m (T+1, n), and losses (T,) along a path."""
    for t in range(x.size):
        losses[t] = charged_loss(x[t], m[t], model)
        copy_into(m[t + 1], m[t])
        show(x[t], 1, model[0], m[t + 1])


@jit
def play_tail(discount: float, tail: Word, model: Model, m: FloatArray) -> float:
    """Cost of the tail from counts m on, discounted to its own first round."""
    word, turns, share = tail
    total = 0.0
    now = np.empty_like(m)
    for j in range(turns.size):
        turn_to(word, turns[j], model[0], m, now)
        weight = share[j]
        for r in range(word.size):
            total += weight * charged_loss(word[r], now, model)
            show(word[r], 1, model[0], now)
            weight *= discount
    return total


@inner_jit
def add_round(
    s: int, m: FloatArray, weight: float, model: Model, one: FloatArray, two: FloatArray, along:
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
            d += reading[s, r, i] * err[i, int(m[i])]
        v += d * d
        for i in range(n):
            slope[i] += 2.0 * d * reading[s, r, i]
            square[i] += reading[s, r, i] * reading[s, r, i]
    base = risk_of(v, low, per, spline)
    for i in range(n):
        for sign in range(2):
            count = int(m[i])
            other = err[i, count + 1] if sign == 0 else err[i, max(count - 1, 0)]
            p = other - err[i, count] if square[i] > 0.0 else 0.0
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
def retreat_charged(
    x: IntArray, discount: float, model: Model, m: FloatArray, adjoints: FloatArray
) -> None:
    """`one` and `two` in a row before each round (T+1, 2n + 4n²), from those after the last."""
    n = m.shape[1]
    along, step, moved = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    for t in range(x.size - 1, -1, -1):
        row = adjoints[t]
        for q in range(row.size):
            row[q] = discount * adjoints[t + 1, q]
        one, two = row[: 2 * n].reshape((2, n)), row[2 * n :].reshape((2, 2, n, n))
        add_round(x[t], m[t], 1.0, model, one, two, along, step, moved)


@jit
def retreat_tail(
    discount: float, tail: Word, model: Model, m: FloatArray, adjoint: FloatArray
) -> None:
    """Add `one` and `two` of the tail alone, from counts m on."""
    word, turns, share = tail
    n = m.size
    along, step, moved = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    one, two = adjoint[: 2 * n].reshape((2, n)), adjoint[2 * n :].reshape((2, 2, n, n))
    now = np.empty_like(m)
    for j in range(turns.size):
        turn_to(word, turns[j], model[0], m, now)
        weight = share[j]
        for r in range(word.size):
            add_round(word[r], now, weight, model, one, two, along, step, moved)
            show(word[r], 1, model[0], now)
            weight *= discount


@jit
def price_sets(
    positions: IntArray, m: FloatArray, discount: float, model: Model, adjoint: FloatArray,
    out: FloatArray,
) -> None:  # fmt: skip
    """What each set costs in a round and changes later; the last of them is the present one."""
    n, shown, present = m.size, model[0], positions[-1]
    one, two = adjoint[: 2 * n].reshape((2, n)), adjoint[2 * n :].reshape((2, 2, n, n))
    signs, tests = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for p in range(positions.size):
        s = positions[p]
        later, count = 0.0, 0
        for i in range(n):
            if shown[s, i] != shown[present, i]:
                tests[count] = i
                signs[count] = 0 if shown[s, i] > shown[present, i] else 1
                later += one[signs[count], i]
                for c in range(count):
                    later += two[signs[c], signs[count], tests[c], i]
                count += 1
        out[p] = charged_loss(s, m, model) + discount * later
