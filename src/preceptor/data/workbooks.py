"""Workbooks: which sheet to read, where its header is, and whether it is safe to unpack.

calamine reads them, through pandas. It allocates every cell between the first and the last used
one, so the extent that a sheet declares is checked first, in the zip archive itself.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import preceptor.data.opening as opening
from preceptor._base.extensions import from_extra
from preceptor._base.words import first_few, matches
from preceptor.data.text_files import SAMPLE, TITLES
from preceptor.errors import InvalidFile

# Blank cells included; each becomes a Python object.
_MOST_CELLS = 10_000_000
# Where a sheet declares its extent, such as ref="A1:K500".
_DIMENSION = re.compile(rb"""dimension ref=["'](?:[A-Z]+\d+:)?([A-Z]{1,3})(\d{1,7})["']""")


def read_workbook(
    path: Path, sheet: str | int | None, notes: opening.ReadingNotes
) -> tuple[list[Any], list[list[Any]], list[str]]:
    """Return the header, the cells of each column below it (None if blank), and a name per row."""
    from_extra("python_calamine", "data", "Reading a workbook")
    pd = from_extra("pandas", "data", "Reading a workbook")
    if _is_packed(path):
        _check_size(path)
    try:
        with pd.ExcelFile(path, engine="calamine") as book:
            chosen = _sheet_name(path, sheet, [str(name) for name in book.sheet_names], notes)
            cells = pd.read_excel(
                book, sheet_name=chosen, header=None, dtype=object, keep_default_na=False,
                na_values=[""],
            )  # fmt: skip
    except InvalidFile:
        raise
    except Exception as error:  # each library of the chain has its own errors
        _refuse(path, error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a Rust panic
            raise
        _refuse(path, error)
    cells = cells.map(lambda cell: None if isinstance(cell, str) and not cell.strip() else cell)
    top = _header_row(cells)
    if top is None:
        return [], [], []
    if cells.iloc[:top].notna().to_numpy().any():
        notes.say(f"row {top + 1} was taken as the header; rows above it were left out")
    header = ["" if pd.isna(name) else name for name in cells.iloc[top]]
    # pandas' missing values, which differ from themselves, become None.
    columns = [
        [None if cell != cell else cell for cell in cells[i].iloc[top + 1 :]] for i in cells.columns
    ]
    return header, columns, [f"row {i + 1}" for i in range(top + 1, len(cells))]


def _refuse(path: Path, error: BaseException) -> NoReturn:
    if "password" in f"{type(error).__name__} {error}".lower():
        raise InvalidFile(_protected(path)) from None
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    raise InvalidFile(f"{path}: cannot be read as a workbook ({reason}); save it again") from None


def _protected(path: Path) -> str:
    return f"{path}: is protected with a password; save it without one"


def _sheet_name(
    path: Path, sheet: str | int | None, names: list[str], notes: opening.ReadingNotes
) -> str:
    if not names:
        raise InvalidFile(f"{path}: has no sheets")
    if sheet is None:
        if len(names) > 1:
            others = first_few([repr(name) for name in names[1:]], 4)
            notes.guess(f"its first sheet, {names[0]!r} (others: {others})", "sheet")
        return names[0]
    if isinstance(sheet, str):
        alike = matches(sheet, names)
        if len(alike) == 1:
            return alike[0]
    number = int(sheet) if isinstance(sheet, int) or re.fullmatch(r"\d{1,5}", sheet) else 0
    if 1 <= number <= len(names):
        return names[number - 1]
    raise InvalidFile(
        f"{path}: `sheet` is {sheet!r}, must be one of {', '.join(map(repr, names))}, or a number "
        f"from 1 to {len(names)}"
    )


def _header_row(cells: Any) -> int | None:
    """Return the first row with anything in it or, below titles, the first full row of texts."""
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


def _is_packed(path: Path) -> bool:
    """Whether a workbook is a zip archive; refuse what is not a workbook."""
    start = opening.read_bytes(path, 512)
    if not start:
        raise InvalidFile(f"{path}: {opening.EMPTY}")
    packed, old = start.startswith(b"PK"), start.startswith(b"\xd0\xcf\x11\xe0")
    if opening.is_web_page(start):
        raise InvalidFile(
            f"{path}: is a web page, not a workbook; open it in a spreadsheet and save it as .xlsx"
        )
    if old and path.suffix.lower() != ".xls":
        # Encrypted workbooks are wrapped in the old format.
        raise InvalidFile(f"{_protected(path)} (an old .xls file must be named .xls)")
    if not packed and not old:
        what = "damaged" if b"\0" in start else "a text file; name it .csv"
        raise InvalidFile(f"{path}: is not a workbook but {what}")
    return packed


def _check_size(path: Path) -> None:
    """Refuse what would not fit into memory, by the sizes that the archive declares."""
    try:
        with zipfile.ZipFile(path) as packed:
            entries = packed.infolist()
            unpacked = sum(entry.file_size for entry in entries)
            if unpacked > opening.MOST_BYTES:
                raise InvalidFile(
                    f"{path}: unpacks to {unpacked / 2**20:,.0f} MB, too much for a workbook of "
                    f"{path.stat().st_size / 2**20:,.1f} MB; save the table as .csv"
                )
            for entry in entries:
                _check_sheet(path, packed, entry)
    except InvalidFile:
        raise
    except Exception as error:  # damage can be in the archive, the compression or the text
        _refuse(path, error)


def _check_sheet(path: Path, packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Refuse a sheet that declares too large an extent, as one stray cell makes it."""
    if not re.search(r"worksheets/[^/]+\.xml$", entry.filename.lower()):
        return
    with packed.open(entry) as stream:
        found = _DIMENSION.search(stream.read(SAMPLE))
    if found is None:
        return
    columns = 0
    for letter in found[1]:
        columns = 26 * columns + letter - ord("A") + 1
    remedy = "clear stray cells far out in the sheet, or save the table as .csv"
    opening.check_extent(path, int(found[2]), columns, _MOST_CELLS, remedy)
