"""Charts as SVG text: axes, lines, a timeline, rows of marks. They know nothing about plans.

Every chart has an id and a description, is as wide as `WIDTH`, and as tall as its content: a
frame with axes, names next to it, a legend below. Dashes, shapes and names carry the same
information as colours.

Text stays text, so that it can be searched, copied and read aloud, and files stay small. The
reader's fonts are unknown; widths are those of a wide font, so that nothing overlaps.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Self

import preceptor.report.palette as palette

# All pictures have the same width, so that a page that scales them scales all letters alike: on a
# phone, 390 pixels wide, letters are 11 pixels high.
WIDTH = 440.0
FONT_SIZE = 13.0
LINE_HEIGHT = 1.3 * FONT_SIZE
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

# The most letters of a name in alt text.
_MOST_LETTERS = 48
_JOINER = "\N{ZERO WIDTH JOINER}"
# Characters that HTML and SVG cannot hold, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Widths of letters as shares of the font size.
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
    """A whole picture: `name` is its id, `description` its alt text."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{escaped(name)}" role="img" '
        f'aria-label="{escaped(description)}" viewBox="0 0 {number(WIDTH)} {number(height)}" '
        f'width="100%" preserveAspectRatio="xMinYMin meet" font-family="{FONTS}" '
        f'font-size="{number(FONT_SIZE)}" fill="currentColor">'
    )
    return "\n".join([head, *parts, "</svg>"])


def element(tag: str, inside: str = "", **attributes: str | float) -> str:
    """One element; underscores in attribute names become hyphens, empty attributes are left out.

    >>> element("rect", x=1.25, stroke_width=2)
    '<rect x="1.25" stroke-width="2"/>'
    """
    given = "".join(
        f' {key.replace("_", "-")}="{escaped(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
        if value != ""
    )
    return f"<{tag}{given}>{inside}</{tag}>" if inside else f"<{tag}{given}/>"


def text(
    words: str, x: float, y: float, *, room: float = math.inf, **attributes: str | float
) -> str:
    """Text at a position; cut to `room` if too wide, with the full text as a tooltip."""
    kept = fitted(words, room)
    whole = element("title", escaped(words)) if kept != words else ""
    return element("text", escaped(kept) + whole, x=x, y=y, **attributes)


def number(value: float) -> str:
    """Format with at most two decimals, which is finer than any screen.

    >>> number(2.0), number(1 / 3), number(-0.001)
    ('2', '0.33', '0')
    """
    return f"{value:z.2f}".rstrip("0").rstrip(".")


def escaped(words: str) -> str:
    """Escape for use between tags and inside quotes."""
    return html.escape(writable(words))


def text_width(words: str) -> float:
    """Approximate upper bound of the width of text in common system fonts."""
    return FONT_SIZE * sum(_letter_width(letter) for letter in words)


def fitted(words: str, room: float) -> str:
    """Text, or as much of both ends as fits.

    The level of a category matters more than the category's name.

    >>> fitted("length of the left foot", 110.0), fitted("short", 110.0)
    ('length…ft foot', 'short')
    >>> fitted("chapter=neoplasms", 110.0)
    'ch…neoplasms'
    """
    if text_width(words) <= room:
        return words
    _, equals, level = words.partition("=")
    left = 1.0 - text_width(f"…{equals}{level}") / room
    return both_ends(words, room, text_width, first=max(left, 0.2) if equals else 0.55)


def wrapped(words: str, room: float) -> list[str]:
    """Break text into lines that fit, between words only."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def widest(names: Sequence[str], most: float) -> float:
    """Width of the widest name, but at most `most`."""
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
    """Shorten a name to at most `most` letters, for alt text.

    >>> shortened("one two three four five", 12)
    'one tw…five'
    """
    return both_ends(name, most, len)


def both_ends(
    words: str, room: float, width: Callable[[str], float], *, first: float = 0.55
) -> str:
    """Text, or as much of both ends as fits: names often differ in the last letters.

    The beginning gets the share `first` of the room.
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
    """Split text into grapheme clusters, so that no cut separates a letter from its marks.

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
    """Replace characters that no page can hold."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


_ROUND = (1.0, 2.0, 5.0, 10.0)
# Steps beyond these are written as powers of ten.
_LARGEST, _SMALLEST = 1e6, 1e-5


@dataclass(frozen=True)
class Axis:
    """A range of numbers with round ticks.

    Attributes
    ----------
    low, high
        Ends of the axis.
    ticks
        Round numbers from low to high, ascending.
    """

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def covering(cls, values: Iterable[float], most: int = 8) -> Self:
        """From a tick at or below all values to one at or above, ignoring values not finite.

        >>> Axis.covering([0.3, 4.1]).ticks
        (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
        """
        finite = [float(value) for value in values if math.isfinite(value)]
        ticks = _ticks(min(finite, default=0.0), max(finite, default=0.0), most)
        return cls(ticks[0], ticks[-1], ticks)

    @classmethod
    def counting(cls, low: float, high: float, most: int = 8) -> Self:
        """Exactly from low to high, with ticks at round whole numbers in between.

        >>> Axis.counting(0.5, 60.5).ticks
        (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
        """
        step = max(_step(high - low, most), 1.0)
        first, last = math.ceil(low / step), math.floor(high / step)
        return cls(low, high, tuple(step * i for i in range(first, last + 1)))

    @property
    def labels(self) -> tuple[str, ...]:
        """The ticks as text, all with the same number of decimals."""
        largest = max((abs(tick) for tick in self.ticks), default=0.0)
        step = min((b - a for a, b in pairwise(self.ticks)), default=1.0)
        if largest >= _LARGEST or step < _SMALLEST:
            return tuple(_power(tick) for tick in self.ticks)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return tuple(f"{tick:,.{decimals}f}".replace("-", "−") for tick in self.ticks)

    def place(self, value: float, start: float, end: float) -> float:
        """Position of a value if `low` is drawn at `start` and `high` at `end`.

        >>> Axis.covering([0.0, 10.0]).place(2.5, 100.0, 200.0)
        125.0
        """
        return start + (end - start) * (value - self.low) / (self.high - self.low)

    def within(self, value: float) -> float:
        """Clip a value to the axis."""
        return min(max(value, self.low), self.high)


def _step(length: float, most: int) -> float:
    """The smallest round number that goes into the length fewer than `most` times."""
    rough = length / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in _ROUND if factor * power >= rough * (1 - 1e-9))


def _ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        # All values are equal up to rounding: extend the range by half their size.
        low, high = (low - 0.5 * abs(low), high + 0.5 * abs(high)) if high else (0.0, 1.0)
    step = _step(high - low, most)
    while True:
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
        # Extending to round numbers at both ends can take one step too many.
        step = _step(1.01 * step, 2)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return tuple(round(step * i, digits) for i in range(first, last + 1))


def _power(tick: float) -> str:
    """Format as a multiple of a power of ten."""
    if tick == 0.0:
        return "0"
    digits, power = f"{tick:.6e}".split("e")
    return f"{float(digits):g}e{int(power)}".replace("-", "−")


GRID, SHADE, RULE = palette.GRID.light, palette.SHADE.light, palette.RULE.light
INK = "currentColor"  # the colour of the page's text
GAP = 0.5 * FONT_SIZE
# Space on the right for half of the last number and for arrows.
RIGHT_MARGIN = 1.4 * FONT_SIZE
# From the middle of a line of text down to its baseline.
TO_BASELINE = 0.35 * FONT_SIZE

_SAMPLE = 2.1 * FONT_SIZE
_BETWEEN_ENTRIES = 1.2 * FONT_SIZE
# With more entries than this, names are cut to fit two columns.
_MOST_IN_ONE_COLUMN = 8

# As many patterns as there are colours, so that lines can differ in both.
DASHES = ("", "7 3", "2 2.5", "9 3 2 3", "15 4", "4 4", "9 3 2 3 2 3", "15 3 4 3")

_PLOT_HEIGHT = 16.0 * FONT_SIZE
_ROW = 1.5 * FONT_SIZE
_BAR = 0.8 * _ROW
_MARK = 0.35 * FONT_SIZE  # half the size of a dot
# Names next to a chart take at most this share of its width.
_SHARE_OF_NAMES = 0.46


@dataclass(frozen=True)
class Frame:
    """The data area of a chart: its edges in units of the picture, and its axes."""

    left: float
    top: float
    right: float
    bottom: float
    x_axis: Axis
    y_axis: Axis | None = None

    def x(self, value: float) -> float:
        """Horizontal position of a value."""
        return self.x_axis.place(value, self.left, self.right)

    def y(self, value: float) -> float:
        """Vertical position of a value."""
        assert self.y_axis is not None, "rows have no axis to place a value on"
        return self.y_axis.place(value, self.bottom, self.top)

    def draw_x_axis(self, label: str) -> tuple[list[str], float]:
        """Grid, numbers that do not overlap, and the label; and the vertical end position."""
        parts, taken = [], -math.inf
        for tick, words in zip(self.x_axis.ticks, self.x_axis.labels, strict=True):
            x, half = self.x(tick), text_width(words) / 2
            parts.append(segment(x, self.top, x, self.bottom, GRID))
            if x - half > taken:
                parts.append(text(words, x, self.bottom + 15.0, text_anchor="middle"))
                taken = x + half + GAP
        parts.append(segment(self.left, self.bottom, self.right, self.bottom))
        end = self.bottom + 15.0
        for line in wrapped(label, WIDTH):
            end += LINE_HEIGHT
            half = text_width(line) / 2
            middle = min(max((self.left + self.right) / 2, half), WIDTH - half)
            parts.append(text(line, middle, end, room=WIDTH, text_anchor="middle"))
        return parts, end + GAP

    def draw_y_axis(self) -> list[str]:
        """Grid and numbers on the left; a stronger line at zero if values have both signs."""
        assert self.y_axis is not None, "rows have no axis to draw"
        parts = []
        for tick, words in zip(self.y_axis.ticks, self.y_axis.labels, strict=True):
            y = self.y(tick)
            colour = RULE if tick == 0.0 and self.y_axis.low < 0.0 else GRID
            parts.append(segment(self.left, y, self.right, y, colour))
            parts.append(text(words, self.left - GAP, y + TO_BASELINE, text_anchor="end"))
        parts.append(segment(self.left, self.top, self.left, self.bottom))
        return parts

    def draw_name(self, name: str, middle: float) -> str:
        """A name left of the frame, cut if too wide."""
        room = self.left - GAP
        return text(name, room, middle + TO_BASELINE, room=room, text_anchor="end")


def legend(entries: Sequence[tuple[str, str]], top: float) -> tuple[list[str], float]:
    """Samples with their names, in columns; and the vertical position of the end.

    A sample is drawn from (0, 0) to the right, around a height of 0.
    """
    width = WIDTH if len(entries) <= _MOST_IN_ONE_COLUMN else (WIDTH - _BETWEEN_ENTRIES) / 2
    room = width - _SAMPLE - GAP
    pitch = _SAMPLE + GAP + widest([name for _, name in entries], room) + _BETWEEN_ENTRIES
    columns = max(1, int((WIDTH + _BETWEEN_ENTRIES) // pitch))
    parts = []
    for i, (sample, name) in enumerate(entries):
        x, y = i % columns * pitch, top + LINE_HEIGHT * (i // columns + 0.5)
        place = f"translate({number(x)} {number(y)})"
        words = text(name, _SAMPLE + GAP, TO_BASELINE, room=room)
        parts.append(element("g", sample + words, transform=place))
    return parts, top + LINE_HEIGHT * math.ceil(len(entries) / columns) + 2.0


def line_sample(colour: str, dash: str, width: float) -> str:
    """A piece of a line, for a legend."""
    return segment(0.0, 0.0, _SAMPLE, 0.0, colour, dash=dash, width=width)


def box(x: float, y: float, width: float, height: float, colour: str) -> str:
    """A filled rectangle."""
    return element("rect", x=x, y=y, width=max(width, 0.0), height=height, fill=colour)


def segment(
    x: float,
    y: float,
    to_x: float,
    to_y: float,
    colour: str = INK,
    *,
    dash: str = "",
    width: float = 1.0,
) -> str:
    """A straight line."""
    return element(
        "line", x1=x, y1=y, x2=to_x, y2=to_y, stroke=colour, stroke_width=width,
        stroke_dasharray=dash,
    )  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A series of a line chart.

    Attributes
    ----------
    name
        Name in the legend.
    x, y
        Coordinates; a `y` that is not finite leaves a gap.
    colour, dash, width
        Style; `dash` is one of `DASHES`.
    is_stepped
        Whether a value holds from half a unit before its `x` to half a unit after.
    target
        A value that an arrow marks at the right edge.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dash: str = ""
    width: float = 1.8
    is_stepped: bool = False
    target: float | None = None


@dataclass(frozen=True)
class Row:
    """A row of a timeline: a name, and the begin and end of each bar."""

    name: str
    bars: Sequence[tuple[float, float]]
    colour: str


@dataclass(frozen=True)
class Dots:
    """A series of a row chart: name in the legend, a value per row, colour and shape."""

    name: str
    values: Sequence[float]
    colour: str
    shape: str


@dataclass(frozen=True)
class Spans:
    """Intervals of a row chart, one per row: name in the legend, ends and colour."""

    name: str
    ends: Sequence[tuple[float, float]]
    colour: str


def line_chart(
    name: str,
    description: str,
    lines: Sequence[Line],
    *,
    x_axis: Axis,
    x_label: str,
    y_label: str,
    height: float = _PLOT_HEIGHT,
) -> str:
    """Lines over a common x axis; the label of the y axis above, a legend below."""
    targets = [line.target for line in lines if line.target is not None]
    y_axis = Axis.covering(chain(targets, *(line.y for line in lines)))
    head = wrapped(y_label, WIDTH)
    parts = [text(row, 0.0, LINE_HEIGHT * i + 13.0, room=WIDTH) for i, row in enumerate(head)]
    left, top = widest(y_axis.labels, WIDTH) + GAP, LINE_HEIGHT * len(head) + 10.0
    frame = Frame(left, top, WIDTH - RIGHT_MARGIN, top + height, x_axis, y_axis)
    numbers, end = frame.draw_x_axis(x_label)
    parts += numbers + frame.draw_y_axis()
    for line in lines:
        parts += _drawn(line, frame)
    samples = [(line_sample(line.colour, line.dash, line.width), line.name) for line in lines]
    names, end = legend(samples, end)
    return drawing(name, description, end, parts + names)


def timeline_chart(
    name: str,
    description: str,
    rows: Sequence[Row],
    *,
    x_axis: Axis,
    x_label: str,
    note: str = "",
    shaded_from: float | None = None,
) -> str:
    """A row of bars for each name; a note above, shaded from some point on."""
    left = widest([row.name for row in rows], _SHARE_OF_NAMES * WIDTH) + GAP
    top = LINE_HEIGHT + 5.0 if note else 5.0
    bottom = top + _ROW * max(len(rows), 1) + 4.0
    frame = Frame(left, top, WIDTH - RIGHT_MARGIN, bottom, x_axis)
    start = frame.left if shaded_from is None else frame.x(shaded_from)
    parts = []
    if shaded_from is not None:
        parts.append(box(start, top, frame.right - start, bottom - top, SHADE))
    # The note starts where the shade starts, or further left if it would not fit.
    at = max(0.0, min(start, WIDTH - text_width(note)))
    parts += [text(note, at, 13.0, room=WIDTH)] if note else []
    numbers, end = frame.draw_x_axis(x_label)
    parts += numbers
    for i, row in enumerate(rows):
        middle = top + 2.0 + _ROW * (i + 0.5)
        parts.append(frame.draw_name(row.name, middle))
        for begin, until in row.bars:
            x = frame.x(begin)
            parts.append(box(x, middle - _BAR / 2, frame.x(until) - x, _BAR, row.colour))
    if shaded_from is not None:
        parts.append(segment(start, top, start, bottom, dash="4 3"))
    return drawing(name, description, end, parts)


def row_chart(
    name: str,
    description: str,
    rows: Sequence[str],
    series: Sequence[Dots],
    *,
    x_axis: Axis,
    x_label: str,
    spans: Spans | None = None,
) -> str:
    """A row for each name with a mark for each series; values that are not finite have no mark.

    Names may be long, so they are above their rows. Shapes distinguish series without colours, and
    marks do not hide each other: the first series is drawn last, the others are hollow.
    """
    pitch = LINE_HEIGHT + _ROW
    left = max(GAP + _MARK, text_width(x_axis.labels[0]) / 2)
    right = WIDTH - RIGHT_MARGIN - _MARK
    frame = Frame(left, 0.0, right, pitch * max(len(rows), 1) + 2.0, x_axis)
    parts, end = frame.draw_x_axis(x_label)
    if x_axis.low < 0.0 < x_axis.high:
        parts.append(segment(frame.x(0.0), frame.top, frame.x(0.0), frame.bottom))
    for i, row in enumerate(rows):
        middle = pitch * i + LINE_HEIGHT + _ROW / 2
        parts.append(text(row, frame.left, pitch * i + 14.0, room=WIDTH - frame.left))
        parts.append(segment(frame.left, middle, frame.right, middle, GRID))
        if spans is not None:
            low, high = (frame.x(x_axis.within(place)) for place in spans.ends[i])
            parts.append(segment(low, middle, high, middle, spans.colour, width=3.0))
        for position, dots in reversed(list(enumerate(series))):
            if math.isfinite(dots.values[i]):
                x = frame.x(x_axis.within(dots.values[i]))
                parts.append(mark(dots.shape, x, middle, dots.colour, is_filled=position == 0))
    samples = [
        (mark(dots.shape, 14.0, 0.0, dots.colour, is_filled=position == 0), dots.name)
        for position, dots in enumerate(series)
    ]
    if spans is not None:
        samples.append((line_sample(spans.colour, "", 3.0), spans.name))
    names, end = legend(samples, end)
    return drawing(name, description, end, parts + names)


def mark(shape: str, x: float, y: float, colour: str, *, is_filled: bool) -> str:
    """A small shape around a point, filled or hollow."""
    r = _MARK
    fill = colour if is_filled else "none"
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=r, fill=fill, stroke=colour, stroke_width=1.8)
    corners = {
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "triangle": ((0.0, -1.2 * r), (1.1 * r, 0.8 * r), (-1.1 * r, 0.8 * r)),
        "diamond": ((0.0, -1.3 * r), (1.3 * r, 0.0), (0.0, 1.3 * r), (-1.3 * r, 0.0)),
    }[shape]
    points = " ".join(f"{number(x + dx)},{number(y + dy)}" for dx, dy in corners)
    return element("polygon", points=points, fill=fill, stroke=colour, stroke_width=1.8)


def _drawn(line: Line, frame: Frame) -> list[str]:
    parts = []
    path = _steps(line, frame) if line.is_stepped else _straight(line, frame)
    if path:
        drawn = element(
            "path", d=path, fill="none", stroke=line.colour, stroke_width=line.width,
            stroke_linejoin="round", stroke_dasharray=line.dash,
        )  # fmt: skip
        parts.append(drawn)
    if line.target is not None:
        tip = f"M{number(frame.right)} {number(frame.y(line.target))}"
        parts.append(element("path", d=f"{tip}l9 -5v10z", fill=line.colour))
    return parts


def _straight(line: Line, frame: Frame) -> str:
    """Path from point to point; an isolated point becomes a short dash."""
    path, run = "", 0
    for x, y in zip(line.x, line.y, strict=True):
        if not math.isfinite(y):
            path, run = path + "h3" * (run == 1), 0
            continue
        path += f"{'L' if run else 'M'}{number(frame.x(x))} {number(frame.y(y))}"
        run += 1
    return path + "h3" * (run == 1)


def _steps(line: Line, frame: Frame) -> str:
    """Path of level pieces joined by jumps; pieces of the same height are merged."""
    path, height, end = "", "", ""
    for x, y in zip(line.x, line.y, strict=True):
        if not math.isfinite(y):
            path, height = path + (f"H{end}" if height else ""), ""
            continue
        before, height = height, number(frame.y(y))
        if not before:
            path += f"M{number(frame.x(x - 0.5))} {height}"
        elif before != height:
            path += f"H{end}V{height}"
        end = number(frame.x(x + 0.5))
    return path + (f"H{end}" if height else "")
