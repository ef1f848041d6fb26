"""Pictures of how a study stands, drawn on the server as SVG."""

from __future__ import annotations

from markupsafe import Markup

from preceptor.report.axes import Axis
from preceptor.report.charts import DASHES, Dots, Line, line_chart, row_chart
from preceptor.report.palette import ACCENT, TESTS
from preceptor.study.error_course import ErrorCourse
from preceptor.study.standing import MINUTES, Standing


def arms_picture(found: Standing) -> Markup:
    """How far each arm is: who finished, within who is at it."""
    said = "; ".join(
        f"{arm.name}: {arm.completed} finished, {arm.active} at it" for arm in found.arms
    )
    finished = [float(arm.completed) for arm in found.arms]
    begun = [float(arm.filled) for arm in found.arms]
    return Markup(
        row_chart(
            "arms",
            said,
            [f"{arm.name}: {arm.completed} of {arm.filled}" for arm in found.arms],
            [
                Dots("finished", finished, ACCENT.light, "circle"),
                Dots("finished or at it", begun, ACCENT.light, "square"),
            ],
            x_axis=Axis.covering([0.0, *begun]),
            x_label="people",
        )
    )


def minutes_picture(found: Standing) -> Markup:
    """Answers a minute in the last hour."""
    ago = [float(minute - MINUTES + 1) for minute in range(MINUTES)]
    line = Line("answers a minute", ago, found.per_minute, ACCENT.light, is_stepped=True)
    said = f"Answers a minute: {found.per_minute[-1]} now, at most {max(found.per_minute)}"
    return Markup(
        line_chart(
            "minutes",
            f"{said} in the last {MINUTES} minutes.",
            [line],
            x_axis=Axis.counting(ago[0], 0.5),
            x_label="minutes from now",
            y_label="answers a minute",
            height=90.0,
        )
    )


def errors_picture(course: ErrorCourse) -> Markup | None:
    """Errors by round; None before anybody has answered."""
    lines = [
        Line(
            name,
            [number for number, _, _ in line],
            [error for _, error, _ in line],
            TESTS[position % len(TESTS)].light,
            DASHES[position % len(DASHES)],
        )
        for position, (name, line) in enumerate(course.lines.items())
        if line
    ]
    if not lines:
        return None
    last = max(line.x[-1] for line in lines)
    said = "; ".join(
        f"{line.name}: {line.y[0]:.3g} in the first round, {line.y[-1]:.3g} in round "
        f"{line.x[-1]:.0f}"
        for line in lines
    )
    return Markup(
        line_chart(
            "errors",
            f"{course.measure.capitalize()} by round. {said}.",
            lines,
            x_axis=Axis.counting(0.5, float(last) + 0.5),
            x_label="round",
            y_label=course.measure,
        )
    )
