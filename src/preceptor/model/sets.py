"""Sets of tests: one as a tuple of indices, all that may be shown as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray

# Indices of tests in rising order; the empty tuple shows nothing.
TestSet = tuple[int, ...]
# The same as a mask, true for tests that are seen; of a crowd with any leading axes (..., n).
Shown = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SetFamily:
    """All sets that may be shown, as arrays.

    `members` (sets, widest) holds test indices padded with -1, `sizes` (sets,) how many are
    real, `prices` (sets,) what each set costs to show.
    """

    members: IntArray
    sizes: IntArray
    prices: FloatArray
    tests: int

    def __len__(self) -> int:
        return int(self.sizes.size)

    def __getitem__(self, index: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self.members[index, : self.sizes[index]])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def membership(self) -> npt.NDArray[np.bool_]:
        """Boolean matrix (sets, tests): which set holds which test."""
        table = np.zeros((len(self), self.tests), dtype=np.bool_)
        rows, columns = np.nonzero(self.members >= 0)
        table[rows, self.members[rows, columns]] = True
        return table

    def index(self, shown: Sequence[int]) -> int:
        """Position of a set in the family's order."""
        wanted = tuple(sorted(shown))
        if len(wanted) <= self.members.shape[1]:
            equal = (self.sizes == len(wanted)) & np.all(
                self.members[:, : len(wanted)] == np.array(wanted, dtype=np.int64), axis=1
            )
            if equal.any():
                return int(equal.argmax())
        raise KeyError(wanted)
