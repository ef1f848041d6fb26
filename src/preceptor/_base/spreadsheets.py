"""Cells that people open in a spreadsheet: text that must not become a formula."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_text(cell: str) -> str:
    """The cell with an apostrophe before it where a spreadsheet would run it as a formula.

    For names and sentences. Numbers are no business of this: -3.2 is a number, not a formula.

    >>> as_text("=1+1"), as_text("bmi")
    ("'=1+1", 'bmi')
    """
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
