"""A plan as a picture: what is shown when, what each case costs, how errors shrink.

Drawn on a figure of its own, without pyplot, so it works without a display and leaves the
user's matplotlib alone. Tests have the colours that they have in the report (`palette.py`).
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.files import write_bytes
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidFile, MissingExtra
from preceptor.evaluation.value import losses_along, running_counts
from preceptor.model.sets import TestSet
from preceptor.report.colours import colours_of
from preceptor.report.palette import TESTS
from preceptor.report.phases import runs
from preceptor.report.scale import scale_of
from preceptor.report.settling import repeated_word, settles_after, shares
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from preceptor.plan import Plan

BLUE, _ORANGE, _GREEN, _PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
_SKY, VERMILION, BLACK, _YELLOW = "#56B4E9", "#D55E00", "#000000", "#F0E442"
OKABE_ITO = (BLUE, _ORANGE, _GREEN, _PURPLE, _SKY, VERMILION, BLACK, _YELLOW)
GREY, PALE = "#8C8C8C", "#F2F2F2"
DASHES = ("solid", "dashed", "dotted", "dashdot")

# Rounds shown: exploration and some more, never beyond this.
_MAX_ROUNDS = 600
_ROUNDS_IF_FIXED = 60
# Beyond this many rounds, lines that jump up and down are drawn thin.
_DENSE_ROUNDS = 150
# With more tests than this, those that are never shown get no row.
MAX_ROWS = 12
# Losses that differ by more than this factor are drawn on a logarithmic axis.
_LOG_RATIO = 30.0
# Sets of a repeated word that are named above a picture.
_MOST_SETS = 3


def plot_plan(plan: Plan, path: str | Path | None = None) -> Figure:
    """Draw the plan; write it to `path` too if given (PNG, PDF or SVG by its ending)."""
    if path is not None:
        check_picture_path(path)
    make_figure = figure_class()
    from matplotlib.ticker import MaxNLocator

    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    rows = rows_of(plan, schedule, MAX_ROWS)
    height = 0.55 + 0.3 * max(len(rows), 2)
    # Only of people by showings is there one error per weight that a schedule decides.
    heights = [height, 2.5, 2.1] if plan.problem.learns_by_showings else [height, 2.5]
    figure = make_figure(figsize=(10.0, sum(heights) + 0.8), dpi=120, layout="constrained")
    panels = list(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    draw_timeline(panels[0], plan, schedule, rows)
    _draw_losses(panels[1], plan, schedule)
    if len(panels) > 2:
        _draw_errors(panels[2], plan, schedule)
    panels[-1].set_xlabel("case")
    panels[-1].set_xlim(0.5, rounds + 0.5)
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    figure.suptitle(_headline(plan), x=0.01, ha="left", fontsize=11)
    mark_commit(plan, rounds, panels)
    if path is not None:
        write_bytes(path, picture_of(figure, Path(path).suffix))
    return figure


def check_picture_path(path: str | Path) -> None:
    """Raise if a picture could not be written there: unknown ending, or no such folder."""
    figure_class()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    target = Path(path)
    known = FigureCanvasAgg.get_supported_filetypes()
    if target.suffix.lstrip(".").lower() not in known:
        raise InvalidFile(f"{path}: ends in {target.suffix!r}, must end in .png, .pdf or .svg")
    if not target.parent.is_dir():
        raise InvalidFile(f"{target.parent}: no such folder; make it first")
    if target.is_dir():
        raise InvalidFile(f"{path}: is a folder, expected the name of a picture")


def rounds_shown(plan: Plan) -> int:
    """Exploration and a third more, within the horizon and what the eye can take in."""
    length = settles_after(plan.policy)
    more = len(repeated_word(plan.policy))
    wanted = length + max(15, length // 3, more) if length else max(_ROUNDS_IF_FIXED, more)
    return min(wanted, _MAX_ROUNDS, plan.problem.horizon or _MAX_ROUNDS)


def figure_class() -> type[Figure]:
    """Matplotlib's figure, or what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot", "Drawing a plan") from error
    return Figure


def rows_of(plan: Plan, schedule: list[TestSet], most: int) -> list[int]:
    """The first column of every test, or of those that are shown if there are more than `most`."""
    first = [block[0] for block in plan.problem.world.blocks]
    if len(first) <= most:
        return first
    shown = {test for tests in schedule for test in tests}
    return [test for test in first if test in shown]


def draw_timeline(
    axes: Axes,
    plan: Plan,
    schedule: list[TestSet],
    rows: list[int],
) -> None:
    """One row per test, named by its first column; a bar while it is shown."""
    world = plan.problem.world
    names = {block[0]: name for name, block in zip(world.tests, world.blocks, strict=True)}
    colours = colours_of(world, schedule)
    for row, test in enumerate(rows):
        bars, at = [], 0.5
        for has, length in runs([(test,) if test in tests else () for tests in schedule]):
            if has:
                bars.append((at, length))
            at += length
        axes.broken_barh(bars, (row - 0.4, 0.8), facecolor=colours.get(test, GREY), linewidth=0)
    axes.set_yticks(range(len(rows)), [short(names[test]) for test in rows])
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel("test shown")
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    bare(axes)


def _draw_losses(axes: Axes, plan: Plan, schedule: list[TestSet]) -> None:
    problem = plan.problem
    cases = np.arange(1, len(schedule) + 1)
    drawn: list[FloatArray] = []

    def line(values: FloatArray, label: str, colour: str, style: str, width: float) -> None:
        drawn.append(values)
        axes.plot(
            cases,
            values,
            label=label,
            color=colour,
            linestyle=style,
            linewidth=width,
            drawstyle="steps-mid",
        )

    # Losses of a yes-or-no outcome are read as wrong decisions per 100 cases, or by their name.
    scale = scale_of(problem) if problem.is_binary else None
    per = 1 if scale is None else scale.per
    commit = plan.policy.commit
    if commit is not None and plan.exploration_length:
        fixed = per * losses_along(problem, [commit] * len(schedule))
        line(fixed, "final set, from\nthe first case", VERMILION, "dashed", 1.4)
    width = 1.6 if len(schedule) <= _DENSE_ROUNDS else 0.8
    line(per * losses_along(problem, schedule), "this plan", BLACK, "solid", width)
    floor = least_loss(plan)
    if floor is not None:
        flat = np.full(len(schedule), per * floor)
        line(flat, "best achievable", GREY, "dotted", 1.6)
    everything = np.concatenate(drawn)
    if everything.min() > 0 and everything.max() > _LOG_RATIO * everything.min():
        axes.set_yscale("log")
    priced = bool(np.any(problem.budget.prices(problem.size)))
    label = "expected loss\n(prices included)" if priced else "expected loss"
    axes.set_ylabel(label if scale is None else scale.label.replace(" per", "\nper"))
    axes.grid(color="0.9", linewidth=0.8)
    bare(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0.0)


def _draw_errors(axes: Axes, plan: Plan, schedule: list[TestSet]) -> None:
    """Signed errors of the person's coefficients; those never shown in grey, named once."""
    problem = plan.problem
    counts = running_counts(problem, schedule)[:-1]
    errors = problem.by_showings.errors(problem.world, counts)
    cases = np.arange(1, len(schedule) + 1)
    seen = {test for tests in schedule for test in tests}
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    for test in range(problem.size):
        if test not in seen:
            label = "_" if any(t not in seen for t in range(test)) else "never shown"
            axes.plot(cases, errors[:, test], color=GREY, linewidth=1.2, label=label)
    colours = colours_of(problem.world, schedule)
    for position, test in enumerate(sorted(seen)):
        axes.plot(
            cases,
            errors[:, test],
            color=colours[test],
            linestyle=DASHES[position // len(TESTS) % len(DASHES)],
            linewidth=1.8,
            drawstyle="steps-mid",
            label=short(problem.world.labels[test]),
        )
    axes.set_ylabel("error of the\nperson's weight")
    axes.grid(color="0.9", linewidth=0.8)
    bare(axes)
    handles, names = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles[:MAX_ROWS],
            names[:MAX_ROWS],
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            borderaxespad=0.0,
        )


def mark_commit(plan: Plan, rounds: int, panels: list[Axes]) -> None:
    """Shade what comes after exploration, and say above it what is shown from there on."""
    commit, length = plan.policy.commit, plan.exploration_length
    top = panels[0]
    horizon = plan.problem.horizon
    if horizon is not None and (length is None or length >= horizon):
        words = f"changes sets until the last case, {horizon:,}"
        top.set_title(words, loc="left", fontsize=10)
    elif commit is None or length is None:
        words = repeated_note(plan) or "never commits to one set"
        top.set_title(words, loc="left", fontsize=10)
        settled = settles_after(plan.policy)
        if settled and settled < rounds:
            _shade(settled, rounds, panels)
    elif length == 0:
        top.set_title(f"always {names_of(plan, commit)}", loc="left", fontsize=10)
    elif length >= rounds:
        words = f"changes sets until case {length:,}, then always {names_of(plan, commit)}"
        top.set_title(words, loc="left", fontsize=10)
    else:
        _shade(length, rounds, panels)
        top.annotate(
            f"from case {length + 1:,}: always {names_of(plan, commit)}",
            xy=(length + 0.5, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="left" if length < 0.5 * rounds else "right",
            va="bottom",
            fontsize=10,
        )


def _shade(length: int, rounds: int, panels: list[Axes]) -> None:
    for axes in panels:
        axes.axvspan(length + 0.5, rounds + 0.5, color=PALE, linewidth=0, zorder=-1)
        axes.axvline(length + 0.5, color=BLACK, linewidth=1.0, linestyle=(0, (4, 3)))


def repeated_note(plan: Plan) -> str:
    """What is repeated after exploration, in a line; empty if nothing is, or only one set."""
    word, first = repeated_word(plan.policy), settles_after(plan.policy)
    if not word or plan.problem.horizon is not None:
        return ""
    parts = [
        f"{names_of(plan, shown)} in {often:,}" + (f" of {len(word):,} cases" if i == 0 else "")
        for i, (shown, often) in enumerate(shares(word)[:_MOST_SETS])
    ]
    rest = len(set(word)) - _MOST_SETS
    parts += [f"{rest} more"] if rest > 0 else []
    begin = f"from case {first + 1:,} over and over" if first else "over and over"
    return f"{begin}: {', '.join(parts)}"


def _headline(plan: Plan) -> str:
    text = f"Expected loss {plan.value:.5g}"
    if plan.problem.discount < 1.0:
        text = f"Expected discounted loss {plan.value:.5g}"
    return f"{text}: {plan.how_sure()}"


def names_of(plan: Plan, shown: TestSet) -> str:
    """E.g. "bmi + bp", at most four by name."""
    names = plan.problem.world.name_of(shown)
    labels = [short(name) for name in names[:4]]
    more = [f"{len(names) - 4} more"] if len(names) > 4 else []
    return " + ".join(labels + more) if shown else "nothing"


def short(label: str) -> str:
    """A label that fits beside an axis."""
    # A dollar would switch matplotlib to mathematics.
    text = label if len(label) <= 24 else label[:23] + "…"
    return text.replace("$", r"\$")


def bare(axes: Axes) -> None:
    """Without the frame's upper and right edge."""
    axes.spines[["top", "right"]].set_visible(False)


def picture_of(figure: Figure, ending: str) -> bytes:
    """A picture in the format that the ending stands for."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    picture = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(picture, format=ending.lstrip(".").lower())
    return picture.getvalue()
