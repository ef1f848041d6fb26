"""Delimited text files: which character separates cells, where the header is, which rows misfit.

Names of columns are put on one line, and numbers are read with either decimal mark. The standard
library's `csv` module splits the lines. It knows on which line a row begins even where cells span
several lines, so faults can name it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import preceptor.data.opening as opening
from preceptor._base.checks import parse_spelling
from preceptor._base.words import counted, first_few, repeated
from preceptor.errors import InvalidFile

_MOST_FAULTS = 10
# Rows that are searched for a header below title lines.
TITLES = 15
_OTHER_MARK = {",": ".", ".": ","}
_TRUE, _FALSE = frozenset({"True", "TRUE", "true"}), frozenset({"False", "FALSE", "false"})


def clean(name: Any) -> str:
    """Return a name on one line, without surrounding blanks or unprintable characters.

    >>> clean(" body\\nfat "), clean(2020.0)
    ('body fat', '2020')
    """
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    # A JSON string may hold a lone surrogate, which no file or terminal accepts.
    text = str(name).encode("utf-8", "replace").decode("utf-8").strip()
    if text.isprintable():
        return text
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def header_faults(names: Sequence[str], place: str) -> list[str]:
    """Faults of a header: too many columns, or a name used twice."""
    if len(names) > opening.MOST_COLUMNS:
        most = f"at most {opening.MOST_COLUMNS:,} are read; give fewer"
        return [f"{place}: {len(names):,} columns, {most}"]
    twice = repeated(names)[:5]
    return [f"{place}: column {name!r} is there twice; rename one" for name in twice]


def first_faults(faults: Sequence[str]) -> list[str]:
    """Return the first few faults and the number of the others."""
    if len(faults) <= _MOST_FAULTS:
        return list(faults)
    return [*faults[:_MOST_FAULTS], f"and {len(faults) - _MOST_FAULTS} more like these"]


def named(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Name every nameless column; return all names, and those that were made up."""
    taken = set(names)
    found, made_up = [], []
    for number, name in enumerate(names, start=1):
        if not name:
            name = f"column {number}"
            while name in taken:
                name += "'"
            made_up.append(name)
        found.append(name)
    return found, made_up


def as_numbers(cells: list[Any], decimal: str) -> Any:
    """A column as floats if all cells are plain numbers, as booleans if all are true or false.

    Otherwise the cells as they are.
    """
    texts = {cell.strip() for cell in cells if isinstance(cell, str)}
    if texts and texts <= _TRUE | _FALSE:
        return [cell.strip() in _TRUE if isinstance(cell, str) else cell for cell in cells]
    letters = "".join(texts)
    if "_" in letters or (decimal == "," and "." in letters):
        return cells
    known = [cell.replace(decimal, ".") if isinstance(cell, str) else cell for cell in cells]
    try:
        # Python's float is exact.
        return np.array([np.nan if cell is None else float(cell) for cell in known])
    except (TypeError, ValueError, OverflowError):
        return cells


def numbers_in_text(
    columns: dict[str, Any], decimal: str, fixed: bool, notes: opening.ReadingNotes
) -> dict[str, Any]:
    """Rewrite numbers in columns of text with decimal points; convert columns of nothing else.

    Unless the decimal mark of the file is `fixed`, a column whose numbers all use the other mark is
    read with that one.
    """
    found: dict[str, list[str]] = {}
    changed = dict(columns)
    for name, cells in columns.items():
        column = {c for c in cells if isinstance(c, str)} if isinstance(cells, list) else set()
        for mark in (decimal,) if fixed else (decimal, _OTHER_MARK[decimal]):
            known = {text: with_point(text, mark) for text in column}
            numbers = {text: number for text, number in known.items() if number is not None}
            enough = len(column) if mark != decimal else len(column) / 2
            if len(numbers) < enough or all(n == text.strip() for text, n in numbers.items()):
                continue
            replaced = [numbers.get(c, c) if isinstance(c, str) else c for c in cells]
            changed[name] = as_numbers(replaced, ".")
            if mark != decimal:
                found.setdefault("decimal commas" if mark == "," else "points", []).append(name)
            elif any(_OTHER_MARK[mark] in text for text in numbers):
                grouping = "points" if mark == "," else "commas"
                found.setdefault(f"{grouping} between thousands", []).append(name)
            break
    for what, where in found.items():
        where = where if len(where) < len(columns) else []
        notes.guess(f"{what} in {first_few(where, 4)}" if where else what, "decimal")
    return changed


def decimal_of(cells: Iterable[str], separator: str, notes: opening.ReadingNotes) -> str:
    """Return the decimal mark of these cells, which may be lists; a comma is noted.

    If commas also separate cells, a comma within quotes may be a list of two, so most numbers
    must have one.

    >>> decimal_of(["3,5", "7", "4,25"], ";", opening.ReadingNotes(Path("cases.csv")))
    ','
    """
    numbers = commas = points = either = 0
    for part in (part for cell in cells for part in cell.split(";")):
        comma, point = spells_number(part, ","), spells_number(part, ".")
        numbers += comma or point
        if comma and point:  # "1,234" is a little more than one, or more than a thousand
            either += "," in part
            points += "." in part
        else:
            commas += comma
            points += point
    if separator == ",":
        has_commas = commas > max(points, numbers / 2)
    else:
        has_commas = commas + either > points and bool(commas or not points)
    if has_commas:
        notes.guess("decimal commas", "decimal")
    return "," if has_commas else "."


def spells_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a number with this decimal mark and nothing else."""
    found = parse_spelling(cell, decimal)
    return found is not None and found.is_alone


def with_point(text: str, decimal: str) -> str | None:
    """Rewrite a number with a decimal point and without grouping; None if it is not a number.

    A unit after the number is kept, and so is a sign before it that makes it a bound.

    >>> with_point("1.234,5", ","), with_point("<63,5 %", ","), with_point("3,5", ".")
    ('1234.5', '<63.5 %', None)
    """
    found = parse_spelling(text, decimal)
    if found is None:
        return None
    written = text.strip()
    bound = written[: len(written) - len(written.lstrip("<>≤≥= "))]
    before = written.removesuffix(found.unit)
    return bound + found.text + before[len(before.rstrip()) :] + found.unit


# Separators, the likeliest last: where two fit equally well, commas may be decimal marks.
_SEPARATORS = "\t;|,"
SAMPLE = 65_536  # characters
# A line with fewer cells than this, one of them filled, is not recognisable as a title.
_FEWEST_CELLS = 3


@dataclass(frozen=True, eq=False)
class TextFile:
    """A delimited text file: its content from the header on, and how it is written."""

    path: Path
    content: str
    first_line: int
    separator: str
    decimal: str

    def columns(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Return the header, the cells of each column, and a name for each row.

        A row without any cell counts as one whose cells are empty.
        """
        (_, header), *rows = [*self._rows()] or [(0, [])]
        header, width = [clean(name) for name in header], len(header)
        if not any(header):
            raise InvalidFile(f"{self.path}: {opening.EMPTY}")
        faults = []
        for line, cells in rows:
            if len(cells) != width and any(cell.strip() for cell in cells):
                is_title = width == 1 or (line == self.first_line + 1 and len(cells) > 2 * width)
                faults.append(
                    f"line {line}: {len(cells)} cells, but the header has "
                    f"{counted(width, 'column')}{'; if it is a title, remove it' * is_title}"
                )
        InvalidFile.raise_if(f"{self.path}: {fault}" for fault in first_faults(faults))
        if width == 1 and not header[0].isidentifier():  # a single word may be a short table
            raise InvalidFile(
                f"{self.path}: has one column only, {header[0][:60]!r}; give the `separator` "
                "between cells"
            )
        whole = [cells if len(cells) == width else [""] * width for _, cells in rows]
        columns = [list(cells) for cells in zip(*whole, strict=True)] or [[] for _ in header]
        return header, columns, [f"line {line}" for line, _ in rows]

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row with the line on which it begins, header first."""
        reader = _reader(self.content, self.separator)
        line = self.first_line
        try:
            for cells in reader:
                yield line, cells
                line = self.first_line + reader.line_num
        except csv.Error as error:
            raise InvalidFile(f"{self.path}: line {line}: {error}") from None


def read_text(path: Path, reading: opening.Reading) -> tuple[str, str | None]:
    """Return the decoded content of a file, and the encoding in words if it had to be guessed."""
    raw = opening.read_bytes(path)
    if reading.encoding is None:
        opening.refuse_other_kinds(path, raw[:512])
    content, encoding = opening.decode(path, raw, reading.encoding)
    return content, opening.encoding_note(encoding) if reading.encoding is None else None


def open_text(path: Path, reading: opening.Reading, notes: opening.ReadingNotes) -> TextFile:
    """Open a delimited text file; options that are not given are guessed and noted."""
    content, encoding_used = read_text(path, reading)
    content, first_line, declared = _from_header(content)
    if '"' not in content and "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    sample = _sample(content)
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    separator = reading.separator or declared or _guess_separator(sample, usual)
    if reading.separator is None and declared is None and separator != usual:
        notes.guess_separator(separator)
    above = _above_header(sample, separator)
    if above:
        first_line += above.count("\n")
        content, sample = content[len(above) :], sample[len(above) :]
        notes.say(f"line {first_line} was taken as the header; lines above it were left out")
    decimal = reading.decimal
    if decimal is None:
        rows = _some_rows(sample, separator)[1:]
        decimal = decimal_of((cell for cells in rows for cell in cells), separator, notes)
    if encoding_used is not None:
        notes.guess(encoding_used, "encoding")
    return TextFile(path, content, first_line, separator, decimal)


def _from_header(content: str) -> tuple[str, int, str | None]:
    """Strip outer blank lines and Excel's line "sep=;"; return also the header's line and sep."""
    start = re.match(r"(?:[ \t]*(?:\r\n|\r|\n))*", content)
    skipped = start[0] if start else ""
    content = content[len(skipped) :].rstrip("\r\n")
    line = 1 + len(re.findall(r"\r\n|\r|\n", skipped))
    declared = re.match(r'"?sep=([,;|\t^~:])"?(?:\r\n|\r|\n)', content)
    if declared is None:
        return content, line, None
    return content[declared.end() :], line + 1, declared[1]


def _above_header(sample: str, separator: str) -> str:
    """Return title lines as spreadsheets save them: at most one filled cell, then a text header."""
    above = ""
    for line in sample.split("\n")[:TITLES]:
        cells = line.split(separator)
        filled = [cell for cell in cells if cell.strip()]
        if len(filled) > 1:
            is_header = 2 * len(filled) >= len(cells) and not any(
                spells_number(cell, mark) for cell in filled for mark in ".,"
            )
            return above if is_header else ""
        if '"' in line or (filled and len(cells) < _FEWEST_CELLS):
            break
        above += f"{line}\n"
    return ""


def _reader(content: str, separator: str) -> Any:
    return csv.reader(
        io.StringIO(content, newline=""), delimiter=separator, skipinitialspace=separator != " "
    )


def _sample(content: str) -> str:
    """Return the first lines, whole ones if there are several."""
    if len(content) <= SAMPLE:
        return content
    part = content[:SAMPLE]
    return part[: max(part.rfind("\n"), part.rfind("\r"))] if re.search("[\r\n]", part) else part


def _some_rows(sample: str, separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):  # rows before a broken one are as good as any
        rows.extend(cells for cells in _reader(sample, separator) if cells)
    return rows


def _guess_separator(sample: str, usual: str) -> str:
    """Return the separator that makes most rows as wide as the header; ties go to wider headers."""
    best, best_score = usual, (-1.0, 0, 0, 0)
    for order, separator in enumerate(reversed(_SEPARATORS)):
        rows = _some_rows(sample, separator)
        if not rows or len(rows[0]) < 2:
            continue
        even = sum(len(cells) == len(rows[0]) for cells in rows[1:]) / max(len(rows) - 1, 1)
        score = (round(even, 1), len(rows[0]), int(separator == usual != ","), order)
        if score > best_score:
            best, best_score = separator, score
    return best
