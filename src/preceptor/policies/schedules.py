"""Policies that follow a schedule: one set, a cycle, or some rounds and then one of the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from preceptor._base.values import IntArray
from preceptor.errors import InvalidFile, InvalidPolicy
from preceptor.model.sets import TestSet
from preceptor.policies.policy import Policy
from preceptor.policies.showings import (
    as_set,
    as_sets,
    checked_rounds,
    running_counts,
    showings_since,
    start_counts,
)


@dataclass(frozen=True, eq=False)
class Stationary(Policy):
    """The same set in every round.

    Parameters
    ----------
    shown
        The indices of its tests.

    Examples
    --------
    >>> Stationary((0, 2)).schedule(2)
    [(0, 2), (0, 2)]
    """

    kind: ClassVar[str] = "stationary"

    shown: TestSet

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", as_set(self.shown))

    @property
    def commit(self) -> TestSet:
        """The set."""
        return self.shown

    @property
    def exploration_length(self) -> int:
        """0: there is no exploration."""
        return 0

    def schedule(self, rounds: int) -> list[TestSet]:
        """The set, repeated."""
        return [self.shown] * checked_rounds(rounds)

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """The set."""
        showings_since(counts, None)
        return self.shown

    def used_sets(self) -> list[TestSet]:
        """The set."""
        return [self.shown]


@dataclass(frozen=True, eq=False)
class Alternating(Policy):
    """Goes round a fixed cycle of sets forever, as in the symmetric two-test case.

    Parameters
    ----------
    cycle
        The sets of one turn, in order.
    start
        Showings of each test before round 0, n of them; none if left out.

    Examples
    --------
    >>> Alternating([(0,), (1,)]).schedule(3)
    [(0,), (1,), (0,)]
    """

    kind: ClassVar[str] = "alternating"

    cycle: tuple[TestSet, ...]
    start: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "cycle", tuple(as_sets(self.cycle)))
        object.__setattr__(self, "start", start_counts(self.start))
        if not self.cycle:
            raise InvalidPolicy("cycle: empty, must have at least one set")

    @property
    def commit(self) -> TestSet | None:
        """None, unless the cycle holds one set only."""
        return self.cycle[0] if len(set(self.cycle)) == 1 else None

    @property
    def exploration_length(self) -> int | None:
        """None: it never commits (0 if the cycle holds one set only)."""
        return 0 if self.commit is not None else None

    def settles(self) -> tuple[list[TestSet], list[TestSet]] | None:
        """The cycle, from the first round on."""
        return [], list(self.cycle)

    def schedule(self, rounds: int) -> list[TestSet]:
        """The cycle, repeated and cut."""
        return [self.cycle[t % len(self.cycle)] for t in range(checked_rounds(rounds))]

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """The set whose turn it is; without a round, the first set that lags behind its turn."""
        if round is not None:
            return self.cycle[round % len(self.cycle)]
        own = running_counts(self.cycle, len(counts))
        seen = showings_since(counts, self.start)
        per_cycle = own[-1]
        rates = per_cycle > 0
        if not rates.any():
            return self.cycle[0]
        # Whole cycles that are behind this person, then the furthest point within the next one.
        cycles = int(np.min(seen[rates] // per_cycle[rates]))
        rest = seen - cycles * per_cycle
        done = np.flatnonzero(np.all(own[:, rates] <= rest[rates], axis=1))
        return self.cycle[int(done[-1]) % len(self.cycle)]

    def used_sets(self) -> list[TestSet]:
        """The sets of the cycle."""
        return list(dict.fromkeys(self.cycle))


@dataclass(frozen=True, eq=False)
class ExploreThenCommit(Policy):
    """A list of sets to go through first, then one set forever: the shape of an optimal plan.

    Parameters
    ----------
    prefix
        The sets of the first rounds, in order.
    commit
        The set that is shown from then on.
    start
        Showings of each test before round 0, n of them; none if left out.

    Examples
    --------
    >>> policy = ExploreThenCommit([(1,), (0,)], commit=(0,))
    >>> policy.schedule(3), policy.exploration_length
    ([(1,), (0,), (0,)], 1)
    """

    kind: ClassVar[str] = "explore-then-commit"

    prefix: tuple[TestSet, ...]
    final: TestSet
    start: tuple[int, ...] | None = None

    def __init__(
        self,
        prefix: Sequence[Sequence[int]],
        commit: Sequence[int],
        start: Sequence[int] | None = None,
    ) -> None:
        final = as_set(commit)
        sets = as_sets(prefix)
        while sets and sets[-1] == final:
            sets.pop()
        object.__setattr__(self, "prefix", tuple(sets))
        object.__setattr__(self, "final", final)
        object.__setattr__(self, "start", start_counts(start))

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ExploreThenCommit:
        """Files call the last set `final`."""
        if not {"prefix", "final"} <= set(fields) <= {"prefix", "final", "start"}:
            raise InvalidFile(
                f"explore-then-commit: takes prefix, final and start, got {sorted(fields)}"
            )
        if not isinstance(fields["prefix"], (list, tuple)):
            raise InvalidFile(f"prefix: {fields['prefix']!r}, must be a list of sets")
        return cls(fields["prefix"], fields["final"], fields.get("start"))

    @property
    def commit(self) -> TestSet:
        """The set shown after the prefix, from then on."""
        return self.final

    @property
    def exploration_length(self) -> int:
        """Length of the prefix; a tail of it that equals `commit` does not count."""
        return len(self.prefix)

    def schedule(self, rounds: int) -> list[TestSet]:
        """The prefix, then the commit set."""
        head = list(self.prefix[: checked_rounds(rounds)])
        return head + [self.final] * (rounds - len(head))

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """What comes next on the plan.

        With a round, that round's set. With counts alone, the set after the longest part of the
        prefix that this person has already been shown in full. So somebody who skipped a test is
        taught it, and somebody who saw more than planned is not kept waiting. (Rounds in which
        nothing is shown leave no trace in the counts and are passed over.)

        Parameters
        ----------
        counts
            How often this person has been shown each test so far, n of them.
        round
            The round that comes next, where it is known.

        Returns
        -------
        tuple of int
            The set to show.

        Examples
        --------
        >>> ExploreThenCommit([(1,), (1,)], commit=(0,)).recommend([0, 1])
        (1,)
        """
        if round is not None:
            return self.prefix[round] if round < len(self.prefix) else self.final
        seen = showings_since(counts, self.start)[: self._running.shape[1]]
        done = int(np.flatnonzero(np.all(self._running <= seen, axis=1))[-1])
        return self.prefix[done] if done < len(self.prefix) else self.final

    def used_sets(self) -> list[TestSet]:
        """Every set of the prefix, and the commit set."""
        return list(dict.fromkeys((*self.prefix, self.final)))

    @cached_property
    def _running(self) -> IntArray:
        tests = 1 + max((max(s, default=-1) for s in self.used_sets()), default=-1)
        return running_counts(self.prefix, tests)


@dataclass(frozen=True, eq=False)
class ExploreThenRepeat(Policy):
    """A list of sets to go through first, then a word of sets, over and over.

    What people who forget need: whatever they are not shown for long fades, so the last sets take
    turns, each as often as keeping it up is worth.

    Parameters
    ----------
    prefix
        The sets of the first rounds, in order.
    word
        The sets that are repeated after them, in order.
    start
        Showings of each test before round 0, n of them; none if left out.

    Raises
    ------
    InvalidPolicy
        The word is empty.

    Examples
    --------
    >>> policy = ExploreThenRepeat([(1,)], word=[(0,), (0,), (2,)])
    >>> policy.schedule(5)
    [(1,), (0,), (0,), (2,), (0,)]
    """

    kind: ClassVar[str] = "explore-then-repeat"

    prefix: tuple[TestSet, ...]
    word: tuple[TestSet, ...]
    start: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", tuple(as_sets(self.prefix)))
        object.__setattr__(self, "word", tuple(as_sets(self.word)))
        object.__setattr__(self, "start", start_counts(self.start))
        if not self.word:
            raise InvalidPolicy("word: empty, must have at least one set")

    @property
    def commit(self) -> TestSet | None:
        """None, unless the word holds one set only."""
        return self.word[0] if len(set(self.word)) == 1 else None

    @property
    def exploration_length(self) -> int | None:
        """None: it never commits (the prefix's length if the word holds one set only)."""
        if self.commit is None:
            return None
        length = len(self.prefix)
        while length and self.prefix[length - 1] == self.commit:
            length -= 1
        return length

    def settles(self) -> tuple[list[TestSet], list[TestSet]] | None:
        """The prefix, then the word."""
        return list(self.prefix), list(self.word)

    def schedule(self, rounds: int) -> list[TestSet]:
        """The prefix, then the word, repeated and cut."""
        head = list(self.prefix[: checked_rounds(rounds)])
        return head + [self.word[t % len(self.word)] for t in range(rounds - len(head))]

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """What comes next on the plan.

        With a round, that round's set. With counts alone, the first set of the plan that this
        person has not been shown in full, as for `ExploreThenCommit`.
        """
        if round is not None:
            if round < len(self.prefix):
                return self.prefix[round]
            return self.word[(round - len(self.prefix)) % len(self.word)]
        seen = showings_since(counts, self.start)
        own = running_counts(self.prefix, seen.size)
        done = int(np.flatnonzero(np.all(own <= seen, axis=1))[-1])
        if done < len(self.prefix):
            return self.prefix[done]
        return Alternating(self.word).recommend((seen - own[-1]).tolist())

    def used_sets(self) -> list[TestSet]:
        """Every set of the prefix and of the word."""
        return list(dict.fromkeys((*self.prefix, *self.word)))
