"""Two kinds of picture that a run needs: shares that add up to one, and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from preceptor.report.axes import Axis
from preceptor.report.chart_parts import (
    GAP,
    GRID,
    RIGHT_MARGIN,
    Frame,
    box_sample,
    legend,
    letter,
    line_sample,
    segment,
)
from preceptor.report.charts import mark
from preceptor.report.palette import PAPER
from preceptor.report.svg import (
    LINE_HEIGHT,
    WIDTH,
    drawing,
    element,
    escaped,
    number,
    text,
    widest,
)

_HEIGHT = 230.0
_ROW = 22.0
_ROOM_FOR_LETTER = 14.0
# Names beside a chart take at most this share of its width.
_SHARE_OF_NAMES = 0.4


@dataclass(frozen=True)
class Share:
    """A layer of a stack: its name, its height at each place, its colour."""

    name: str
    heights: Sequence[float]
    colour: str


@dataclass(frozen=True)
class Interval:
    """A row: a value with its interval, and what would be right."""

    name: str
    value: float
    low: float
    high: float
    target: float


def stacked_chart(
    name: str,
    description: str,
    shares: Sequence[Share],
    *,
    x_axis: Axis,
    x: Sequence[float],
    x_label: str,
    y_label: str,
) -> str:
    """Layers that add up to one, the first at the bottom; the legend has them in the same order.

    Thin lines between layers and a letter in each tell them apart without colours.
    """
    y_axis = Axis(0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    left, top = widest(y_axis.labels, WIDTH) + GAP, LINE_HEIGHT + 10.0
    frame = Frame(left, top, WIDTH - RIGHT_MARGIN, top + _HEIGHT, x_axis, y_axis)
    numbers, end = frame.draw_x_axis(x_label)
    parts = [text(y_label, 0.0, 13.0, room=WIDTH), *numbers]
    below = [0.0] * len(x)
    letters: list[str] = []
    for position, share in enumerate(shares):
        above = [min(low + height, 1.0) for low, height in zip(below, share.heights, strict=True)]
        there, back = _points(frame, x, above), _points(frame, x, below)[::-1]
        outline = f"M{'L'.join(there)}L{'L'.join(back)}Z"
        words = f"{share.name}: {share.heights[-1]:.0%} in the end"
        parts.append(
            element(
                "path",
                element("title", escaped(words)),
                d=outline,
                fill=share.colour,
                stroke=PAPER.light,
                stroke_width=0.8,
            )
        )
        # Where the layer is thickest, but inside of the frame; a thin one has none.
        inside = range(len(x) // 12, len(x) - len(x) // 12)
        widest_at = max(inside, key=lambda i: share.heights[i])
        middle = (below[widest_at] + above[widest_at]) / 2
        if _HEIGHT * share.heights[widest_at] >= _ROOM_FOR_LETTER:
            letters.append(letter(_letter(position), frame.x(x[widest_at]), frame.y(middle)))
        below = above
    parts += letters + frame.draw_y_axis()
    # From top to bottom, as the eye finds them in the picture.
    samples = [
        (box_sample(share.colour, _letter(position)), share.name)
        for position, share in reversed(list(enumerate(shares)))
    ]
    names, end = legend(samples, end)
    return drawing(name, description, end, parts + names)


def interval_chart(
    name: str,
    description: str,
    rows: Sequence[Interval],
    *,
    x_label: str,
    value_name: str,
    interval_name: str,
    target_name: str,
    colour: str,
    target_colour: str,
) -> str:
    """A row for each name: an interval, a filled mark for the value, a hollow one for the goal."""
    ends = [end for row in rows for end in (row.low, row.high, row.target)]
    x_axis = Axis.covering([0.0, *ends])
    left = widest([row.name for row in rows], _SHARE_OF_NAMES * WIDTH) + GAP
    bottom = _ROW * max(len(rows), 1) + 4.0
    frame = Frame(left, 0.0, WIDTH - RIGHT_MARGIN, bottom, x_axis)
    parts, end = frame.draw_x_axis(x_label)
    if x_axis.low < 0.0 < x_axis.high:
        parts.append(segment(frame.x(0.0), 0.0, frame.x(0.0), bottom))
    for i, row in enumerate(rows):
        middle = 2.0 + _ROW * (i + 0.5)
        parts.append(frame.draw_name(row.name, middle))
        parts.append(segment(frame.left, middle, frame.right, middle, GRID))
        low, high = frame.x(row.low), frame.x(row.high)
        parts.append(segment(low, middle, high, middle, colour, width=3.0))
        parts.append(mark("circle", frame.x(row.value), middle, colour, is_filled=True))
        parts.append(mark("diamond", frame.x(row.target), middle, target_colour, is_filled=False))
    samples = [
        (mark("circle", 14.0, 0.0, colour, is_filled=True), value_name),
        (line_sample(colour, "", 3.0), interval_name),
        (mark("diamond", 14.0, 0.0, target_colour, is_filled=False), target_name),
    ]
    names, end = legend(samples, end)
    return drawing(name, description, end, parts + names)


def _letter(position: int) -> str:
    """A, B, ..., Z, then numbers."""
    return chr(ord("A") + position) if position < 26 else str(position + 1)


def _points(frame: Frame, x: Sequence[float], y: Sequence[float]) -> list[str]:
    return [
        f"{number(frame.x(at))} {number(frame.y(height))}" for at, height in zip(x, y, strict=True)
    ]
