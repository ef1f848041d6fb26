"""Remarks collected while a table is read, each with or without the place of a single case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from preceptor._base.words import first_few

# Fewer cases say next to nothing about a level, a rare value or a pair of columns.
FEW_CASES = 5
# A weight, and with it a column, a level and either answer, needs about this many (Peduzzi et al.
# 1996).
ENOUGH_CASES = 10


@dataclass(frozen=True)
class Remark:
    """A sentence that identifies no case; `with_place` also names the row and its value.

    `is_detail` marks how a column was encoded, which most readers can skip.
    """

    text: str
    with_place: str = ""
    is_detail: bool = False

    @property
    def in_full(self) -> str:
        """The sentence with its place, for readers who have the table."""
        return self.with_place or self.text


@dataclass
class Findings:
    """Remarks collected column by column; faults are raised together at the end."""

    faults: list[str] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    doubts: list[Remark] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)

    def note(self, text: str, *, with_place: str = "", is_detail: bool = False) -> None:
        """Record what was done."""
        self.notes.append(Remark(text, with_place, is_detail))

    def doubt(self, text: str, *, with_place: str = "") -> None:
        """Record what a careful reader should check."""
        self.doubts.append(Remark(text, with_place))

    def drop(self, name: str, reason: str) -> None:
        """Leave a column out, with the reason."""
        self.dropped.append((name, reason))


def place(column: str, row: int) -> str:
    """Where a value is, in the table or in its file; `row` counts from 0."""
    return f"column {column!r}, row {row + 1} (line {row + 2} of a file with a header)"


def few(words: Iterable[str], most: int = 5) -> str:
    """Quote the first few words, and count the rest."""
    return first_few([repr(word) for word in words], most)
