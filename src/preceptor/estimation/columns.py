"""One column of a table: numbers, or a category, or a mistake that is named with its place.

Rows are counted from 1, the first case; in a file with a header that is line 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray

# A column in which at least this share of the values are numbers is one of numbers.
_MOSTLY = 0.5
# More levels than this and than half of the rows, and it is a name or an id, not a category.
_FEW_LEVELS = 10


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers (rows,), NaN where missing; with `levels` they are positions in that list."""

    name: str
    values: FloatArray
    levels: tuple[str, ...] | None = None


def place(column: str, row: int) -> str:
    """Where something is, for people who look at the table or at its file; `row` is from 0."""
    return f"column {column!r}, row {row + 1} (line {row + 2} of a file with a header)"


def read_column(name: str, raw: Any, faults: list[str], notes: list[str]) -> Column | None:
    """Numbers or a category from an array or a narwhals series, or None and a fault."""
    values, is_category = _as_array(name, raw, faults)
    if values is None:
        return None
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
        column: Column | None = Column(name, numbers)
    elif is_category:
        column = _category(name, [None if _is_missing(v) else str(v) for v in values])
    else:
        column = _text(name, values, faults, notes)
    if column is not None and column.levels is None and np.isinf(column.values).any():
        row = int(np.flatnonzero(np.isinf(column.values))[0])
        faults.append(
            f"{place(name, row)}: {column.values[row]} is infinite; correct it or leave it empty"
        )
        return None
    return column


def _as_array(name: str, raw: Any, faults: list[str]) -> tuple[npt.NDArray[Any] | None, bool]:
    """Numbers as numbers, all else as objects; and whether its type says that it is a category."""
    if isinstance(raw, np.ndarray):
        if raw.dtype.kind in "mM":
            faults.append(_date_fault(name))
            return None, False
        if raw.dtype.kind == "c":
            faults.append(f"column {name!r}: holds complex numbers; give real ones")
            return None, False
        return (raw if raw.dtype.kind in "biufO" else raw.astype(object)), False
    import narwhals as nw

    if raw.dtype.is_temporal():
        faults.append(_date_fault(name))
        return None, False
    if raw.dtype.is_numeric() or raw.dtype == nw.Boolean:
        return np.asarray(raw.cast(nw.Float64).to_numpy(), dtype=np.float64), False
    is_category = raw.dtype in (nw.Categorical, nw.Enum)
    values = np.empty(len(raw), dtype=object)
    values[:] = raw.to_list()
    return values, bool(is_category)


def _date_fault(name: str) -> str:
    return (
        f"column {name!r}: holds dates or times; turn them into numbers (an age, days since), "
        "or drop the column"
    )


def _text(
    name: str, values: npt.NDArray[Any], faults: list[str], notes: list[str]
) -> Column | None:
    """A column of objects: numbers if all of them are, categories if hardly any is."""
    missing = np.array([_is_missing(value) for value in values], dtype=np.bool_)
    numbers = np.array(
        [np.nan if gap else _number(v) for v, gap in zip(values, missing, strict=True)]
    )
    present = int(np.sum(~missing))
    wrong = np.flatnonzero(np.isnan(numbers) & ~missing)
    if wrong.size == 0:
        if any(isinstance(value, str) and value.strip() for value in values):
            notes.append(f"{name}: numbers that were stored as text were read as numbers.")
        return Column(name, numbers)
    if present - wrong.size >= _MOSTLY * present:
        more = f" (and {wrong.size - 1} more)" if wrong.size > 1 else ""
        row = int(wrong[0])
        faults.append(
            f"{place(name, row)}: {values[row]!r} is not a number, but most of the column are{more}"
            "; correct it or leave it empty"
        )
        return None
    with_points = [_number(str(value).replace(",", ".")) for value in values[~missing]]
    if np.sum(~np.isnan(with_points)) >= _MOSTLY * present:
        row = int(wrong[0])
        faults.append(
            f"{place(name, row)}: {values[row]!r} has a decimal comma; read the file with decimal "
            "commas (pandas: read_csv(..., decimal=','))"
        )
        return None
    return _category(
        name, [None if gap else str(v) for v, gap in zip(values, missing, strict=True)]
    )


def _category(name: str, values: list[str | None]) -> Column:
    stripped = [None if value is None else value.strip() for value in values]
    levels = tuple(sorted({value for value in stripped if value is not None}))
    position = {level: float(i) for i, level in enumerate(levels)}
    codes = [np.nan if value is None else position[value] for value in stripped]
    return Column(name, np.array(codes, dtype=np.float64), levels)


def name_faults(column: Column) -> list[str]:
    """Why a category is none: nearly every row has a text of its own."""
    present = int(np.sum(~np.isnan(column.values)))
    levels = len(column.levels or ())
    if levels <= max(_FEW_LEVELS, present / 2):
        return []
    return [
        f"column {column.name!r}: {levels} different texts in {present} rows, so it names cases "
        "rather than sorting them; drop it, or merge rare values"
    ]


def read_outcome(name: str, raw: Any, faults: list[str], doubts: list[str]) -> Column | None:
    """The outcome, which must be numbers that differ."""
    column = read_column(name, raw, faults, [])
    if column is None:
        return None
    known = ~np.isnan(column.values)
    if column.levels is not None:
        row = int(np.flatnonzero(known)[0])
        level = column.levels[int(column.values[row])]
        faults.append(
            f"outcome, {place(name, row)}: {level!r} is not a number; the outcome must be numeric "
            "(write yes/no as 1/0)"
        )
        return None
    if not known.any():
        faults.append(f"outcome {name!r}: no row has a value; nothing can be learned from it")
        return None
    if np.ptp(column.values[known]) == 0.0:
        value = column.values[known][0]
        faults.append(f"outcome {name!r}: is {value:g} in every row; there is nothing to predict")
        return None
    if np.unique(column.values[known]).size == 2:
        doubts.append(
            f"{name} takes only two values, so a prediction is a probability and the loss its "
            "squared error (Brier score); the model is linear and may leave their range."
        )
    return column


def _number(value: Any) -> float:
    """The number that this is or spells, else NaN."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _is_missing(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value is None or not value.strip()
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return True
