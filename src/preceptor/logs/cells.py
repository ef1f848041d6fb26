"""One cell of a table as a name, a number, a round or a list; what it cannot be is a ValueError."""

from __future__ import annotations

from typing import Any

import numpy as np

# What spreadsheets and statistics programs write where there is nothing.
_NOTHING = frozenset({"", "na", "nan", "null", "none", "n/a"})


def is_missing(cell: Any) -> bool:
    """Whether there is nothing in the cell: empty text, None, NaN, pandas' NA."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip().lower() in _NOTHING
    if isinstance(cell, (list, tuple, np.ndarray)):
        return False
    try:
        return bool(cell != cell)
    except TypeError:  # pandas' NA is neither equal nor unequal to anything
        return True


def as_number(cell: Any) -> float:
    """A number, NaN where there is nothing.

    >>> as_number(" 3.5 ")
    3.5
    """
    if is_missing(cell):
        return float("nan")
    if isinstance(cell, (bool, np.bool_, list, tuple, np.ndarray)):
        raise ValueError(f"{cell!r} is not a number")
    try:
        return float(cell)
    except (TypeError, ValueError):
        comma = " (write decimals with a point)" if "," in str(cell) else ""
        raise ValueError(f"{cell!r} is not a number{comma}") from None


def as_round(cell: Any) -> int:
    """A whole number."""
    number = as_number(cell)
    if not np.isfinite(number) or number != round(number) or abs(number) >= 2**53:
        said = "missing" if is_missing(cell) else repr(cell)
        raise ValueError(f"{said}, must be a whole number")
    return int(number)


def as_name(cell: Any) -> str:
    """Text; 7.0 and 7 are the same person."""
    if not isinstance(cell, str) and is_missing(cell):  # somebody may well be called "NA"
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def as_list(cell: Any) -> list[Any]:
    """A list as it is, or text with semicolons between its items.

    >>> as_list("bmi; bp"), as_list(""), as_list([3.1])
    (['bmi', 'bp'], [], [3.1])
    """
    if isinstance(cell, (list, tuple, np.ndarray)):
        return list(cell)
    if isinstance(cell, str):
        # "NA" between semicolons is a value that is missing, nothing at all is an empty list.
        return [part.strip() for part in cell.split(";")] if cell.strip() else []
    if is_missing(cell):
        return []
    if isinstance(cell, (int, float, np.number)):
        return [cell]
    raise ValueError(f"{cell!r} is not a list")
