"""Exact bounds proven again: one inequality for every set in every reachable state.

A function W of the counts is a lower bound on the cost to go if, in every state m and for every
set,

    W(m) <= L_S(m) + δ W(m + 1_S).

Here W is built backward, as large as these inequalities allow, in NumPy, from losses computed
independently (`losses.py`), so W at the start is proven whatever a solver did.

Over finitely many rounds W also depends on the round, and after the last one it is 0, or the floor
of all later rounds if only the first ones are scanned. Over infinitely many rounds, counts are
scanned up to a cap. A state at its cap represents all higher counts: the errors lie between the
error at the cap and its limit, and the loss is replaced by its minimum over that interval
(`ReferenceLosses.least`). A set that moves no count below its cap may be shown forever,
L / (1 - δ).

Where showing nothing costs the same in every state it is postponed to the end: waiting first costs
c + δX, waiting last X + δ^h c, and X is at most the cost of waiting for all h rounds, so the second
is no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preceptor._base.numerics import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.proofs.losses import AT_A_TIME, MOST_NUMBERS, ProvenBound, ReferenceLosses

# States x sets x rounds that take a few minutes.
MOST_WORK = 20_000_000_000
_EPS = float(np.finfo(np.float64).eps)


class TooManyStates(Exception):
    """There are more states than can be checked in minutes; the message says how many."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Tests that are always shown together share a count; a test that is never shown has none.

    `place` (n,) is the position of each test's count or -1, `moves` (sets, counts) what a set adds.
    """

    place: IntArray
    moves: IntArray

    @classmethod
    def of(cls, losses: ReferenceLosses) -> Counted:
        """Group tests by the sets that they belong to."""
        shown = np.flatnonzero(losses.member_of.any(axis=0))
        columns, which = np.unique(losses.member_of[:, shown], axis=1, return_inverse=True)
        place = np.full(losses.problem.size, -1, dtype=np.int64)
        place[shown] = which.ravel()
        return cls(place, columns.astype(np.int64))

    @property
    def dimensions(self) -> int:
        """How many counts there are."""
        return int(self.moves.shape[1])

    def errors(self, table: FloatArray, counts: IntArray) -> FloatArray:
        """Errors (states, n) of people with these counts (states, dimensions)."""
        each = [
            np.full(len(counts), row[0]) if place < 0 else row[counts[:, place]]
            for row, place in zip(table, self.place, strict=True)
        ]
        return np.stack(each, axis=1)


def _proven(bound: float, states: int, losses: ReferenceLosses, kind: str) -> ProvenBound:
    compared = f"({states:,} states x {len(losses.sets):,} sets)"
    return ProvenBound(bound, f"{kind}: inequality of every set in every state checked {compared}")


def finite_bound(losses: ReferenceLosses, rounds: int) -> ProvenBound:
    """Lower bound on the cost of `rounds` rounds, plus the floor of all later ones."""
    problem, discount = losses.problem, losses.problem.discount
    later = _later_floor(losses, rounds)
    counted = Counted.of(losses)
    rows = np.arange(len(losses.sets))
    waiting = losses.waiting_row if rows.size > 1 else None
    if waiting is not None:
        rows = np.delete(rows, waiting)
    layers = _Layers.of(counted.moves[rows], rounds)
    table = losses.errors_after(range(rounds + 1))
    costs = np.empty((rows.size, layers.size))
    batch = AT_A_TIME // problem.size
    for first in range(0, layers.size, batch):
        part = slice(first, first + batch)
        errors = counted.errors(table, layers.counts[part])
        for j, row in enumerate(rows):
            costs[j, part] = losses.losses(int(row), errors)
    following = layers.following(counted.moves[rows])
    values = np.full(layers.size, later)
    checked = 0
    for t in range(rounds - 1, -1, -1):
        here = layers.of_round(t)
        new = np.full(here.stop - here.start, np.inf)
        for j in range(rows.size):
            np.minimum(new, costs[j, here] + discount * values[following[j, here]], out=new)
        if waiting is not None:
            left = rounds - t
            stop = losses.waiting_cost(left) + discount**left * later
            np.minimum(new, stop, out=new)
        values[here] = new
        checked += new.size
    start = layers.of_round(0).start
    weight = total_weight(discount, problem.horizon)
    value = float(values[start])
    slack = losses.slack * weight + 8.0 * _EPS * min(rounds, _long(discount)) * abs(value)
    kind = f"{rounds:,} rounds"
    if rounds != problem.horizon:
        kind = f"first {kind}, then the floor"
    return _proven(value - slack, checked, losses, kind)


def _long(discount: float) -> float:
    return 1.0 / (1.0 - discount) if discount < 1.0 else np.inf


def _later_floor(losses: ReferenceLosses, rounds: int) -> float:
    horizon, discount = losses.problem.horizon, losses.problem.discount
    left = None if horizon is None else horizon - rounds
    return float(losses.floors.min()) * total_weight(discount, left)


@dataclass(frozen=True, eq=False)
class _Layers:
    """All counts that some rounds can lead to (and perhaps more), ordered by the earliest round.

    `ends` (rounds + 2,) says where the counts of each earliest round begin. If every set adds the
    same total, the round follows from the counts; else people may also be there later.
    """

    counts: IntArray  # (states, dimensions)
    keys: IntArray  # (states,)
    radix: int
    ends: IntArray
    fixed: bool

    @classmethod
    def of(cls, moves: IntArray, rounds: int) -> _Layers:
        """Counts up to the round each, and totals between the least and the most a round adds."""
        totals = moves.sum(axis=1)
        most, fixed = int(totals.max()), bool(totals.min() == totals.max())
        dimensions, radix = moves.shape[1], rounds + 2
        if dimensions * math.log2(radix) > 62.0:
            raise TooManyStates(f"{rounds} rounds of {dimensions} counts")
        states = _how_many(dimensions, rounds, most * rounds)
        work = states * len(moves) * (1 if fixed else rounds / (dimensions + 1))
        if states * len(moves) > MOST_NUMBERS or work > MOST_WORK:
            raise TooManyStates(f"{states:,} states x {len(moves):,} sets x {rounds:,} rounds")
        counts = np.zeros((1, 0), dtype=np.int64)
        for _ in range(dimensions):
            choices = np.minimum(most * rounds - counts.sum(axis=1), rounds) + 1
            again = np.repeat(np.arange(len(counts)), choices)
            last = np.arange(again.size) - np.repeat(np.cumsum(choices) - choices, choices)
            counts = np.concatenate([counts[again], last[:, None]], axis=1)
        total = counts.sum(axis=1)
        earliest = np.maximum(counts.max(axis=1), -(-total // max(most, 1)))
        if fixed:
            exact = (total % max(most, 1) == 0) & (counts.max(axis=1) <= total // max(most, 1))
            counts, earliest = counts[exact], earliest[exact]
        order = np.argsort(earliest, kind="stable")  # within a round by key: counts came sorted
        counts, earliest = counts[order], earliest[order]
        keys = counts @ (radix ** np.arange(dimensions - 1, -1, -1, dtype=np.int64))
        ends = np.searchsorted(earliest, np.arange(rounds + 2))
        return cls(counts, keys, radix, ends, fixed)

    @property
    def size(self) -> int:
        """How many counts there are."""
        return len(self.counts)

    def of_round(self, t: int) -> slice:
        """Positions of the counts that are possible in round t."""
        return slice(int(self.ends[t]) if self.fixed else 0, int(self.ends[t + 1]))

    def following(self, moves: IntArray) -> NDArray[np.int32]:
        """(sets, states) position of the next state; meaningless after the last round."""
        order = np.argsort(self.keys, kind="stable")
        sorted_keys = self.keys[order]
        steps = moves @ (self.radix ** np.arange(moves.shape[1] - 1, -1, -1, dtype=np.int64))
        found = np.empty((len(moves), self.size), dtype=np.int32)
        for j, step in enumerate(steps):
            place = np.searchsorted(sorted_keys, self.keys + step)
            found[j] = order[np.minimum(place, self.size - 1)]
        return found


def _how_many(dimensions: int, most: int, total: int) -> int:
    """Count vectors with entries up to `most` that add up to at most `total`."""
    return sum(
        (-1) ** j
        * math.comb(dimensions, j)
        * math.comb(total - j * (most + 1) + dimensions, dimensions)
        for j in range(dimensions + 1)
        if total - j * (most + 1) >= 0
    )


def box_bound(losses: ReferenceLosses, caps: IntArray) -> ProvenBound:
    """The infinite horizon on counts up to `caps` (counts of `Counted`), each visited once."""
    discount, counted = losses.problem.discount, Counted.of(losses)
    shape = tuple(int(cap) + 1 for cap in caps)
    states = math.prod(shape)
    if states > MOST_NUMBERS or states * len(losses.sets) > MOST_WORK // 10:
        raise TooManyStates(f"{states:,} states x {len(losses.sets):,} sets")
    table = losses.errors_after(range(int(caps.max()) + 1))
    per_test = np.where(counted.place >= 0, caps[counted.place], 0)
    low, high = _interval(losses, table, per_test, counted.place)
    strides = np.array([math.prod(shape[j + 1 :]) for j in range(len(shape))], dtype=np.int64)
    total = np.zeros(shape, dtype=np.int32)
    for j, length in enumerate(shape):
        total += np.arange(length, dtype=np.int32).reshape((-1,) + (1,) * (len(shape) - 1 - j))
    order = np.argsort(total.ravel(), kind="stable")
    sizes = np.bincount(total.ravel())
    ends = np.concatenate([[0], np.cumsum(sizes)])
    values = np.full(states, np.nan)
    batch = AT_A_TIME // losses.problem.size
    for layer in range(len(sizes) - 1, -1, -1):
        for first in range(int(ends[layer]), int(ends[layer + 1]), batch):
            index = order[first : min(first + batch, int(ends[layer + 1]))]
            counts = np.stack(np.unravel_index(index, shape), axis=1).astype(np.int64)
            capped = counts == caps
            values[index] = _in_box(
                losses, counted, table, (low, high), index, counts, capped, strides, values
            )
    value = float(values[0])
    slack = (losses.slack + 8.0 * _EPS * abs(value)) * total_weight(discount, None)
    kind = f"counts up to {' x '.join(map(str, caps.tolist()))}"
    return _proven(value - slack, states, losses, kind)


def _interval(
    losses: ReferenceLosses, table: FloatArray, caps: IntArray, place: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Interval of the errors (n,) beyond the caps; a test that is never shown keeps its error."""
    ends = losses.limits_after(caps)
    at_cap = table[np.arange(len(caps)), caps]
    ends = np.where((place >= 0)[:, None], ends, at_cap[:, None])
    all_ends = np.concatenate([ends, at_cap[:, None]], axis=1)
    return all_ends.min(axis=1), all_ends.max(axis=1)


def _in_box(
    losses: ReferenceLosses,
    counted: Counted,
    table: FloatArray,
    interval: tuple[FloatArray, FloatArray],
    index: IntArray,
    counts: IntArray,
    capped: FloatArray,
    strides: IntArray,
    values: FloatArray,
) -> FloatArray:
    """W (states,) of states whose successors are known."""
    discount = losses.problem.discount
    errors = counted.errors(table, counts)
    at_edge = capped.any(axis=1)
    inside, outside = np.flatnonzero(~at_edge), np.flatnonzero(at_edge)
    new = np.full(index.size, np.inf)
    # Columns of tests whose count is at its cap.
    beyond = np.where(counted.place >= 0, capped[outside][:, counted.place], False)
    low = np.where(beyond, interval[0], errors[outside])
    high = np.where(beyond, interval[1], errors[outside])
    within, beyond_errors = errors[inside], errors[outside]
    best, best_outside = np.full(inside.size, np.inf), np.full(outside.size, np.inf)
    for row in range(len(losses.sets)):
        step = int(counted.moves[row] @ strides)
        if inside.size:
            cost = losses.losses(row, within)
            if step:
                cost = cost + discount * values[index[inside] + step]
            else:
                cost = cost / (1.0 - discount)
            np.minimum(best, cost, out=best)
        if outside.size:
            cost = losses.least(row, beyond_errors, low, high)
            steps = np.where(capped[outside], 0, counted.moves[row]) @ strides
            onward = np.where(steps == 0, 0.0, values[index[outside] + steps])
            total = np.where(steps == 0, cost / (1.0 - discount), cost + discount * onward)
            np.minimum(best_outside, total, out=best_outside)
    new[inside] = best
    new[outside] = best_outside
    return new


def box_caps(losses: ReferenceLosses, most_states: int) -> IntArray:
    """Caps for `box_bound` with at most that many states: equal effect of capping per test."""
    counted, discount = Counted.of(losses), losses.problem.discount
    longest = (
        1 if discount == 0.0 else min(100_000, math.ceil(math.log(1e-18) / math.log(discount)))
    )
    counts = np.arange(1, longest + 1)
    steep = np.max([losses.steepest(row) for row in range(len(losses.sets))], axis=0)
    steep = np.minimum(steep, 1e300)
    curves, starts = losses.problem.by_showings.curve_of, losses.problem.start_counts
    effect = np.zeros((counted.dimensions, longest))
    for i, place in enumerate(counted.place):
        if place >= 0:
            moved = steep[i] * abs(losses.first_errors[i]) * curves[i].to_move(starts[i] + counts)
            effect[place] = np.maximum(effect[place], moved * discount ** (counts + 1.0))
    largest = max(float(effect.max()), 1e-300)
    caps = np.ones(counted.dimensions, dtype=np.int64)
    for share in np.geomspace(1.0, 1e-16, 120):
        enough = effect <= share * largest
        wanted = np.where(enough.any(axis=1), np.argmax(enough, axis=1), longest - 1) + 1
        if math.prod(int(cap) + 1 for cap in wanted) > most_states:
            break
        caps = wanted
    return caps
