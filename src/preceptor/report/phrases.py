"""Small words: lists, counts, shares and wrapped paragraphs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from preceptor.plan import Plan
from preceptor.policies import TestSet

WIDTH = 88

TOGETHER = "\N{NO-BREAK SPACE}"  # never broken, and printed as a plain space
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


def wrap(text: str, first: str, rest: str) -> list[str]:
    """Lines of at most `WIDTH` characters; no word is broken."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(TOGETHER, " ") for line in lines]


def joined(plan: Plan, shown: TestSet) -> str:
    """For sentences: "bmi and bp"."""
    return listed(plan.problem.world.name_of(shown)) if shown else "nothing"


def plus(plan: Plan, shown: TestSet) -> str:
    """For lists of sets: "bmi + bp"; short ones are kept on one line."""
    text = " + ".join(plan.problem.world.name_of(shown)) if shown else "nothing"
    return text.replace(" ", TOGETHER) if len(text) <= WIDTH // 2 else text


def listed(items: Sequence[str]) -> str:
    """E.g. "a, b and c".

    >>> listed(["bmi", "bp", "age"])
    'bmi, bp and age'
    """
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return text[0].upper() + text[1:] + "."


def counted(number: int, noun: str) -> str:
    """E.g. "1 test" and "2 tests"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cases(number: int) -> str:
    """So many cases."""
    return counted(number, "case")


def times(number: int) -> str:
    """E.g. "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,}{TOGETHER}times")


def percent(share: float) -> str:
    """Rounded up to a tenth of a percent or one digit, so that "at most" stays true."""
    if 0.0 < share < 0.001:
        digits = -math.floor(math.log10(max(100.0 * share, 1e-8)))
        return f"{math.ceil(100.0 * share * 10**digits - 1e-9) / 10**digits:.{digits}f}%"
    tenths = math.ceil(1000.0 * share - 1e-9)
    return f"{tenths / 10:.1f}%" if tenths < 1000 else f"{math.ceil(tenths / 10):,}%"
