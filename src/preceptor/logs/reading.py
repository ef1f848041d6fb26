"""Logs from files and frames: cells into numbers, every fault with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.words import matches, nearest
from preceptor.errors import InvalidFile, InvalidInput, MissingExtra
from preceptor.logs.cells import (
    as_list,
    as_moment,
    as_name,
    as_number,
    as_round,
    as_yes_no,
    is_missing,
)
from preceptor.logs.checks import (
    DECIDED,
    FIELD_COLUMNS,
    FIELDS,
    OPTIONAL,
    feedback_of,
    moments_of,
    row_faults,
)
from preceptor.logs.levels import Category, Tests
from preceptor.logs.log import Log
from preceptor.tables import Cells, Reading, read_cells
from preceptor.tables.columns import first_faults

# Columns that every log must have.
_NEEDED = ("participant", "round", "prediction")


def read_log(
    path: str | Path, tests: Tests, columns: Mapping[str, str], reading: Reading | None = None
) -> Log:
    """The log in a file of any kind that holds tables; every fault names the file."""
    notes: list[str] = []
    with _naming(path, notes):
        table = read_cells(Path(path), reading)
        notes += table.notes
        return log_from_table(table, tests, columns).with_notes(table.notes)


def other_columns(path: str | Path, tests: Tests) -> tuple[str, ...]:
    """Columns of a log about these tests that are not read, and would be lost if it was written."""
    with _naming(path):
        there = read_cells(Path(path)).columns
    columns = Columns(there, {})
    # With lists, a column that is called like a test is not read either.
    if columns.has("shown"):
        own: tuple[str, ...] = ("shown", "values")
    else:
        own = (*tests.names, *(category.test for category in tests.categories))
    fields = [field for field in FIELD_COLUMNS if field not in ("shown", "values")]
    known = {columns.name(field) for field in (*fields, *own)}
    return tuple(name for name in there if name not in known)


@contextmanager
def _naming(path: str | Path, notes: Sequence[str] = ()) -> Iterator[None]:
    """Every fault names the file, and `notes` how it was read as far as that went."""
    try:
        yield
    except InvalidInput as error:
        about_file = [f.removeprefix(f"{path}: ") for f in error.faults]
        found = InvalidFile([f"{path}: {fault}" for fault in about_file])
        raise found.beside([*getattr(error, "__notes__", ()), *notes]) from None


def log_from_frame(frame: Any, tests: Tests, columns: Mapping[str, str]) -> Log:
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
    return log_from_table(Cells(cells, [f"row {i}" for i in range(len(known))]), tests, columns)


def log_from_rows(rows: Sequence[Any], names: tuple[str, ...]) -> Log:
    """The log in a list of tables, one a row."""
    wrong = [
        f"row {i}: expected a table with names" for i, r in enumerate(rows) if type(r) is not dict
    ]
    InvalidInput.raise_if(first_faults(wrong))
    keys = dict.fromkeys(key for row in rows for key in row)
    cells = {key: [row.get(key) for row in rows] for key in keys}
    return log_from_table(Cells(cells, [f"row {i}" for i in range(len(rows))]), Tests(names))


def log_from_table(table: Cells, tests: Tests, columns: Mapping[str, str] | None = None) -> Log:
    """Find the columns, turn cells into numbers, and report every fault by its place."""
    found, names = Columns(table.columns, dict(columns or {})), tests.names
    faults = mapping_faults(found, tests)
    if not table.places:
        faults.append("the log is empty; it needs at least one row, one for each round")
    InvalidInput.raise_if(faults)
    wide = not found.has("shown")
    InvalidInput.raise_if(missing_columns(found, tests, wide=wide))
    reader = _Reader(table, tests, found)
    arrays = {
        "participant": np.array(reader.cells("participant", as_name, ""), dtype=np.str_),
        "rounds": np.array(reader.cells("round", as_round, 0), dtype=np.int64),
        "prediction": np.array(reader.answers()),
        "outcome": np.full(len(table.places), np.nan),
    }
    if found.has("outcome"):
        arrays["outcome"] = np.array(reader.outcomes())
    # A test may have the name of a column that can be left out: then the column is the test's.
    there = [f for f in OPTIONAL if found.has(f) and not (wide and f in names)]
    told = reader.cells("feedback", as_yes_no, None) if "feedback" in there else None
    dates = reader.cells("when", as_moment, None) if "when" in there else None
    arrays["feedback"] = feedback_of(told, arrays["outcome"], reader.faults)
    arrays["when"] = moments_of(dates, arrays["outcome"].shape, reader.faults)
    decided = None
    if found.has(DECIDED) and not (wide and DECIDED in names):
        decided = reader.decided()
    arrays["shown"], arrays["values"] = reader.wide() if wide else reader.lists()
    faults = [*reader.faults]
    if not faults:
        faults = row_faults(
            names, arrays, lambda row: table.places[row], found.name, decided=decided
        )
    InvalidInput.raise_if(first_faults(faults))
    return Log(names, *(arrays[field] for field in FIELDS), decided=decided)


class _Reader:
    """Turns cells into values and collects what cannot be read."""

    def __init__(self, table: Cells, tests: Tests, columns: Columns) -> None:
        self.table, self.tests, self.columns = table, tests, columns
        self.number = partial(as_number, decimal=table.decimal)
        self.faults: list[str] = []

    def cells(self, field: str, convert: Any, instead: Any) -> list[Any]:
        """One column; a cell that cannot be read becomes `instead` and a fault."""
        name = self.columns.name(field)
        found = []
        for place, cell in zip(self.table.places, self.table.columns[name], strict=True):
            try:
                found.append(convert(cell))
            except ValueError as error:
                self.faults.append(f"{place}, column '{name}': {error}")
                found.append(instead)
        return found

    def answers(self) -> list[float]:
        """The column `prediction`: numbers, or probabilities or decisions."""
        yes_no = self.tests.outcome
        if yes_no is None:
            return self.cells("prediction", self.number, 0.0)
        cells = self.table.columns[self.columns.name("prediction")]
        yes_no = yes_no.among(cells)
        read = partial(yes_no.answer, decimal=self.table.decimal)
        found = self.cells("prediction", read, 0.0)
        open_ones = [i for i, number in enumerate(found) if 0.0 < number < 1.0]
        for row, cell in enumerate(cells):
            if open_ones and yes_no.is_word(cell):
                self.faults.append(
                    f"{self.table.places[row]}, column '{self.columns.name('prediction')}': "
                    f"{cell!r} is a decision, but {self.table.places[open_ones[0]]} has the "
                    f"probability {found[open_ones[0]]:g}; write all answers as one or the other"
                )
        return found

    def outcomes(self) -> list[float]:
        """The column `outcome`: numbers, or 1 for yes and 0 for no."""
        yes_no = self.tests.outcome
        if yes_no is None:
            return self.cells("outcome", self.number, 0.0)
        cells = self.table.columns[self.columns.name("outcome")]
        return self.cells("outcome", yes_no.among(cells).outcome, 0.0)

    def decided(self) -> bool | None:
        """The column `decided`, which must say the same in all rows."""
        said = self.cells(DECIDED, as_yes_no, None)
        known = [row for row, cell in enumerate(said) if cell is not None]
        for row in known:
            if said[row] != said[known[0]]:
                self.faults.append(
                    f"{self.table.places[row]}, column '{self.columns.name(DECIDED)}': "
                    f"{'yes' if said[row] else 'no'}, but {self.table.places[known[0]]} says the "
                    "opposite; the answers of a log are probabilities or decisions, not both"
                )
                break
        return said[known[0]] if known else None

    def wide(self) -> tuple[Any, Any]:
        """A column for each test: its result, or its level; empty where it was hidden."""
        values = np.full((len(self.table.places), len(self.tests.names)), np.nan)
        done: set[int] = set()
        for category in self.tests.categories:
            if by_level(self.columns, category, self.tests.names):
                done.update(category.columns)
                convert = partial(self._level, category)
                for row, found in enumerate(self.cells(category.test, convert, {})):
                    for column, value in found.items():
                        values[row, column] = value
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
        found_before: dict[str, str | None] = {}
        cells = zip(self.cells("shown", as_list, []), self._value_cells(), strict=True)
        for row, (listed, given) in enumerate(cells):
            for name in map(str, listed):  # names come again and again
                if name not in found_before:
                    found_before[name] = _found(name, known)
            tests = [found_before[str(name)] for name in listed]
            problem = _list_problem(listed, tests, given, known)
            if problem:
                field = self.columns.name("values" if "values" in problem else "shown")
                self.faults.append(f"{self.table.places[row]}, column '{field}': {problem}")
                continue
            for test, cell in zip(tests, given, strict=True):
                assert test is not None
                shown[row, list(known[test])] = True
                try:
                    if test in levels:
                        found = self._level(levels[test], cell)
                    else:
                        found = {known[test][0]: self.number(cell)}
                except ValueError as error:
                    place, where = self.table.places[row], self.columns.name("values")
                    self.faults.append(f"{place}, column '{where}': {test}: {error}")
                    continue
                for column, value in found.items():
                    values[row, column] = value
        return shown, values

    def _level(self, category: Category, cell: Any) -> dict[int, float]:
        """Columns of a level; nothing where there is none; 0 and 1 of a test that is one column."""
        try:
            return category.values_of(cell)
        except ValueError:
            if is_missing(cell):
                return {}
            if self.tests.names[category.columns[0]] != category.test:
                raise
            return {category.columns[0]: self.number(cell)}

    def _value_cells(self) -> list[Any]:
        if not self.columns.has("values"):
            return [[]] * len(self.table.places)
        return self.cells("values", as_list, [])


def _found(name: str, known: Mapping[str, Any]) -> str | None:
    alike = matches(name.strip(), known)
    return alike[0] if len(alike) == 1 else None


def _list_problem(
    listed: list[Any],
    tests: list[str | None],
    given: list[Any],
    known: Mapping[str, tuple[int, ...]],
) -> str | None:
    for name, test in zip(listed, tests, strict=True):
        if test is None:
            alike = matches(str(name).strip(), known)
            near = nearest(str(name), list(known))
            hint = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"
            if alike:
                hint = f"it could be {' or '.join(map(repr, alike))}"
            return f"test {str(name)!r} is not known; {hint}"
    columns = [i for test in tests if test is not None for i in known[test]]
    if len(set(columns)) != len(columns):
        return f"a test is named twice in {';'.join(map(str, listed))}"
    if len(given) != len(tests):
        return f"{len(given)} values for {len(tests)} shown tests; give one for each"
    return None


class Columns:
    """Which column of a table is which of ours: by its name, else by its name without capitals.

    `theirs` are the names that somebody gave.
    """

    def __init__(self, there: Iterable[str], theirs: Mapping[str, str]) -> None:
        self.there = tuple(there)
        self.theirs = theirs

    def name(self, field: str) -> str:
        """What the table calls it; if it has none, what it should be called."""
        wanted = self.theirs.get(field, field)
        found = matches(wanted, self.there)
        return found[0] if len(found) == 1 else wanted

    def has(self, field: str) -> bool:
        """Whether the table has a column for it."""
        return self.name(field) in self.there

    def ambiguous(self, fields: Iterable[str]) -> list[str]:
        """A fault for each of ours that several columns could be."""
        faults = []
        for field in fields:
            wanted = self.theirs.get(field, field)
            found = matches(wanted, self.there)
            if len(found) > 1:
                faults.append(
                    f"columns {' and '.join(map(repr, found))} could both be {wanted!r}; rename one"
                )
        return faults


def by_level(columns: Columns, category: Category, names: Sequence[str]) -> bool:
    """Whether a wide table gives this category as levels in one column."""
    if category.test in FIELD_COLUMNS or not columns.has(category.test):
        return False
    own = [names[i] for i in category.columns]
    return category.test in own or not all(columns.has(name) for name in own)


def mapping_faults(columns: Columns, tests: Tests) -> list[str]:
    """Names that somebody gave which are not ours, or not in the table; and those meant twice."""
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
    return faults + columns.ambiguous(ours)


def missing_columns(columns: Columns, tests: Tests, *, wide: bool) -> list[str]:
    """What a table must have and has not."""
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
    levels = {
        i: c.test for c in tests.categories if by_level(columns, c, tests.names) for i in c.columns
    }
    absent = [
        columns.name(name)
        for i, name in enumerate(tests.names)
        if i not in levels and not columns.has(name)
    ]
    of_category = {tests.names[i]: c.test for c in tests.categories for i in c.columns}
    wanted_tests = list(dict.fromkeys(of_category.get(name, name) for name in absent))
    if len(absent) == len(tests.names):
        names = list(dict.fromkeys(of_category.get(name, name) for name in tests.names))
        faults.append(
            "no tests: there is neither a column 'shown' nor one for any of the tests "
            f"{', '.join(names)}"
        )
    elif absent:
        faults.append(
            f"no column for the tests {', '.join(wanted_tests)}; add it (empty where the test was "
            "hidden), or say which one it is with `columns`"
        )
    return faults
