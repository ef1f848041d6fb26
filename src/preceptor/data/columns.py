"""One column of a table: numbers, a category, or faults named with their places.

Rows count from 1, the first case; in a file with a header that is line 2. Each distinct text is
interpreted once, however many rows have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import (
    ALWAYS_MISSING,
    MISSING_AMONG_NUMBERS,
    ParsedNumber,
    is_empty,
    parse_spelling,
)
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted
from preceptor.data.findings import Findings, few, place
from preceptor.data.odd_values import Codes, is_date, plain_number, text_of

# A column in which at least this share of the values are numbers is numeric.
_MOSTLY = 0.5
# Squares of larger numbers overflow, and those of spreads below its inverse underflow.
LARGEST = 1e100
_DATES = "it holds dates or times; turn them into numbers (an age, days since) if they matter"


@dataclass(frozen=True, eq=False)
class TableColumn:
    """Numbers (rows,), NaN where missing; with `levels` they are positions in that list.

    `is_boolean` distinguishes true and false from the numbers 1 and 0.
    """

    name: str
    values: FloatArray
    levels: tuple[str, ...] | None = None
    is_boolean: bool = False


@dataclass(frozen=True, eq=False)
class _DistinctCells:
    """The distinct cells of a column, how often each occurs, and which one each row has."""

    name: str
    cells: list[Any]
    texts: list[str]
    times: IntArray
    which: IntArray

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> _DistinctCells:
        position: dict[Any, int] = {}
        which = np.empty(len(values), dtype=np.int64)
        cells: list[Any] = []
        for row, value in enumerate(values):
            try:
                at = position.setdefault(value, len(cells))
            except TypeError:  # not hashable, such as a list
                at = len(cells)
            if at == len(cells):
                cells.append(value)
            which[row] = at
        times = np.bincount(which, minlength=len(cells))
        texts = ["" if is_empty(cell) else text_of(cell) for cell in cells]
        return cls(name, cells, texts, times, which)

    def count(self, chosen: npt.NDArray[np.bool_]) -> int:
        """Number of rows with one of the chosen cells."""
        return int(self.times[chosen].sum())

    def first(self, chosen: npt.NDArray[np.bool_]) -> int:
        """The first row with one of the chosen cells."""
        return int(np.flatnonzero(chosen[self.which])[0])

    def by_row(self, values: Sequence[float]) -> FloatArray:
        """Expand a number per distinct cell to a number per row."""
        return np.asarray(values, dtype=np.float64)[self.which]


def read_column(
    name: str, raw: Any, found: Findings, codes: Codes, decimal: str | None = None
) -> TableColumn | None:
    """Read an array or a narwhals series as numbers or a category; None if `found` says why not."""
    values, is_category, is_boolean = _as_array(name, raw, found)
    if values is None:
        return None
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
        if not is_boolean:
            numbers[codes.among_numbers(name, numbers)] = np.nan
        column: TableColumn | None = TableColumn(name, numbers, is_boolean=is_boolean)
    else:
        column = _from_texts(
            _DistinctCells.of(name, values.tolist()), is_category, found, codes, decimal
        )
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
    """Return numbers or objects, and whether the type is categorical, and whether boolean."""
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
    is_boolean = raw.dtype == nw.Boolean
    if raw.dtype.is_numeric() or is_boolean:
        try:
            numbers = np.asarray(raw.cast(nw.Float64).to_numpy(), dtype=np.float64)
            return numbers, False, bool(is_boolean)
        except Exception as error:  # of whichever library the frame is from
            found.faults.append(f"column {name!r}: cannot be read as numbers ({error})")
            return None, False, False
    values = np.empty(len(raw), dtype=object)
    values[:] = raw.to_list()
    return values, bool(raw.dtype in (nw.Categorical, nw.Enum)), False


def _from_texts(
    seen: _DistinctCells, is_category: bool, found: Findings, codes: Codes, decimal: str | None
) -> TableColumn | None:
    """Numbers if all cells are; dates are dropped; a category if few cells are numbers."""
    name = seen.name
    folded = [text.casefold() for text in seen.texts]
    empty = np.array([not text for text in folded], dtype=np.bool_)
    empty |= np.array(codes.among_texts(name, seen.texts, seen.times.tolist()), dtype=np.bool_)
    always = np.array([text in ALWAYS_MISSING for text in folded], dtype=np.bool_) & ~empty
    empty |= always
    if empty.all():
        _note_missing(seen, always, found)
        return TableColumn(name, np.full(seen.which.size, np.nan))
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
            _note_missing(seen, always | (perhaps & kept), found)
            is_boolean = all(isinstance(cell, bool) for cell in compress(seen.cells, kept))
            return TableColumn(name, seen.by_row(numbers), is_boolean=is_boolean)
        if _is_refused(seen, plain, kept, found):
            return None
        dated = np.array([keep and is_date(t) for t, keep in zip(seen.texts, kept, strict=True)])
        if dated.any() and seen.count(dated) >= _MOSTLY * seen.count(kept):
            found.drop(name, _DATES)
            return None
        # Next to a plus, a dash is an answer; elsewhere it means missing.
        dashes = np.array([text in {"-", "--", "\u2013", "\u2014"} for text in folded])
        if not any(text.startswith(("+", "pos")) for text in folded):
            always |= dashes & kept
            empty |= dashes
    _note_missing(seen, always, found)
    return _category(seen, ~empty, found)


def _has_points(cell: Any, decimal: str | None) -> bool:
    """Whether points group thousands, as they do where the decimal mark is a comma."""
    return decimal == "," and isinstance(cell, str) and parse_spelling(cell, ",") is not None


def _numbers(
    seen: _DistinctCells,
    plain: FloatArray,
    kept: npt.NDArray[np.bool_],
    found: Findings,
    decimal: str | None,
) -> list[float] | None:
    """The number of each distinct cell, or None if some are not numbers."""
    if not kept.any() and any(seen.texts):
        return None
    if not (np.isnan(plain) & kept).any():
        if kept.any() and any(isinstance(cell, str) for cell in seen.cells):
            found.note(f"{seen.name}: numbers stored as text were read as numbers.", is_detail=True)
        return list(np.where(kept, plain, np.nan))
    read: list[ParsedNumber | None] = []
    for text, number, keep in zip(seen.texts, plain.tolist(), kept.tolist(), strict=True):
        if not keep:
            read.append(ParsedNumber(np.nan))
        else:
            read.append(
                parse_spelling(text, decimal or ".") if number != number else ParsedNumber(number)
            )
    numbers = [each for each in read if each is not None]
    units = {each.unit for each in numbers if each.unit}
    if len(numbers) < len(read) or len(units) > 1:
        return None
    _note_spelling(seen, numbers, units, found)
    return [each.value for each in numbers]


def _note_spelling(
    seen: _DistinctCells, numbers: list[ParsedNumber], units: set[str], found: Findings
) -> None:
    bounds = np.array([each.is_bound for each in numbers], dtype=np.bool_)
    said = [f"{unit!r} after the numbers was left out" for unit in units]
    if any(each.has_groups for each in numbers):
        said.append("marks between thousands were left out")
    if bounds.any():
        how = few([seen.texts[int(np.flatnonzero(bounds)[0])]])
        said.append(
            f"{seen.count(bounds):,} bounds such as {how} were read as the numbers they name"
        )
    if said:
        found.note(f"{seen.name}: {'; '.join(said)}.")


def _is_refused(
    seen: _DistinctCells, plain: FloatArray, kept: npt.NDArray[np.bool_], found: Findings
) -> bool:
    """Whether a column is numeric with mistakes, which are then recorded as faults."""
    present = seen.count(kept)
    wrong = np.isnan(plain) & kept
    row = seen.first(wrong)
    cell = seen.texts[int(seen.which[row])][:40]
    if present - seen.count(wrong) >= _MOSTLY * present:
        others = seen.count(wrong) - 1
        more = f" (and {others:,} more)" if others else ""
        found.faults.append(
            f"{place(seen.name, row)}: {cell!r} is not a number, but most of the column "
            f"are{more}; correct it, leave it empty, or name it in `missing`"
        )
        return True
    by_commas = [parse_spelling(text, ",") for text in seen.texts]
    with_commas = np.array([each is not None and each.is_alone for each in by_commas]) & kept
    if seen.count(with_commas) >= _MOSTLY * present:
        found.faults.append(
            f"{place(seen.name, row)}: {cell!r} has a decimal comma; use decimal=',' "
            "(in Python: or read_csv(..., decimal=','))"
        )
        return True
    return False


def _note_missing(seen: _DistinctCells, gaps: npt.NDArray[np.bool_], found: Findings) -> None:
    if gaps.any():
        which = few(text for text, gap in zip(seen.texts, gaps, strict=True) if gap)
        cells = counted(seen.count(gaps), "cell")
        found.note(f"{seen.name}: {cells} {which} read as missing.")


def _category(seen: _DistinctCells, kept: npt.NDArray[np.bool_], found: Findings) -> TableColumn:
    """Levels in alphabetical order; spellings that differ only in case are one level."""
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
    return TableColumn(seen.name, seen.by_row(coded), levels)


def _counts_days(values: FloatArray) -> bool:
    """Whether numbers are dates such as 20240131."""
    known = values[~np.isnan(values)]
    if known.size < 5 or known.min() < 19000101 or known.max() > 21001231:
        return False
    if np.any(known != np.floor(known)):
        return False
    month, day = known // 100 % 100, known % 100
    return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))
