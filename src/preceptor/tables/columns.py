"""Columns of a frame once it is read: their names, blanks around them, numbers that are text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from preceptor._base.words import first_few
from preceptor.errors import InvalidFile
from preceptor.tables.assumed import Assumed
from preceptor.tables.decimals import Votes, guess_decimal, with_point
from preceptor.tables.names import clean, header_faults, named

_OTHER = {",": ".", ".": ","}


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
        votes = Votes()
        for column in texts.values():
            votes.count(column)
        decimal = guess_decimal(votes, ";")
        if decimal == ",":
            assumed.add("decimal commas", "decimal")
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
