"""Tables of cases, and those that people write by hand: weights, costs and counts by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.checks import is_number
from preceptor._base.files import read_json
from preceptor._base.typed import number_in
from preceptor.cli._console import say
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.logs.cells import as_name, is_missing
from preceptor.tables import read_cells

if TYPE_CHECKING:
    from preceptor.datasets import DataSet


def source_of(table: Path | None) -> Path | DataSet:
    """The table that was named, or the example, which is announced on stderr."""
    if table is not None:
        return table
    from preceptor.datasets import load_diabetes

    found = load_diabetes()
    say(f"Example: {found.title} ({found.rows} cases, outcome {found.outcome})")
    return found


def read_named_numbers(path: Path, columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """`{column: {name: number}}` from a table with a column `name`, or from a JSON object.

    In JSON, `{"bmi": 2.0}` gives the first column; `{"bmi": {"cost": 2.0, "price": 0.1}}` gives
    several. No name may come twice.
    """
    if path.suffix.lower() == ".json":
        rows, decimal = _json_rows(path, columns), "."
    else:
        rows, decimal = _table_rows(path, columns)
    faults: list[str] = []
    found: dict[str, dict[str, float]] = {column: {} for column in columns}
    seen: set[str] = set()
    for place, name, cells in rows:
        if name in seen:
            faults.append(f"{path}, {place}: test {name!r} appears twice; keep one of them")
        seen.add(name)
        for column, cell in cells.items():
            try:
                found[column][name] = _number(cell, decimal)
            except ValueError as error:
                faults.append(f"{path}, {place}, column {column!r}: {cell!r} {error}; correct it")
    InvalidFile.raise_if(faults)
    return found


def read_counts(path: Path) -> dict[str, int]:
    """How often each test was shown, from a file with the columns name and count."""
    found = read_named_numbers(path, ("count",))["count"]
    wrong = [n for n, count in found.items() if count != int(count) or not 0 <= count <= 1e9]
    InvalidFile.raise_if(
        f"{path}, {name!r}: {found[name]:g}, must be a whole number of at least 0"
        + (" and at most 1,000,000,000" if found[name] > 0 else "")
        for name in wrong
    )
    return {name: int(count) for name, count in found.items()}


def renamed_columns(columns: Sequence[str]) -> dict[str, str]:
    """Our names of a log's columns and theirs, from OURS=THEIRS as `--columns` takes it."""
    wrong = [each for each in columns if each.count("=") != 1 or each[0] == "=" or each[-1] == "="]
    InvalidInput.raise_if(
        f"--columns: {each!r}, must be OURS=THEIRS, e.g. prediction=answer" for each in wrong
    )
    return dict(each.split("=") for each in columns)


def _number(cell: Any, decimal: str) -> float:
    if isinstance(cell, str):
        return number_in(cell, decimal)
    if not is_number(cell):
        raise ValueError("is not a number")
    return float(cell)


def _table_rows(
    path: Path, columns: Sequence[str]
) -> tuple[list[tuple[str, str, dict[str, Any]]], str]:
    """Place, name and cells of each row, and what stands before decimals."""
    table = read_cells(path)
    for note in table.notes:
        # No option is about these small files: whoever meant something else saves them anew.
        say(f"Note: {note.split(';')[0]}")
    names = {name.casefold(): name for name in reversed(list(table.columns))}
    given = [column for column in columns if column in names]
    if "name" not in names or not given:
        there = ", ".join(table.columns) or "none"
        raise InvalidFile(f"{path}: has columns {there}, must have name and {' or '.join(columns)}")
    rows = []
    for i, place in enumerate(table.places):
        cells = {column: table.columns[names[column]][i] for column in given}
        known = {column: cell for column, cell in cells.items() if not is_missing(cell)}
        rows.append((place, as_name(table.columns[names["name"]][i]), known))
    return rows, table.decimal


def _json_rows(path: Path, columns: Sequence[str]) -> list[tuple[str, str, dict[str, Any]]]:
    data = read_json(path)
    faults, rows = [], []
    for name, value in data.items():
        cells = value if isinstance(value, dict) else {columns[0]: value}
        unknown = sorted(set(cells) - set(columns))
        if unknown:
            faults.append(f"{path}, {name!r}: {unknown[0]!r} is not one of {', '.join(columns)}")
        rows.append((repr(name), name, cells))
    InvalidFile.raise_if(faults)
    return rows
