"""SVG as text: a few elements, and how much room words take.

Text stays text, so that it can be searched, copied and read aloud, and the file is small. What
fonts a reader has is unknown; widths are those of a wide one, so that nothing overlaps.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

# All pictures are equally wide, in units of their own, so that a page that scales them scales all
# of their letters alike: on a phone, 390 pixels wide, they are 11 pixels high.
WIDTH = 440.0
FONT_SIZE = 13.0
LINE_HEIGHT = 1.3 * FONT_SIZE
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

# Letters of a name that is heard; more take too long.
_MOST_LETTERS = 48
_JOINER = "\N{ZERO WIDTH JOINER}"
# Pages and pictures have no way to write these, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Widths of letters as shares of the size of the font.
_WIDTHS = {
    letter: width
    for letters, width in (
        ("ijlI.,:;'|! ", 0.32),
        ('frt()[]{}/-\\"*', 0.42),
        ("csz_?$", 0.55),
        ("mwMW%@…", 0.98),
        ("OQDGNHU+<>=~#&−±", 0.84),
    )
    for letter in letters
}
_CAPITAL, _WIDE, _OTHER = 0.72, 1.0, 0.64


def drawing(name: str, description: str, height: float, parts: Iterable[str]) -> str:
    """A whole picture: `name` is its id, `description` what a reader hears."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{escaped(name)}" role="img" '
        f'aria-label="{escaped(description)}" viewBox="0 0 {number(WIDTH)} {number(height)}" '
        f'width="100%" preserveAspectRatio="xMinYMin meet" font-family="{FONTS}" '
        f'font-size="{number(FONT_SIZE)}" fill="currentColor">'
    )
    return "\n".join([head, *parts, "</svg>"])


def element(tag: str, inside: str = "", **attributes: str | float) -> str:
    """One element; underscores in names of attributes become hyphens, numbers are rounded.

    >>> element("rect", x=1.25, stroke_width=2)
    '<rect x="1.25" stroke-width="2"/>'
    """
    given = "".join(
        f' {key.replace("_", "-")}="{escaped(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
    )
    return f"<{tag}{given}>{inside}</{tag}>" if inside else f"<{tag}{given}/>"


def text(
    words: str, x: float, y: float, *, room: float = math.inf, **attributes: str | float
) -> str:
    """Words at a place; those that need more than `room` are cut, and whole when pointed at."""
    kept = fitted(words, room)
    whole = element("title", escaped(words)) if kept != words else ""
    return element("text", escaped(kept) + whole, x=x, y=y, **attributes)


def number(value: float) -> str:
    """At most two decimals, which is finer than any screen.

    >>> number(2.0), number(1 / 3), number(-0.001)
    ('2', '0.33', '0')
    """
    rounded = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if rounded == "-0" else rounded


def escaped(words: str) -> str:
    """Safe between tags and inside of quotes."""
    return html.escape(writable(words))


def text_width(words: str) -> float:
    """How wide words are at most, near enough, in the fonts that systems come with."""
    return FONT_SIZE * sum(_letter_width(letter) for letter in words)


def fitted(words: str, room: float) -> str:
    """The words, or as much of both ends as there is room for.

    A level of a category matters more than the category's name.

    >>> fitted("length of the left foot", 110.0), fitted("short", 110.0)
    ('length…ft foot', 'short')
    >>> fitted("chapter=neoplasms", 110.0)
    'ch…neoplasms'
    """
    if text_width(words) <= room:
        return words
    _, equals, level = words.partition("=")
    beside = 1.0 - text_width(f"…{equals}{level}") / room
    first = max(beside, 0.2) if equals else 0.55
    return both_ends(words, room, text_width, first=first)


def wrapped(words: str, room: float) -> list[str]:
    """Lines that fit into the room, as far as words let themselves be parted."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def widest(names: Sequence[str], most: float) -> float:
    """Room for the widest of some names, though never more than `most`."""
    return min(max(map(text_width, names), default=0.0), most)


def _letter_width(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return _WIDE
    return _CAPITAL if letter.isupper() else _OTHER


def shortened(name: str, most: int = _MOST_LETTERS) -> str:
    """A name in at most so many letters, for those who hear it.

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
