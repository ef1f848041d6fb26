"""Children of a layer with equal counts are one: exact keys, found by hashing.

Counts are packed into as few 64-bit words as hold them, so that no two different ones can be taken
for the same; a hash only chooses where to look.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preceptor._base.values import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Merged:
    """One child for each vector of counts, the cheapest, the first if tied.

    best, parents, actions (children,); `dropped` is the least cost for which there was no room.
    """

    best: FloatArray
    parents: IntArray
    actions: IntArray
    dropped: float


@dataclass(frozen=True, eq=False)
class CountKeys:
    """How counts are packed; members (sets, widest) are the tests of sets, padded with -1."""

    members: IntArray
    words: int
    bits: int

    @classmethod
    def of(cls, members: IntArray, tests: int, most: int) -> CountKeys:
        """For so many tests, shown at most so often."""
        bits = max(1, int(most).bit_length())
        return cls(members, -(-tests // (64 // bits)), bits)

    def merge(
        self, counts: IntArray, costs: FloatArray, actions: IntArray, most: IntArray, cut: float,
        room: int,
    ) -> Merged:  # fmt: skip
        """Children of states with `counts` (K, n) by sets `actions` (A,), at `costs` (K, A).

        Infinite costs are no children, those above `cut` are dropped, and so is what is new after
        `room` others. Counts stand still at `most` (n,).
        """
        from preceptor.engine._beam_kernels import merge_children

        best, keys = np.empty(room), np.empty((room, self.words), dtype=np.uint64)
        parents, chosen = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        table = np.empty(1 << max(4, int(2 * room).bit_length()), dtype=np.int64)
        kept, dropped = merge_children(
            counts, np.ascontiguousarray(costs), self.members, actions, most, cut, self.words,
            self.bits, best, parents, chosen, keys, table,
        )  # fmt: skip
        return Merged(best[:kept], parents[:kept], chosen[:kept], float(dropped))


def padded_members(shown: NDArray[np.bool_]) -> IntArray:
    """Tests of each set (sets, widest) from who is in it (sets, n), padded with -1."""
    sizes = shown.sum(axis=1)
    members = np.full((len(shown), max(int(sizes.max()), 1)), -1, dtype=np.int64)
    sets, tests = np.nonzero(shown)
    members[sets, np.arange(sets.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = tests
    return members
