"""Workbooks: which sheet, where its header is, and whether it is safe to unpack.

calamine reads them, through pandas. It fills every cell between the first and the last one that is
used, so how far a sheet says that it reaches is looked up before, in the packed file itself.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any, NoReturn

from preceptor._base.words import first_few
from preceptor.errors import InvalidFile, MissingExtra
from preceptor.tables.columns import TITLES
from preceptor.tables.opening import MOST_BYTES, beginning, is_web_page
from preceptor.tables.reading import Assumed

# Cells that are read at most, blank ones counted.
_MOST_CELLS = 10_000_000
# Where a sheet says how far it reaches, such as ref="A1:K500", and in how many bytes it must do so.
_DIMENSION = re.compile(rb"""dimension ref=["'](?:[A-Z]+\d+:)?([A-Z]{1,3})(\d{1,7})["']""")
_HEAD = 8_192


def read_workbook(
    path: Path, sheet: str | int | None, assumed: Assumed, *, as_written: bool
) -> tuple[Any, list[Any], int]:
    """Cells below the header as a frame, the header, and the number of its row from 1.

    With `as_written` only blank cells are missing; otherwise also "NA" and what else pandas knows.
    """
    try:
        import pandas as pd
        import python_calamine  # noqa: F401
    except ImportError:
        raise MissingExtra("pandas with python-calamine", "data", "Reading a workbook") from None
    _check_kind(path)
    _check_size(path)
    words = {"keep_default_na": False, "na_values": [""]} if as_written else {}
    try:
        with pd.ExcelFile(path, engine="calamine") as book:
            chosen = _sheet(path, sheet, [str(name) for name in book.sheet_names], assumed)
            cells = pd.read_excel(book, sheet_name=chosen, header=None, dtype=object, **words)
    except InvalidFile:
        raise
    except Exception as error:  # each library of the chain has errors of its own
        _refuse(path, error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # how Rust gives up
            raise
        _refuse(path, error)
    cells = cells.map(_blank_as_missing)
    top = _header_row(cells)
    if top is None:
        return cells.iloc[:0], [], 1
    above = cells.iloc[:top].notna().to_numpy().any()
    if above:
        assumed.say(f"row {top + 1} was taken as the header; what stands above it was left out")
    body = cells.iloc[top + 1 :].reset_index(drop=True)
    header = ["" if pd.isna(name) else name for name in cells.iloc[top]]
    return body, header, top + 1


def _blank_as_missing(cell: Any) -> Any:
    return None if isinstance(cell, str) and not cell.strip() else cell


def _refuse(path: Path, error: BaseException) -> NoReturn:
    if "password" in f"{type(error).__name__} {error}".lower():
        raise InvalidFile(_protected(path)) from None
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    raise InvalidFile(f"{path}: cannot be read as a workbook ({reason}); save it again") from None


def _protected(path: Path) -> str:
    return f"{path}: is protected with a password; save it without one"


def _sheet(path: Path, sheet: str | int | None, names: list[str], assumed: Assumed) -> str:
    if not names:
        raise InvalidFile(f"{path}: has no sheets")
    if sheet is None:
        if len(names) > 1:
            others = first_few([repr(name) for name in names[1:]], 4)
            assumed.add(f"its first sheet, {names[0]!r} (others: {others})", "sheet")
        return names[0]
    if isinstance(sheet, str) and sheet in names:
        return sheet
    if isinstance(sheet, str):
        folded = [name for name in names if name.strip().casefold() == sheet.strip().casefold()]
        if len(folded) == 1:
            return folded[0]
    number = int(sheet) if isinstance(sheet, int) or re.fullmatch(r"\d{1,5}", sheet) else 0
    if 1 <= number <= len(names):
        return names[number - 1]
    raise InvalidFile(
        f"{path}: `sheet` is {sheet!r}, must be one of {', '.join(map(repr, names))}, or a number "
        f"from 1 to {len(names)}"
    )


def _header_row(cells: Any) -> int | None:
    """The first row with anything in it, or below titles the first full row of texts."""
    filled = cells.notna().sum(axis=1).to_numpy()
    used = filled.nonzero()[0]
    if not used.size:
        return None
    first = int(used[0])
    widest = int(filled[first : first + 50].max())
    if 2 * int(filled[first]) >= widest or widest < 2:
        return first
    for row in range(first + 1, min(first + TITLES, len(filled))):
        texts = [cell for cell in cells.iloc[row] if isinstance(cell, str)]
        if 2 * int(filled[row]) >= widest:
            return row if len(texts) == int(filled[row]) else first
    return first


def _check_kind(path: Path) -> None:
    start = beginning(path)
    suffix = path.suffix.lower()
    if not start:
        raise InvalidFile(f"{path}: is empty; it needs a header and a row for each case")
    packed, old = start.startswith(b"PK"), start.startswith(b"\xd0\xcf\x11\xe0")
    if is_web_page(start):
        raise InvalidFile(
            f"{path}: is a web page, not a workbook; open it in a spreadsheet and save it as .xlsx"
        )
    if old and suffix != ".xls":
        # Encrypted workbooks are wrapped into the old format.
        raise InvalidFile(f"{_protected(path)} (an old .xls file must be named .xls)")
    if not packed and not old:
        what = "damaged" if b"\0" in start else "a text file; name it .csv"
        raise InvalidFile(f"{path}: is no workbook but {what}")


def _check_size(path: Path) -> None:
    """Refuse what would not fit into memory, by the sizes that the packed file declares."""
    if beginning(path, 2) != b"PK":
        return
    try:
        with zipfile.ZipFile(path) as packed:
            entries = packed.infolist()
            whole = sum(entry.file_size for entry in entries)
            wrapped = max(path.stat().st_size, 1)
            if whole > MOST_BYTES:
                raise InvalidFile(
                    f"{path}: unpacks to {whole / 2**20:,.0f} MB, too much for a workbook of "
                    f"{wrapped / 2**20:,.1f} MB; save the table as .csv"
                )
            for entry in entries:
                _check_extent(path, packed, entry)
    except InvalidFile:
        raise
    except Exception as error:  # damaged packing: of the archive, of what packed it, of the text
        _refuse(path, error)


def _check_extent(path: Path, packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Refuse a sheet that says of itself that it reaches too far, as one stray cell makes it."""
    if not re.search(r"worksheets/[^/]+\.xml$", entry.filename.lower()):
        return
    with packed.open(entry) as stream:
        found = _DIMENSION.search(stream.read(_HEAD))
    if found is None:
        return
    rows, columns = int(found[2]), _column(found[1])
    if rows * columns > _MOST_CELLS:
        raise InvalidFile(
            f"{path}: a sheet reaches over {rows:,} rows and {columns:,} columns, at most "
            f"{_MOST_CELLS:,} cells are read; clear what is far out, or save the table as .csv"
        )


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
