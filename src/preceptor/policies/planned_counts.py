"""What somebody on a schedule has seen after so many rounds, and where on it somebody is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import IntArray
from preceptor.model.sets import TestSet
from preceptor.policies.showings import running_counts


class PlannedCounts:
    """A schedule as counts: first some rounds, then a word of rounds over and over.

    Parameters
    ----------
    prefix
        The sets of the first rounds.
    word
        The sets that are repeated after them.
    tests
        How many columns there are.

    Examples
    --------
    >>> planned = PlannedCounts([(1,)], [(0,)], 2)
    >>> planned.after(3).tolist(), planned.place([2, 1]), planned.place([2, 0])
    ([2, 1], (3, True), (0, False))
    """

    def __init__(self, prefix: Sequence[TestSet], word: Sequence[TestSet], tests: int) -> None:
        self.prefix, self.word = tuple(prefix), tuple(word)
        self._before = running_counts(self.prefix, tests)
        self._turn = running_counts(self.word, tests)

    def shown(self, rounds: int) -> TestSet:
        """What is shown after so many rounds."""
        if rounds < len(self.prefix):
            return self.prefix[rounds]
        return self.word[(rounds - len(self.prefix)) % len(self.word)]

    def after(self, rounds: int) -> IntArray:
        """How often each column was shown in the first so many rounds, (tests,)."""
        if rounds <= len(self.prefix):
            first: IntArray = self._before[rounds]
            return first
        turns, within = divmod(rounds - len(self.prefix), len(self.word))
        counts: IntArray = self._before[-1] + turns * self._turn[-1] + self._turn[within]
        return counts

    def place(self, counts: npt.ArrayLike, rounds: int | None = None) -> tuple[int, bool]:
        """How many rounds of the schedule are behind somebody, and whether nothing else is.

        Parameters
        ----------
        counts
            How often they were shown each column, (tests,).
        rounds
            How many rounds they have had, where that is known: rounds in which nothing is shown
            leave no trace in counts.

        Returns
        -------
        tuple of int and bool
            The longest part of the schedule that is within what they have seen.
        """
        seen, own = np.asarray(counts), self._before
        if rounds is not None and np.array_equal(self.after(rounds), seen):
            return rounds, True
        done = int(np.flatnonzero(np.all(own <= seen, axis=1))[-1])
        if done < len(self.prefix):
            return done, bool(np.array_equal(own[done], seen))
        left = seen - own[-1]
        moving = self._turn[-1] > 0
        if not moving.any():
            return done, not left.any()
        cycles = int(np.min(left[moving] // self._turn[-1][moving]))
        left = left - cycles * self._turn[-1]
        within = int(np.flatnonzero(np.all(self._turn[:-1] <= left, axis=1))[-1])
        on_plan = bool(np.array_equal(self._turn[within], left))
        return done + cycles * len(self.word) + within, on_plan
