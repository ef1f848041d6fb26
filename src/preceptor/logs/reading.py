"""Logs from files and frames.

CSV and JSON lines are read with the standard library: it knows in which line a row begins, even if
cells span several, so that faults can say it; and the core needs no data frames for it.
"""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.files import read_text
from preceptor._base.parsing import parse_json_line
from preceptor._base.words import repeated
from preceptor.errors import InvalidFile, InvalidInput, MissingExtra
from preceptor.logs.cells import as_list, as_moment, as_name, as_number, as_round, as_yes_no
from preceptor.logs.checks import row_faults, shorten
from preceptor.logs.columns import FIELDS, OPTIONAL, feedback_of, moments_of
from preceptor.logs.log import Log

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True)
class Table:
    """Cells by column, and what to call each row in a message."""

    columns: dict[str, list[Any]]
    places: list[str]


def read_log(path: str | Path, names: tuple[str, ...], columns: dict[str, str]) -> Log:
    """The log in a .csv, .jsonl or .parquet file; every fault names the file."""
    with _naming(path):
        return log_from_table(_table_in(path), names, columns)


def other_columns(path: str | Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Columns of a log about these tests that are not read, and would be lost if it was written."""
    with _naming(path):
        there = _table_in(path).columns
    # With lists, a column that is called like a test is not read either.
    own = ("shown", "values") if "shown" in there else names
    known = {"participant", "round", "prediction", "outcome", *OPTIONAL, *own}
    return tuple(name for name in there if name not in known)


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Every fault names the file."""
    try:
        yield
    except csv.Error as error:
        raise InvalidFile(f"{path}: {error}") from None
    except InvalidInput as error:
        about_file = [f.removeprefix(f"{path}: ") for f in error.faults]
        raise InvalidFile([f"{path}: {fault}" for fault in about_file]) from None


def _table_in(path: str | Path) -> Table:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in {', '.join(SUFFIXES)}")
    if suffix == ".csv":
        return _csv_table(read_text(path))
    if suffix == ".parquet":
        return _parquet_table(path)
    return _json_lines_table(read_text(path))


def log_from_frame(frame: Any, names: tuple[str, ...], columns: dict[str, str]) -> Log:
    """The log in a data frame; rows are counted from 0."""
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtra("narwhals", "data", "reading a data frame") from None
    try:
        known = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InvalidInput(f"frame: {type(frame).__name__} is not a data frame") from None
    cells = {str(name): known[name].to_list() for name in known.columns}
    return log_from_table(Table(cells, [f"row {i}" for i in range(len(known))]), names, columns)


def log_from_rows(rows: Sequence[Any], names: tuple[str, ...]) -> Log:
    """The log in a list of tables, one a row."""
    return log_from_table(_record_table([(f"row {i}", row) for i, row in enumerate(rows)]), names)


def log_from_table(
    table: Table, names: tuple[str, ...], columns: Mapping[str, str] | None = None
) -> Log:
    """Find the columns, turn cells into numbers, and report every fault by its place."""
    theirs = dict(columns or {})
    faults = _mapping_faults(theirs, names, table)
    if not table.places:
        faults.append("the log is empty; it needs at least one row, one for each round")
    InvalidInput.raise_if(faults)

    def column(field: str) -> str:
        return theirs.get(field, field)

    reader = _Reader(table, column)
    wide = column("shown") not in table.columns
    InvalidInput.raise_if(_missing_columns(table, names, column, wide))
    arrays = {
        "participant": np.array(reader.cells("participant", as_name, ""), dtype=np.str_),
        "rounds": np.array(reader.cells("round", as_round, 0), dtype=np.int64),
        "prediction": np.array(reader.cells("prediction", as_number, 0.0)),
        "outcome": np.full(len(table.places), np.nan),
    }
    if column("outcome") in table.columns:
        arrays["outcome"] = np.array(reader.cells("outcome", as_number, 0.0))
    # A test may have the name of a column that can be left out: then the column is the test's.
    there = [f for f in OPTIONAL if column(f) in table.columns and not (wide and f in names)]
    told = reader.cells("feedback", as_yes_no, None) if "feedback" in there else None
    dates = reader.cells("when", as_moment, None) if "when" in there else None
    arrays["feedback"] = feedback_of(told, arrays["outcome"], reader.faults)
    arrays["when"] = moments_of(dates, arrays["outcome"].shape, reader.faults)
    if wide:
        tests = [reader.cells(name, as_number, 0.0) for name in names]
        arrays["values"] = np.array(tests, dtype=np.float64).T.reshape(-1, len(names))
        arrays["shown"] = ~np.isnan(arrays["values"])
    else:
        arrays["shown"], arrays["values"] = reader.lists(names)
    faults = [*reader.faults]
    if not faults:
        faults = row_faults(names, arrays, lambda row: table.places[row], column)
    InvalidInput.raise_if(shorten(faults))
    return Log(names, *(arrays[field] for field in FIELDS))


class _Reader:
    """Turns cells into values and collects what cannot be read."""

    def __init__(self, table: Table, column: Any) -> None:
        self.table, self.column = table, column
        self.faults: list[str] = []

    def cells(self, field: str, convert: Any, instead: Any) -> list[Any]:
        """One column; a cell that cannot be read becomes `instead` and a fault."""
        name = self.column(field)
        found = []
        for place, cell in zip(self.table.places, self.table.columns[name], strict=True):
            try:
                found.append(convert(cell))
            except ValueError as error:
                self.faults.append(f"{place}, column '{name}': {error}")
                found.append(instead)
        return found

    def lists(self, names: tuple[str, ...]) -> tuple[Any, Any]:
        """The columns `shown` and `values`, spread over the tests."""
        position = {name: i for i, name in enumerate(names)}
        shown = np.zeros((len(self.table.places), len(names)), dtype=np.bool_)
        values = np.full(shown.shape, np.nan)
        cells = zip(self.cells("shown", as_list, []), self._value_cells(), strict=True)
        for row, (listed, given) in enumerate(cells):
            tests = [position.get(str(name).strip(), -1) for name in listed]
            problem = _list_problem(listed, tests, given, names)
            if problem:
                field = self.column("values" if "values" in problem else "shown")
                self.faults.append(f"{self.table.places[row]}, column '{field}': {problem}")
                continue
            shown[row, tests] = True
            for test, cell in zip(tests, given, strict=True):
                try:
                    values[row, test] = as_number(cell)
                except ValueError as error:
                    place, where = self.table.places[row], self.column("values")
                    self.faults.append(f"{place}, column '{where}': {names[test]}: {error}")
        return shown, values

    def _value_cells(self) -> list[Any]:
        if self.column("values") not in self.table.columns:
            return [[]] * len(self.table.places)
        return self.cells("values", as_list, [])


def _list_problem(
    listed: list[Any], tests: list[int], given: list[Any], names: tuple[str, ...]
) -> str | None:
    for name, test in zip(listed, tests, strict=True):
        if test < 0:
            close = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
            return f"test {str(name)!r} is not known; {hint}"
    if len(set(tests)) != len(tests):
        return f"a test is named twice in {';'.join(map(str, listed))}"
    if len(given) != len(tests):
        return f"{len(given)} values for {len(tests)} shown tests; give one for each"
    return None


def _mapping_faults(theirs: dict[str, str], names: tuple[str, ...], table: Table) -> list[str]:
    columns = ("participant", "round", "shown", "values", "prediction", "outcome", *OPTIONAL)
    ours = tuple(dict.fromkeys((*columns, *names)))
    faults = [
        f"columns: {field!r} is not one of our names ({', '.join(ours)})"
        for field in theirs
        if field not in ours
    ]
    if table.columns:
        faults += [
            f"columns: there is no column {name!r} (for {field!r}); "
            f"there are {', '.join(table.columns)}"
            for field, name in theirs.items()
            if name not in table.columns and field in ours
        ]
    return faults


def _missing_columns(table: Table, names: tuple[str, ...], column: Any, wide: bool) -> list[str]:
    needed = ["participant", "round", "prediction"]
    faults = [
        f"column '{column(field)}' is missing; there are {', '.join(table.columns)} "
        f"(say which one it is with `columns`)"
        for field in needed
        if column(field) not in table.columns
    ]
    absent = [column(name) for name in names if column(name) not in table.columns]
    if wide and len(absent) == len(names):
        faults.append(
            "no tests: there is neither a column 'shown' nor one for any of the tests "
            f"{', '.join(names)}"
        )
    elif wide and absent:
        faults.append(
            f"no column for the tests {', '.join(absent)}; add it (empty where the test was hidden)"
            ", or say which one it is with `columns`"
        )
    return faults


def _csv_table(text: str) -> Table:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    header = [name.strip() for name in next(reader, [])]
    twice = repeated(header)
    if twice:
        raise InvalidInput(f"line 1: column {', '.join(map(repr, twice))} is there twice")
    rows, places, faults = [], [], []
    line = reader.line_num + 1
    for cells in reader:
        if cells and len(cells) != len(header):
            faults.append(f"line {line}: {len(cells)} cells, but the header has {len(header)}")
        elif cells:
            rows.append(cells)
            places.append(f"line {line}")
        line = reader.line_num + 1
    InvalidInput.raise_if(shorten(faults))
    return Table({name: [row[i] for row in rows] for i, name in enumerate(header)}, places)


def _json_lines_table(text: str) -> Table:
    records, faults = [], []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            records.append((f"line {number}", parse_json_line(line)))
        except InvalidFile as error:
            faults.append(f"line {number}: {error}")
    InvalidInput.raise_if(shorten(faults))
    return _record_table(records)


def _record_table(records: Sequence[tuple[str, Any]]) -> Table:
    """A column for every key that any record has."""
    wrong = [f"{place}: expected a table with names" for place, r in records if type(r) is not dict]
    InvalidInput.raise_if(shorten(wrong))
    keys = dict.fromkeys(key for _, record in records for key in record)
    columns = {key: [record.get(key) for _, record in records] for key in keys}
    return Table(columns, [place for place, _ in records])


def _parquet_table(path: str | Path) -> Table:
    try:
        import pandas as pd
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("pandas with pyarrow", "data", "reading Parquet") from None
    if not Path(path).is_file():
        raise InvalidFile(f"{path}: no such file")
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{path}: not a Parquet file ({error})") from None
    cells = {str(name): frame[name].tolist() for name in frame.columns}
    return Table(cells, [f"row {i}" for i in range(len(frame))])
