"""A log: what participants were shown, what they predicted, and the outcome; one row per round.

All numbers are in the units that the participant read; `in_world_units` converts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray, Value, frozen_array
from preceptor._base.words import first_few, repeated
from preceptor.data.log_cells import LogTests, are_decisions, as_moment, as_yes_no, in_iso, score_of
from preceptor.data.opening import Reading
from preceptor.data.text_files import first_faults
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.world import World

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "preceptor-log/1"
MOMENT = np.dtype("datetime64[us]")
# Columns that a file may lack; they are then not written back either.
OPTIONAL = ("feedback", "when")
DECIDED = "decided"
FIELD_COLUMNS = (
    *("participant", "round", "shown", "values", "prediction", "outcome"),
    *(*OPTIONAL, DECIDED),
)
FIELDS = ("participant", "rounds", "shown", "values", "prediction", "outcome", *OPTIONAL)
NO_ROWS = "the log is empty; it needs at least one row, one for each round"

_DTYPES: dict[str, tuple[Any, str]] = {
    "rounds": (np.int64, "whole numbers, one for each row"),
    "shown": (np.bool_, "true or false for each row and test"),
    "values": (np.float64, "numbers"),
    "prediction": (np.float64, "numbers"),
    "outcome": (np.float64, "numbers"),
}


@dataclass(frozen=True, eq=False)
class Log(Value):
    """Tests shown, answers and outcomes by participant and round.

    Rows may be given in any order and are sorted. Everything is validated once, here; each fault
    names its row.

    Parameters
    ----------
    names
        The tests, n of them.
    participant
        Names, text of shape (rows,); participants keep the order of their first rows.
    rounds
        Whole numbers of shape (rows,), each at most once per participant.
    shown
        Whether the test was shown, shape (rows, n).
    values
        Its result, shape (rows, n), NaN where it was hidden.
    prediction
        The answers, shape (rows,).
    outcome
        The outcomes, shape (rows,), NaN where unknown; all unknown by default. Yes is 1, no is 0.
    feedback
        Whether the participant was told the outcome, shape (rows,); by default, and where None,
        wherever it is known. A round without feedback teaches nothing.
    when
        When the round was played, shape (rows,): dates or times, as text (ISO 8601), `datetime` or
        datetime64; None or NaT where unknown. Kept to the microsecond. Times with a UTC offset are
        converted to UTC, others are kept.
    decided
        For yes-or-no outcomes, whether answers are decisions (1 or 0) instead of probabilities; by
        default if all of them are 0 or 1.

    Raises
    ------
    InvalidInput
        Invalid rows; the message names them.

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
        """Read a log from a file.

        Each row is a round, with columns `participant`, `round`, `prediction` and, where known,
        `outcome`. Tests come in one of two layouts: `shown` and `values` as lists ("bmi;bp" and
        "31.2;88" in CSV), or one column per test, empty where it was hidden. Two more columns are
        optional: `feedback` (yes or no; whether the participant was told the outcome) and `when`
        (a date or time). Other columns are ignored. Column names match exactly or, failing that,
        regardless of case and surrounding blanks.

        If the outcome of the world is yes or no, answers are probabilities (0.7, 70%) or decisions
        (yes and no, the levels of the table, 1 and 0), and outcomes are levels, yes and no, or 1
        and 0. Answers that are all yes or no are taken to be decisions, unless a column `decided`
        (yes or no) says otherwise.

        A categorical test has one column with the level that the participant saw, if the world
        knows its levels; 0/1 columns are read as well.

        Parameters
        ----------
        path
            Text (.csv, .txt, .tsv), a workbook (.xlsx, .xlsm, .xls, .ods), .jsonl or .parquet.
        names
            The tests, or the world that has them.
        columns
            Maps the column names above to those of the file.
        reading
            Options, where guessing would go wrong.

        Returns
        -------
        Log
            All rows of the file; its `notes` say what was guessed.

        Raises
        ------
        InvalidInput
            Invalid cells; the message names file, line and column.
        InvalidFile
            The file cannot be read.
        """
        from preceptor.data.log_files import read_log

        return read_log(path, LogTests.of(names), dict(columns or {}), reading)

    @classmethod
    def from_frame(
        cls, frame: Any, names: Sequence[str] | World, *, columns: Mapping[str, str] | None = None
    ) -> Log:
        """Read a log from a data frame (pandas, polars, or any that narwhals supports).

        Parameters
        ----------
        frame
            One row per round, laid out as for `read`.
        names
            The tests, or the world that has them.
        columns
            Maps the column names of `read` to those of the frame.

        Returns
        -------
        Log
            All rows of the frame.

        Raises
        ------
        InvalidInput
            Invalid cells; the message names row and column.
        MissingExtra
            narwhals is not installed.
        """
        from preceptor.data.log_files import log_from_frame

        return log_from_frame(frame, LogTests.of(names), dict(columns or {}))

    def to_frame(self, world: World | None = None) -> pd.DataFrame:
        """Return the log as a pandas frame with a column for each test.

        Parameters
        ----------
        world
            The world of these tests; categories whose levels it knows are written as levels.

        Returns
        -------
        pandas.DataFrame
            A frame that `from_frame` reads.

        Raises
        ------
        MissingExtra
            pandas is not installed.
        """
        from preceptor.data.log_files import log_to_frame

        return log_to_frame(self, world)

    def write(self, path: str | Path, world: World | None = None) -> None:
        """Write a file that `read` reads; a failure leaves no partial file.

        Parameters
        ----------
        path
            Ends in .csv, .jsonl or .parquet.
        world
            The world of these tests; categories whose levels it knows are written as levels, and
            reading the file back then needs the world.

        Raises
        ------
        InvalidFile
            Another ending, or the file cannot be written.
        """
        from preceptor.data.log_files import write_log

        write_log(self, path, world)

    def __len__(self) -> int:
        return int(self.prediction.size)

    @property
    def said_decided(self) -> bool | None:
        """`decided` where it differs from what the answers suggest; else None."""
        return None if self.decided == are_decisions(self.prediction) else self.decided

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed when the file was read, as sentences; not part of the value."""
        return tuple(self.__dict__.get("_notes", ()))

    def with_notes(self, notes: Sequence[str]) -> Log:
        """Attach notes on how the file was read, and return the same log.

        Parameters
        ----------
        notes
            A sentence for each guess.

        Returns
        -------
        Log
            This log; notes do not affect equality.
        """
        self.__dict__["_notes"] = tuple(notes)
        return self

    @property
    def size(self) -> int:
        """Number of tests, n."""
        return len(self.names)

    @cached_property
    def participants(self) -> tuple[str, ...]:
        """Names of the participants, in the order of the rows."""
        return tuple(dict.fromkeys(self.participant.tolist()))

    @property
    def told(self) -> npt.NDArray[np.bool_]:
        """(rows,) whether the participant was told the outcome; without it, nothing is learned."""
        return self.feedback

    @cached_property
    def days(self) -> FloatArray:
        """(rows,): days since the participant's first date, NaN where there is no date."""
        passed = np.full(len(self), np.nan)
        dated = np.flatnonzero(~np.isnat(self.when))
        who, when = self.participant[dated], self.when[dated]
        # Rows of a participant are consecutive and in order of date, so the first is the earliest.
        _, first, person = np.unique(who, return_index=True, return_inverse=True)
        passed[dated] = (when - when[first][person]) / np.timedelta64(1, "D")
        return frozen_array(passed)

    @cached_property
    def counts_before(self) -> IntArray:
        """(rows, n): exposure counts, showings with feedback to that participant before the row."""
        taught = (self.shown & self.told[:, None]).astype(np.int64)
        before = np.cumsum(taught, axis=0) - taught
        starts = np.r_[True, self.participant[1:] != self.participant[:-1]]
        first_row = np.maximum.accumulate(np.where(starts, np.arange(len(self)), 0))
        return frozen_array(before - before[first_row], np.int64)

    def for_participant(self, *who: str) -> Log:
        """Return the rows of one or more participants.

        Parameters
        ----------
        *who
            Names of participants.

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
                f"participant: {', '.join(map(repr, unknown)) or 'none given'} is not in the log; "
                f"it has {first_few(self.participants)}"
            )
        return self._rows(np.isin(self.participant, who))

    def head(self, rows: int) -> Log:
        """Return the first rows.

        Parameters
        ----------
        rows
            How many; all if there are fewer.

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
        """Return the last rows; exposure counts start again from 0.

        Parameters
        ----------
        rows
            How many; all if there are fewer.

        Returns
        -------
        Log
            In the same order.
        """
        return self._rows(np.arange(len(self)) >= len(self) - rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the names, and a dict for each row."""
        from preceptor.data.log_files import plain_rows

        return {"format": FORMAT, "names": list(self.names), "rows": plain_rows(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Log:
        """Rebuild a log from plain data."""
        from preceptor.data.log_files import log_from_rows

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
        """Return some rows as a log, whose exposure counts start from 0."""
        rows = (getattr(self, field)[chosen] for field in FIELDS)
        return Log(self.names, *rows, decided=self.decided)


_WITH_NAN = ("values", "prediction", "outcome", "when")


class WorldRows(NamedTuple):
    """Rows of a log in the world's units.

    `values` (rows, n) are 0 where a test was hidden. `answers` (rows,) and `outcomes` (rows,), NaN
    where unknown, are deviations from the average outcome. For a yes-or-no outcome, outcomes are 1
    and 0, probabilities are scores without the base score, and decisions are 1 and 0.
    """

    values: FloatArray
    answers: FloatArray
    outcomes: FloatArray


def require_tests(world: World, log: Log) -> None:
    """Refuse a log about other tests than the world's.

    Raises
    ------
    InvalidInput
        The tests, or their order, differ.
    """
    if log.names != world.labels:
        raise InvalidInput(
            f"log: its tests are {', '.join(log.names)}, those of the world are "
            f"{', '.join(world.labels)}; read the log with Log.read(path, world)"
        )


def _yes_no_faults(log: Log) -> list[str]:
    """Faults of the first answer outside 0 to 1 and of the first outcome other than 0 and 1."""
    wrong_answer = (log.prediction < 0.0) | (log.prediction > 1.0)
    wrong_outcome = ~np.isnan(log.outcome) & ~np.isin(log.outcome, (0.0, 1.0))
    answer = "must be a probability from 0 to 1 (a decision is 0 or 1): the outcome is yes or no"
    checks = (
        ("answer", log.prediction, wrong_answer, answer),
        ("outcome", log.outcome, wrong_outcome, "must be 1 (yes) or 0 (no)"),
    )
    return [
        f"log: {log.participant[row]}, round {log.rounds[row]}: {name} {given[row]:g}, {must}"
        for name, given, wrong, must in checks
        for row in np.flatnonzero(wrong)[:1]
    ]


def in_world_units(world: World, log: Log, *, choices: bool = False) -> WorldRows:
    """Results, answers and outcomes in the world's units; `choices`, 0 or 1, have none.

    Raises
    ------
    InvalidInput
        The log is about other tests, or its answers do not fit a yes-or-no outcome.
    """
    require_tests(world, log)
    values, answers, outcomes = log.values, log.prediction, log.outcome
    if world.is_binary:
        InvalidInput.raise_if(_yes_no_faults(log))
        answers = answers if log.decided else score_of(world, answers)
    elif world.units is not None:
        outcomes = world.units.centre(outcomes)
        answers = answers if choices else world.units.centre(answers)
    if world.units is not None:
        values = world.units.standardise(values)
    return WorldRows(np.where(log.shown, values, 0.0), answers, outcomes)


def array_faults(names: Sequence[str], arrays: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    """Faults of the log as a whole: no tests, no rows, or shapes that disagree."""
    faults = []
    if not names:
        faults.append("names: no tests; name at least one")
    twice = repeated(names)
    if twice:
        faults.append(f"names: {', '.join(map(repr, twice))} repeated; each test needs its own")
    rows = arrays["participant"].size
    for field, array in arrays.items():
        wanted = (rows, len(names)) if field in ("shown", "values") else (rows,)
        if array.shape != wanted and not (rows == 0 and array.size == 0):
            faults.append(f"{field}: shape {array.shape}, must be {wanted}")
    if rows == 0:
        faults.append(NO_ROWS)
    return faults


def row_faults(
    names: Sequence[str],
    arrays: Mapping[str, npt.NDArray[Any]],
    place: Callable[[int], str],
    column: Callable[[str], str] = lambda field: field,
    *,
    decided: bool | None = None,
) -> list[str]:
    """Return the first faults within rows.

    `place` names a row and `column` a field as the user's table does. With `decided`, answers are
    decisions and must be 0 or 1.
    """
    return first_faults(list(_row_faults(names, arrays, place, column, bool(decided))))


def _row_faults(
    names: Sequence[str],
    arrays: Mapping[str, npt.NDArray[Any]],
    place: Callable[[int], str],
    column: Callable[[str], str],
    decided: bool,
) -> Iterator[str]:
    shown, values, answers = arrays["shown"], arrays["values"], arrays["prediction"]

    def cell(row: int, field: str) -> str:
        return f"{place(row)}, column '{column(field)}'"

    for row in _where(np.char.str_len(arrays["participant"]) == 0):
        yield f"{cell(row, 'participant')}: empty; name the participant"
    yield from _repeated_rounds(arrays, place)
    for row in _where(~np.isfinite(answers)):
        yield (
            f"{cell(row, 'prediction')}: {_missing_or_infinite(answers[row])}, must be a finite "
            "number; leave out rounds without an answer"
        )
    for row in _where(np.isinf(arrays["outcome"])):
        yield (
            f"{cell(row, 'outcome')}: infinite, must be a finite number, or empty where it is not "
            "known"
        )
    for row in _where(arrays["feedback"] & np.isnan(arrays["outcome"])):
        yield (
            f"{cell(row, 'feedback')}: told, but the outcome is missing; fill in "
            f"'{column('outcome')}', or say no"
        )
    yield from _backward_dates(arrays, place, cell)
    for row, test in np.argwhere(shown & ~np.isfinite(values)):
        yield (
            f"{place(row)}, test '{column(names[test])}': shown, but its value is "
            f"{_missing_or_infinite(values[row, test])}; must be a finite number"
        )
    for row, test in np.argwhere(~shown & ~np.isnan(values)):
        yield (
            f"{place(row)}, test '{column(names[test])}': hidden, but has the value "
            f"{values[row, test]:g}; must be NaN, or mark the test as shown"
        )
    for row in _where(decided & np.isfinite(answers) & ~np.isin(answers, (0.0, 1.0))):
        yield f"{cell(row, 'prediction')}: {answers[row]:g}, a decision must be 1 (yes) or 0 (no)"


def _repeated_rounds(
    arrays: Mapping[str, npt.NDArray[Any]], place: Callable[[int], str]
) -> Iterator[str]:
    first: dict[tuple[str, int], int] = {}
    keys = zip(arrays["participant"].tolist(), arrays["rounds"].tolist(), strict=True)
    for row, key in enumerate(keys):
        if first.setdefault(key, row) != row:
            yield (
                f"{place(row)}: a second row for participant {key[0]!r}, round {key[1]} (the first "
                f"is {place(first[key])}); keep one, or number the rounds differently"
            )


def _backward_dates(
    arrays: Mapping[str, npt.NDArray[Any]],
    place: Callable[[int], str],
    cell: Callable[[int, str], str],
) -> Iterator[str]:
    dated = np.flatnonzero(~np.isnat(arrays["when"]))
    _, person = np.unique(arrays["participant"][dated], return_inverse=True)
    rows = dated[np.lexsort((arrays["rounds"][dated], person))]
    who, when = arrays["participant"][rows], arrays["when"][rows]
    for i in _where((who[1:] == who[:-1]) & (when[1:] < when[:-1])):
        earlier, row = int(rows[i]), int(rows[i + 1])
        yield (
            f"{cell(row, 'when')}: {in_iso(when[i + 1])} in round {arrays['rounds'][row]} is "
            f"before {in_iso(when[i])} in round {arrays['rounds'][earlier]} ({place(earlier)}); "
            "correct one of the dates, or number the rounds in the order they were played"
        )


def _where(condition: npt.NDArray[np.bool_]) -> list[int]:
    return list(map(int, np.flatnonzero(condition)))


def _missing_or_infinite(number: float) -> str:
    return "missing" if np.isnan(number) else "infinite"


def given_columns(given: Mapping[str, Any]) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
    """Convert all columns to arrays; return also the faults of those that cannot be."""
    faults: list[str] = []
    arrays: dict[str, Any] = {"participant": np.asarray(given["participant"], dtype=np.str_)}
    unknown = np.full(np.shape(given["prediction"]), np.nan)
    for field, (dtype, wanted) in _DTYPES.items():
        try:
            column = np.asarray(unknown if given[field] is None else given[field])
            arrays[field] = column.astype(dtype)
            exact = dtype is np.float64 or np.array_equal(arrays[field], column)
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact:
            faults.append(f"{field}: cannot be read as {wanted}")
    for field in OPTIONAL:
        if np.ndim(given[field]) == 0 and given[field] is not None:
            faults.append(f"{field}: {given[field]!r}, must be a list with a cell for each row")
    if not faults:
        arrays["feedback"] = feedback_of(given["feedback"], arrays["outcome"], faults)
        arrays["when"] = moments_of(given["when"], arrays["outcome"].shape, faults)
    return arrays, faults


def feedback_of(given: Any, outcome: FloatArray, faults: list[str]) -> npt.NDArray[np.bool_]:
    """Whether the participant was told the outcome; by default wherever it is known."""
    if given is None:
        return ~np.isnan(outcome)
    if isinstance(given, np.ndarray) and given.dtype == np.bool_:
        return given
    cells = _converted(given, "feedback", as_yes_no, None, faults)
    if len(cells) != outcome.size:  # reported as a wrong shape
        return np.zeros(len(cells), dtype=np.bool_)
    known = ~np.isnan(outcome)
    told = [known[row] if cell is None else cell for row, cell in enumerate(cells)]
    return np.array(told, dtype=np.bool_)


def moments_of(given: Any, shape: tuple[int, ...], faults: list[str]) -> npt.NDArray[Any]:
    """Dates and times without a zone, in UTC where an offset was given; NaT where missing."""
    missing = np.datetime64("NaT")
    if given is None:
        return np.full(shape, missing, dtype=MOMENT)
    if isinstance(given, np.ndarray) and given.dtype == MOMENT:
        first, last = np.datetime64(datetime.min), np.datetime64(datetime.max)
        if not np.any((given < first) | (given > last)):
            return given
    return np.array(_converted(given, "when", as_moment, missing, faults), dtype=MOMENT)


def _converted(given: Any, field: str, convert: Any, instead: Any, faults: list[str]) -> list[Any]:
    found = []
    for row, cell in enumerate(given):
        try:
            found.append(convert(cell))
        except ValueError as error:
            faults.append(f"row {row}, column '{field}': {error}")
            found.append(instead)
    return found
