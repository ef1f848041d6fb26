"""Values as HTML for notebooks: a small table and a timeline, complete in themselves.

Nothing is loaded from anywhere, colours follow the page, and every text is escaped: names of
tests come from people's tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

# What a lane of the timeline is called, and the stretches (begin, end) in which it is on.
Lane = tuple[str, Sequence[tuple[int, int]]]

_LABEL_WIDTH, _BAR_WIDTH, _LANE_HEIGHT = 170, 480, 16
_LONGEST_LABEL = 24
_CELL = "text-align:left;vertical-align:top;padding:1px 8px"


def html_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A heading above labelled rows.

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


def html_timeline(lanes: Sequence[Lane], length: int, description: str) -> str:
    """One bar per lane over `length` cases; empty if there is nothing to draw.

    >>> html_timeline([("bmi", [(0, 3)])], 4, "what is shown").count("<rect")
    1
    """
    if not lanes or length < 1:
        return ""
    drawn = "".join(_lane(number, lane, length) for number, lane in enumerate(lanes))
    bottom = len(lanes) * _LANE_HEIGHT + 14
    axis = (
        f'<text x="{_LABEL_WIDTH}" y="{bottom}">case 1</text>'
        f'<text x="{_LABEL_WIDTH + _BAR_WIDTH}" y="{bottom}" text-anchor="end">{length:,}</text>'
    )
    width, height = _LABEL_WIDTH + _BAR_WIDTH + 4, bottom + 6
    return (
        f'<svg role="img" aria-label="{escape(description)}" '
        f'width="{width}" height="{height}" font-size="11" fill="currentColor">'
        f"{drawn}{axis}</svg>"
    )


def stretches(on: Iterable[bool]) -> list[tuple[int, int]]:
    """Where a row of yes and no is yes, as (begin, end).

    >>> stretches([True, True, False, True])
    [(0, 2), (3, 4)]
    """
    padded = [False, *on, False]
    changes = [place for place, (a, b) in enumerate(pairwise(padded)) if a != b]
    return list(zip(changes[::2], changes[1::2], strict=True))


def _lane(number: int, lane: Lane, length: int) -> str:
    label, bars = lane
    short = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
    top, scale = number * _LANE_HEIGHT, _BAR_WIDTH / length
    text = f'<text x="{_LABEL_WIDTH - 8}" y="{top + 12}" text-anchor="end">{escape(short)}</text>'
    return text + "".join(
        f'<rect x="{_LABEL_WIDTH + begin * scale:.2f}" y="{top + 3}" '
        f'width="{(end - begin) * scale:.2f}" height="{_LANE_HEIGHT - 5}" fill-opacity="0.6"/>'
        for begin, end in bars
    )
