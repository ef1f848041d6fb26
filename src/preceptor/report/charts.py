"""Charts as SVG text: lines, a timeline, rows of marks. They know numbers and words, but no plans.

Every chart has an id and a description, is as wide as `svg.WIDTH`, and as tall as what is in it
needs: a frame with axes on it, names beside it, a legend below. Colours are given; dashes, shapes
and names tell the same without them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import preceptor.report.palette as palette
from preceptor.report.axes import Axis
from preceptor.report.svg import (
    FONT_SIZE,
    LINE_HEIGHT,
    WIDTH,
    drawing,
    element,
    number,
    text,
    text_width,
    widest,
    wrapped,
)

GRID, SHADE, RULE = palette.GRID.light, palette.SHADE.light, palette.RULE.light
INK = "currentColor"  # that of the page
GAP = 0.5 * FONT_SIZE
# What sticks out on the right: half of the last number, arrows.
RIGHT_MARGIN = 1.4 * FONT_SIZE
# From the middle of a line of text down to where its letters stand.
TO_BASELINE = 0.35 * FONT_SIZE

_SAMPLE = 2.1 * FONT_SIZE
_BETWEEN_ENTRIES = 1.2 * FONT_SIZE
# With more entries than this, names are cut so that there is room for two columns.
_MOST_IN_ONE_COLUMN = 8

# As many patterns as there are colours, so that lines can differ in both.
DASHES = ("", "7 3", "2 2.5", "9 3 2 3", "15 4", "4 4", "9 3 2 3 2 3", "15 3 4 3")

_PLOT_HEIGHT = 16.0 * FONT_SIZE
_ROW = 1.5 * FONT_SIZE
_BAR = 0.8 * _ROW
_MARK = 0.35 * FONT_SIZE  # half the size of a dot
# Names beside a chart take at most this share of its width.
_SHARE_OF_NAMES = 0.46


@dataclass(frozen=True)
class Frame:
    """Where the data of a chart lie: its edges in units of the picture, and its axes."""

    left: float
    top: float
    right: float
    bottom: float
    x_axis: Axis
    y_axis: Axis | None = None

    def x(self, value: float) -> float:
        """Where a value lies from left to right."""
        return self.x_axis.place(value, self.left, self.right)

    def y(self, value: float) -> float:
        """Where a value lies from top to bottom."""
        assert self.y_axis is not None, "rows have no axis to place a value on"
        return self.y_axis.place(value, self.bottom, self.top)

    def draw_x_axis(self, label: str) -> tuple[list[str], float]:
        """Grid, numbers that never touch each other, and the label; and where all this ends."""
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
        """Grid and numbers on the left; a stronger line at zero if values lie on both sides."""
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
        """A name beside the frame, cut if there is too little room on its left."""
        room = self.left - GAP
        return text(name, room, middle + TO_BASELINE, room=room, text_anchor="end")


def legend(entries: Sequence[tuple[str, str]], top: float) -> tuple[list[str], float]:
    """Samples with their names, in columns; and where they end.

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
    look = {"stroke_dasharray": dash} if dash else {}
    return element("line", x1=x, y1=y, x2=to_x, y2=to_y, stroke=colour, stroke_width=width, **look)


@dataclass(frozen=True)
class Line:
    """A series of a line chart.

    Attributes
    ----------
    name
        What the legend calls it.
    x, y
        Where it goes; a `y` that is not finite leaves a gap.
    colour, dash, width
        How it is drawn; `dash` is one of `DASHES`.
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
    """A row of a timeline: a name, and from where to where there are bars."""

    name: str
    bars: Sequence[tuple[float, float]]
    colour: str


@dataclass(frozen=True)
class Dots:
    """A series of a row chart: what the legend calls it, a value per row, colour and shape."""

    name: str
    values: Sequence[float]
    colour: str
    shape: str


@dataclass(frozen=True)
class Spans:
    """From where to where each row of a row chart has a thick line, and what that is called."""

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
    """Lines over a common axis; the label of the other one above it, a legend below."""
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
    """A row for each name with bars while it is on; a note above, shaded from some point on."""
    left = widest([row.name for row in rows], _SHARE_OF_NAMES * WIDTH) + GAP
    top = LINE_HEIGHT + 5.0 if note else 5.0
    bottom = top + _ROW * max(len(rows), 1) + 4.0
    frame = Frame(left, top, WIDTH - RIGHT_MARGIN, bottom, x_axis)
    start = frame.left if shaded_from is None else frame.x(shaded_from)
    parts = []
    if shaded_from is not None:
        parts.append(box(start, top, frame.right - start, bottom - top, SHADE))
    # The note begins where the shade begins, or further left if it would stick out.
    at = max(0.0, min(start, WIDTH - text_width(note)))
    parts += [text(note, at, 13.0, room=WIDTH)] if note else []
    numbers, end = frame.draw_x_axis(x_label)
    parts += numbers
    for i, row in enumerate(rows):
        middle = top + 2.0 + _ROW * (i + 0.5)
        parts.append(frame.draw_name(row.name, middle))
        for begin, until in row.bars:
            x, height = frame.x(begin), _BAR
            parts.append(box(x, middle - height / 2, frame.x(until) - x, height, row.colour))
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
    """A row for each name with a mark for each series; one that is not finite has no mark.

    Names may be long, so they stand above their rows. Shapes tell series apart without colours,
    and marks do not hide each other: the first series is drawn last, the others are hollow.
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
        look = {"stroke_dasharray": line.dash} if line.dash else {}
        parts.append(
            element(
                "path",
                d=path,
                fill="none",
                stroke=line.colour,
                stroke_width=line.width,
                stroke_linejoin="round",
                **look,
            )
        )
    if line.target is not None:
        tip = f"M{number(frame.right)} {number(frame.y(line.target))}"
        parts.append(element("path", d=f"{tip}l9 -5v10z", fill=line.colour))
    return parts


def _straight(line: Line, frame: Frame) -> str:
    """From point to point; one that stands alone becomes a short dash."""
    path, run = "", 0
    for x, y in zip(line.x, line.y, strict=True):
        if not math.isfinite(y):
            path, run = path + "h3" * (run == 1), 0
            continue
        path += f"{'L' if run else 'M'}{number(frame.x(x))} {number(frame.y(y))}"
        run += 1
    return path + "h3" * (run == 1)


def _steps(line: Line, frame: Frame) -> str:
    """Level pieces, joined by jumps; pieces of the same height are one."""
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
