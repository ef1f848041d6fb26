"""A policy as a table over exposure counts, with an entry for every state of a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.packing import RunTable
from preceptor._base.values import frozen_array, plain
from preceptor.errors import InvalidFile, InvalidPolicy
from preceptor.model.policies import Scheduled, as_sets, showings_since, start_counts
from preceptor.model.sets import TestSet

# Following a table through all of its axes takes at most this many rounds.
_LONGEST_WALK = 1_000_000


@dataclass(frozen=True, eq=False)
class CountPolicy(Scheduled):
    """A table over exposure counts: a set for every state, on the schedule or off it.

    Parameters
    ----------
    table
        Integers with one axis per test: `table[m_0, ..., m_{n-1}]` is a position in `sets`, where
        m_i counts showings of test i since `start`. Counts beyond the edge of the table are read
        at the edge. An axis of length 1 is a test whose count does not matter.
    sets
        The sets that the table points to.
    start
        Exposure counts before round 0, shape (n,); all 0 if left out.

    Raises
    ------
    InvalidPolicy
        The table does not point to sets, or has another number of tests than `start`.

    Examples
    --------
    >>> policy = CountPolicy([0, 1], sets=[(0,), ()])
    >>> policy.recommend([0]), policy.recommend([5])
    ((0,), ())
    """

    kind: ClassVar[str] = "count-table"

    runs: RunTable = field(repr=False)
    sets: tuple[TestSet, ...]
    start: tuple[int, ...] | None = None

    def __init__(
        self,
        table: npt.ArrayLike | RunTable,
        sets: Iterable[Sequence[int]],
        start: Sequence[int] | None = None,
    ) -> None:
        runs = table if isinstance(table, RunTable) else _encoded(table)
        positions = tuple(as_sets(sets))
        before = start_counts(start)
        least, most, shape = int(runs.values.min()), int(runs.values.max()), runs.shape
        faults = []
        if least < 0 or most >= len(positions):
            faults.append(
                f"table: entries from {least} to {most}, must be positions in the "
                f"{len(positions)} sets"
            )
        if before is not None and len(before) != len(shape):
            faults.append(f"start: {len(before)} counts for {len(shape)} tests")
        if sum(shape) > _LONGEST_WALK:
            faults.append(
                f"table: shape {shape}, its axes must be at most {_LONGEST_WALK:,} long together"
            )
        InvalidPolicy.raise_if(faults)
        self.set_fields(runs=runs, sets=positions, start=before)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis of the table."""
        return self.runs.shape

    @cached_property
    def table(self) -> npt.NDArray[np.integer]:
        """The table as an array; for three tests it may have millions of entries."""
        smallest = np.min_scalar_type(max(len(self.sets) - 1, 1))
        return frozen_array(self.runs.unfolded(), smallest)

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the run-length encoded table."""
        data = {"kind": self.kind, "table": self.runs.packed(), "sets": plain(self.sets)}
        return data if self.start is None else data | {"start": plain(self.start)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> CountPolicy:
        """Rebuild from a run-length encoded table or a nested list."""
        if not {"table", "sets"} <= set(fields) <= {"table", "sets", "start"}:
            raise InvalidFile(f"count-table: takes table, sets and start, got {sorted(fields)}")
        if not isinstance(fields["sets"], (list, tuple)):
            raise InvalidFile(f"sets: {fields['sets']!r}, must be a list of sets")
        table = fields["table"]
        if isinstance(table, Mapping):
            table = RunTable.unpacked("count-table", table)
        return cls(table, fields["sets"], fields.get("start"))

    def settles(self) -> tuple[list[TestSet], list[TestSet]]:
        """The path from `start` until no count within the table can change, then its last set."""
        path, final = self._walk
        return list(path), [final]

    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """Look up the counts."""
        if len(counts) != len(self.shape):
            raise InvalidPolicy(f"counts: {len(counts)} counts for {len(self.shape)} tests")
        showings_since(counts, None)
        return self._at(counts)

    def _at(self, counts: Sequence[int]) -> TestSet:
        origin = self.start or (0,) * len(self.shape)
        where = tuple(
            min(max(int(c) - first, 0), size - 1)
            for c, first, size in zip(counts, origin, self.shape, strict=True)
        )
        return self.sets[self.runs.at(where)]

    def used_sets(self) -> list[TestSet]:
        """The sets that occur in the table."""
        return [self.sets[int(i)] for i in np.unique(self.runs.values)]

    @cached_property
    def _walk(self) -> tuple[list[TestSet], TestSet]:
        """The path until no count of the table can change, and the set shown from then on."""
        origin = self.start or (0,) * len(self.shape)
        edge = [first + size - 1 for first, size in zip(origin, self.shape, strict=True)]
        counts = list(origin)
        path: list[TestSet] = []
        shown = self._at(counts)
        while any(counts[i] < edge[i] for i in shown):
            path.append(shown)
            for i in shown:
                counts[i] += 1
            shown = self._at(counts)
        while path and path[-1] == shown:
            path.pop()
        return path, shown


def _encoded(table: npt.ArrayLike) -> RunTable:
    """Run-length encode a table of integers."""
    try:
        array = np.asarray(table)
    except ValueError:  # nested lists of different lengths
        array = np.empty(0)
    if array.size == 0 or array.ndim == 0 or array.dtype.kind not in "iu":
        raise InvalidPolicy(f"table: shape {array.shape}, must be whole numbers, one axis per test")
    return RunTable.of(array)
