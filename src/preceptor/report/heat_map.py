"""A table of numbers from -1 to 1 as colours, as SVG text, with frames around what matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from preceptor.report.chart_parts import GAP, TO_BASELINE
from preceptor.report.palette import contrast
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
)

# Blue, nearly white, vermilion: told apart by everybody, and darker towards both ends, though not
# so dark that a black frame could not be seen.
_LEAST, _MIDDLE, _MOST = (0, 100, 165), (247, 247, 247), (190, 74, 0)
_SHADES = 20  # on either side of zero
# Beyond this many rows, numbers in the cells could not be read; beyond that many, names neither.
_MOST_NUMBERED, _MOST_NAMED = 11, 40
_LARGEST_CELL, _SMALLEST_NAME = 46.0, 7.0
# Names take at most this much of the width; less where small cells need it more.
_ROOM_FOR_NAMES, _LITTLE_ROOM = 0.3 * WIDTH, 0.2 * WIDTH
_BOLDER = 1.12  # how much wider bold letters are
_KEY_WIDTH = 64.0  # the scale of colours on the right
_TOP = LINE_HEIGHT + GAP  # above the cells, what the scale means

# Cells look the same on a dark screen, so these are not colours of the page, which would change.
_INKS = ("#000000", "#fefefe")

_Colour = tuple[int, int, int]


def heat_map(
    name: str,
    description: str,
    values: Sequence[Sequence[float]],
    labels: Sequence[str],
    *,
    framed: Sequence[int] = (),
    key: str,
) -> str:
    """Cells from -1 (blue) to 1 (vermilion); rows in `framed` have bold names, their cells frames.

    Parameters
    ----------
    name
        Its id, with which all ids in it begin.
    description
        What a reader hears.
    values
        As many rows as columns, of numbers from -1 to 1.
    labels
        The name of each row, which is that of the column too.
    framed
        Rows whose cells in their columns get a frame.
    key
        What the colours mean.
    """
    size = len(labels)
    is_named = size <= _MOST_NAMED
    most = _ROOM_FOR_NAMES if size <= _MOST_NUMBERED else _LITTLE_ROOM
    left = _BOLDER * widest(labels, most) + GAP if is_named else 0.0
    cell = min((WIDTH - _KEY_WIDTH - left) / max(size, 1), _LARGEST_CELL)
    bottom = _TOP + cell * size
    place = f"translate({number(left)} {number(_TOP)}) scale({cell:.6g})"
    parts = [element("g", _cells(values), transform=place, shape_rendering="crispEdges")]
    if size <= _MOST_NUMBERED:
        parts += _numbers(values, left, cell)
    parts += [
        element(
            "rect",
            x=left + cell * (j + 0.04),
            y=_TOP + cell * (i + 0.04),
            width=0.92 * cell,
            height=0.92 * cell,
            fill="none",
            stroke="#000000",
            stroke_width=min(2.0, 0.12 * cell),
        )
        for i in framed
        for j in framed
    ]
    end = bottom
    if is_named:
        names, end = _names(labels, framed, left, cell)
        parts += names
    scale, scale_end = _scale(name, key, left + cell * size + 16.0, cell * size)
    return drawing(name, description, max(end, scale_end) + GAP, parts + scale)


def _cells(values: Sequence[Sequence[float]]) -> str:
    """One path for each colour; neighbours of the same colour are one box. Each cell is 1 wide."""
    paths: dict[int, str] = {}
    for i, row in enumerate(values):
        j = 0
        for shade, run in groupby(_shade(value) for value in row):
            length = len(list(run))
            paths[shade] = f"{paths.get(shade, '')}M{j} {i}h{length}v1h-{length}z"
            j += length
    return "".join(
        element("path", d=paths[shade], fill=_hex(_mixed(shade))) for shade in sorted(paths)
    )


def _numbers(values: Sequence[Sequence[float]], left: float, cell: float) -> list[str]:
    """One decimal in each cell; those on the diagonal are 1 anyway."""
    font = min(FONT_SIZE, 0.36 * cell)
    parts = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if i != j:
                words = f"{value:.1f}".replace("-0.0", "0.0").replace("-", "−")
                x, y = left + cell * (j + 0.5), _TOP + cell * (i + 0.5) + 0.35 * font
                ink = _ink_on(_mixed(_shade(value)))
                parts.append(text(words, x, y, text_anchor="middle", fill=ink))
    return [element("g", "".join(parts), font_size=font)]


def _names(
    labels: Sequence[str], framed: Sequence[int], left: float, cell: float
) -> tuple[list[str], float]:
    """Names of rows on the left and of columns below; and where these end."""
    font = max(min(FONT_SIZE, 0.95 * cell), _SMALLEST_NAME)
    room, bottom = left - GAP, _TOP + cell * len(labels)
    longest = min(_BOLDER * widest(labels, room, font), room)
    if longest <= cell - GAP:
        angle, anchor, depth = 0, "middle", 1.2 * font
    elif cell >= 1.5 * font:
        angle, anchor, depth = -45, "end", 0.71 * (longest + font)
    else:
        angle, anchor, depth = -90, "end", longest
    parts = []
    for i, label in enumerate(labels):
        weight = {"font_weight": "bold"} if i in framed else {}
        fit = room / _BOLDER if i in framed else room
        look: dict[str, str | float] = {"font_size": font, **weight}
        middle = cell * (i + 0.5)
        y = _TOP + middle + 0.35 * font
        parts.append(text(label, room, y, room=fit, text_anchor="end", **look))
        x, y = left + middle, bottom + GAP
        if angle == 0:
            y += 0.8 * font
        else:
            # Turned around a point that lies under the middle of its column.
            x += 0.35 * font
            look["transform"] = f"rotate({angle} {number(x)} {number(y)})"
        parts.append(text(label, x, y, room=fit, text_anchor=anchor, **look))
    return parts, bottom + GAP + depth


def _scale(name: str, words: str, x: float, space: float) -> tuple[list[str], float]:
    """A strip with all colours, from 1 at the top to -1 at the bottom; and where it ends."""
    stops = "".join(
        element("stop", offset=offset, stop_color=_hex(colour))
        for offset, colour in ((0.0, _MOST), (0.5, _MIDDLE), (1.0, _LEAST))
    )
    fill = f"{name}-scale"
    height = max(min(space, 240.0), 90.0)
    parts = [
        element("defs", element("linearGradient", stops, id=fill, x1=0, y1=0, x2=0, y2=1)),
        text(words, max(0.0, min(x, WIDTH - text_width(words))), 13.0, room=WIDTH),
        element("rect", x=x, y=_TOP, width=12, height=height, fill=f"url(#{fill})"),
    ]
    for share, label in ((0.0, "1"), (0.25, "0.5"), (0.5, "0"), (0.75, "−0.5"), (1.0, "−1")):
        # The outer numbers lie within the strip, so that they stay clear of what is around it.
        y = _TOP + 5.0 + share * (height - 10.0)
        parts.append(text(label, x + 16.0, y + TO_BASELINE))
    return parts, _TOP + height


def _shade(value: float) -> int:
    return round(max(-1.0, min(value, 1.0)) * _SHADES) if math.isfinite(value) else 0


def _mixed(shade: int) -> _Colour:
    share, end = abs(shade) / _SHADES, _MOST if shade > 0 else _LEAST
    red, green, blue = (
        round(middle + share * (far - middle)) for middle, far in zip(_MIDDLE, end, strict=True)
    )
    return red, green, blue


def _hex(colour: _Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _ink_on(colour: _Colour) -> str:
    """Black or white, whichever has more contrast."""
    return max(_INKS, key=lambda ink: contrast(ink, _hex(colour)))
