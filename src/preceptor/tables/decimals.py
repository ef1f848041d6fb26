"""Numbers as people write them: "3,5", "1.234,5", "1,234.5"; which of them a file means.

`guess_decimal` decides for a whole file, `with_point` writes one number so that Python reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# What stands between thousands beside the sign that is not the decimal one: ' and hard spaces.
_SPACES = "'\u2019\u00a0\u202f "
_EXPONENT = r"(?:[eE][+-]?\d+)?"
# "63,5 %" and "63,5 years" are numbers with a unit, which others read.
_UNIT = r"(?P<unit>\s*[^\W\d_][^\d,;]{0,11}|\s*[%‰°][^\d,;]{0,11})?"


def _pattern(decimal: str, grouping: str) -> re.Pattern[str]:
    whole = rf"(?P<whole>\d{{1,3}}(?:[{re.escape(grouping)}{_SPACES}]\d{{3}})+|\d*)"
    return re.compile(
        rf"(?P<sign>[+-]?){whole}(?:{re.escape(decimal)}(?P<part>\d*))?(?P<power>{_EXPONENT}){_UNIT}"
    )


_PATTERNS = {",": _pattern(",", "."), ".": _pattern(".", ",")}
_COMMA = re.compile(r"[+-]?\d*,\d+" + _EXPONENT)
_POINT = re.compile(r"[+-]?\d*\.\d+" + _EXPONENT)
_WHOLE = re.compile(r"[+-]?\d+")
# "1,234" is a little more than one, or more than a thousand.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+|[+-]?\d{1,3}(?:\.\d{3}){2,}")
_GROUPED_POINT = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+\.\d+|[+-]?\d{1,3}(?:,\d{3}){2,}")


@dataclass
class Votes:
    """How many cells of a file look like numbers, and with which decimals."""

    numbers: int = 0
    commas: int = 0
    points: int = 0
    either: int = 0

    def count(self, cells: Iterable[str]) -> Votes:
        """Add these cells."""
        for cell in cells:
            text = cell.strip()
            if not text or len(text) > 40 or not (text[0].isdigit() or text[0] in "+-.,"):
                continue
            if _WHOLE.fullmatch(text):
                self.numbers += 1
            elif _EITHER.fullmatch(text):
                self.numbers, self.either = self.numbers + 1, self.either + 1
            elif _COMMA.fullmatch(text) or _GROUPED_COMMA.fullmatch(text):
                self.numbers, self.commas = self.numbers + 1, self.commas + 1
            elif _POINT.fullmatch(text) or _GROUPED_POINT.fullmatch(text):
                self.numbers, self.points = self.numbers + 1, self.points + 1
        return self


def guess_decimal(votes: Votes, separator: str) -> str:
    """What stands before the decimals of a file.

    Between commas, a comma within quotes may be a list of two: there most numbers must have one.

    >>> guess_decimal(Votes().count(["3,5", "7", "4,25"]), ";")
    ','
    """
    if separator == ",":
        return "," if votes.commas > max(votes.points, votes.numbers / 2) else "."
    commas = votes.commas + votes.either
    return "," if commas > votes.points and (votes.commas or not votes.points) else "."


@lru_cache(maxsize=65_536)
def with_point(text: str, decimal: str) -> str | None:
    """A number with these decimals, written with a point and without grouping; None if it is none.

    A unit behind the number stays.

    >>> with_point("1.234,5", ","), with_point("63,5 %", ","), with_point("3,5", ".")
    ('1234.5', '63.5 %', None)
    """
    found = _PATTERNS[decimal].fullmatch(text.strip()) if len(text) < 100 else None
    if found is None:
        return None
    whole = re.sub(r"\D", "", found["whole"])
    part = found["part"]
    if not whole and not part:
        return None
    point = "" if part is None else f".{part}"
    return f"{found['sign']}{whole or '0'}{point}{found['power']}{found['unit'] or ''}"
