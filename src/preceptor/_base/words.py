"""Wording for messages, reports and `repr`, as text and as HTML for notebooks.

Tables for notebooks are self-contained: nothing is loaded from elsewhere, colours follow the page,
and every text is escaped, because names of tests come from users' tables.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import TypeVar

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"  # prevents a line break; printed as a plain space
LISTED = 8  # items listed one by one in a sentence
_NAMED = 20  # names listed where no similar one is known
# Characters of a line, and lines of a `repr`.
WIDTH, _REPR_LINES = 88, 11
# First characters that make a spreadsheet read text as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_Item = TypeVar("_Item", str, int)


def listed(items: Sequence[str]) -> str:
    """Join words as "a, b and c"; "none" without any.

    >>> listed(["bmi", "bp", "age"]), listed([])
    ('bmi, bp and age', 'none')
    """
    if not items:
        return "none"
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def sentence(text: str) -> str:
    """Add a capital and a full stop."""
    return text[0].upper() + text[1:] + "."


def counted(number: int, noun: str) -> str:
    """A count with its noun: "1 test", "2 tests"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration_in_words(seconds: float) -> str:
    """A duration: "1 second", "0.25 seconds"."""
    number = f"{seconds:.2g}"
    return f"{number} second" if number == "1" else f"{number} seconds"


def repeated(items: Iterable[_Item]) -> list[_Item]:
    """Items that occur more than once, sorted; one pass, because a file may list very many."""
    return sorted(item for item, number in Counter(items).items() if number > 1)


def times(number: int) -> str:
    """A frequency: "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,}{NO_BREAK_SPACE}times")


def percent(share: float) -> str:
    """A percentage rounded up to a tenth or to one digit, so that "at most" stays true."""
    if 0.0 < share < 0.001:
        digits = -math.floor(math.log10(max(100.0 * share, 1e-8)))
        return f"{math.ceil(100.0 * share * 10**digits - 1e-9) / 10**digits:.{digits}f}%"
    tenths = math.ceil(1000.0 * share - 1e-9)
    return f"{tenths / 10:.1f}%" if tenths < 1000 else f"{math.ceil(tenths / 10):,}%"


def many(number: float) -> str:
    """A count with thousands separators, or in scientific notation if very large.

    >>> many(1234567.0), many(3e15)
    ('1,234,567', '3e15')
    """
    return f"{number:,.0f}" if number < 1e12 else f"{number:.0e}".replace("e+", "e")


def unknown_name_faults(where: str, names: Iterable[str], known: Sequence[str]) -> list[str]:
    """A fault for each unknown name, with the known name that was probably meant.

    >>> unknown_name_faults("costs", ["abdomem"], ["abdomen", "wrist"])
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
    """The name itself if it is known, else known names that differ only in case and blanks.

    >>> matches("BMI ", ["age", "bmi"]), matches("bmi", ["bmi", "BMI"])
    (['bmi'], ['bmi'])
    """
    listed = list(known)
    if name in listed:
        return [name]
    return [each for each in listed if each.strip().casefold() == name.strip().casefold()]


def match_names(
    where: str, names: Iterable[str], known: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Map given names to known names, ignoring case and blanks; also return all faults.

    >>> match_names("costs", ["Wrist", "abdomem"], ["abdomen", "wrist"])
    ({'Wrist': 'wrist'}, ["costs: 'abdomem' is not known; did you mean 'abdomen'?"])
    """
    found: dict[str, str] = {}
    faults = []
    for name in names:
        alike = matches(name, known)
        if len(alike) > 1:
            faults.append(f"{where}: {name!r} could be {' or '.join(map(repr, alike))}")
        elif not alike:
            faults += unknown_name_faults(where, [name], known)
        elif alike[0] in found.values():
            first = next(other for other, each in found.items() if each == alike[0])
            faults.append(f"{where}: {first!r} and {name!r} are the same; keep one of them")
        else:
            found[name] = alike[0]
    return found, faults


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The most similar known name, ignoring case and blanks; None if none is similar.

    >>> nearest("BMI ", ["bmi", "bp"]), nearest("abdomem", ["abdomen"]), nearest("x", ["bmi"])
    ('bmi', 'abdomen', None)
    """
    folded = {each.strip().casefold(): each for each in known}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=1)
    return folded[near[0]] if near else None


def first_few(
    items: Sequence[str], most: int = LISTED, noun: str = "more", *, separator: str = ", "
) -> str:
    """The first `most` items, and how many were left out.

    >>> first_few(["bmi", "bp", "age"], 2), first_few(["bmi"], 2)
    ('bmi, bp and 1 more', 'bmi')
    """
    if len(items) <= most:
        return separator.join(items)
    return f"{separator.join(items[:most])} and {len(items) - most:,} {noun}"


def wrap(text: str, first: str, rest: str) -> list[str]:
    """Wrap to lines of at most `WIDTH` characters without breaking words."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK_SPACE, " ") for line in lines]


def labelled(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title above labelled rows: the `repr` of large values.

    A row may take a second line while lines are left; text that does not fit ends in dots.

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
    return "\n".join(lines).replace(NO_BREAK_SPACE, " ")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right.

    >>> aligned([("test", "weight"), ("bmi", "0.5")])
    ['test  weight', 'bmi      0.5']
    """
    first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join([name.ljust(first), *map(str.rjust, rest, widths)]) for name, *rest in rows)
    return [line.rstrip() for line in lines]


def safe_cell(cell: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    For names and sentences only: -3.2 is a number, not a formula.

    >>> safe_cell("=1+1"), safe_cell("bmi")
    ("'=1+1", 'bmi')
    """
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV text; floats round-trip exactly, and None is an empty cell.

    >>> csv_text([("test", "weight"), ("bmi", 0.5)])
    'test,weight\\nbmi,0.5\\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


_CELL = "text-align:left;vertical-align:top;padding:1px 8px"


def html_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title above labelled rows.

    >>> html_table("Plan", [("value", "<1")]).count("&lt;1")
    1
    """
    lines = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escape(label)}</th>'
        f'<td style="{_CELL}">{escape(text)}</td></tr>'
        for label, text in rows
    )
    caption = f'<caption style="{_CELL};font-weight:bold">{escape(title)}</caption>'
    return f"<table>{caption}<tbody>{lines}</tbody></table>"
