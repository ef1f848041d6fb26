"""Names of columns as a header has them: on one line, each its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from preceptor.tables.opening import MOST_COLUMNS

_MOST_FAULTS = 10
# So many rows are searched for a header that has titles above it.
TITLES = 15


def clean(name: Any) -> str:
    """A name on one line, without blanks around it or signs that nobody sees.

    >>> clean(" body\\nfat "), clean(2020.0)
    ('body fat', '2020')
    """
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    # A string of JSON may hold half a letter, which no file or terminal takes.
    text = str(name).encode("utf-8", "replace").decode("utf-8").strip()
    if text.isprintable():
        return text
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def header_faults(names: Sequence[str], place: str) -> list[str]:
    """What is wrong with a header whose nameless columns have been named."""
    if len(names) > MOST_COLUMNS:
        return [f"{place}: {len(names):,} columns, at most {MOST_COLUMNS:,} are read; give fewer"]
    counts = Counter(names)
    twice = [name for name, count in counts.items() if count > 1]
    return [f"{place}: column {name!r} is there twice; rename one" for name in twice[:5]]


def first_faults(faults: Sequence[str]) -> list[str]:
    """A file with a mistake in every row is told a few times, not a thousand."""
    if len(faults) <= _MOST_FAULTS:
        return list(faults)
    return [*faults[:_MOST_FAULTS], f"and {len(faults) - _MOST_FAULTS} more like these"]


def named(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Every column with a name, and the names that had to be made up."""
    taken = set(names)
    found, made_up = [], []
    for number, name in enumerate(names, start=1):
        if not name:
            name = f"column {number}"
            while name in taken:
                name += "'"
            made_up.append(name)
        found.append(name)
    return found, made_up
