"""Names as a page can hold them: long ones short, those that run right to left kept apart."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

# Letters of a name that are shown everywhere; the whole of a longer one stands in one table.
MOST_LETTERS = 48
# As Unicode has it: what stands between these is laid out on its own, whichever way it runs.
_ISOLATE, _END = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_JOINER = "\N{ZERO WIDTH JOINER}"
# Pages and pictures have no way to write these, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Names:
    """The names of a problem, each with the form in which sentences and pictures have it.

    >>> early, late = ("serum albumin " * 5 + when for when in ("(morning)", "(evening)"))
    >>> names = Names(["age", early, late])
    >>> names.short("age"), names.short(early)
    ('age', 'serum albumin serum albumi…rum albumin (morning)')
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._short: dict[str, str] = {}
        taken: set[str] = set()
        for name in dict.fromkeys(names):
            short = shortened(name)
            while short in taken:
                # Rare, but two names that look the same would be worse than a number.
                short = f"{shortened(name, MOST_LETTERS - 6)} ({len(taken) + 1})"
            taken.add(short)
            self._short[name] = short
        special = [name for name in self._short if self._short[name] != name or runs_left(name)]
        # The longest first, or a name within another would be replaced in its place. A space may
        # have become one that is never broken.
        patterns = [
            re.escape(name).replace(r"\ ", "[ \N{NO-BREAK SPACE}]")
            for name in sorted(special, key=len, reverse=True)
            if name
        ]
        self._special = re.compile("|".join(patterns)) if patterns else None

    @property
    def cut(self) -> list[tuple[str, str]]:
        """Short and whole forms of all names that are cut."""
        return [(short, name) for name, short in self._short.items() if short != name]

    def short(self, name: str) -> str:
        """A name as sentences and pictures have it."""
        return self._short.get(name, shortened(name))

    def html(self, text: str) -> Markup:
        """A text for a page, escaped, with every long name cut and whole when pointed at."""
        from markupsafe import Markup, escape

        if self._special is None:
            return escape(text)
        parts, end = Markup(), 0
        for found in self._special.finditer(text):
            name, short = self._of(found)
            whole = Markup(' title="{}"').format(name) if short != name else ""
            parts += escape(text[end : found.start()])
            parts += Markup("<bdi{}>{}</bdi>").format(whole, short)
            end = found.end()
        return parts + escape(text[end:])

    def _of(self, found: re.Match[str]) -> tuple[str, str]:
        said = found.group()
        name = said if said in self._short else said.replace("\N{NO-BREAK SPACE}", " ")
        return name, self.short(name)


def shortened(name: str, most: int = MOST_LETTERS) -> str:
    """A name in at most so many letters.

    >>> shortened("one two three four five", 12)
    'one tw…five'
    """
    return both_ends(name, most, len)


def both_ends(
    words: str, room: float, width: Callable[[str], float], *, first: float = 0.55
) -> str:
    """Words, or as much of both ends as there is room for: names often differ in the last letters.

    The beginning gets its share `first` of the room.
    """
    if width(words) <= room:
        return words
    spare, letters = room - width("…"), clusters(words)
    head = _longest(letters, first * spare, width)
    tail = _longest(letters[::-1], spare - sum(map(width, head)), width)[::-1]
    return f"{''.join(head).rstrip()}…{''.join(tail).lstrip()}"


def _longest(letters: list[str], room: float, width: Callable[[str], float]) -> list[str]:
    used = list(accumulate(map(width, letters)))
    return letters[: bisect_right(used, room)]


def clusters(text: str) -> list[str]:
    """Letters with the marks and joiners that belong to them, so that no cut parts them.

    >>> len(clusters("e\\u0301a")), len(clusters("\\U0001F469\\u200D\\u2695\\uFE0F"))
    (2, 1)
    """
    found: list[str] = []
    for letter in text:
        clings = unicodedata.category(letter).startswith("M") or letter == _JOINER
        if found and (clings or found[-1].endswith(_JOINER)):
            found[-1] += letter
        else:
            found.append(letter)
    return found


def writable(text: str) -> str:
    """A text with a sign in place of whatever no page can hold."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def runs_left(text: str) -> bool:
    """Whether any of it is written from right to left."""
    return any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text)


def isolated(name: str) -> str:
    """A name that words around it cannot pull apart, nor it them."""
    return f"{_ISOLATE}{name}{_END}" if runs_left(name) else name
