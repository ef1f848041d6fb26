"""What a cell of a table holds: a number, a date, nothing at all."""

from __future__ import annotations

import math
import re
from typing import Any

from preceptor._base.typed import spelled

_ZONE = r"(?:[AaPp]\.?[Mm]\.?|Z|[+-]\d{2}:?\d{2}|Uhr)?"
_TIME = rf"(?:[T ]+\d{{1,2}}[:.]\d{{2}}(?:[:.]\d{{2}}(?:[.,]\d+)?)?\s*{_ZONE})?"
_MONTHS = r"(?:jan|feb|m[a\u00e4]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[^\W\d_]*\.?"
_DATES = (
    re.compile(rf"(?P<y>\d{{4}})([-/.])(?P<a>\d{{1,2}})\2(?P<b>\d{{1,2}}){_TIME}"),
    re.compile(rf"(?P<a>\d{{1,2}})([-/.])(?P<b>\d{{1,2}})\2(?:\d{{4}}|\d{{2}}){_TIME}"),
    re.compile(rf"(?P<a>\d{{1,2}})\.?[ -]{_MONTHS}[ -](?:\d{{4}}|\d{{2}}){_TIME}", re.IGNORECASE),
    re.compile(rf"{_MONTHS} (?P<a>\d{{1,2}}),? \d{{4}}{_TIME}", re.IGNORECASE),
    re.compile(r"(?P<hour>[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?\s*(?:[AaPp][Mm])?"),
)


def text_of(value: Any) -> str:
    """What a cell says, without blanks around it."""
    try:
        return str(value).strip()
    except ValueError:  # Python does not write out integers of thousands of digits
        return f"a number of about {round(abs(value).bit_length() * math.log10(2)):,} digits"


def plain_number(value: Any) -> float:
    """The number that this is or spells without more ado, else NaN; infinite if it is too large."""
    if isinstance(value, str):
        found = spelled(value)
        return found.value if found and found.is_alone and not found.has_groups else math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def is_date(text: str) -> bool:
    """Whether this has the form of a date, of a time of the day, or of both."""
    if not 3 < len(text) <= 40:
        return False
    for form in _DATES:
        found = form.fullmatch(text)
        if found is not None:
            parts = [int(number) for key, number in found.groupdict().items() if key in "ab"]
            # Day and month in either order.
            in_range = all(1 <= part <= 31 for part in parts)
            return in_range and (len(parts) < 2 or min(parts) <= 12)
    return False
