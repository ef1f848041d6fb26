"""Sets of tests: one as a tuple of indices, all that may be shown as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray

# Of many numbers, so many are worked on at a time: 16 MB an array.
BLOCK_NUMBERS = 2_000_000
# Numbers that are held at once, for each round, case or person: 400 MB an array.
MOST_NUMBERS = 50_000_000
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


def for_each_set(shown: Shown, work_out: Callable[[TestSet], FloatArray]) -> FloatArray:
    """What `work_out` gives for what each person was shown, worked out once for each set.

    Parameters
    ----------
    shown
        Which tests were seen, shape (..., n).
    work_out
        From a set to an array whose shape is always the same.

    Returns
    -------
    array of shape (..., *shape)
        One array for each person.

    Examples
    --------
    >>> seen = np.array([[True, False], [True, True], [True, False]])
    >>> for_each_set(seen, lambda shown: np.array(10.0 * len(shown)))
    array([10., 20., 10.])
    """
    masks, which = np.unique(shown.reshape(-1, shown.shape[-1]), axis=0, return_inverse=True)
    sets = [tuple(int(i) for i in np.flatnonzero(mask)) for mask in masks]
    answers = np.stack([work_out(one) for one in sets])
    return answers[which.reshape(shown.shape[:-1])]
