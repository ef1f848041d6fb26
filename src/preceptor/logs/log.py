"""A log: what people were shown, what they predicted, and what was true; one row per round.

Everything is in the units that the person read. `world.units` translates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray, Value, frozen_array
from preceptor._base.words import first_few
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.logs.checks import FIELDS, array_faults, given_columns, row_faults
from preceptor.logs.levels import Tests
from preceptor.logs.yes_no import are_decisions
from preceptor.model.world import World
from preceptor.tables import Reading
from preceptor.tables.columns import first_faults

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "preceptor-log/1"


@dataclass(frozen=True, eq=False)
class Log(Value):
    """What people were shown, what they answered and what was true, by participant and round.

    Rows may be given in any order and are kept in order. Everything is checked once, here; a fault
    names its row.

    Parameters
    ----------
    names
        The tests, n of them.
    participant
        Who, text of shape (rows,); people keep the order in which they first appear.
    rounds
        Whole numbers of shape (rows,), each at most once for a participant.
    shown
        Whether the test was shown, shape (rows, n).
    values
        Its result, shape (rows, n), NaN where it was hidden.
    prediction
        What the person said, shape (rows,).
    outcome
        What was true, shape (rows,), NaN where that is not known; nowhere if left out. Yes is 1 and
        no is 0.
    feedback
        Whether the person was told the outcome, shape (rows,); None in a row, or left out:
        whoever has an outcome was told it. A round without feedback teaches nothing.
    when
        When the round was played, shape (rows,): dates or dates with times, as text (ISO 8601),
        `datetime`s or datetime64; None or NaT where that is not known. Kept to the microsecond.
        Times with an offset are turned into UTC, others are taken as they stand.
    decided
        Where outcomes are yes or no: whether answers are decisions (1 for yes, 0 for no) instead
        of probabilities. Left out: they are if all of them are 0 or 1.

    Raises
    ------
    InvalidInput
        Rows that make no sense; the message names them.

    Examples
    --------
    >>> log = Log(["bmi"], ["ann", "ann"], [1, 2], [[True], [True]], [[1.0], [2.0]],
    ...           prediction=[0.5, 1.5], outcome=[1.0, 2.0])
    >>> log.participants, log.counts_before.tolist()
    (('ann',), [[0], [1]])
    """

    names: tuple[str, ...]
    participant: npt.NDArray[np.str_]
    rounds: IntArray
    shown: npt.NDArray[np.bool_]
    values: FloatArray
    prediction: FloatArray
    outcome: FloatArray
    feedback: npt.NDArray[np.bool_]
    when: npt.NDArray[np.datetime64]
    decided: bool

    def __init__(
        self,
        names: Sequence[str],
        participant: npt.ArrayLike,
        rounds: npt.ArrayLike,
        shown: npt.ArrayLike,
        values: npt.ArrayLike,
        prediction: npt.ArrayLike,
        outcome: npt.ArrayLike | None = None,
        feedback: npt.ArrayLike | None = None,
        when: npt.ArrayLike | None = None,
        *,
        decided: bool | None = None,
    ) -> None:
        labels = tuple(str(name) for name in names)
        given = (participant, rounds, shown, values, prediction, outcome, feedback, when)
        arrays, faults = given_columns(dict(zip(FIELDS, given, strict=True)))
        InvalidInput.raise_if(first_faults(faults))
        InvalidInput.raise_if(array_faults(labels, arrays))
        InvalidInput.raise_if(row_faults(labels, arrays, lambda row: f"row {row}", decided=decided))
        first_seen = np.unique(arrays["participant"], return_index=True, return_inverse=True)
        order = np.lexsort((arrays["rounds"], first_seen[1][first_seen[2]]))
        object.__setattr__(self, "names", labels)
        for field, array in arrays.items():
            object.__setattr__(self, field, frozen_array(array[order], array.dtype))
        guessed = are_decisions(arrays["prediction"])
        object.__setattr__(self, "decided", guessed if decided is None else bool(decided))

    @classmethod
    def read(
        cls,
        path: str | Path,
        names: Sequence[str] | World,
        *,
        columns: Mapping[str, str] | None = None,
        reading: Reading | None = None,
    ) -> Log:
        """Read a file about these tests.

        A row is a round: `participant`, `round`, `prediction`, where known `outcome`, and the tests
        in one of two layouts: `shown` and `values` as lists ("bmi;bp" and "31.2;88" in CSV), or a
        column for each test, empty where it was hidden. Two columns may be there as well:
        `feedback` (yes or no; whether the person was told the outcome) and `when` (a date, or a
        date with a time); an empty cell is as good as none. Other columns are ignored. Names are
        compared without capitals and blanks around them, unless one is written exactly so.

        If the outcome of the world is yes or no, answers are probabilities (0.7, 70%) or decisions
        (yes and no, the levels of the table, 1 and 0), and outcomes are levels, yes and no, or 1
        and 0. Answers that are all yes or no are decisions; a column `decided` (yes or no) says
        otherwise.

        A test that is a category stands under its name, with the level as the person saw it, if
        the world knows its levels; columns of 0 and 1 are read as well.

        Parameters
        ----------
        path
            Text (.csv, .txt, .tsv), a workbook (.xlsx, .xlsm, .xls, .ods), .jsonl or .parquet.
        names
            The tests, or the world that has them.
        columns
            Maps the names above to those of the file.
        reading
            How the file is written, where guessing would go wrong.

        Returns
        -------
        Log
            All rows of the file; its `notes` say what was assumed.

        Raises
        ------
        InvalidInput
            Cells that make no sense; the message names file, line and column.
        InvalidFile
            The file cannot be read.
        """
        from preceptor.logs.reading import read_log

        return read_log(path, Tests.of(names), dict(columns or {}), reading)

    @classmethod
    def from_frame(
        cls, frame: Any, names: Sequence[str] | World, *, columns: Mapping[str, str] | None = None
    ) -> Log:
        """The same from a data frame (pandas, polars, or any that narwhals knows).

        Parameters
        ----------
        frame
            One row per round, laid out as for `read`.
        names
            The tests, or the world that has them.
        columns
            Maps the names of `read` to those of the frame.

        Returns
        -------
        Log
            All rows of the frame.

        Raises
        ------
        InvalidInput
            Cells that make no sense; the message names row and column.
        MissingExtra
            narwhals is not installed.
        """
        from preceptor.logs.reading import log_from_frame

        return log_from_frame(frame, Tests.of(names), dict(columns or {}))

    def to_frame(self, world: World | None = None) -> pd.DataFrame:
        """The log as a pandas frame, with a column for each test.

        Parameters
        ----------
        world
            The world of these tests: categories are written as levels where it knows them.

        Returns
        -------
        pandas.DataFrame
            What `from_frame` reads.

        Raises
        ------
        MissingExtra
            pandas is not installed.
        """
        from preceptor.logs.writing import log_to_frame

        return log_to_frame(self, world)

    def write(self, path: str | Path, world: World | None = None) -> None:
        """Write a file that `read` reads, whole or not at all.

        Parameters
        ----------
        path
            Ends in .csv, .jsonl or .parquet.
        world
            The world of these tests: categories are written as people saw them, as levels, where
            it knows them. Reading such a file needs the world, too.

        Raises
        ------
        InvalidFile
            Another ending, or the file cannot be written.
        """
        from preceptor.logs.writing import write_log

        write_log(self, path, world)

    def __len__(self) -> int:
        return int(self.prediction.size)

    @property
    def said_decided(self) -> bool | None:
        """Whether answers are decisions where that does not follow from them; else None."""
        return None if self.decided == are_decisions(self.prediction) else self.decided

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed when the file was read, a sentence each; no part of the value."""
        found: tuple[str, ...] = self.__dict__.get("_notes", ())
        return found

    def with_notes(self, notes: Sequence[str]) -> Log:
        """The same log, which remembers how its file was read.

        Parameters
        ----------
        notes
            A sentence for each thing that was assumed.

        Returns
        -------
        Log
            This one; it is equal to what it was.
        """
        self.__dict__["_notes"] = tuple(notes)
        return self

    @property
    def size(self) -> int:
        """How many tests there are, n."""
        return len(self.names)

    @cached_property
    def participants(self) -> tuple[str, ...]:
        """Who took part, in the order of the rows."""
        return tuple(dict.fromkeys(self.participant.tolist()))

    @property
    def told(self) -> npt.NDArray[np.bool_]:
        """(rows,) whether the person heard the outcome: without it, nothing is learned."""
        return self.feedback

    @cached_property
    def days(self) -> FloatArray:
        """(rows,): days since that person's first date, NaN where there is no date."""
        passed = np.full(len(self), np.nan)
        dated = np.flatnonzero(~np.isnat(self.when))
        who, when = self.participant[dated], self.when[dated]
        # A person's rows stand together and dates never run backward, so the first is the least.
        _, first, person = np.unique(who, return_index=True, return_inverse=True)
        passed[dated] = (when - when[first][person]) / np.timedelta64(1, "D")
        return frozen_array(passed)

    @cached_property
    def counts_before(self) -> IntArray:
        """(rows, n): how often each test was shown to that person before, with feedback."""
        taught = (self.shown & self.told[:, None]).astype(np.int64)
        before = np.cumsum(taught, axis=0) - taught
        starts = np.r_[True, self.participant[1:] != self.participant[:-1]]
        first_row = np.maximum.accumulate(np.where(starts, np.arange(len(self)), 0))
        return frozen_array(before - before[first_row], np.int64)

    def for_participant(self, *who: str) -> Log:
        """The rows of one or more people.

        Parameters
        ----------
        *who
            Their names.

        Returns
        -------
        Log
            In the same order.

        Raises
        ------
        InvalidInput
            A name that is not in the log.
        """
        unknown = [name for name in who if name not in self.participants]
        if unknown or not who:
            raise InvalidInput(
                f"participant: {', '.join(map(repr, unknown)) or 'nobody'} is not in the log; "
                f"in it are {first_few(self.participants, 8)}"
            )
        return self._rows(np.isin(self.participant, who))

    def head(self, rows: int) -> Log:
        """The first rows, one person's first rounds if it is about one.

        Parameters
        ----------
        rows
            How many; all of them if there are fewer.

        Returns
        -------
        Log
            In the same order.

        Examples
        --------
        >>> log = Log(["bmi"], ["ann"] * 2, [1, 2], [[True]] * 2, [[1.0], [2.0]], [0.5, 1.5])
        >>> log.head(1).rounds.tolist(), log.tail(1).rounds.tolist()
        ([1], [2])
        """
        return self._rows(np.arange(len(self)) < rows)

    def tail(self, rows: int) -> Log:
        """The last rows; what was shown before them is not counted any more.

        Parameters
        ----------
        rows
            How many; all of them if there are fewer.

        Returns
        -------
        Log
            In the same order.
        """
        return self._rows(np.arange(len(self)) >= len(self) - rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the names, and one table for each row."""
        from preceptor.logs.writing import plain_rows

        return {"format": FORMAT, "names": list(self.names), "rows": plain_rows(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Log:
        """Rebuild from plain data."""
        from preceptor.logs.reading import log_from_rows

        if data.get("format", FORMAT) != FORMAT:
            raise InvalidFile(f"format: {data['format']!r}, this version reads {FORMAT!r}")
        missing = [key for key in ("names", "rows") if not isinstance(data.get(key), list)]
        if missing:
            raise InvalidFile(f"log: {' and '.join(missing)} must be lists")
        return log_from_rows(data["rows"], tuple(str(name) for name in data["names"]))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Log)
        same = self.names == other.names and self.decided == other.decided
        return same and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=name in _WITH_NAN)
            for name in FIELDS
        )

    def __hash__(self) -> int:
        return hash((self.names, *self.participant.tolist(), *self.rounds.tolist()))

    def __repr__(self) -> str:
        people = len(self.participants)
        return f"Log({len(self)} rows, {people} participants, tests {', '.join(self.names)})"

    def _rows(self, chosen: npt.NDArray[np.bool_]) -> Log:
        """Some rows as a log of their own; counts begin anew with its first rows."""
        rows = (getattr(self, field)[chosen] for field in FIELDS)
        return Log(self.names, *rows, decided=self.decided)


_WITH_NAN = ("values", "prediction", "outcome", "when")
