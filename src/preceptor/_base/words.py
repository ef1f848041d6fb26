"""Small words for messages, reports and `repr`: lists, counts, shares and labelled rows."""

from __future__ import annotations

import difflib
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

TOGETHER = "\N{NO-BREAK SPACE}"  # never broken, and printed as a plain space
_NAMED = 20  # names that are listed where none is near
# Letters of a line that people read, and lines of a `repr`.
WIDTH, _REPR_LINES = 88, 11
# What makes a spreadsheet take text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_Item = TypeVar("_Item", str, int)


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


def in_seconds(seconds: float) -> str:
    """E.g. "1 second" and "0.25 seconds"."""
    number = f"{seconds:.2g}"
    return f"{number} second" if number == "1" else f"{number} seconds"


def repeated(items: Iterable[_Item]) -> list[_Item]:
    """What is there more than once, sorted; in one pass, because a file may list very many."""
    return sorted(item for item, number in Counter(items).items() if number > 1)


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


def many(number: float) -> str:
    """A count as people read it; digits that nobody reads are left out.

    >>> many(1234567.0), many(3e15)
    ('1,234,567', '3e15')
    """
    return f"{number:,.0f}" if number < 1e12 else f"{number:.0e}".replace("e+", "e")


def unknown_names(where: str, names: Iterable[str], known: Sequence[str]) -> list[str]:
    """A fault for each name that is not known, with the one that may have been meant.

    >>> unknown_names("costs", ["abdomem"], ["abdomen", "wrist"])
    ["costs: 'abdomem' is not known; did you mean 'abdomen'?"]
    """
    faults = []
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known are {first_few(known, _NAMED)}"
            faults.append(f"{where}: {name!r} is not known; {hint}")
    return faults


def matches(name: str, known: Iterable[str]) -> list[str]:
    """The name itself if it is known, else those that differ in capitals and blanks only.

    >>> matches("BMI ", ["age", "bmi"]), matches("bmi", ["bmi", "BMI"])
    (['bmi'], ['bmi'])
    """
    listed = list(known)
    if name in listed:
        return [name]
    return [each for each in listed if each.strip().casefold() == name.strip().casefold()]


def as_known(
    where: str, names: Iterable[str], known: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """What each name that somebody wrote is called, capitals and blanks aside, and all faults.

    >>> as_known("costs", ["Wrist", "abdomem"], ["abdomen", "wrist"])
    ({'Wrist': 'wrist'}, ["costs: 'abdomem' is not known; did you mean 'abdomen'?"])
    """
    found: dict[str, str] = {}
    faults = []
    for name in names:
        alike = matches(name, known)
        if len(alike) > 1:
            faults.append(f"{where}: {name!r} could be {' or '.join(map(repr, alike))}")
        elif not alike:
            faults += unknown_names(where, [name], known)
        elif alike[0] in found.values():
            first = next(other for other, each in found.items() if each == alike[0])
            faults.append(f"{where}: {first!r} and {name!r} are the same; keep one of them")
        else:
            found[name] = alike[0]
    return found, faults


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name that may have been meant, capitals and blanks aside; None if none is near.

    >>> nearest("BMI ", ["bmi", "bp"]), nearest("abdomem", ["abdomen"]), nearest("x", ["bmi"])
    ('bmi', 'abdomen', None)
    """
    folded = {each.strip().casefold(): each for each in known}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=1)
    return folded[near[0]] if near else None


def first_few(items: Sequence[str], most: int, noun: str = "more", *, separator: str = ", ") -> str:
    """At most so many of them, and how many were left out.

    >>> first_few(["bmi", "bp", "age"], 2), first_few(["bmi"], 2)
    ('bmi, bp and 1 more', 'bmi')
    """
    if len(items) <= most:
        return separator.join(items)
    return f"{separator.join(items[:most])} and {len(items) - most:,} {noun}"


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


def labelled(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title above labelled rows: how large values show themselves.

    A row takes a second line while there is room; what does not fit ends in dots.

    >>> print(labelled("World of 1 test", [("weights", "bmi 0.5"), ("noise", "0.1")]))
    World of 1 test
      weights  bmi 0.5
      noise    0.1
    """
    kept = list(rows)
    width = max((len(label) for label, _ in kept), default=0)
    lines = [" ".join(title.split())]
    spare = _REPR_LINES - 1 - len(kept)
    for label, text in kept:
        before = len(lines)
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=f"  {label:<{width}}  ",
            subsequent_indent=" " * (width + 4),
            max_lines=2 if spare > 0 else 1,
            placeholder=" ...",
        )
        spare -= len(lines) - before - 1
    return "\n".join(lines).replace(TOGETHER, " ")


def safe_cell(cell: str) -> str:
    """The cell with an apostrophe before it where a spreadsheet would run it as a formula.

    For names and sentences. Numbers are no business of this: -3.2 is a number, not a formula.

    >>> safe_cell("=1+1"), safe_cell("bmi")
    ("'=1+1", 'bmi')
    """
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
