"""Columns and their cells: names on one line, numbers whichever sign stands before decimals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from preceptor._base.typed import spelled
from preceptor._base.words import first_few
from preceptor.errors import InvalidFile
from preceptor.tables.opening import MOST_COLUMNS
from preceptor.tables.reading import Assumed

_MOST_FAULTS = 10
# So many rows are searched for a header that has titles above it.
TITLES = 15
_OTHER = {",": ".", ".": ","}


def clean(name: Any) -> str:
    """A name on one line, without blanks around it or signs that nobody sees.

    >>> clean(" body\\nfat "), clean(2020.0)
    ('body fat', '2020')
    """
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    # A string of JSON may hold half a letter, which no file or terminal takes.
    text = str(name).encode("utf-8", "replace").decode("utf-8").strip()
    if text.isprintable():
        return text
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def header_faults(names: Sequence[str], place: str) -> list[str]:
    """What is wrong with a header whose nameless columns have been named."""
    if len(names) > MOST_COLUMNS:
        return [f"{place}: {len(names):,} columns, at most {MOST_COLUMNS:,} are read; give fewer"]
    counts = Counter(names)
    twice = [name for name, count in counts.items() if count > 1]
    return [f"{place}: column {name!r} is there twice; rename one" for name in twice[:5]]


def first_faults(faults: Sequence[str]) -> list[str]:
    """A file with a mistake in every row is told a few times, not a thousand."""
    if len(faults) <= _MOST_FAULTS:
        return list(faults)
    return [*faults[:_MOST_FAULTS], f"and {len(faults) - _MOST_FAULTS} more like these"]


def named(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Every column with a name, and the names that had to be made up."""
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


def tidy(path: Path, frame: Any, header: Sequence[Any], place: str, assumed: Assumed) -> Any:
    """The frame under clean names, without blank columns that have none and blank last rows."""
    names = [clean(name) for name in header]
    filled = frame.notna().to_numpy()
    kept = [i for i, name in enumerate(names) if name or filled[:, i].any()]
    if len(kept) < len(names):
        frame, filled = frame.iloc[:, kept], filled[:, kept]
    full, made_up = named([names[i] for i in kept])
    InvalidFile.raise_if(f"{path}: {fault}" for fault in header_faults(full, place))
    if made_up:
        one = len(made_up) == 1
        assumed.say(
            f"{'a column' if one else f'{len(made_up)} columns'} without a name "
            f"{'is' if one else 'are'} called {first_few([*map(repr, made_up)], 4)}"
        )
    frame.columns = full
    used = filled.any(axis=1).nonzero()[0]
    return frame.iloc[: int(used[-1]) + 1 if used.size else 0]


def numbers_in_text(frame: Any, decimal: str | None, fixed: bool, assumed: Assumed) -> Any:
    """Numbers in columns of text, written with points; whole columns of them become numbers.

    `decimal` is what stands before the decimals of this file, None if nobody looked; unless it is
    `fixed`, a column in which all numbers are written the other way is taken as it is.
    """
    found: dict[str, list[str]] = {}
    texts = {name: _texts(frame[name]) for name in frame.columns}
    if decimal is None:
        decimal = decimal_of((text for column in texts.values() for text in column), ";", assumed)
    for name, column in texts.items():
        for sign in (decimal,) if fixed else (decimal, _OTHER[decimal]):
            known = {text: with_point(text, sign) for text in column}
            numbers = {text: number for text, number in known.items() if number is not None}
            enough = len(column) if sign != decimal else len(column) / 2
            if len(numbers) < enough or all(n == text.strip() for text, n in numbers.items()):
                continue
            frame = _replaced(frame, name, numbers)
            if sign != decimal:
                found.setdefault("decimal commas" if sign == "," else "points", []).append(name)
            elif any(_grouped(text, sign) for text in numbers):
                sort = "points" if sign == "," else "commas"
                found.setdefault(f"{sort} between thousands", []).append(name)
            break
    for what, where in found.items():
        where = where if len(where) < len(texts) else []
        assumed.add(f"{what} in {first_few(where, 4)}" if where else what, "decimal")
    return frame


def _texts(column: Any) -> list[str]:
    """The different texts of a column; none if it holds numbers."""
    if column.dtype.kind in "biufcmM":
        return []
    try:
        values = column.dropna().unique()
    except TypeError:  # lists, which cannot be told apart
        return []
    return [value for value in values if isinstance(value, str)]


def _replaced(frame: Any, name: str, numbers: dict[str, str]) -> Any:
    column = frame[name].astype(object)
    column = column.map(lambda cell: numbers.get(cell, cell) if isinstance(cell, str) else cell)
    with suppress(TypeError, ValueError, OverflowError):
        # Python's float is exact, as the parser of numbers in files is.
        column = column.map(float, na_action="ignore").astype("float64")
    frame = frame.copy(deep=False)
    frame[name] = column
    return frame


def _grouped(text: str, decimal: str) -> bool:
    return _OTHER[decimal] in text


# --- decimals ---


def decimal_of(cells: Iterable[str], separator: str, assumed: Assumed) -> str:
    """What stands before the decimals of these cells, which may be lists; a comma is noted.

    Between commas, a comma within quotes may be a list of two: there most numbers must have one.

    >>> decimal_of(["3,5", "7", "4,25"], ";", Assumed(Path("cases.csv")))
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
        assumed.add("decimal commas", "decimal")
    return "," if has_commas else "."


def spells_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a number and nothing else, with these decimals."""
    found = spelled(cell, decimal)
    return found is not None and found.is_alone


def with_point(text: str, decimal: str) -> str | None:
    """A number with these decimals, written with a point and without grouping; None if it is none.

    A unit behind the number stays, and so does a sign that makes it a bound.

    >>> with_point("1.234,5", ","), with_point("<63,5 %", ","), with_point("3,5", ".")
    ('1234.5', '<63.5 %', None)
    """
    found = spelled(text, decimal)
    if found is None:
        return None
    written = text.strip()
    bound = written[: len(written) - len(written.lstrip("<>≤≥= "))]
    before = written.removesuffix(found.unit)
    return bound + found.text + before[len(before.rstrip()) :] + found.unit
