"""The pictures of a run, each one idea: what of it each chart shows, as SVG text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.words import counted
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision
from preceptor.report import palette
from preceptor.report.axes import Axis
from preceptor.report.charts import (
    DASHES,
    INK,
    Dots,
    Line,
    Row,
    Spans,
    line_chart,
    row_chart,
    timeline_chart,
)
from preceptor.report.heard import lines_heard, often_heard, some
from preceptor.report.run import Run, running
from preceptor.report.showing import MOST_ROWS, bars_of, colours_of
from preceptor.report.svg import shortened
from preceptor.tutoring import Tutor

# Rounds over which errors are averaged.
OVER = 10
# Grey is the colour of nobody in particular.
_COLOURS = tuple(colour.light for colour in palette.KINDS)
_GREY = palette.GREY.light


def kinds(tutor: Tutor, past: Run) -> str:
    """How likely each kind is, after each round."""
    names = list(tutor.kinds)
    lines = []
    for i, name in enumerate(names):
        colour = _GREY if i == len(names) - 1 else _COLOURS[i % len(_COLOURS)]
        likely = past.kinds[:, i].tolist()
        lines.append(Line(name, range(past.rounds + 1), likely, colour, DASHES[i % len(DASHES)]))
    first, last = past.kinds[0], past.kinds[-1]
    said = [
        f"{shortened(names[i])} from {first[i]:.0%} to {last[i]:.0%}"
        for i in np.argsort(-last, kind="stable")
    ]
    return line_chart(
        "kinds",
        f"How likely each kind of person is, from before the first round to round {past.rounds:,}: "
        f"{some(said, 'kind')}.",
        lines,
        x_axis=Axis.counting(0.0, float(past.rounds)),
        x_label="after round",
        y_label="probability",
    )


def shown(tutor: Tutor) -> str:
    """Which tests were shown in which round: a row for each test that was."""
    world = tutor.problem.world
    schedule: list[TestSet] = [entry.shown for entry in tutor.record]
    colours = colours_of(world, schedule)
    rows = [
        Row(name, bars_of(block[0], schedule), colours[block[0]])
        for name, block in zip(world.tests, world.blocks, strict=True)
        if block[0] in colours
    ]
    untold = [i for i, entry in enumerate(tutor.record) if entry.outcome is None]
    bars = [(i + 0.5, i + 1.5) for i in untold]
    if untold:
        rows.append(Row("truth not told", bars, _GREY))
    return timeline_chart(
        "shown",
        f"What was shown in {counted(len(schedule), 'round')}: {often_heard(world, schedule)}.",
        rows,
        x_axis=Axis.counting(0.5, len(schedule) + 0.5),
        x_label="round",
    )


def errors(tutor: Tutor, past: Run) -> str:
    """How far off the person was, beside what was expected and what was possible.

    Of yes-or-no answers: how many were wrong, or their Brier score, and what was possible.
    """
    problem, units = tutor.problem, tutor.problem.world.units
    unit = f" ({shortened(units.outcome)})" if units is not None else ""
    # Averages of the same rounds, or they could not be compared.
    own, expected, least = (
        running(np.where(np.isfinite(past.errors), values, np.nan), OVER)
        for values in (past.errors, past.expected, past.least)
    )
    what, called = f"Root-mean-square error{unit}", "off by"
    if problem.is_binary:
        what, called, own, least = "Brier score", "this person", own**2, least**2
    if isinstance(problem.risk, Decision):
        what, own, least = "Wrong decisions, %,", 100.0 * own, 100.0 * least
    rounds = range(1, past.rounds + 1)
    lines = [
        Line(called, rounds, own.tolist(), INK, width=2.2),
        Line("with the right weights", rounds, least.tolist(), _GREY, DASHES[2]),
    ]
    if not problem.is_binary:
        look = (palette.ACCENT.light, DASHES[1])
        lines.insert(1, Line("expected beforehand", rounds, expected.tolist(), *look))
    told = f"{what} of the last {OVER} answers, round by round"
    return line_chart(
        "errors",
        lines_heard(told, [(line.name, line.y) for line in lines], past.rounds),
        lines,
        x_axis=Axis.counting(0.5, past.rounds + 0.5),
        x_label="round",
        y_label=f"{what[0].lower()}{what[1:]} of the last {OVER} rounds",
    )


class Belief(NamedTuple):
    """What is known about a weight in the person's mind, and what would be right."""

    name: str
    value: float
    low: float
    high: float
    target: float


def belief_rows(tutor: Tutor) -> list[Belief]:
    """Weights now, with 95% intervals, beside the true ones; for one standard deviation."""
    world = tutor.problem.world
    deviations = np.sqrt(np.diag(world.covariance))
    now, truth = tutor.coefficients * deviations, world.coefficients * deviations
    ends = tutor.intervals() * deviations[:, None]
    return [
        Belief(label, float(now[i]), float(ends[i, 0]), float(ends[i, 1]), float(truth[i]))
        for i, label in enumerate(world.labels)
    ]


def beliefs(tutor: Tutor) -> str:
    """What the person seems to believe now."""
    units = tutor.problem.world.units
    unit = f" of {shortened(units.outcome)}" if units is not None else ""
    rows = belief_rows(tutor)
    if len(rows) > MOST_ROWS:
        heavy = sorted(rows, key=lambda row: -abs(row.target))[:MOST_ROWS]
        rows = [row for row in rows if row in heavy]
    said = [
        f"{shortened(row.name)} {row.value:.2g} ({row.low:.2g} to {row.high:.2g}; right would be "
        f"{row.target:.2g})"
        for row in sorted(rows, key=lambda row: -abs(row.target))
    ]
    return row_chart(
        "beliefs",
        "The weight that the person seems to give to each test now, with its 95% interval: "
        f"{some(said, 'test')}.",
        [row.name for row in rows],
        [
            Dots("estimate", [row.value for row in rows], palette.ACCENT.light, "circle"),
            Dots("true weight", [row.target for row in rows], palette.PLAN.light, "diamond"),
        ],
        spans=Spans("95% interval", [(row.low, row.high) for row in rows], palette.ACCENT.light),
        x_axis=Axis.covering([0.0, *(end for row in rows for end in row[1:])]),
        x_label=f"weight: change{unit} for one standard deviation of the test",
    )
