"""Files that say themselves what their cells are: JSON lines and Parquet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preceptor._base.parsing import parse_json_line
from preceptor.errors import InvalidFile, MissingExtra
from preceptor.tables.columns import clean, first_faults, header_faults
from preceptor.tables.opening import (
    MOST_CELLS,
    check_file,
    decode,
    in_words,
    read_bytes,
    refuse_other_kinds,
)
from preceptor.tables.reading import Assumed, Reading

# What pandas calls the numbers of rows where it keeps them as a column.
_ROW_NUMBERS = re.compile(r"__index_level_\d+__")


def read_lines(
    path: Path, how: Reading, assumed: Assumed
) -> tuple[dict[str, list[Any]], list[str]]:
    """Cells by column, a column for every name that any line has; and what to call each row."""
    raw = read_bytes(path)
    refuse_other_kinds(path, raw[:512])
    text, encoding = decode(path, raw, how.encoding)
    spoken = in_words(encoding)
    if how.encoding is None and spoken is not None:
        assumed.add(spoken, "encoding")
    records, faults = [], []
    # Not splitlines(): JSON may hold other signs that it takes for the end of a line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            record = parse_json_line(line)
        except InvalidFile as error:
            faults.append(f"{place}: {error}")
            continue
        if type(record) is not dict:
            faults.append(f"{place}: expected a table with names")
        else:
            records.append((place, record))
    InvalidFile.raise_if(f"{path}: {fault}" for fault in first_faults(faults))
    return _by_column(path, records)


def _by_column(
    path: Path, records: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[dict[str, list[Any]], list[str]]:
    keys = dict.fromkeys(key for _, record in records for key in record)
    _check_extent(path, len(records), len(keys))
    names = [clean(key) for key in keys]
    InvalidFile.raise_if(f"{path}: {fault}" for fault in header_faults(names, "names"))
    columns = {
        name: [_written(record.get(key)) for _, record in records]
        for name, key in zip(names, keys, strict=True)
    }
    return columns, [place for place, _ in records]


def _written(cell: Any) -> Any:
    """Text without halves of letters, which JSON may hold and nobody can write."""
    if isinstance(cell, str) and not cell.isascii():
        return cell.encode("utf-8", "replace").decode("utf-8")
    return [_written(item) for item in cell] if isinstance(cell, list) else cell


def read_parquet(path: Path) -> Any:
    """The table as a frame; columns that pandas once used to number rows are left out."""
    check_file(path)
    try:
        import pandas  # noqa: F401
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pandas with pyarrow", "data", "Reading Parquet") from None
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_extent(path, file.metadata.num_rows, len(names))
            kept = [name for name in names if not _ROW_NUMBERS.fullmatch(name)]
            return file.read(kept).to_pandas(ignore_metadata=True)
    except InvalidFile:
        raise
    except Exception as error:  # Arrow has many kinds of errors, and damaged files find them all
        reason = " ".join(str(error).split())[:200]
        raise InvalidFile(f"{path}: not a Parquet file ({reason})") from None


def _check_extent(path: Path, rows: int, columns: int) -> None:
    if rows * columns > MOST_CELLS:
        raise InvalidFile(
            f"{path}: {rows:,} rows of {columns:,} columns, at most {MOST_CELLS:,} cells are read; "
            "give fewer"
        )
