"""Policies: what to show, round by round or person by person.

Every policy answers two questions: `schedule(T)`, the sets for the first T rounds of somebody who
starts afresh, and `recommend(counts)`, what to show somebody who has seen each test so and so
often, on the plan or not. Counts are totals: `start` is what a new person had seen before round
0. Sets are tuples of test indices in rising order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count
from preceptor._base.packing import unpack
from preceptor._base.run_lengths import RunTable
from preceptor._base.values import IntArray, Kind, frozen_array, plain
from preceptor.errors import InvalidFile, InvalidPolicy
from preceptor.model.sets import TestSet
from preceptor.problem import MOST_SHOWINGS, Problem

# Showings of every test, round by round, are counted in a table: 400 MB.
_MOST_NUMBERS = 50_000_000
# Whoever follows a table of counts through all of its axes takes so many steps.
_LONGEST_WALK = 1_000_000


@dataclass(frozen=True, eq=False)
class Policy(Kind):
    """Base of all policies: what to show, round by round or person by person.

    Sets are tuples of test indices in rising order. Counts are totals, whatever a person had seen
    before round 0 included.

    Examples
    --------
    >>> Policy.from_dict({"kind": "stationary", "shown": [0]}).schedule(2)
    [(0,), (0,)]
    """

    family: ClassVar[str] = "policy"

    @property
    @abstractmethod
    def commit(self) -> TestSet | None:
        """The set shown from some round on, forever, or None if there is no such set."""

    @property
    @abstractmethod
    def exploration_length(self) -> int | None:
        """The paper's T_d: rounds before `commit` is all that is shown; None if it never is."""

    @abstractmethod
    def schedule(self, rounds: int) -> list[TestSet]:
        """What somebody who starts afresh is shown.

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
        """What to show next to somebody, on the plan or off it.

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
        """What is shown first, and what is then repeated forever; None if nothing ever is.

        Returns
        -------
        tuple of two lists of sets, or None
            The rounds before, and one turn of what is repeated: a single set for a policy that
            commits.
        """
        length, commit = self.exploration_length, self.commit
        if length is None or commit is None:
            return None
        return self.schedule(length), [commit]

    def check(self, problem: Problem) -> None:
        """Raise if the problem does not allow what this policy shows.

        Parameters
        ----------
        problem
            Whose budget and size to check against.

        Raises
        ------
        InvalidPolicy
            Sets that the budget does not allow, or tests that are not there.
        """
        rounds = sum(len(getattr(self, name, ())) for name in ("prefix", "cycle", "word"))
        if rounds * problem.size > _MOST_NUMBERS:
            raise InvalidPolicy(
                f"policy: lists {rounds:,} rounds of {problem.size} tests, must be at most "
                f"{_MOST_NUMBERS // problem.size:,} rounds"
            )
        check_sets(self.used_sets(), problem)


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
        return [self.shown] * _rounds(rounds)

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """The set."""
        _since(counts, None)
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
        object.__setattr__(self, "start", _start_counts(self.start))
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
        return [self.cycle[t % len(self.cycle)] for t in range(_rounds(rounds))]

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """The set whose turn it is; without a round, the first set that lags behind its turn."""
        if round is not None:
            return self.cycle[round % len(self.cycle)]
        own = _running_counts(self.cycle, len(counts))
        seen = _since(counts, self.start)
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
        object.__setattr__(self, "start", _start_counts(start))

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
        head = list(self.prefix[: _rounds(rounds)])
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
        seen = _since(counts, self.start)[: self._running.shape[1]]
        done = int(np.flatnonzero(np.all(self._running <= seen, axis=1))[-1])
        return self.prefix[done] if done < len(self.prefix) else self.final

    def used_sets(self) -> list[TestSet]:
        """Every set of the prefix, and the commit set."""
        return list(dict.fromkeys((*self.prefix, self.final)))

    @cached_property
    def _running(self) -> IntArray:
        tests = 1 + max((max(s, default=-1) for s in self.used_sets()), default=-1)
        return _running_counts(self.prefix, tests)


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
        object.__setattr__(self, "start", _start_counts(self.start))
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
        head = list(self.prefix[: _rounds(rounds)])
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
        seen = _since(counts, self.start)
        own = _running_counts(self.prefix, seen.size)
        done = int(np.flatnonzero(np.all(own <= seen, axis=1))[-1])
        if done < len(self.prefix):
            return self.prefix[done]
        return Alternating(self.word).recommend((seen - own[-1]).tolist())

    def used_sets(self) -> list[TestSet]:
        """Every set of the prefix and of the word."""
        return list(dict.fromkeys((*self.prefix, *self.word)))


@dataclass(frozen=True, eq=False)
class CountPolicy(Policy):
    """A table over counts: an answer for every state, on the plan or off it.

    Parameters
    ----------
    table
        Whole numbers with one axis for each test: `table[m_0, ..., m_{n-1}]` is a position in
        `sets`, where m_i counts showings of test i since `start`. Counts beyond the table's edge
        are taken as the edge. An axis of length 1 is a test whose count does not matter.
    sets
        The sets that the table points to.
    start
        Showings of each test before round 0, n of them; none if left out.

    Raises
    ------
    InvalidPolicy
        The table does not point to sets, or is not over as many tests as `start`.

    Examples
    --------
    >>> policy = CountPolicy([0, 1], sets=[(0,), ()])
    >>> policy.recommend([0]), policy.recommend([5])
    ((0,), ())
    """

    kind: ClassVar[str] = "count-table"

    table: npt.NDArray[np.integer] = field(repr=False)
    sets: tuple[TestSet, ...]
    start: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        table = np.asarray(self.table)
        whole = table.ndim > 0 and table.size > 0 and table.dtype.kind in "iu"
        limits = (int(table.min()), int(table.max())) if whole else None
        self._settle(table.shape, limits)
        smallest = np.min_scalar_type(max(len(self.sets) - 1, 1))
        object.__setattr__(self, "table", frozen_array(table, smallest))

    def _settle(self, shape: tuple[int, ...], limits: tuple[int, int] | None) -> None:
        """Check sets and start, and that a table of that shape points to sets.

        `limits` are its least and largest entry, None if it has no whole numbers.
        """
        object.__setattr__(self, "sets", tuple(as_sets(self.sets)))
        object.__setattr__(self, "start", _start_counts(self.start))
        faults = []
        if limits is None:
            faults.append(f"table: shape {shape}, must be whole numbers, one axis a test")
        elif limits[0] < 0 or limits[1] >= len(self.sets):
            faults.append(
                f"table: entries from {limits[0]} to {limits[1]}, must be positions "
                f"in the {len(self.sets)} sets"
            )
        if self.start is not None and len(self.start) != len(shape):
            faults.append(f"start: {len(self.start)} counts for {len(shape)} tests")
        if sum(shape) > _LONGEST_WALK:
            faults.append(
                f"table: shape {shape}, its axes must be at most {_LONGEST_WALK:,} long together"
            )
        InvalidPolicy.raise_if(faults)

    def __getattr__(self, name: str) -> Any:
        """A table that came from a file is unfolded when somebody asks for the array."""
        if name != "table" or "_runs" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        smallest = np.min_scalar_type(max(len(self.sets) - 1, 1))
        table = self._runs.unfolded().astype(smallest, copy=False)
        table.setflags(write=False)
        object.__setattr__(self, "table", table)
        return table

    @cached_property
    def _runs(self) -> RunTable:
        """The table as runs: a plan for three tests has millions of entries, mostly equal."""
        return RunTable.of(self.table)

    def __getstate__(self) -> dict[str, Any]:
        """The table travels to other processes as runs, too."""
        return {"_runs": self._runs, "sets": self.sets, "start": self.start}

    @property
    def shape(self) -> tuple[int, ...]:
        """How many counts of each test the table tells apart."""
        return self.table.shape if "table" in self.__dict__ else self._runs.shape

    def to_dict(self) -> dict[str, Any]:
        """The table goes to a file as runs."""
        data = {"kind": self.kind, "table": self._runs.packed(), "sets": plain(self.sets)}
        return data if self.start is None else data | {"start": plain(self.start)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> CountPolicy:
        """A table of runs stays folded; older files have it packed, or entry by entry."""
        table = fields.get("table")
        if not isinstance(table, Mapping):
            return super().from_fields(fields)
        if "zlib" in table:
            return super().from_fields({**fields, "table": unpack("count-table", table)})
        if not {"table", "sets"} <= set(fields) <= {"table", "sets", "start"}:
            raise InvalidFile(f"count-table: takes table, sets and start, got {sorted(fields)}")
        if not isinstance(fields["sets"], (list, tuple)):
            raise InvalidFile(f"sets: {fields['sets']!r}, must be a list of sets")
        runs = RunTable.unpacked("count-table", table)
        policy = cls.__new__(cls)
        object.__setattr__(policy, "_runs", runs)
        object.__setattr__(policy, "sets", fields["sets"])
        object.__setattr__(policy, "start", fields.get("start"))
        policy._settle(runs.shape, (int(runs.values.min()), int(runs.values.max())))
        return policy

    @property
    def commit(self) -> TestSet | None:
        """The set at which the counts stop moving within the table."""
        return self._walk[1]

    @property
    def exploration_length(self) -> int | None:
        """Rounds until `commit` is all that is shown."""
        path, final = self._walk
        if final is None:
            return None
        length = len(path)
        while length and path[length - 1] == final:
            length -= 1
        return length

    def schedule(self, rounds: int) -> list[TestSet]:
        """Follow the table from `start`."""
        rounds = _rounds(rounds)
        path, final = self._walk
        if final is None and rounds > len(path):  # pragma: no cover - counts only grow
            raise InvalidPolicy("table: never settles")
        return path[:rounds] + [final or ()] * (rounds - len(path))

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """One look-up."""
        shape = self.shape
        if len(counts) != len(shape):
            raise InvalidPolicy(f"counts: {len(counts)} counts for {len(shape)} tests")
        _since(counts, None)
        return self._at(counts)

    def _at(self, counts: Sequence[int]) -> TestSet:
        shape = self.shape
        origin = self.start or (0,) * len(shape)
        where = tuple(
            min(max(int(c) - first, 0), size - 1)
            for c, first, size in zip(counts, origin, shape, strict=True)
        )
        unfolded = "table" in self.__dict__
        return self.sets[int(self.table[where]) if unfolded else self._runs.at(where)]

    def used_sets(self) -> list[TestSet]:
        """The sets that occur in the table."""
        return [self.sets[int(i)] for i in np.unique(self._runs.values)]

    @cached_property
    def _walk(self) -> tuple[list[TestSet], TestSet | None]:
        """Path until no count of the table can change any more, and the set shown from there."""
        origin = self.start or (0,) * len(self.shape)
        edge = [first + size - 1 for first, size in zip(origin, self.shape, strict=True)]
        counts = list(origin)
        path: list[TestSet] = []
        for _ in range(sum(self.shape) + 1):
            shown = self._at(counts)
            if all(counts[i] >= edge[i] for i in shown):
                return path, shown
            path.append(shown)
            for i in shown:
                counts[i] += 1
        return path, None  # pragma: no cover - every step above moves a count


def check_sets(sets: Iterable[TestSet], problem: Problem) -> None:
    """Raise if a problem does not allow some of these sets; all of those are named."""
    faults = []
    for shown in dict.fromkeys(sets):
        if shown and (shown[0] < 0 or shown[-1] >= problem.size):
            faults.append(f"set {shown}: the problem has tests 0..{problem.size - 1}")
        elif not problem.budget.allows(shown):
            faults.append(f"set {shown}: not allowed by the budget {problem.budget}")
    InvalidPolicy.raise_if(faults)


def runs(schedule: Iterable[TestSet]) -> list[tuple[TestSet, int]]:
    """Equal neighbours counted: [(set, rounds), ...].

    >>> runs([(0,), (0,), (1,)])
    [((0,), 2), ((1,), 1)]
    """
    return [(shown, sum(1 for _ in same)) for shown, same in groupby(schedule)]


def as_set(shown: Sequence[int]) -> TestSet:
    """Indices in rising order, each once."""
    try:
        indices = tuple(sorted(int(i) for i in shown))
    except (TypeError, ValueError, OverflowError):
        raise InvalidPolicy(f"set {shown!r}: must be a list of test indices") from None
    if len(set(indices)) != len(indices):
        raise InvalidPolicy(f"set {shown!r}: a test can be shown only once per round")
    return indices


def as_sets(sets: Iterable[Sequence[int]]) -> list[TestSet]:
    """Many sets; each distinct one is looked at once, since schedules repeat a few sets often."""
    known: dict[tuple[int, ...], TestSet] = {}
    checked = []
    for shown in sets:
        key = shown if isinstance(shown, tuple) else as_set(shown)
        if key not in known:
            known[key] = as_set(key)
        checked.append(known[key])
    return checked


def _running_counts(sets: Sequence[TestSet], tests: int) -> IntArray:
    """Row t: how often each test was shown in the first t sets; shape (len + 1, tests)."""
    counts = np.zeros((len(sets) + 1, tests), dtype=np.int64)
    for t, shown in enumerate(sets):
        counts[t + 1] = counts[t]
        counts[t + 1, list(shown)] += 1
    return counts


def _start_counts(start: Sequence[int] | None) -> tuple[int, ...] | None:
    """Counts before round 0; all zeros is the same as none given."""
    try:
        counts = None if start is None else tuple(int(c) for c in start)
    except (TypeError, ValueError, OverflowError):
        raise InvalidPolicy(f"start: {start!r}, must be one whole number per test") from None
    if counts and not 0 <= min(counts) <= max(counts) <= MOST_SHOWINGS:
        raise InvalidPolicy(f"start: {start!r}, must be from 0 to {MOST_SHOWINGS:,} showings")
    return counts if counts and any(counts) else None


def _rounds(rounds: int) -> int:
    """So many rounds, if they can be."""
    if not is_count(rounds, least=0):
        raise InvalidPolicy(f"rounds: {rounds!r}, must be a whole number of at least 0")
    return int(rounds)


def _since(counts: Sequence[int], start: tuple[int, ...] | None) -> IntArray:
    """Showings since round 0, never negative."""
    try:
        given = np.asarray(counts)
        seen = given.astype(np.int64)
        right = given.ndim == 1 and bool(np.all(seen == given)) and seen.min(initial=0) >= 0
        right = right and seen.max(initial=0) <= MOST_SHOWINGS
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise InvalidPolicy(
            f"counts: {counts!r}, must be one whole number for each test, from 0 to "
            f"{MOST_SHOWINGS:,}"
        )
    return np.maximum(seen - np.asarray(start), 0) if start is not None else seen
