"""Sets of tests: one as a tuple of indices, a whole family as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray

# Large arrays are processed in blocks of this many numbers (16 MB).
BLOCK_NUMBERS = 2_000_000
# The largest array, over rounds, cases or people, that is held at once (400 MB).
MOST_NUMBERS = 50_000_000
# Rounds of an infinite horizon that are listed or put into words.
MOST_LISTED = 10_000
# More than anyone can have seen; sums with rounds stay far from overflow.
MOST_SHOWINGS = 1_000_000_000
# Indices of tests in increasing order; the empty tuple shows nothing.
TestSet = tuple[int, ...]
# The same as a mask, true for shown tests; for a crowd with leading axes (..., n).
Shown = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SetFamily:
    """Sets that may be shown, as arrays.

    `members` (sets, widest) holds test indices padded with -1, `sizes` (sets,) the number of tests
    in each set, `prices` (sets,) the price of showing it.
    """

    members: IntArray
    sizes: IntArray
    prices: FloatArray
    tests: int

    @classmethod
    def of(cls, sets: Sequence[TestSet], prices: FloatArray) -> SetFamily:
        """The family of these sets in this order; `prices` (tests,) are those of single tests."""
        sizes = np.array([len(shown) for shown in sets], dtype=np.int64)
        members = np.full((len(sets), sizes.max(initial=1)), -1, dtype=np.int64)
        for width in set(sizes.tolist()) - {0}:
            rows = np.flatnonzero(sizes == width)
            members[rows, :width] = [sets[int(row)] for row in rows]
        per_test = np.append(prices, 0.0)
        return cls(members, sizes, per_test[members].sum(axis=1), prices.size)

    def __len__(self) -> int:
        return int(self.sizes.size)

    def __getitem__(self, index: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self.members[index, : self.sizes[index]])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def membership(self) -> npt.NDArray[np.bool_]:
        """Boolean matrix (sets, tests): whether a set holds a test."""
        table = np.zeros((len(self), self.tests), dtype=np.bool_)
        rows, columns = np.nonzero(self.members >= 0)
        table[rows, self.members[rows, columns]] = True
        return table

    def index(self, shown: Sequence[int]) -> int:
        """Position of a set in the family."""
        wanted = tuple(sorted(shown))
        if len(wanted) <= self.members.shape[1]:
            equal = (self.sizes == len(wanted)) & np.all(
                self.members[:, : len(wanted)] == np.array(wanted, dtype=np.int64), axis=1
            )
            if equal.any():
                return int(equal.argmax())
        raise KeyError(wanted)


def read_counts(
    name: str, given: object, faults: list[str], tests: int | None = None
) -> tuple[int, ...] | None:
    """Exposure counts of `tests` tests, or None after adding their fault to `faults`.

    >>> read_counts("start", [2, 0.5], []), read_counts("start", np.array([2, 0]), [])
    (None, (2, 0))
    """
    try:
        numbers = np.asarray(given)
        with np.errstate(invalid="ignore"):
            counts = numbers.astype(np.int64)
        whole = numbers.ndim == 1 and bool(np.all(counts == numbers))
        right = whole and 0 <= counts.min(initial=0) <= counts.max(initial=0) <= MOST_SHOWINGS
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        faults.append(
            f"{name}: {given!r}, must be one whole number for each test, from 0 to "
            f"{MOST_SHOWINGS:,} showings"
        )
        return None
    if tests is not None and counts.size != tests:
        faults.append(f"{name}: {counts.size} counts for {tests} tests; lengths must agree")
        return None
    return tuple(counts.tolist())


def map_over_sets(shown: Shown, compute: Callable[[TestSet], FloatArray]) -> FloatArray:
    """Compute an array for what each person was shown, once per distinct set.

    Parameters
    ----------
    shown
        Which tests were shown, shape (..., n).
    compute
        Maps a set to an array, always of the same shape.

    Returns
    -------
    array of shape (..., *shape)
        One array for each person.

    Examples
    --------
    >>> seen = np.array([[True, False], [True, True], [True, False]])
    >>> map_over_sets(seen, lambda shown: np.array(10.0 * len(shown)))
    array([10., 20., 10.])
    """
    masks, which = np.unique(shown.reshape(-1, shown.shape[-1]), axis=0, return_inverse=True)
    sets = [tuple(int(i) for i in np.flatnonzero(mask)) for mask in masks]
    answers = np.stack([compute(one) for one in sets])
    return answers[which.reshape(shown.shape[:-1])]
