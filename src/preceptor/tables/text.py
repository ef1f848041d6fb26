"""Text files with cells and lines: what stands between cells, and which rows do not fit.

The `csv` module of the standard library takes lines apart. It knows in which line a row begins,
even where cells span several, so that faults can say it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from preceptor.errors import InvalidFile
from preceptor.tables.columns import TITLES, clean, decimal_of, first_faults, spells_number
from preceptor.tables.opening import decode, in_words, read_bytes, refuse_other_kinds
from preceptor.tables.reading import Assumed, Reading

# Separators, the likeliest last: where two fit equally well, commas may be decimals.
_SEPARATORS = "\t;|,"
_SAMPLE, _SAMPLE_ROWS = 65_536, 500
# Cells that a line needs for blank ones to say that it is a title.
_FEWEST = 3


@dataclass(frozen=True, eq=False)
class Text:
    """A text file: its content from the header on, which line that is, and its signs."""

    path: Path
    content: str
    first_line: int
    separator: str
    decimal: str

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each row with the line in which it begins, the header first; blank lines left out."""
        reader = _reader(self.content, self.separator)
        line = self.first_line
        try:
            for cells in reader:
                if len(cells) > 1 or (cells and cells[0].strip()):
                    yield line, cells
                line = self.first_line + reader.line_num
        except csv.Error as error:
            raise InvalidFile(f"{self.path}: line {line}: {error}") from None

    def header(self) -> list[str]:
        """Names of the columns, each on one line; some may be empty."""
        return [clean(name) for _, cells in islice(self.rows(), 1) for name in cells]

    def ragged(self, width: int) -> list[str]:
        """Rows with more or fewer cells than the header, a fault each; of many the first few."""
        faults: list[str] = []
        for line, cells in self.rows():
            if len(cells) == width:
                continue
            hint = ""
            if width == 1 or (line == self.first_line + 1 and len(cells) > 2 * width):
                hint = "; if it is a title, remove it"
            faults.append(
                f"line {line}: {len(cells)} cells, but the header has {width} column"
                f"{'s' * (width != 1)}{hint}"
            )
        return first_faults(faults)


def open_text(path: Path, reading: Reading, assumed: Assumed) -> Text:
    """The file as text, with what is not said guessed, and noted where it was not plain."""
    if reading.sheet is not None:
        raise InvalidFile(
            f"{path}: `sheet` is {reading.sheet!r}, but a text file has no sheets; leave it out"
        )
    raw = read_bytes(path)
    if reading.encoding is None:
        refuse_other_kinds(path, raw[:512])
    content, encoding = decode(path, raw, reading.encoding)
    spoken = None if reading.encoding is not None else in_words(encoding)
    content, first_line, said = _from_header(content)
    if '"' not in content and "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    sample = _sample(content)
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    separator = reading.separator or said or _guess_separator(sample, usual)
    if reading.separator is None and said is None and separator != usual:
        assumed.separator(separator)
    above = _above_header(sample, separator)
    if above:
        first_line += above.count("\n")
        content, sample = content[len(above) :], sample[len(above) :]
        assumed.say(f"line {first_line} was taken as the header; what stands above it was left out")
    decimal = reading.decimal
    if decimal is None:
        rows = _some_rows(sample, separator)[1:]
        decimal = decimal_of((cell for cells in rows for cell in cells), separator, assumed)
    if spoken is not None:
        assumed.add(spoken, "encoding")
    return Text(path, content, first_line, separator, decimal)


def _from_header(content: str) -> tuple[str, int, str | None]:
    """Without blank lines at either end and Excel's line "sep=;", and what that line says."""
    start = re.match(r"(?:[ \t]*(?:\r\n|\r|\n))*", content)
    skipped = start[0] if start else ""
    content = content[len(skipped) :].rstrip("\r\n")
    line = 1 + len(re.findall(r"\r\n|\r|\n", skipped))
    told = re.match(r'"?sep=([,;|\t^~:])"?(?:\r\n|\r|\n)', content)
    if told is None:
        return content, line, None
    return content[told.end() :], line + 1, told[1]


def _above_header(sample: str, separator: str) -> str:
    """Titles as a spreadsheet saves them: lines of a cell or none, then a full row of texts."""
    above = ""
    for line in sample.split("\n")[:TITLES]:
        cells = line.split(separator)
        filled = [cell for cell in cells if cell.strip()]
        if len(filled) > 1:
            is_header = 2 * len(filled) >= len(cells) and not any(
                spells_number(cell, sign) for cell in filled for sign in ".,"
            )
            return above if is_header else ""
        if '"' in line or (filled and len(cells) < _FEWEST):
            break
        above += f"{line}\n"
    return ""


def _reader(content: str, separator: str) -> Any:
    return csv.reader(
        io.StringIO(content, newline=""), delimiter=separator, skipinitialspace=separator != " "
    )


def _sample(content: str) -> str:
    """The first lines, whole ones if there are more."""
    if len(content) <= _SAMPLE:
        return content
    part = content[:_SAMPLE]
    return part[: max(part.rfind("\n"), part.rfind("\r"))] if re.search("[\r\n]", part) else part


def _some_rows(sample: str, separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):  # rows before a broken one are as good as any
        rows.extend(cells for cells in islice(_reader(sample, separator), _SAMPLE_ROWS) if cells)
    return rows


def _guess_separator(sample: str, usual: str) -> str:
    """The one that gives most rows as many cells as the header, and of those the most cells."""
    best, best_score = usual, (-1.0, 0, 0, 0)
    for order, sign in enumerate(reversed(_SEPARATORS)):
        rows = _some_rows(sample, sign)
        if not rows or len(rows[0]) < 2:
            continue
        even = sum(len(cells) == len(rows[0]) for cells in rows[1:]) / max(len(rows) - 1, 1)
        score = (round(even, 1), len(rows[0]), int(sign == usual != ","), order)
        if score > best_score:
            best, best_score = sign, score
    return best
