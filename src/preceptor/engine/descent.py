"""Descents of schedules: moves of one kind after the other until none helps, then kicks.

Each kind of move is a kernel that goes over the whole schedule; the order of them is here, because
a kernel that called them all would be compiled as long as all of them together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from preceptor._base.values import IntArray
from preceptor.engine.instance import DualInstance

# Value, set after the last round, and the schedule itself.
Entry = tuple[float, int, IntArray]

# Blocks of rounds that change together, besides all that are left.
_BLOCKS = (3, 10, 40)
# Rounds that are swapped are no farther apart.
_SWAPS = 11
_MOST_PASSES, _MOST_SWEEPS = 200, 50


class Descent:
    """What the descents of one search share: tables of prices, random numbers, a halt (1,)."""

    def __init__(
        self,
        instance: DualInstance,
        rounds: int,
        every_set: bool,
        state: NDArray[np.uint64],
        halt: IntArray,
    ) -> None:
        n = instance.n_features
        self._instance, self._state, self._halt = instance, state, halt
        self._every_set, self._infinite = every_set, instance.horizon is None
        self._shrinks = 1.0 / instance.alpha
        self._lookup = lookup_tables(instance)
        self._states = np.empty((rounds + 1, n))
        self._prices = np.empty((rounds + 1, n, n))
        self._room = np.empty((n, n))
        self._lengths = np.array([*_BLOCKS, rounds], dtype=np.int64)

    def down(self, schedule: IntArray, commit: int, stride: int) -> Entry:
        """Change a schedule, in place, until no move helps or the halt is set.

        Blocks begin at every `stride`-th round; there are none if it is 0.
        """
        from preceptor.engine._schedule_kernels import best_commit, replay
        from preceptor.engine._search_kernels import (
            block_sweep,
            next_random,
            round_sweep,
            swap_sweep,
        )

        problem, halt = self._instance, self._halt
        U, Q = self._states, self._prices
        costs = problem.factor, problem.set_cost
        learning = problem.shown, self._shrinks, problem.discount

        def replayed() -> float:
            return float(
                replay(schedule, commit, self._infinite, *costs, *learning, U, Q, self._room)
            )

        value = replayed()
        for _ in range(_MOST_PASSES):
            before = value
            for _inner in range(_MOST_SWEEPS):
                gain = round_sweep(
                    schedule, U, Q, *costs, problem.members, *learning, self._every_set,
                    *self._lookup, halt,
                )  # fmt: skip
                gain += swap_sweep(schedule, U, *costs, *learning, _SWAPS, halt)
                value = replayed()
                if gain <= 1e-9 * abs(value) or halt[0]:
                    break
            if halt[0]:
                break
            if stride > 0:
                first = int(next_random(self._state) * stride)
                block_sweep(
                    schedule, commit, self._infinite, U, Q, self._room, *costs, problem.members,
                    *learning, *self._lookup, self._lengths, first, stride, halt,
                )  # fmt: skip
            if self._infinite and not halt[0]:
                commit = int(best_commit(U[-1], *costs, *learning)[0])
            value = replayed()
            if value > before - 1e-8 * abs(before) or halt[0]:
                break
        return value, commit, schedule

    def kicked(self, entry: Entry, times: int, stride: int) -> Entry:
        """Disturb and descend so many times, keeping improvements only."""
        from preceptor.engine._search_kernels import kick, next_random

        for _ in range(times):
            if self._halt[0]:
                break
            value, commit, schedule = entry
            schedule = schedule.copy()
            for _more in range(1 + int(next_random(self._state) * 3)):
                kick(schedule, self._state, self._instance.n_sets)
            new = self.down(schedule, commit, stride)
            if new[0] < value - 1e-12 * abs(value):
                entry = new
        return entry


def lookup_tables(instance: DualInstance) -> tuple[IntArray, IntArray]:
    """Members in ascending order with empty places last, rows sorted, and the ids in that order."""
    rows = np.where(instance.members < 0, 1 << 40, instance.members)
    rows = np.sort(rows, axis=1)
    order = np.lexsort(rows.T[::-1]).astype(np.int64)
    return np.ascontiguousarray(rows[order]), order
