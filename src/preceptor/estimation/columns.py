"""One column of a table: numbers, or a category, or a mistake that is named with its place.

Rows are counted from 1, the first case; in a file with a header that is line 2. What a text means
is decided once for each different text, however many rows have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.typed import (
    ALWAYS_MISSING,
    MISSING_AMONG_NUMBERS,
    Spelled,
    is_empty,
    spelled,
)
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted
from preceptor.estimation.cells import is_date, plain_number, text_of
from preceptor.estimation.findings import Findings, few, place
from preceptor.estimation.missing_codes import Codes

# A column in which at least this share of the values are numbers is one of numbers.
_MOSTLY = 0.5
# Numbers this large, and columns that vary as little as its inverse, have squares that are none.
LARGEST = 1e100
_DATES = "it holds dates or times; turn them into numbers (an age, days since) if they matter"


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers (rows,), NaN where missing; with `levels` they are positions in that list.

    `is_truth` tells the 0 and 1 of true and false from numbers.
    """

    name: str
    values: FloatArray
    levels: tuple[str, ...] | None = None
    is_truth: bool = False


@dataclass(frozen=True, eq=False)
class _Texts:
    """The different cells of a column, how often each is there, and which one each row has."""

    name: str
    cells: list[Any]
    texts: list[str]
    times: IntArray
    which: IntArray

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> _Texts:
        position: dict[Any, int] = {}
        which = np.empty(len(values), dtype=np.int64)
        cells: list[Any] = []
        for row, value in enumerate(values):
            try:
                at = position.setdefault(value, len(cells))
            except TypeError:  # a list or the like, which cannot be looked up
                at = len(cells)
            if at == len(cells):
                cells.append(value)
            which[row] = at
        times = np.bincount(which, minlength=len(cells))
        texts = ["" if is_empty(cell) else text_of(cell) for cell in cells]
        return cls(name, cells, texts, times, which)

    def count(self, chosen: npt.NDArray[np.bool_]) -> int:
        """How many rows have one of the chosen cells."""
        return int(self.times[chosen].sum())

    def first(self, chosen: npt.NDArray[np.bool_]) -> int:
        """The first row that has one of the chosen cells."""
        return int(np.flatnonzero(chosen[self.which])[0])

    def by_row(self, values: Sequence[float]) -> FloatArray:
        """A number for each row, from one for each different cell."""
        return np.asarray(values, dtype=np.float64)[self.which]


def read_column(
    name: str, raw: Any, found: Findings, codes: Codes, decimal: str | None = None
) -> Column | None:
    """Numbers or a category from an array or a narwhals series, or None with the reason found."""
    values, is_category, is_truth = _as_array(name, raw, found)
    if values is None:
        return None
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
        if not is_truth:
            numbers[codes.among_numbers(name, numbers)] = np.nan
        column: Column | None = Column(name, numbers, is_truth=is_truth)
    else:
        column = _from_texts(_Texts.of(name, values.tolist()), is_category, found, codes, decimal)
    if column is None or column.levels is not None:
        return column
    beyond = np.abs(column.values) > LARGEST
    if beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        value = column.values[row]
        what = "is infinite or too large" if np.isinf(value) else f"is beyond {LARGEST:g}"
        found.faults.append(f"{place(name, row)}: {value:g} {what}; correct it or leave it empty")
        return None
    if _counts_days(column.values):
        found.drop(name, _DATES)
        return None
    return column


def _as_array(name: str, raw: Any, found: Findings) -> tuple[npt.NDArray[Any] | None, bool, bool]:
    """Numbers as numbers, all else as objects; is it a category, or true and false, by its type?"""
    if isinstance(raw, np.ndarray):
        if raw.dtype.kind in "mM":
            found.drop(name, _DATES)
            return None, False, False
        if raw.dtype.kind == "c":
            found.faults.append(f"column {name!r}: holds complex numbers; give real ones")
            return None, False, False
        array = raw if raw.dtype.kind in "biufO" else raw.astype(object)
        return array, False, array.dtype.kind == "b"
    import narwhals as nw

    if raw.dtype.is_temporal():
        found.drop(name, _DATES)
        return None, False, False
    is_truth = raw.dtype == nw.Boolean
    if raw.dtype.is_numeric() or is_truth:
        try:
            numbers = np.asarray(raw.cast(nw.Float64).to_numpy(), dtype=np.float64)
            return numbers, False, bool(is_truth)
        except Exception as error:  # whatever the frame's own library raises
            found.faults.append(f"column {name!r}: cannot be read as numbers ({error})")
            return None, False, False
    values = np.empty(len(raw), dtype=object)
    values[:] = raw.to_list()
    return values, bool(raw.dtype in (nw.Categorical, nw.Enum)), False


def _from_texts(
    seen: _Texts, is_category: bool, found: Findings, codes: Codes, decimal: str | None
) -> Column | None:
    """Numbers if all cells are, dates are left out, categories if hardly any is a number."""
    name = seen.name
    folded = [text.casefold() for text in seen.texts]
    empty = np.array([not text for text in folded], dtype=np.bool_)
    empty |= np.array(codes.among_texts(name, seen.texts, seen.times.tolist()), dtype=np.bool_)
    always = np.array([text in ALWAYS_MISSING for text in folded], dtype=np.bool_) & ~empty
    empty |= always
    if empty.all():
        _say_missing(seen, always, found)
        return Column(name, np.full(seen.which.size, np.nan))
    if not is_category:
        kept = ~empty
        plain = np.array(
            [
                plain_number(cell) if keep and not _has_points(cell, decimal) else np.nan
                for cell, keep in zip(seen.cells, kept, strict=True)
            ]
        )
        perhaps = np.array([text in MISSING_AMONG_NUMBERS for text in folded], dtype=np.bool_)
        numbers = _numbers(seen, plain, kept & ~perhaps, found, decimal)
        if numbers is not None:
            _say_missing(seen, always | (perhaps & kept), found)
            is_truth = all(isinstance(cell, bool) for cell in compress(seen.cells, kept))
            return Column(name, seen.by_row(numbers), is_truth=is_truth)
        if _is_refused(seen, plain, kept, found):
            return None
        dated = np.array([keep and is_date(t) for t, keep in zip(seen.texts, kept, strict=True)])
        if dated.any() and seen.count(dated) >= _MOSTLY * seen.count(kept):
            found.drop(name, _DATES)
            return None
        # A dash beside a plus is an answer, elsewhere it is a gap.
        dashes = np.array([text in {"-", "--", "\u2013", "\u2014"} for text in folded])
        if not any(text.startswith(("+", "pos")) for text in folded):
            always |= dashes & kept
            empty |= dashes
    _say_missing(seen, always, found)
    return _category(seen, ~empty, found)


def _has_points(cell: Any, decimal: str | None) -> bool:
    """Whether points stand between thousands, as they do where commas stand before decimals."""
    return decimal == "," and isinstance(cell, str) and spelled(cell, ",") is not None


def _numbers(
    seen: _Texts,
    plain: FloatArray,
    kept: npt.NDArray[np.bool_],
    found: Findings,
    decimal: str | None,
) -> list[float] | None:
    """The number of each different cell, or None if they are not all numbers."""
    if not kept.any() and any(seen.texts):
        return None
    if not (np.isnan(plain) & kept).any():
        if kept.any() and any(isinstance(cell, str) for cell in seen.cells):
            said = f"{seen.name}: numbers that were stored as text were read as numbers."
            found.note(said, is_detail=True)
        return list(np.where(kept, plain, np.nan))
    read: list[Spelled | None] = []
    for text, number, keep in zip(seen.texts, plain.tolist(), kept.tolist(), strict=True):
        if not keep:
            read.append(Spelled(np.nan))
        else:
            read.append(spelled(text, decimal or ".") if number != number else Spelled(number))
    numbers = [each for each in read if each is not None]
    units = {each.unit for each in numbers if each.unit}
    if len(numbers) < len(read) or len(units) > 1:
        return None
    _say_how(seen, numbers, units, found)
    return [each.value for each in numbers]


def _say_how(seen: _Texts, numbers: list[Spelled], units: set[str], found: Findings) -> None:
    bounds = np.array([each.is_bound for each in numbers], dtype=np.bool_)
    said = [f"{unit!r} behind the numbers was left out" for unit in units]
    if any(each.has_groups for each in numbers):
        said.append("marks between thousands were left out")
    if bounds.any():
        how = few([seen.texts[int(np.flatnonzero(bounds)[0])]])
        said.append(
            f"{seen.count(bounds):,} bounds such as {how} were read as the numbers that they name"
        )
    if said:
        found.note(f"{seen.name}: {'; '.join(said)}.")


def _is_refused(
    seen: _Texts, plain: FloatArray, kept: npt.NDArray[np.bool_], found: Findings
) -> bool:
    """Whether this is a column of numbers with mistakes in it, which are then named."""
    present = seen.count(kept)
    wrong = np.isnan(plain) & kept
    row = seen.first(wrong)
    cell = seen.texts[int(seen.which[row])][:40]
    if present - seen.count(wrong) >= _MOSTLY * present:
        others = seen.count(wrong) - 1
        more = f" (and {others:,} more)" if others else ""
        found.faults.append(
            f"{place(seen.name, row)}: {cell!r} is not a number, but most of the column are{more}"
            "; correct it, leave it empty, or name it in `missing`"
        )
        return True
    by_commas = [spelled(text, ",") for text in seen.texts]
    with_commas = np.array([each is not None and each.is_alone for each in by_commas]) & kept
    if seen.count(with_commas) >= _MOSTLY * present:
        found.faults.append(
            f"{place(seen.name, row)}: {cell!r} has a decimal comma; say so with `decimal` ',' "
            "(in Python: or read the file so, read_csv(..., decimal=','))"
        )
        return True
    return False


def _say_missing(seen: _Texts, gaps: npt.NDArray[np.bool_], found: Findings) -> None:
    if gaps.any():
        which = few(text for text, gap in zip(seen.texts, gaps, strict=True) if gap)
        cells = counted(seen.count(gaps), "cell")
        found.note(f"{seen.name}: {cells} {which} read as missing.")


def _category(seen: _Texts, kept: npt.NDArray[np.bool_], found: Findings) -> Column:
    """Levels in alphabetical order; spellings that differ in capitals only are one level."""
    spellings: dict[str, dict[str, int]] = {}
    for text, times, keep in zip(seen.texts, seen.times.tolist(), kept.tolist(), strict=True):
        if keep:
            these = spellings.setdefault(text.casefold(), {})
            these[text] = these.get(text, 0) + times
    chosen = {key: max(these, key=lambda text: these[text]) for key, these in spellings.items()}
    joined = [chosen[key] for key, these in spellings.items() if len(these) > 1]
    if joined:
        found.note(f"{seen.name}: spellings of {few(sorted(joined))} were taken as one.")
    levels = tuple(sorted(chosen.values()))
    position = {level: float(i) for i, level in enumerate(levels)}
    coded = [
        position[chosen[text.casefold()]] if keep else np.nan
        for text, keep in zip(seen.texts, kept.tolist(), strict=True)
    ]
    return Column(seen.name, seen.by_row(coded), levels)


def _counts_days(values: FloatArray) -> bool:
    """Whether these are dates written as numbers, such as 20240131."""
    known = values[~np.isnan(values)]
    if known.size < 5 or known.min() < 19000101 or known.max() > 21001231:
        return False
    if np.any(known != np.floor(known)):
        return False
    month, day = known // 100 % 100, known % 100
    return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))
