"""What is found while a table is read: sentences, with or without the place of a single case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from preceptor._base.words import first_few

# Fewer cases say hardly anything: about a level, a rare value, a pair of columns.
FEW_CASES = 5


@dataclass(frozen=True)
class Said:
    """A sentence that can be shown to anybody; `placed` also names a row and what stands there.

    A detail is how a column was coded, which nobody needs to hear who only wants a plan.
    """

    text: str
    placed: str = ""
    is_detail: bool = False

    @property
    def in_full(self) -> str:
        """The sentence with its place, for whoever has the table before them."""
        return self.placed or self.text


@dataclass
class Findings:
    """What is collected column by column; faults are raised together at the end."""

    faults: list[str] = field(default_factory=list)
    notes: list[Said] = field(default_factory=list)
    doubts: list[Said] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)

    def note(self, text: str, *, placed: str = "", is_detail: bool = False) -> None:
        """Say what was done."""
        self.notes.append(Said(text, placed, is_detail))

    def doubt(self, text: str, *, placed: str = "") -> None:
        """Say what a careful reader should look at."""
        self.doubts.append(Said(text, placed))

    def take(self, others: Findings) -> None:
        """Also what others found."""
        self.faults += others.faults
        self.notes += others.notes
        self.doubts += others.doubts
        self.dropped += others.dropped

    def drop(self, name: str, reason: str) -> None:
        """Leave a column out, with the reason."""
        self.dropped.append((name, reason))


def place(column: str, row: int) -> str:
    """Where something is, for people who look at the table or at its file; `row` is from 0."""
    return f"column {column!r}, row {row + 1} (line {row + 2} of a file with a header)"


def few(words: Iterable[str], most: int = 5) -> str:
    """Words in quotes, the first few of many."""
    return first_few([repr(word) for word in words], most)
