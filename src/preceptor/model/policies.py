"""Policies: which set to show in each round, given what was shown before."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import count_faults
from preceptor._base.values import IntArray, Kind
from preceptor.errors import InvalidFile, InvalidPolicy
from preceptor.model.problem import Problem
from preceptor.model.sets import MOST_NUMBERS, TestSet, read_counts


def runs(schedule: Iterable[TestSet]) -> list[tuple[TestSet, int]]:
    """Run-length encode a schedule: [(set, rounds), ...].

    >>> runs([(0,), (0,), (1,)])
    [((0,), 2), ((1,), 1)]
    """
    return [(shown, sum(1 for _ in same)) for shown, same in groupby(schedule)]


def as_set(shown: Sequence[int]) -> TestSet:
    """A set as indices in increasing order; each may occur once."""
    try:
        indices = tuple(sorted(int(i) for i in shown))
    except (TypeError, ValueError, OverflowError):
        raise InvalidPolicy(f"set {shown!r}: must be a list of test indices") from None
    if len(set(indices)) != len(indices):
        raise InvalidPolicy(f"set {shown!r}: a test can be shown only once per round")
    return indices


def as_sets(sets: Iterable[Sequence[int]]) -> list[TestSet]:
    """Validate many sets; each distinct one once, since schedules repeat few sets often."""
    known: dict[tuple[int, ...], TestSet] = {}
    checked = []
    for shown in sets:
        key = shown if isinstance(shown, tuple) else as_set(shown)
        if key not in known:
            known[key] = as_set(key)
        checked.append(known[key])
    return checked


def exposure_counts(sets: Sequence[TestSet], tests: int) -> IntArray:
    """Exposure counts before each round and after the last, shape (rounds + 1, tests)."""
    counts = np.zeros((len(sets) + 1, tests), dtype=np.int64)
    for shown, rounds in rounds_by_set(sets).items():
        counts[np.array(rounds)[:, None] + 1, list(shown)] = 1
    np.cumsum(counts, axis=0, out=counts)
    return counts


def rounds_by_set(schedule: Sequence[TestSet]) -> dict[TestSet, list[int]]:
    """The rounds in which each set is shown."""
    found: dict[TestSet, list[int]] = {}
    for t, shown in enumerate(schedule):
        found.setdefault(shown, []).append(t)
    return found


def start_counts(start: Sequence[int] | None) -> tuple[int, ...] | None:
    """Exposure counts before round 0; None if all are 0."""
    faults: list[str] = []
    counts = None if start is None else read_counts("start", start, faults)
    InvalidPolicy.raise_if(faults)
    return counts if counts and any(counts) else None


def checked_rounds(rounds: int) -> int:
    """Return the number of rounds, or raise if it is not valid."""
    InvalidPolicy.raise_if(count_faults(0, rounds=rounds))
    return int(rounds)


def showings_since(counts: Sequence[int], start: tuple[int, ...] | None) -> IntArray:
    """Exposure counts since round 0, never negative."""
    faults: list[str] = []
    seen = np.array(read_counts("counts", counts, faults), dtype=np.float64)
    InvalidPolicy.raise_if(faults)
    since = seen if start is None else np.maximum(seen - np.asarray(start), 0.0)
    return since.astype(np.int64)


class PlannedCounts:
    """Exposure counts of a schedule: a prefix, then a word that is repeated forever.

    Parameters
    ----------
    prefix
        The sets of the first rounds.
    word
        The sets that are then repeated.
    tests
        Number of columns.

    Examples
    --------
    >>> planned = PlannedCounts([(1,)], [(0,)], 2)
    >>> planned.after(3).tolist(), planned.place([2, 1]), planned.place([2, 0])
    ([2, 1], (3, True), (0, False))
    """

    def __init__(self, prefix: Sequence[TestSet], word: Sequence[TestSet], tests: int) -> None:
        self.prefix, self.word = tuple(prefix), tuple(word)
        self._before = exposure_counts(self.prefix, tests)
        self._turn = exposure_counts(self.word, tests)

    def shown(self, rounds: int) -> TestSet:
        """The set shown in the round after the first `rounds`."""
        if rounds < len(self.prefix):
            return self.prefix[rounds]
        return self.word[(rounds - len(self.prefix)) % len(self.word)]

    def after(self, rounds: int) -> IntArray:
        """Exposure counts (tests,) after the first `rounds`."""
        if rounds <= len(self.prefix):
            return np.asarray(self._before[rounds])
        turns, within = divmod(rounds - len(self.prefix), len(self.word))
        return np.asarray(self._before[-1] + turns * self._turn[-1] + self._turn[within])

    def place(self, counts: npt.ArrayLike, rounds: int | None = None) -> tuple[int, bool]:
        """The number of rounds that a person has completed, and whether they saw nothing else.

        Parameters
        ----------
        counts
            Exposure counts of the person, (tests,).
        rounds
            Number of rounds they have had, if known: rounds in which nothing is shown leave no
            trace in the counts.

        Returns
        -------
        tuple of int and bool
            Length of the longest beginning of the schedule that is contained in the counts.
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


@dataclass(frozen=True, eq=False)
class Policy(Kind):
    """Base of all policies: what to show, round by round or person by person.

    Sets are tuples of test indices in increasing order. Counts are totals, including what the
    person had seen before round 0.

    Examples
    --------
    >>> Policy.from_dict({"kind": "stationary", "shown": [0]}).schedule(2)
    [(0,), (0,)]
    """

    family: ClassVar[str] = "policy"

    @property
    @abstractmethod
    def commit(self) -> TestSet | None:
        """The set shown forever from some round on, or None if there is no such set."""

    @property
    @abstractmethod
    def exploration_length(self) -> int | None:
        """The paper's T_d: rounds before only `commit` is shown; None if that never happens."""

    @abstractmethod
    def schedule(self, rounds: int) -> list[TestSet]:
        """The sets shown to a new person.

        Parameters
        ----------
        rounds
            How many rounds to list.

        Returns
        -------
        list of tuples of int
            The set of each round, round 0 first.
        """

    @abstractmethod
    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """The set to show next to a person, on the schedule or off it.

        Parameters
        ----------
        counts
            Exposure counts of this person, n of them.
        round
            The next round, if known.

        Returns
        -------
        tuple of int
            The set to show.
        """

    @abstractmethod
    def used_sets(self) -> list[TestSet]:
        """Every set that this policy may ever show.

        Returns
        -------
        list of tuples of int
            Each once.
        """

    def settles(self) -> tuple[list[TestSet], list[TestSet]] | None:
        """What is shown first, and what is then repeated forever; None if nothing is.

        Returns
        -------
        tuple of two lists of sets, or None
            The first rounds, and one cycle of what is repeated: a single set if the policy
            commits.
        """
        length, commit = self.exploration_length, self.commit
        if length is None or commit is None:
            return None
        return self.schedule(length), [commit]

    def check(self, problem: Problem) -> None:
        """Raise if the problem does not allow the sets of this policy.

        Parameters
        ----------
        problem
            Whose budget and size to check against.

        Raises
        ------
        InvalidPolicy
            Sets that the budget does not allow, or tests that do not exist.
        """
        rounds = sum(len(getattr(self, name, ())) for name in ("prefix", "cycle", "word"))
        if rounds * problem.size > MOST_NUMBERS:
            raise InvalidPolicy(
                f"policy: lists {rounds:,} rounds of {problem.size} tests, must be at most "
                f"{MOST_NUMBERS // problem.size:,} rounds"
            )
        check_sets(self.used_sets(), problem)


def check_sets(sets: Iterable[TestSet], problem: Problem) -> None:
    """Raise an error that names all sets that the problem does not allow."""
    faults = []
    for shown in dict.fromkeys(sets):
        if shown and (shown[0] < 0 or shown[-1] >= problem.size):
            faults.append(f"set {shown}: the problem has tests 0..{problem.size - 1}")
        elif not problem.budget.allows(shown):
            faults.append(f"set {shown}: not allowed by the budget {problem.budget}")
    InvalidPolicy.raise_if(faults)


@dataclass(frozen=True, eq=False)
class Scheduled(Policy):
    """Base of policies with a prefix of sets and a word of sets that is repeated forever."""

    @abstractmethod
    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """What is shown first, and what is then repeated forever."""

    @property
    def commit(self) -> TestSet | None:
        """The repeated set; None if several sets are repeated."""
        _, word = self.settles()
        return word[0] if len(set(word)) == 1 else None

    @property
    def exploration_length(self) -> int | None:
        """Rounds before only `commit` is shown; None if that never happens."""
        prefix, commit = self.settles()[0], self.commit
        if commit is None:
            return None
        while prefix and prefix[-1] == commit:
            prefix.pop()
        return len(prefix)

    def schedule(self, rounds: int) -> list[TestSet]:
        """The prefix, then the word repeated, cut to length."""
        prefix, word = self.settles()
        head = prefix[: checked_rounds(rounds)]
        return head + [word[t % len(word)] for t in range(rounds - len(head))]

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """The next set on the schedule.

        With a round, the set of that round. With counts alone, the set after the longest beginning
        of the schedule that is contained in the counts. So a person who skipped a test is shown it,
        and a person who saw more than planned does not wait. (Rounds in which nothing is shown
        leave no trace in the counts and are skipped.)

        Parameters
        ----------
        counts
            Exposure counts of this person, n of them.
        round
            The next round, if known.

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
        """All sets of prefix and word."""
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
        self.set_fields(shown=as_set(self.shown))

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The set, from the first round on."""
        return [], [self.shown]


@dataclass(frozen=True, eq=False)
class Alternating(Scheduled):
    """Repeats a fixed cycle of sets forever, as in the symmetric two-test case.

    Parameters
    ----------
    cycle
        The sets of the cycle, in order.
    start
        Exposure counts before round 0, shape (n,); all 0 if left out.

    Examples
    --------
    >>> Alternating([(0,), (1,)]).schedule(3)
    [(0,), (1,), (0,)]
    """

    kind: ClassVar[str] = "alternating"

    cycle: tuple[TestSet, ...]
    start: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.set_fields(cycle=tuple(as_sets(self.cycle)), start=start_counts(self.start))
        if not self.cycle:
            raise InvalidPolicy("cycle: empty, must have at least one set")

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The cycle, from the first round on."""
        return [], list(self.cycle)


@dataclass(frozen=True, eq=False)
class ExploreThenCommit(Scheduled):
    """A prefix of sets, then one set forever: the form of an optimal plan.

    Parameters
    ----------
    prefix
        The sets of the first rounds, in order.
    commit
        The set shown from then on.
    start
        Exposure counts before round 0, shape (n,); all 0 if left out.

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
        self.set_fields(prefix=tuple(sets), final=final, start=start_counts(start))

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

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The prefix, then the commit set."""
        return list(self.prefix), [self.final]


@dataclass(frozen=True, eq=False)
class ExploreThenRepeat(Scheduled):
    """A prefix of sets, then a word of sets that is repeated forever.

    For people who forget: tests that are not shown for long fade, so the final sets alternate.

    Parameters
    ----------
    prefix
        The sets of the first rounds, in order.
    word
        The sets that are then repeated, in order.
    start
        Exposure counts before round 0, shape (n,); all 0 if left out.

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
        prefix, word = (tuple(as_sets(sets)) for sets in (self.prefix, self.word))
        self.set_fields(prefix=prefix, word=word, start=start_counts(self.start))
        if not self.word:
            raise InvalidPolicy("word: empty, must have at least one set")

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The prefix, then the word."""
        return list(self.prefix), list(self.word)
