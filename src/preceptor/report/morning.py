"""Tomorrow morning: cases to tick off, those that show the same beside each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

# Cases to tick off: more than two or three pages nobody carries around.
MOST_TICKED = 200
# Cases to tick off where one set is shown from then on.
_AND_SO_ON = 20


class _Row(Protocol):
    """A case in words ("7", "from 41 on"), and what is shown in it, by name and in words."""

    @property
    def case(self) -> str: ...

    @property
    def shown(self) -> tuple[str, ...]: ...

    @property
    def text(self) -> str: ...


class Stretch(NamedTuple):
    """What is shown, and in which cases: one after another, each to be ticked off.

    `goes_on` where these are only the first of all cases that show the same.
    """

    text: str
    cases: tuple[str, ...]
    goes_on: bool = False

    @property
    def has_boxes(self) -> bool:
        """Whether these are single cases, and not a remark on many."""
        return self.goes_on or all(_is_number(case) for case in self.cases)

    @property
    def label(self) -> str:
        """The cases in words.

        >>> Stretch("bmi", ("1", "2", "3")).label, Stretch("bmi", ("4", "5"), goes_on=True).label
        ('cases 1 to 3', 'from case 4 on')
        """
        first, last = self.cases[0], self.cases[-1]
        if self.goes_on:
            return "every case" if first == "1" else f"from case {first} on"
        if not self.has_boxes:
            return f"cases {first}" if first[:1].isdigit() else first
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
        In the same order; what is summed up stands alone. One set that is shown from some case on
        has boxes for the next few.
    """
    found = []
    for (text, is_case), group in groupby(rows, lambda row: (row.text, _is_number(row.case))):
        same = list(group)
        if is_case:
            found.append(Stretch(text, tuple(row.case for row in same)))
        else:
            found += [_summed_up(row) for row in same]
    return found


def _summed_up(row: _Row) -> Stretch:
    """What is shown from some case on; a remark on cases that are left out stays as it is."""
    begin = re.fullmatch(r"from ([\d,]+) on|every case", row.case)
    if begin is None or not row.shown:
        return Stretch(row.text, (row.case,))
    first = int((begin.group(1) or "1").replace(",", ""))
    cases = tuple(f"{case:,}" for case in range(first, first + _AND_SO_ON))
    return Stretch(row.text, cases, goes_on=True)


def _is_number(case: str) -> bool:
    return case.replace(",", "").isdigit()
