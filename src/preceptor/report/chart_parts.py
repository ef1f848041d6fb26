"""What charts have in common: a frame with axes on it, names beside it, a legend below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import preceptor.report.palette as palette
from preceptor.report.axes import Axis
from preceptor.report.svg import (
    FONT_SIZE,
    LINE_HEIGHT,
    WIDTH,
    element,
    number,
    text,
    text_width,
    widest,
    wrapped,
)

GRID, SHADE, RULE = palette.GRID.light, palette.SHADE.light, palette.RULE.light
INK = "currentColor"  # that of the page
GAP = 6.0
# What sticks out on the right: half of the last number, arrows.
RIGHT_MARGIN = 18.0
# From the middle of a line of text down to where its letters stand.
TO_BASELINE = 0.35 * FONT_SIZE

_SAMPLE = 28.0
_BETWEEN_ENTRIES = 16.0
# With more entries than this, names are cut so that there is room for two columns.
_MOST_IN_ONE_COLUMN = 8


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


def box_sample(colour: str, words: str = "") -> str:
    """A small box, for a legend; with a letter in it, if that is what it has in the picture."""
    sample = box(_SAMPLE - 20.0, -6.0, 20.0, 12.0, colour)
    return sample + (letter(words, _SAMPLE - 10.0, 0.0) if words else "")


def outline_sample() -> str:
    """A small empty box, for a legend."""
    return outline(_SAMPLE - 20.0, -5.0, 20.0, 10.0)


def letter(words: str, x: float, middle: float) -> str:
    """A letter on a coloured ground, in the colour of the paper."""
    y = middle + 0.35 * 11.0
    return text(
        words,
        x,
        y,
        text_anchor="middle",
        fill=palette.PAPER.light,
        font_size=11.0,
        font_weight="bold",
    )


def outline(x: float, y: float, width: float, height: float) -> str:
    """An empty rectangle."""
    return element("rect", x=x, y=y, width=max(width, 0.0), height=height, fill="none", stroke=RULE)


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
