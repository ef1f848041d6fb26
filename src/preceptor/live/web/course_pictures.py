"""Pictures of the course's pages: where a value lies among all cases, and curves of progress."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from preceptor._base.values import FloatArray
from preceptor.live.course.progress import ProgressCurve
from preceptor.live.wording import Words
from preceptor.report.charts import DASHES, Axis, Line, line_chart
from preceptor.report.palette import ACCENT, GREY, PLAN

# Size of a strip and of a small curve, in units of the drawing.
_WIDTH, _HEIGHT = 240.0, 22.0
# A number at an axis.
_TICK = re.compile(r"(?<=>)−?[0-9][0-9,]*(\.[0-9]+)?(?=</text>)")
# Relative errors beyond these are drawn at the edge of a small curve.
_LEAST, _MOST = 0.8, 2.0


def strip(values: FloatArray, marks: Sequence[tuple[str, float]]) -> Markup:
    """A strip with a tick for each case, and a marked value for each (class, value).

    Text next to it says the same, so that it is hidden from screen readers.
    """
    known = values[~np.isnan(values)]
    ends = [*(value for _, value in marks), float(known.min()), float(known.max())]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0

    def at(value: float) -> float:
        return round(4.0 + (_WIDTH - 8.0) * (value - low) / span, 1)

    ticks = "".join(f"M{x} 9v9" for x in sorted({at(float(value)) for value in known}))
    drawn = "".join(
        f'<path class="{name}" d="M{at(value)} 20v-14l-4 -6h8l-4 6"/>' for name, value in marks
    )
    return Markup(
        f'<svg class="strip" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" aria-hidden="true" '
        f'focusable="false"><path class="all" d="{ticks}"/>{drawn}</svg>'
    )


def small_curve(curve: ProgressCurve) -> Markup:
    """A curve without axes, and the line of an expert; hidden from screen readers."""
    if len(curve.alone) < 2:
        return Markup("")
    last = curve.alone[-1][0]

    def at(case: float, error: float) -> str:
        y = 2.0 + (_HEIGHT - 4.0) * (_MOST - min(max(error, _LEAST), _MOST)) / (_MOST - _LEAST)
        return f"{120.0 * case / last:.1f} {y:.1f}"

    points = " ".join(at(case, error) for case, error in curve.alone)
    return Markup(
        f'<svg class="small-curve" viewBox="0 0 120 {_HEIGHT:.0f}" aria-hidden="true" '
        f'focusable="false"><path class="expert" d="M{at(0, 1.0)} L{at(last, 1.0)}"/>'
        f'<polyline class="own" points="{points}"/></svg>'
    )


def progress_picture(words: Words, curve: ProgressCurve) -> Markup | None:
    """The curve of a trainee with axes; None before the second case."""
    if len(curve.alone) < 2:
        return None
    cases, errors = zip(*curve.alone, strict=True)
    lines = [
        Line(words.say("line_alone"), list(cases), list(errors), ACCENT.light),
        Line(words.say("line_expert"), [1, cases[-1]], [1.0, 1.0], GREY.light, DASHES[1]),
    ]
    if len(curve.checks) > 1:
        where, measured = zip(*curve.checks, strict=True)
        lines.insert(
            1, Line(words.say("line_checks"), list(where), list(measured), PLAN.light, DASHES[2])
        )
    first, last = (words.number(errors[i], 2) for i in (0, -1))
    drawn = line_chart(
        "progress",
        words.say("progress_picture", first=first, last=last),
        lines,
        x_axis=Axis.counting(0.5, cases[-1] + 0.5),
        x_label=words.say("axis_cases"),
        y_label=words.say("axis_error"),
    )
    return Markup(_TICK.sub(lambda tick: words.marked(tick.group()), drawn))
