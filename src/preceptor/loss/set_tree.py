"""All sets at once by walking them as a tree: one new test at a time.

The squared length |L⁻¹(Σe)_S|² grows by one term when a test is added to S, because the first
rows of L⁻¹ stay as they are. So a set costs only its own last row, as many multiplications as it
has tests, and none of that depends on the person's state except through q = Σe. Prefixes that the
budget does not allow (for sets of exactly k) are nodes too, without a set of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily

# Pieces of a walk, so that each of a few cores has some.
_PIECES = 16


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

    @cached_property
    def after(self) -> IntArray:
        """For each node, the first one behind it that is not below it."""
        following = np.full(self.depth.size, self.depth.size, dtype=np.int64)
        open_nodes: list[int] = []
        for node, depth in enumerate(self.depth.tolist()):
            while open_nodes and self.depth[open_nodes[-1]] >= depth:
                following[open_nodes.pop()] = node
            open_nodes.append(node)
        return following

    @cached_property
    def cuts(self) -> IntArray:
        """Where the walk can be cut into pieces of about a size, whole branches each."""
        begins = np.flatnonzero(self.depth <= 1)
        wanted = np.linspace(0, self.depth.size, _PIECES + 1)[1:-1]
        inner = begins[np.minimum(np.searchsorted(begins, wanted), begins.size - 1)]
        return np.unique(np.concatenate([[0], inner, [self.depth.size]])).astype(np.int64)

    def least_below(self, of_set: FloatArray) -> FloatArray:
        """For each node, the least of these numbers (sets,) among the sets at or below it."""
        least = np.where(self.set_index >= 0, of_set[self.set_index], np.inf)
        deepest: list[tuple[int, int]] = []  # (node, depth) from the root to where we are
        for node, depth in enumerate(self.depth.tolist()):
            while deepest and deepest[-1][1] >= depth:
                deepest.pop()
            for above, _ in deepest:
                least[above] = min(least[above], least[node])
            deepest.append((node, depth))
        return least

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
