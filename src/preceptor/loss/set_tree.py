"""All sets at once by walking them as a tree: one new test at a time.

The squared length |L⁻¹(Σe)_S|² grows by one term when a test is added to S, because the first
rows of L⁻¹ stay as they are. So a set costs only its own last row, as many multiplications as it
has tests, and none of that depends on the person's state except through q = Σe. Prefixes that the
budget does not allow (for sets of exactly k) are nodes too, without a set of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._value import FloatArray, IntArray
from preceptor.problem.budgets import SetFamily


@dataclass(frozen=True)
class SetTree:
    """Nodes in the order of a walk that visits parents before their children.

    `depth` (nodes,) number of tests, `test` (nodes,) the one added last, `set_index` (nodes,)
    position in the family or -1, `row` (nodes, widest) last row of L⁻¹ on the path's tests.
    """

    depth: IntArray
    test: IntArray
    set_index: IntArray
    row: FloatArray

    @classmethod
    def build(cls, sets: SetFamily, factor: FloatArray) -> SetTree:
        """From the family and its factors L⁻¹ (sets, k, k)."""
        order = np.lexsort(sets.members.T[::-1])
        members, sizes = sets.members[order], sets.sizes[order]
        # How much of its path each set shares with the one before it in the walk.
        shared = np.zeros(len(sets), dtype=np.int64)
        same = (members[1:] == members[:-1]) & (members[1:] >= 0)
        shared[1:] = np.cumprod(same, axis=1).sum(axis=1)
        new = sizes - np.minimum(shared, sizes)
        # The empty set adds no node of its own to the walk's stack, but needs a place in it.
        new = np.where(sizes == 0, 1, new)
        owner = np.repeat(np.arange(len(sets)), new)
        first = np.cumsum(new) - new
        depth = sizes[owner] - new[owner] + 1 + (np.arange(owner.size) - first[owner])
        depth = np.where(sizes[owner] == 0, 0, depth)
        last = np.maximum(depth - 1, 0)
        is_set = depth == sizes[owner]
        return cls(
            depth=depth,
            test=members[owner, last],
            set_index=np.where(is_set, order[owner], -1),
            row=np.ascontiguousarray(factor[order[owner], last]),
        )
