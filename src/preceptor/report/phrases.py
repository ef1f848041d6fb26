"""Small words about plans: lists of tests, counts of cases, paragraphs and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from preceptor._base.words import TOGETHER, WIDTH, counted, listed, wrap
from preceptor.model.sets import TestSet

if TYPE_CHECKING:
    from preceptor.plan import Plan

Row = tuple[str, str]  # of a table: label and text


def section(title: str, body: Sequence[str | Row]) -> str:
    """Wrapped paragraphs and table rows under a title."""
    indent = "  " if title else ""
    lines = [title] if title else []
    width = max((len(part[0]) for part in body if isinstance(part, tuple)), default=0)
    for part in body:
        if isinstance(part, tuple):
            label, text = part
            lines += wrap(text, f"    {label:<{width}}  ", " " * (width + 6))
        else:
            lines += wrap(part, indent, indent)
    return "\n".join(lines)


def joined(plan: Plan, shown: TestSet) -> str:
    """For sentences: "bmi and bp"."""
    return listed(plan.problem.world.name_of(shown)) if shown else "nothing"


def plus(plan: Plan, shown: TestSet) -> str:
    """For lists of sets: "bmi + bp"; short ones are kept on one line."""
    text = " + ".join(plan.problem.world.name_of(shown)) if shown else "nothing"
    return text.replace(" ", TOGETHER) if len(text) <= WIDTH // 2 else text


def cases(number: int) -> str:
    """So many cases."""
    return counted(number, "case")


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns side by side, the first to the left, numbers to the right; a rule under the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return ["  " + line for line in (lines[0], rule, *lines[1:])]
