"""Tables from files of any supported format: a frame for estimation, or raw cells for logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import preceptor.data.opening as opening
import preceptor.data.text_files as text_files
from preceptor._base.checks import is_empty
from preceptor._base.extensions import from_extra
from preceptor._base.files import parse_json_line
from preceptor._base.words import first_few
from preceptor.data.workbooks import read_workbook
from preceptor.errors import InvalidFile

# What pandas calls the row index where it is stored as a column.
_ROW_NUMBERS = re.compile(r"__index_level_\d+__")
# What programs write for a missing value in any column of a table.
_NO_VALUE = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"}
    | {"None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)


def _lines(
    path: Path, how: opening.Reading, notes: opening.ReadingNotes
) -> tuple[list[str], list[list[Any]], list[str]]:
    """Return all keys of any line, their cells by column, and a name for each row."""
    text, encoding_used = text_files.read_text(path, how)
    if encoding_used is not None:
        notes.guess(encoding_used, "encoding")
    records, faults = [], []
    # Not splitlines(): JSON strings may contain other characters that it splits at.
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
            faults.append(f"{place}: expected an object with names")
        else:
            records.append((place, record))
    InvalidFile.raise_if(f"{path}: {fault}" for fault in text_files.first_faults(faults))
    keys = dict.fromkeys(key for _, record in records for key in record)
    opening.check_extent(path, len(records), len(keys))
    columns = [[_writable(record.get(key)) for _, record in records] for key in keys]
    return list(keys), columns, [place for place, _ in records]


def _writable(cell: Any) -> Any:
    """Replace lone surrogates, which JSON may hold but no file accepts."""
    if isinstance(cell, str) and not cell.isascii():
        return cell.encode("utf-8", "replace").decode("utf-8")
    return [_writable(item) for item in cell] if isinstance(cell, list) else cell


def _parquet(path: Path) -> Any:
    """Return the table as a frame, without columns that pandas once used to number rows."""
    opening.check_file(path)
    from_extra("pandas", "data", "Reading Parquet")
    parquet = from_extra("pyarrow.parquet", "data", "Reading Parquet")
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            opening.check_extent(path, file.metadata.num_rows, len(names))
            kept = [name for name in names if not _ROW_NUMBERS.fullmatch(name)]
            return file.read(kept).to_pandas(ignore_metadata=True)
    except InvalidFile:
        raise
    except Exception as error:  # Arrow raises many types, and damaged files trigger them all
        reason = " ".join(str(error).split())[:200]
        raise InvalidFile(f"{path}: not a Parquet file ({reason})") from None


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table of cases, as `read_sheet` returns it.

    Attributes
    ----------
    frame
        A pandas frame.
    notes
        What was guessed while it was read, as sentences.
    """

    frame: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Cells:
    """A table cell by cell, as `read_cells` returns it.

    Attributes
    ----------
    columns
        Cells by column, all columns of the same length.
    places
        A name for each row, for messages.
    decimal
        The decimal mark in cells that are text.
    notes
        What was guessed while it was read, as sentences.
    """

    columns: Mapping[str, list[Any]]
    places: Sequence[str]
    decimal: str = "."
    notes: tuple[str, ...] = ()


def read_sheet(path: Path, reading: opening.Reading | None = None) -> Sheet:
    """Read the table in a file as a frame.

    Parameters
    ----------
    path
        A text file (.csv, .txt, .tsv), a workbook (.xlsx, .xlsm, .xls, .ods), JSON lines (.jsonl,
        .ndjson) or a .parquet file.
    reading
        Options, where guessing would go wrong.

    Returns
    -------
    Sheet
        The frame, and what was guessed.

    Raises
    ------
    InvalidFile
        The file holds no table; the message says why and where.
    MissingExtra
        pandas, or the library for this format, is not installed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cases.csv"
    >>> _ = path.write_text("bmi;risk\\n21,5;2\\n30,1;5\\n")
    >>> read_sheet(path).frame["bmi"].tolist()
    [21.5, 30.1]
    """
    how, notes = reading or opening.Reading(), opening.ReadingNotes(path)
    with notes.on_errors():
        columns, _, decimal = _columns(path, how, notes)
        if not columns:
            raise InvalidFile(f"{path}: {opening.EMPTY}")
        is_text = opening.suffix_of(path) in opening.TEXT
        columns = {name: _typed(cells, decimal, is_text) for name, cells in columns.items()}
        columns = text_files.numbers_in_text(columns, decimal, how.decimal is not None, notes)
        pandas = from_extra("pandas", "data", "Reading a table")
        return Sheet(pandas.DataFrame(columns), notes.notes)


def read_cells(path: Path, reading: opening.Reading | None = None) -> Cells:
    """Read the table in a file cell by cell; only blank cells are missing.

    Parameters
    ----------
    path
        As for `read_sheet`.
    reading
        Options, where guessing would go wrong.

    Returns
    -------
    Cells
        Columns of cells, and a name for each row.

    Raises
    ------
    InvalidFile
        The file holds no table; the message says why and where.
    MissingExtra
        The library for this format is not installed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("participant,round\\nann,1\\n")
    >>> cells = read_cells(path)
    >>> cells.columns["round"], cells.places
    (['1'], ['line 2'])
    """
    how, notes = reading or opening.Reading(), opening.ReadingNotes(path)
    with notes.on_errors():
        columns, places, decimal = _columns(path, how, notes)
        # A table keeps blank rows, so that its row numbers are those of the file.
        cells = {name: list(column) for name, column in columns.items()}
        kept = [i for i in range(len(places)) if not _is_blank(c[i] for c in cells.values())]
        found = {name: [column[i] for i in kept] for name, column in cells.items()}
        return Cells(found, [places[i] for i in kept], decimal, notes.notes)


def _columns(
    path: Path, how: opening.Reading, notes: opening.ReadingNotes
) -> tuple[dict[str, Any], list[str], str]:
    """Return all cells by column, a name for each row, and the decimal mark in texts."""
    suffix = opening.suffix_of(path)
    if how.sheet is not None and suffix not in opening.WORKBOOKS:
        raise InvalidFile(
            f"{path}: `sheet` is {how.sheet!r}, but only workbooks have sheets; leave it out"
        )
    opening.check_file(path)
    columns: Sequence[Any]
    where, decimal = "columns", how.decimal
    if suffix in opening.TEXT:
        text = text_files.open_text(path, how, notes)
        decimal, where = text.decimal, f"line {text.first_line}"
        header, columns, places = text.columns()
    elif suffix in opening.WORKBOOKS:
        header, columns, places = read_workbook(path, how.sheet, notes)
        where = "the header"
    elif suffix in opening.LINES:
        header, columns, places = _lines(path, how, notes)
    else:
        frame = _parquet(path)
        header, places = list(frame.columns), [f"row {i}" for i in range(len(frame))]
        # Other columns, such as categories, keep their types.
        is_text = [dtype.name in ("object", "str", "string") for dtype in frame.dtypes]
        series = (frame[name] for name in header)
        columns = [s.tolist() if text else s for s, text in zip(series, is_text, strict=True)]
    while places and suffix not in opening.PARQUET and _is_blank(cells[-1] for cells in columns):
        places.pop()
        for cells in columns:
            cells.pop()
    if decimal is None:
        lists = (cells for cells in columns if isinstance(cells, list))
        texts = (cell for cells in lists for cell in cells if isinstance(cell, str))
        decimal = text_files.decimal_of(texts, ";", notes)
    return _named(path, header, columns, where, notes), places, decimal


def _named(
    path: Path,
    header: Sequence[Any],
    columns: Sequence[Any],
    where: str,
    notes: opening.ReadingNotes,
) -> dict[str, Any]:
    """Columns by name, without those that have neither a name nor a filled cell."""
    pairs = [(text_files.clean(name), cells) for name, cells in zip(header, columns, strict=True)]
    pairs = [(name, cells) for name, cells in pairs if name or not _is_blank(cells)]
    names, made_up = text_files.named([name for name, _ in pairs])
    InvalidFile.raise_if(f"{path}: {fault}" for fault in text_files.header_faults(names, where))
    if made_up:
        one = len(made_up) == 1
        notes.say(
            f"{'a column' if one else f'{len(made_up)} columns'} without a name "
            f"{'is' if one else 'are'} called {first_few([*map(repr, made_up)], 4)}"
        )
    return dict(zip(names, (cells for _, cells in pairs), strict=True))


def _is_blank(cells: Iterable[Any]) -> bool:
    return all(is_empty(cell) for cell in cells)


def _typed(cells: Any, decimal: str, is_text: bool) -> Any:
    """A column without words for missing; floats or booleans if it is text of nothing else."""
    if not isinstance(cells, list):
        return cells
    if is_text and decimal == "." and "_" not in "".join(cells):
        with suppress(ValueError):  # most columns of most tables, in a third of the time
            return np.array(list(map(float, cells)))
    known = [None if isinstance(c, str) and c.strip() in _NO_VALUE else c for c in cells]
    return text_files.as_numbers(known, decimal) if is_text else known
