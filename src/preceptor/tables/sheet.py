"""Tables from files of any kind: as a frame for estimates, or cell by cell for logs."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preceptor.errors import InvalidFile, MissingExtra
from preceptor.tables.columns import (
    clean,
    decimal_of,
    first_faults,
    header_faults,
    named,
    numbers_in_text,
    tidy,
)
from preceptor.tables.opening import LINES, TEXT, WORKBOOKS, check_file, suffix_of
from preceptor.tables.reading import Assumed, Reading
from preceptor.tables.records import read_lines, read_parquet
from preceptor.tables.text import open_text
from preceptor.tables.workbooks import read_workbook


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table of cases, as `read_sheet` gives it.

    Attributes
    ----------
    frame
        A pandas frame.
    notes
        What was assumed while it was read, in sentences.
    """

    frame: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Cells:
    """A table cell by cell, as `read_cells` gives it.

    Attributes
    ----------
    columns
        Cells by column, all columns of the same length.
    places
        What to call each row in a message.
    decimal
        What stands before decimals in cells that are text.
    notes
        What was assumed while it was read, in sentences.
    """

    columns: Mapping[str, list[Any]]
    places: Sequence[str]
    decimal: str = "."
    notes: tuple[str, ...] = ()


def read_sheet(path: Path, reading: Reading | None = None) -> Sheet:
    """The table in a file as a frame.

    Parameters
    ----------
    path
        A text file (.csv, .txt, .tsv), a workbook (.xlsx, .xlsm, .xls, .ods), JSON lines (.jsonl,
        .ndjson) or a .parquet file.
    reading
        How it is written, where guessing would go wrong.

    Returns
    -------
    Sheet
        The frame, and what was assumed.

    Raises
    ------
    InvalidFile
        The file holds no table; the message says why, and where.
    MissingExtra
        pandas, or what reads this kind of file, is not installed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cases.csv"
    >>> _ = path.write_text("bmi;risk\\n21,5;2\\n30,1;5\\n")
    >>> read_sheet(path).frame["bmi"].tolist()
    [21.5, 30.1]
    """
    how, assumed = reading or Reading(), Assumed(path)
    with assumed.beside_faults():
        return Sheet(_frame(path, how, assumed), assumed.notes)


def read_cells(path: Path, reading: Reading | None = None) -> Cells:
    """The table in a file cell by cell, nothing but blanks taken for missing.

    Parameters
    ----------
    path
        As for `read_sheet`.
    reading
        How it is written, where guessing would go wrong.

    Returns
    -------
    Cells
        Columns of cells, and what to call each row.

    Raises
    ------
    InvalidFile
        The file holds no table; the message says why, and where.
    MissingExtra
        What reads this kind of file is not installed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("participant,round\\nann,1\\n")
    >>> cells = read_cells(path)
    >>> cells.columns["round"], cells.places
    (['1'], ['line 2'])
    """
    how, assumed = reading or Reading(), Assumed(path)
    with assumed.beside_faults():
        return _cells(path, how, assumed)


def _frame(path: Path, how: Reading, assumed: Assumed) -> Any:
    suffix = suffix_of(path)
    check_file(path)
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("pandas", "data", "Reading a table") from None
    decimal: str | None = how.decimal
    if suffix in TEXT:
        frame, decimal = _text_frame(path, how, assumed)
    elif suffix in WORKBOOKS:
        body, header, row = read_workbook(path, how.sheet, assumed, as_written=False)
        frame = tidy(path, body, header, f"row {row}", assumed).infer_objects()
    else:
        _refuse_sheet(path, how)
        if suffix in LINES:
            columns, _ = read_lines(path, how, assumed)
            frame = pd.DataFrame(columns)
        else:
            frame = read_parquet(path)
        frame = tidy(path, frame, list(frame.columns), "columns", assumed)
    if not len(frame.columns):
        raise InvalidFile(f"{path}: is empty; it needs a header and a row for each case")
    return numbers_in_text(frame, decimal, how.decimal is not None, assumed)


def _cells(path: Path, how: Reading, assumed: Assumed) -> Cells:
    suffix = suffix_of(path)
    if suffix in TEXT:
        return _text_cells(path, how, assumed)
    if suffix in WORKBOOKS:
        body, header, row = read_workbook(path, how.sheet, assumed, as_written=True)
        frame = tidy(path, body, header, f"row {row}", assumed)
        columns = {name: [_plain(cell) for cell in frame[name]] for name in frame.columns}
        places = [f"row {row + 1 + i}" for i in range(len(frame))]
    else:
        _refuse_sheet(path, how)
        if suffix in LINES:
            columns, places = read_lines(path, how, assumed)
        else:
            frame = read_parquet(path)
            columns = {str(name): frame[name].tolist() for name in frame.columns}
            places = [f"row {i}" for i in range(len(frame))]
    texts = (cell for cells in columns.values() for cell in cells if isinstance(cell, str))
    decimal = how.decimal or decimal_of(texts, ";", assumed)
    return Cells(columns, places, decimal, assumed.notes)


def _refuse_sheet(path: Path, reading: Reading) -> None:
    if reading.sheet is not None:
        raise InvalidFile(
            f"{path}: `sheet` is {reading.sheet!r}, but only workbooks have sheets; leave it out"
        )


def _plain(cell: Any) -> Any:
    """A cell of a workbook as logs know it: pandas' missing values as nothing."""
    return None if cell != cell else cell


# --- text ---


def _text_frame(path: Path, how: Reading, assumed: Assumed) -> tuple[Any, str]:
    import pandas as pd

    text = open_text(path, how, assumed)
    header = text.header()
    if not any(header):
        raise InvalidFile(f"{path}: is empty; it needs a header and a row for each case")
    unique, _ = named(header)
    place = f"line {text.first_line}"
    faults = [*header_faults(unique, place), *text.ragged(len(header))]
    InvalidFile.raise_if(f"{path}, {fault}" for fault in faults)
    if len(header) == 1 and not header[0].isidentifier():  # a word alone is rather a short table
        raise InvalidFile(
            f"{path}: has one column only, {header[0][:60]!r}; say what stands between cells with "
            "`separator`"
        )
    options: dict[str, Any] = {}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # later versions always read numbers exactly
    try:
        # Blank lines become rows without an outcome, so that rows and lines count alike.
        frame = pd.read_csv(
            io.BytesIO(text.content.encode("utf-8")),
            sep=text.separator,
            decimal=text.decimal,
            names=unique,
            header=0,
            index_col=False,
            skipinitialspace=text.separator != " ",
            skip_blank_lines=False,
            low_memory=False,
            **options,
        )
    except (ValueError, OverflowError) as error:
        raise InvalidFile(f"{path}: cannot be read as a table ({error})") from None
    return tidy(path, frame, header, place, assumed), text.decimal


def _text_cells(path: Path, how: Reading, assumed: Assumed) -> Cells:
    text = open_text(path, how, assumed)
    rows = text.rows()
    _, first = next(rows, (1, []))
    header, made_up = named([clean(name) for name in first])
    place = f"line {text.first_line}"
    InvalidFile.raise_if(f"{path}: {fault}" for fault in header_faults(header, place))
    kept, places, faults = [], [], []
    for line, cells in rows:
        if len(cells) == len(header):
            kept.append(cells)
            places.append(f"line {line}")
        elif any(cell.strip() for cell in cells):
            faults.append(f"line {line}: {len(cells)} cells, but the header has {len(header)}")
    InvalidFile.raise_if(f"{path}: {fault}" for fault in first_faults(faults))
    while kept and not any(cell.strip() for cell in kept[-1]):
        kept.pop()
        places.pop()
    columns = {name: [cells[i] for cells in kept] for i, name in enumerate(header)}
    for name in made_up:
        if not any(cell.strip() for cell in columns[name]):
            del columns[name]
    return Cells(columns, places, text.decimal, assumed.notes)
