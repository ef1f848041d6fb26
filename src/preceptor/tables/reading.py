"""What to know about a table that it may not say itself: how it is written and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """How to read a table where guessing would go wrong; what is left out is guessed, and said.

    Parameters
    ----------
    sheet
        Which sheet of a workbook, by name or by number from 1; the first if left out.
    separator
        What stands between cells of a text file, such as ";".
    decimal
        What stands before decimals, "." or ",".
    encoding
        How letters are written, such as "utf-8", "utf-16" or "cp1252".
    missing
        Values that stand for a missing one, such as "999" or "-", in any column; "insulin=0" is
        about one column only.
    positive
        Which value of an outcome that takes two of them counts as 1.

    Examples
    --------
    >>> Reading(separator=";", decimal=",", missing=["999"])
    Reading(sheet=None, separator=';', decimal=',', encoding=None, missing=('999',), positive=None)
    """

    sheet: str | int | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: Sequence[str] = ()
    positive: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(map(str, self.missing)))
