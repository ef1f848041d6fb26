"""Read logs from files and frames, with every fault in its place, and write them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import preceptor.data.log_cells as log_cells
from preceptor._base.extensions import from_extra
from preceptor._base.files import write_bytes, write_text
from preceptor._base.words import csv_text, matches, nearest
from preceptor.data.log import (
    DECIDED,
    FIELD_COLUMNS,
    FIELDS,
    NO_ROWS,
    OPTIONAL,
    Log,
    feedback_of,
    moments_of,
    require_tests,
    row_faults,
)
from preceptor.data.opening import Reading
from preceptor.data.sheet import Cells, read_cells
from preceptor.data.text_files import first_faults
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.world import World

if TYPE_CHECKING:
    import pandas as pd

# Columns that every log must have.
_NEEDED = ("participant", "round", "prediction")


def read_log(
    path: str | Path,
    tests: log_cells.LogTests,
    columns: Mapping[str, str],
    reading: Reading | None = None,
) -> Log:
    """Read a log from a file of any supported format; every fault names the file."""
    notes: list[str] = []
    with _naming(path, notes):
        table = read_cells(Path(path), reading)
        notes += table.notes
        return log_from_table(table, tests, columns).with_notes(table.notes)


def ignored_columns(path: str | Path, tests: log_cells.LogTests) -> tuple[str, ...]:
    """Columns of a log that are ignored, and would be lost if the log was written back."""
    with _naming(path):
        there = read_cells(Path(path)).columns
    columns = ColumnNames(there, {})
    # With lists, a column named after a test is ignored as well.
    if columns.has("shown"):
        own: tuple[str, ...] = ("shown", "values")
    else:
        own = (*tests.names, *(category.test for category in tests.categories))
    fields = [field for field in FIELD_COLUMNS if field not in ("shown", "values")]
    known = {columns.name(field) for field in (*fields, *own)}
    return tuple(name for name in there if name not in known)


@contextmanager
def _naming(path: str | Path, notes: Sequence[str] = ()) -> Iterator[None]:
    """Prefix faults with the file, and add notes on how it was read."""
    try:
        yield
    except InvalidInput as error:
        about_file = [f.removeprefix(f"{path}: ") for f in error.faults]
        found = InvalidFile([f"{path}: {fault}" for fault in about_file])
        raise found.with_notes([*getattr(error, "__notes__", ()), *notes]) from None


def log_from_frame(frame: Any, tests: log_cells.LogTests, columns: Mapping[str, str]) -> Log:
    """Read a log from a data frame; rows are counted from 0."""
    nw = from_extra("narwhals", "data", "Reading data frames")
    try:
        known = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InvalidInput(f"frame: {type(frame).__name__} is not a data frame") from None
    cells = {str(name): known[name].to_list() for name in known.columns}
    return log_from_table(Cells(cells, [f"row {i}" for i in range(len(known))]), tests, columns)


def log_from_rows(rows: Sequence[Any], names: tuple[str, ...]) -> Log:
    """Read a log from a list of dicts, one for each row."""
    wrong = [
        f"row {i}: expected names and values" for i, r in enumerate(rows) if type(r) is not dict
    ]
    InvalidInput.raise_if(first_faults(wrong))
    keys = dict.fromkeys(key for row in rows for key in row)
    cells = {key: [row.get(key) for row in rows] for key in keys}
    return log_from_table(
        Cells(cells, [f"row {i}" for i in range(len(rows))]), log_cells.LogTests(names)
    )


def log_from_table(
    table: Cells, tests: log_cells.LogTests, columns: Mapping[str, str] | None = None
) -> Log:
    """Find the columns, convert their cells, and report every fault with its place."""
    found, names = ColumnNames(table.columns, dict(columns or {})), tests.names
    faults = mapping_faults(found, tests)
    if not table.places:
        faults.append(NO_ROWS)
    InvalidInput.raise_if(faults)
    wide = not found.has("shown")
    InvalidInput.raise_if(missing_columns(found, tests, wide=wide))
    reader = _LogReader(table, tests, found)
    outcome = np.full(len(table.places), np.nan)
    arrays = {
        "participant": np.array(reader.cells("participant", log_cells.as_name, ""), dtype=np.str_),
        "rounds": np.array(reader.cells("round", log_cells.as_round, 0), dtype=np.int64),
        "prediction": np.array(reader.answers()),
        "outcome": np.array(reader.outcomes()) if found.has("outcome") else outcome,
    }
    # A test may have the name of an optional column, which then belongs to the test.
    there = [f for f in (*OPTIONAL, DECIDED) if found.has(f) and not (wide and f in names)]
    told = reader.cells("feedback", log_cells.as_yes_no, None) if "feedback" in there else None
    dates = reader.cells("when", log_cells.as_moment, None) if "when" in there else None
    arrays["feedback"] = feedback_of(told, arrays["outcome"], reader.faults)
    arrays["when"] = moments_of(dates, outcome.shape, reader.faults)
    decided = reader.decided() if DECIDED in there else None
    arrays["shown"], arrays["values"] = reader.wide() if wide else reader.lists()
    InvalidInput.raise_if(first_faults(reader.faults))
    place = table.places.__getitem__
    InvalidInput.raise_if(row_faults(names, arrays, place, found.name, decided=decided))
    return Log(names, *(arrays[field] for field in FIELDS), decided=decided)


class _LogReader:
    """Converts cells and collects the faults of those that cannot be converted."""

    def __init__(self, table: Cells, tests: log_cells.LogTests, columns: ColumnNames) -> None:
        self.table, self.tests, self.columns = table, tests, columns
        self.number = partial(log_cells.as_number, decimal=table.decimal)
        self.faults: list[str] = []

    def fault(self, row: int, field: str, what: object) -> None:
        """Record a fault in one cell."""
        place, name = self.table.places[row], self.columns.name(field)
        self.faults.append(f"{place}, column '{name}': {what}")

    def raw(self, field: str) -> list[Any]:
        """Cells of one column as they are."""
        return self.table.columns[self.columns.name(field)]

    def cells(self, field: str, convert: Any, instead: Any) -> list[Any]:
        """Convert one column; a cell that cannot be converted becomes `instead` and a fault."""
        found = []
        for row, cell in enumerate(self.raw(field)):
            try:
                found.append(convert(cell))
            except ValueError as error:
                self.fault(row, field, error)
                found.append(instead)
        return found

    def answers(self) -> list[float]:
        """The column `prediction`: numbers, or probabilities or decisions."""
        if self.tests.outcome is None:
            return self.cells("prediction", self.number, 0.0)
        cells = self.raw("prediction")
        yes_no = self.tests.outcome.among(cells)
        found = self.cells("prediction", partial(yes_no.answer, decimal=self.table.decimal), 0.0)
        first = next((i for i, number in enumerate(found) if 0.0 < number < 1.0), None)
        for row, cell in enumerate(cells):
            if first is not None and yes_no.is_word(cell):
                self.fault(
                    row,
                    "prediction",
                    f"{cell!r} is a decision, but {self.table.places[first]} has the probability "
                    f"{found[first]:g}; write all answers as one or the other",
                )
        return found

    def outcomes(self) -> list[float]:
        """The column `outcome`: numbers, or 1 for yes and 0 for no."""
        yes_no = self.tests.outcome
        read = self.number if yes_no is None else yes_no.among(self.raw("outcome")).outcome
        return self.cells("outcome", read, 0.0)

    def decided(self) -> bool | None:
        """The column `decided`, which must be the same in all rows."""
        given = self.cells(DECIDED, log_cells.as_yes_no, None)
        known = [row for row, cell in enumerate(given) if cell is not None]
        other = next((row for row in known if given[row] != given[known[0]]), None)
        if other is not None:
            self.fault(
                other,
                DECIDED,
                f"{'yes' if given[other] else 'no'}, but {self.table.places[known[0]]} says the "
                "opposite; the answers of a log are probabilities or decisions, not both",
            )
        return given[known[0]] if known else None

    def wide(self) -> tuple[Any, Any]:
        """One column per test: its result or level, empty where it was hidden."""
        values = np.full((len(self.table.places), len(self.tests.names)), np.nan)
        done: set[int] = set()
        for category in self.tests.categories:
            if by_level(self.columns, category, self.tests.names):
                done.update(category.columns)
                convert = partial(self._level, category)
                for row, found in enumerate(self.cells(category.test, convert, {})):
                    values[row, list(found)] = list(found.values())
        for i, name in enumerate(self.tests.names):
            if i not in done:
                values[:, i] = self.cells(name, self.number, 0.0)
        return ~np.isnan(values), values

    def lists(self) -> tuple[Any, Any]:
        """The columns `shown` and `values`, spread over the tests."""
        shown = np.zeros((len(self.table.places), len(self.tests.names)), dtype=np.bool_)
        values = np.full(shown.shape, np.nan)
        known: dict[str, tuple[int, ...]] = {name: (i,) for i, name in enumerate(self.tests.names)}
        levels = {category.test: category for category in self.tests.categories}
        known |= {name: category.columns for name, category in levels.items()}
        alike = cache(lambda name: matches(name.strip(), known))
        given: list[list[Any]] = [[]] * len(shown)
        if self.columns.has("values"):
            given = self.cells("values", log_cells.as_list, [])
        for row, listed in enumerate(self.cells("shown", log_cells.as_list, [])):
            tests = [alike(str(name)) for name in listed]
            problem = _list_problem(listed, tests, given[row], known)
            if problem:
                self.fault(row, "values" if "values" in problem else "shown", problem)
                continue
            for (test,), cell in zip(tests, given[row], strict=True):
                shown[row, list(known[test])] = True
                try:
                    if test in levels:
                        found = self._level(levels[test], cell)
                    else:
                        found = {known[test][0]: self.number(cell)}
                except ValueError as error:
                    self.fault(row, "values", f"{test}: {error}")
                    continue
                values[row, list(found)] = list(found.values())
        return shown, values

    def _level(self, category: log_cells.CategoryColumns, cell: Any) -> dict[int, float]:
        """Column values of a level, none if missing; a test of one column may also be 0 or 1."""
        try:
            return category.values_of(cell)
        except ValueError:
            if log_cells.is_missing(cell):
                return {}
            if self.tests.names[category.columns[0]] != category.test:
                raise
            return {category.columns[0]: self.number(cell)}


def _list_problem(
    listed: list[Any],
    tests: list[list[str]],
    given: list[Any],
    known: Mapping[str, tuple[int, ...]],
) -> str | None:
    for name, alike in zip(listed, tests, strict=True):
        if len(alike) != 1:
            near = nearest(str(name), list(known))
            hint = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"
            if alike:
                hint = f"it could be {' or '.join(map(repr, alike))}"
            return f"test {str(name)!r} is not known; {hint}"
    columns = [i for alike in tests for i in known[alike[0]]]
    if len(set(columns)) != len(columns):
        return f"a test is named twice in {';'.join(map(str, listed))}"
    if len(given) != len(tests):
        return f"{len(given)} values for {len(tests)} shown tests; give one for each"
    return None


class ColumnNames:
    """Matches the columns of a table to the fields of a log, by exact name or ignoring case.

    `theirs` maps fields to the column names that the caller gave.
    """

    def __init__(self, there: Iterable[str], theirs: Mapping[str, str]) -> None:
        self.there = tuple(there)
        self.theirs = theirs

    def name(self, field: str) -> str:
        """The column of a field; if there is none, the name that it should have."""
        wanted = self.theirs.get(field, field)
        found = matches(wanted, self.there)
        return found[0] if len(found) == 1 else wanted

    def has(self, field: str) -> bool:
        """Whether the table has a column for the field."""
        return self.name(field) in self.there


def by_level(
    columns: ColumnNames, category: log_cells.CategoryColumns, names: Sequence[str]
) -> bool:
    """Whether a wide table gives this category as levels in one column."""
    if category.test in FIELD_COLUMNS or not columns.has(category.test):
        return False
    own = [names[i] for i in category.columns]
    return category.test in own or not all(columns.has(name) for name in own)


def mapping_faults(columns: ColumnNames, tests: log_cells.LogTests) -> list[str]:
    """Faults of the given names: unknown fields, absent columns, and ambiguous matches."""
    ours = tuple(dict.fromkeys((*FIELD_COLUMNS, *tests.names, *(c.test for c in tests.categories))))
    faults = [
        f"columns: {field!r} is not one of our names ({', '.join(ours)})"
        for field in columns.theirs
        if field not in ours
    ]
    if columns.there:
        faults += [
            f"columns: there is no column {name!r} (for {field!r}); "
            f"there are {', '.join(columns.there)}"
            for field, name in columns.theirs.items()
            if field in ours and not matches(name, columns.there)
        ]
    for field in ours:
        wanted = columns.theirs.get(field, field)
        if len(alike := matches(wanted, columns.there)) > 1:
            both = " and ".join(map(repr, alike))
            faults.append(f"columns {both} could both be {wanted!r}; rename one")
    return faults


def missing_columns(columns: ColumnNames, tests: log_cells.LogTests, *, wide: bool) -> list[str]:
    """Faults for required columns that the table lacks."""
    there = ", ".join(columns.there)
    faults = []
    for field in _NEEDED:
        if not columns.has(field):
            wanted = columns.name(field)
            near = nearest(wanted, columns.there)
            hint = f" (did you mean {near!r}?)" if near else ""
            faults.append(
                f"column '{wanted}' is missing{hint}; there are {there} "
                f"(say which one it is with `columns`)"
            )
    if not wide:
        return faults
    levels = {i for c in tests.categories if by_level(columns, c, tests.names) for i in c.columns}
    absent = [n for i, n in enumerate(tests.names) if i not in levels and not columns.has(n)]
    of_category = {tests.names[i]: c.test for c in tests.categories for i in c.columns}
    listed = ", ".join(dict.fromkeys(of_category.get(n, columns.name(n)) for n in absent))
    if len(absent) == len(tests.names):
        faults.append(
            f"no tests: there is neither a column 'shown' nor one for any of the tests {listed}"
        )
    elif absent:
        faults.append(
            f"no column for the tests {listed}; add it (empty where the test was hidden), or say "
            "which one it is with `columns`"
        )
    return faults


_COLUMNS = ("participant", "round", "shown", "prediction", "outcome")


def plain_rows(
    log: Log, world: World | None = None, *, wide: bool = False, unlisted: str = ""
) -> list[dict[str, Any]]:
    """Return a dict of plain data for each row; None where missing.

    Tests are in lists, `shown` and `values`, or have a column each if `wide`. Categories are
    written as levels if the world knows them, unless a name or level contains `unlisted`.
    """
    # Columns that merely repeat what the outcome implies are left out.
    feedback = bool(np.any(log.feedback != ~np.isnan(log.outcome)))
    dates = not bool(np.all(np.isnat(log.when)))
    decided = log.said_decided if _may_be_yes_or_no(log) else None
    written = [*_COLUMNS, *["feedback"] * feedback, *["when"] * dates]
    written += [] if decided is None else [DECIDED]
    if wide and (taken := [name for name in log.names if name in written]):
        raise InvalidInput(
            f"log: a frame would need two columns {taken[0]!r}, one of them for a test; write "
            "a file instead, which lists tests"
        )
    levels = _levels(log, world, unlisted)
    # A column whose name is taken would be read back as something else.
    levels = {c: texts for c, texts in levels.items() if not wide or _is_free(c, log)}
    first = {category.columns[0]: category for category in levels}
    within = {column for category in levels for column in category.columns}
    rows = []
    for i in range(len(log)):
        row: dict[str, Any] = {"participant": str(log.participant[i]), "round": int(log.rounds[i])}
        values = log.values[i].tolist()
        cells: dict[str, Any] = {}
        for j, name in enumerate(log.names):
            if j in first:
                cells[first[j].test] = levels[first[j]][i]
            elif j not in within:
                cells[name] = values[j] if log.shown[i, j] else None
        if not wide:
            seen = {name: cell for name, cell in cells.items() if cell is not None}
            cells = {"shown": list(seen), "values": list(seen.values())}
        row |= cells
        row["prediction"] = float(log.prediction[i])
        row["outcome"] = None if np.isnan(log.outcome[i]) else float(log.outcome[i])
        if feedback:
            row["feedback"] = bool(log.feedback[i])
        if dates:
            row["when"] = None if np.isnat(log.when[i]) else log_cells.in_iso(log.when[i])
        if decided is not None:
            row[DECIDED] = decided
        rows.append(row)
    return rows


def _may_be_yes_or_no(log: Log) -> bool:
    """Whether outcomes are all 0 or 1 and answers are all from 0 to 1."""
    known = log.outcome[~np.isnan(log.outcome)]
    inside = (log.prediction >= 0.0) & (log.prediction <= 1.0)
    return log_cells.are_decisions(known) and bool(np.all(inside))


def _levels(
    log: Log, world: World | None, unlisted: str
) -> dict[log_cells.CategoryColumns, list[str | None]]:
    """Categories that can be written as levels in every row, with those levels."""
    if world is None:
        return {}
    require_tests(world, log)
    found = {}
    for category in log_cells.categories_of(world):
        texts = log_cells.levels_by_row(log.shown, log.values, category)
        if texts is None:
            continue
        names = (category.test, *(text for text in texts if text is not None))
        if not unlisted or not any(unlisted in name for name in names):
            found[category] = texts
    return found


def _is_free(category: log_cells.CategoryColumns, log: Log) -> bool:
    """Whether the name of the test is not taken by another column."""
    own = {log.names[column] for column in category.columns}
    return category.test not in {*FIELD_COLUMNS, *log.names} - own


def log_to_frame(log: Log, world: World | None = None, *, wide: bool = True) -> pd.DataFrame:
    """Return a pandas frame with a row for each round, and a column for each test if `wide`."""
    pandas = from_extra("pandas", "data", "A data frame")
    frame: pd.DataFrame = pandas.DataFrame(plain_rows(log, world, wide=wide))
    if "when" in frame and not (wide and "when" in log.names):  # "when" may be a test
        frame["when"] = log.when
    tests = [name for name in log.names if name in frame] if wide else []
    texts = [c.test for c in log_cells.categories_of(world)] if world is not None else []
    numbers = ["prediction", "outcome", *(name for name in tests if name not in texts)]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def write_log(log: Log, path: str | Path, world: World | None = None) -> None:
    """Write a file that `Log.read` reads; it names people, so only its owner may read it."""
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        write_text(path, _csv_text(log, path, world), private=True)
    elif suffix in (".jsonl", ".ndjson"):
        lines = (json.dumps(row, ensure_ascii=False) for row in plain_rows(log, world))
        write_text(path, "\n".join(lines) + "\n", private=True)
    elif suffix == ".parquet":
        write_bytes(path, _parquet_bytes(log, world), private=True)
    else:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in .csv, .jsonl or .parquet")


def _csv_text(log: Log, path: str | Path, world: World | None) -> str:
    split = [name for name in log.names if ";" in name]
    if split:
        raise InvalidFile(
            f"{path}: the name {split[0]!r} has a semicolon, which separates names in a list; "
            "use a .jsonl file"
        )
    rows = plain_rows(log, world, unlisted=";")
    return csv_text([rows[0], *(map(_as_cell, row.values()) for row in rows)])


def _as_cell(value: Any) -> Any:
    """Format one value as a cell of a CSV file."""
    # repr of a float reads back exactly; csv writes floats that way itself.
    if isinstance(value, list):
        return ";".join(v if isinstance(v, str) else repr(v) for v in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def _parquet_bytes(log: Log, world: World | None) -> bytes:
    frame = log_to_frame(log, world, wide=False)
    if any(isinstance(v, str) for cells in frame["values"] for v in cells):
        # A Parquet list has one type: next to levels, numbers are written as text, which is exact.
        frame["values"] = [
            [v if isinstance(v, str) else repr(v) for v in c] for c in frame["values"]
        ]
    from_extra("pyarrow", "data", "Writing Parquet")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()
