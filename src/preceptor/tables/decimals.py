"""Which sign stands before the decimals of a file, and its numbers written with points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from preceptor._base.typed import spelled


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
            comma, point = spells_number(cell, ","), spells_number(cell, ".")
            self.numbers += comma or point
            if comma and point:  # "1,234" is a little more than one, or more than a thousand
                self.either += "," in cell
                self.points += "." in cell
            else:
                self.commas += comma
                self.points += point
        return self


def spells_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a number and nothing else, with these decimals."""
    found = spelled(cell, decimal)
    return found is not None and found.is_alone


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
