"""One cell of a table as a name, a number, a date, a list...; what it cannot be is a ValueError."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from preceptor._base.typed import (
    ALWAYS_MISSING,
    MISSING_AMONG_NUMBERS,
    is_empty,
    number_in,
    yes_no_in,
)

# Letters of a cell that a message repeats.
_LONGEST = 80

# What Python's dates can say, and with them ISO 8601 in four digits.
FIRST_DAY, LAST_DAY = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")


def is_missing(cell: Any) -> bool:
    """Whether there is nothing in the cell: empty text, a word for it, None, NaN, pandas' NA."""
    if isinstance(cell, str) and (text := cell.strip().casefold()):
        return text in ALWAYS_MISSING or text in MISSING_AMONG_NUMBERS
    return is_empty(cell)


def as_number(cell: Any, decimal: str = ".") -> float:
    """A number, NaN where there is nothing; in text, `decimal` stands before its decimals.

    >>> as_number(" 3.5 "), as_number("1.234,5", decimal=",")
    (3.5, 1234.5)
    """
    if is_missing(cell):
        return float("nan")
    if isinstance(cell, (bool, np.bool_, list, tuple, np.ndarray)):
        raise ValueError(f"{cell!r} is not a number")
    if isinstance(cell, str):
        try:
            return number_in(cell, decimal)
        except ValueError as error:
            raise ValueError(f"{_short(cell)} {error}") from None
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{_short(cell)} is not a number") from None


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


def as_yes_no(cell: Any) -> bool | None:
    """Yes or no, None where there is nothing.

    >>> as_yes_no("Yes"), as_yes_no(0), as_yes_no("")
    (True, False, None)
    """
    if is_missing(cell):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    said = yes_no_in(as_name(cell))
    if said is None:
        raise ValueError(f"{cell!r} is neither yes nor no (write yes, no, true, false, 1 or 0)")
    return said


def as_moment(cell: Any) -> np.datetime64:
    """A date, or a date with a time, to the microsecond; NaT where there is nothing.

    Times with an offset are turned into UTC, others are taken as they stand.

    >>> as_moment("2024-03-01"), as_moment("2024-03-01T10:30+02:00").item().hour
    (np.datetime64('2024-03-01T00:00:00.000000'), 8)
    """
    moment = _moment(cell)
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise ValueError(f"{cell!r} is outside the years 1 to 9999") from None
    return np.datetime64("NaT" if moment is None else moment, "us")


def in_iso(moment: np.datetime64) -> str:
    """Text that `as_moment` reads back to the same moment; midnight is written as the date alone.

    >>> in_iso(np.datetime64("2024-03-01T00:00")), in_iso(np.datetime64("2024-03-01T08:30"))
    ('2024-03-01', '2024-03-01T08:30:00')
    """
    text: str = moment.astype("datetime64[us]").item().isoformat()
    return text.removesuffix("T00:00:00")


def _moment(cell: Any) -> date | None:
    if is_missing(cell):
        return None
    if isinstance(cell, np.datetime64) and FIRST_DAY <= cell.astype("datetime64[D]") <= LAST_DAY:
        found: datetime = cell.astype("datetime64[us]").item()
        return found
    if hasattr(cell, "to_pydatetime"):  # a pandas Timestamp: without its nanoseconds
        found = cell.floor("us").to_pydatetime()
        return found
    if isinstance(cell, date):  # a datetime is one, too
        return cell
    try:
        return datetime.fromisoformat(cell.strip())
    except (AttributeError, ValueError):
        raise ValueError(
            f"{cell!r} is not a date (write 2024-03-31, or with a time 2024-03-31T14:05)"
        ) from None


def _short(cell: Any) -> str:
    """A cell for a message, the beginning of it if it is long."""
    text = repr(cell)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
