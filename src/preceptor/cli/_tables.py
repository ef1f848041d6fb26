"""Tables that people write by hand or export: cases, weights, costs and counts by name."""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preceptor.errors import InvalidFile, MissingExtra
from preceptor.files import read_text

CASE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def read_cases(path: Path) -> Any:
    """A table of cases as a pandas frame, by the ending of its file."""
    suffix = path.suffix.lower()
    if suffix not in CASE_SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in {', '.join(CASE_SUFFIXES)}")
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("pandas", "data", "Reading a table") from error
    if suffix == ".parquet":
        if not path.is_file():
            raise InvalidFile(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}")
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise InvalidFile(f"{path}: not a Parquet file ({error})") from None
    text = read_text(path).removeprefix("\ufeff").rstrip("\r\n")
    if not text.strip():
        raise InvalidFile(f"{path}: is empty; it needs a header and a row for each case")
    separator = "\t" if suffix == ".tsv" else ","
    if suffix != ".jsonl":
        _check_rows(path, text, separator)
    try:
        if suffix == ".jsonl":
            return pd.read_json(io.StringIO(text), lines=True)
        # Blank lines become rows without an outcome, so that rows and lines count alike.
        return pd.read_csv(
            io.StringIO(text), sep=separator, skipinitialspace=True, skip_blank_lines=False
        )
    except ValueError as error:
        raise InvalidFile(f"{path}: cannot be read as a table ({error})") from None


def _check_rows(path: Path, text: str, separator: str) -> None:
    """Every row has as many cells as the header; pandas would shift or fill them silently."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    header = [name.strip() for name in next(reader)]
    repeated = sorted({name for name in header if header.count(name) > 1})
    faults = [f"{path}, line 1: column {name!r} is there twice; rename one" for name in repeated]
    for cells in reader:
        if cells and len(cells) != len(header):
            faults.append(
                f"{path}, line {reader.line_num}: {len(cells)} cells, but the header has "
                f"{len(header)} columns"
            )
    InvalidFile.raise_if(faults[:5])


def read_named_numbers(
    path: Path, columns: Sequence[str], known: Sequence[str]
) -> dict[str, dict[str, float]]:
    """`{column: {name: number}}` from a CSV with a column `name`, or from a JSON object.

    In JSON, `{"bmi": 2.0}` gives the first column; `{"bmi": {"cost": 2.0, "price": 0.1}}` gives
    several. Names must be `known`, and none may come twice.
    """
    if path.suffix.lower() == ".json":
        rows = _json_rows(path, columns)
    else:
        rows = _csv_rows(path, columns)
    faults: list[str] = []
    found: dict[str, dict[str, float]] = {column: {} for column in columns}
    seen: set[str] = set()
    for place, name, cells in rows:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            faults.append(f"{path}, {place}: test {name!r} is not known; {hint}")
        elif name in seen:
            faults.append(f"{path}, {place}: test {name!r} is there twice")
        seen.add(name)
        for column, cell in cells.items():
            try:
                found[column][name] = _finite(cell)
            except (TypeError, ValueError):
                faults.append(f"{path}, {place}, column {column!r}: {cell!r} is not a number")
    InvalidFile.raise_if(faults)
    return found


def _finite(cell: Any) -> float:
    number = float(cell)
    if isinstance(cell, bool) or number - number != 0.0:
        raise ValueError
    return number


def _csv_rows(path: Path, columns: Sequence[str]) -> list[tuple[str, str, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""))
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


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; says where the file breaks."""
    try:
        data = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InvalidFile(
            f"{path}: not valid JSON, {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    if not isinstance(data, dict):
        raise InvalidFile(f"{path}: holds a {type(data).__name__}, must be a JSON object {{...}}")
    return data
