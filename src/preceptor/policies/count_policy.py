"""A table over counts: an answer for every state that a person can be in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.packing import RunTable, unpack
from preceptor._base.values import frozen_array, plain
from preceptor.errors import InvalidFile, InvalidPolicy
from preceptor.model.sets import TestSet
from preceptor.policies.policy import Policy
from preceptor.policies.showings import as_sets, checked_rounds, showings_since, start_counts

# Whoever follows a table of counts through all of its axes takes so many steps.
_LONGEST_WALK = 1_000_000


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
        object.__setattr__(self, "start", start_counts(self.start))
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
        rounds = checked_rounds(rounds)
        path, final = self._walk
        if final is None and rounds > len(path):  # pragma: no cover - counts only grow
            raise InvalidPolicy("table: never settles")
        return path[:rounds] + [final or ()] * (rounds - len(path))

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """One look-up."""
        shape = self.shape
        if len(counts) != len(shape):
            raise InvalidPolicy(f"counts: {len(counts)} counts for {len(shape)} tests")
        showings_since(counts, None)
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
