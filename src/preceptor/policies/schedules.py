"""Policies that follow a schedule: one set, a cycle, or some rounds and then one of the two."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from preceptor.errors import InvalidFile, InvalidPolicy
from preceptor.model.sets import TestSet
from preceptor.policies.planned_counts import PlannedCounts
from preceptor.policies.policy import Policy
from preceptor.policies.showings import (
    as_set,
    as_sets,
    checked_rounds,
    showings_since,
    start_counts,
)


@dataclass(frozen=True, eq=False)
class Scheduled(Policy):
    """Base of policies that go through some sets first and then repeat a word of sets forever."""

    @abstractmethod
    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """What is shown first, and what is then repeated forever."""

    @property
    def commit(self) -> TestSet | None:
        """None, unless the repeated word holds one set only."""
        _, word = self.settles()
        return word[0] if len(set(word)) == 1 else None

    @property
    def exploration_length(self) -> int | None:
        """Rounds before `commit` is all that is shown; None if it never is."""
        prefix, commit = self.settles()[0], self.commit
        if commit is None:
            return None
        while prefix and prefix[-1] == commit:
            prefix.pop()
        return len(prefix)

    def schedule(self, rounds: int) -> list[TestSet]:
        """The sets of the first rounds, then the word, repeated and cut."""
        prefix, word = self.settles()
        head = prefix[: checked_rounds(rounds)]
        return head + [word[t % len(word)] for t in range(rounds - len(head))]

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """What comes next on the plan.

        With a round, that round's set. With counts alone, the set after the longest part of the
        plan that this person has already been shown in full. So somebody who skipped a test is
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
        prefix, word = self.settles()
        if round is not None:
            return prefix[round] if round < len(prefix) else word[(round - len(prefix)) % len(word)]
        seen = showings_since(counts, getattr(self, "start", None))
        planned = PlannedCounts(prefix, word, seen.size)
        return planned.shown(planned.place(seen)[0])

    def used_sets(self) -> list[TestSet]:
        """Every set that is shown first or repeated."""
        prefix, word = self.settles()
        return list(dict.fromkeys([*prefix, *word]))


@dataclass(frozen=True, eq=False)
class Stationary(Scheduled):
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

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The set, from the first round on."""
        return [], [self.shown]


@dataclass(frozen=True, eq=False)
class Alternating(Scheduled):
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

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The cycle, from the first round on."""
        return [], list(self.cycle)


@dataclass(frozen=True, eq=False)
class ExploreThenCommit(Scheduled):
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
    def exploration_length(self) -> int:
        """Length of the prefix; a tail of it that equals `commit` does not count."""
        return len(self.prefix)

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The prefix, then the commit set."""
        return list(self.prefix), [self.final]


@dataclass(frozen=True, eq=False)
class ExploreThenRepeat(Scheduled):
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

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The prefix, then the word."""
        return list(self.prefix), list(self.word)
