"""Tables that people write by hand: weights, costs and counts by name."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preceptor._base.files import read_json, read_text
from preceptor.errors import InvalidFile, InvalidInput


def read_named_numbers(path: Path, columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """`{column: {name: number}}` from a CSV with a column `name`, or from a JSON object.

    In JSON, `{"bmi": 2.0}` gives the first column; `{"bmi": {"cost": 2.0, "price": 0.1}}` gives
    several. No name may come twice.
    """
    if path.suffix.lower() == ".json":
        rows = _json_rows(path, columns)
    else:
        rows = _csv_rows(path, columns)
    faults: list[str] = []
    found: dict[str, dict[str, float]] = {column: {} for column in columns}
    seen: set[str] = set()
    for place, name, cells in rows:
        if name in seen:
            faults.append(f"{path}, {place}: test {name!r} appears twice; keep one of them")
        seen.add(name)
        for column, cell in cells.items():
            try:
                found[column][name] = _finite(cell)
            except (TypeError, ValueError, OverflowError):
                faults.append(
                    f"{path}, {place}, column {column!r}: {cell!r} is not a number; correct it"
                )
    InvalidFile.raise_if(faults)
    return found


def renamed_columns(columns: Sequence[str]) -> dict[str, str]:
    """Our names of a log's columns and theirs, from OURS=THEIRS as `--columns` takes it."""
    wrong = [each for each in columns if each.count("=") != 1 or each[0] == "=" or each[-1] == "="]
    InvalidInput.raise_if(
        f"--columns: {each!r}, must be OURS=THEIRS, e.g. prediction=answer" for each in wrong
    )
    return dict(each.split("=") for each in columns)


def _finite(cell: Any) -> float:
    number = float(cell)
    if isinstance(cell, bool) or number - number != 0.0:
        raise ValueError
    return number


def _csv_rows(path: Path, columns: Sequence[str]) -> list[tuple[str, str, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""))
    try:
        return _dictionaries(path, reader, columns)
    except csv.Error as error:
        raise InvalidFile(f"{path}, line {reader.line_num + 1}: {error}") from None


def _dictionaries(
    path: Path, reader: csv.DictReader[str], columns: Sequence[str]
) -> list[tuple[str, str, dict[str, Any]]]:
    header = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = header
    given = [column for column in columns if column in header]
    if "name" not in header or not given:
        raise InvalidFile(
            f"{path}: has columns {', '.join(header) or 'none'}, must have name and "
            f"{' or '.join(columns)}"
        )
    rows = []
    for row in reader:
        cells = {column: row[column] for column in given if (row[column] or "").strip()}
        rows.append((f"line {reader.line_num}", (row["name"] or "").strip(), cells))
    return rows


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
