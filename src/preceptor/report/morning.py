"""Tomorrow morning: cases to tick off, those that show the same beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

# Cases to tick off: more than two or three pages nobody carries around.
MOST_TICKED = 200


class _Row(Protocol):
    """A case in words ("7", "from 41 on"), and what is shown in it in words."""

    @property
    def case(self) -> str: ...

    @property
    def text(self) -> str: ...


class Stretch(NamedTuple):
    """What is shown, and in which cases: one after another, each to be ticked off."""

    text: str
    cases: tuple[str, ...]

    @property
    def label(self) -> str:
        """The cases in words.

        >>> Stretch("bmi", ("1", "2", "3")).label, Stretch("bmi", ("from 4 on",)).label
        ('cases 1 to 3', 'from 4 on')
        """
        first, last = self.cases[0], self.cases[-1]
        if not first[:1].isdigit():
            return first
        return f"case {first}" if first == last else f"cases {first} to {last}"


def stretches(rows: Sequence[_Row]) -> list[Stretch]:
    """Rows of a schedule, those in a row that show the same taken together.

    Parameters
    ----------
    rows
        What `Advice.schedule` gives: single cases, and whatever is summed up.

    Returns
    -------
    list of Stretch
        In the same order; what is summed up stands alone.
    """
    found = []
    for (text, is_case), same in groupby(rows, lambda row: (row.text, _is_case(row))):
        cases = tuple(row.case for row in same)
        found += [Stretch(text, cases)] if is_case else [Stretch(text, (case,)) for case in cases]
    return found


def _is_case(row: _Row) -> bool:
    return row.case.replace(",", "").isdigit()
