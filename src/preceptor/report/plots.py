"""A plan as a matplotlib figure: what is shown when, what each case costs, how errors shrink.

Drawn without pyplot, so it works without a display and leaves the user's matplotlib state alone.
Tests have the same colours as in the report (`palette`).
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.extensions import from_extra
from preceptor._base.files import check_ending, write_bytes
from preceptor._base.values import FloatArray
from preceptor.model.evaluation import losses_along, running_counts
from preceptor.model.plan import Plan
from preceptor.model.sets import TestSet
from preceptor.report import schedule_view
from preceptor.report.palette import TESTS
from preceptor.report.phrases import scale_of
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, _ORANGE, _GREEN, _PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
_SKY, VERMILION, BLACK, _YELLOW = "#56B4E9", "#D55E00", "#000000", "#F0E442"
OKABE_ITO = (BLUE, _ORANGE, _GREEN, _PURPLE, _SKY, VERMILION, BLACK, _YELLOW)
GREY, PALE = "#8C8C8C", "#F2F2F2"
DASHES = ("solid", "dashed", "dotted", "dashdot")
PICTURES = (".png", ".pdf", ".svg")

# Losses that differ by more than this factor get a logarithmic axis.
_LOG_RATIO = 30.0


def plot_plan(plan: Plan, path: str | Path | None = None) -> Figure:
    """Draw the plan, and write it to `path` if given (in the format of its ending)."""
    if path is not None:
        check_ending(path, PICTURES)
    make_figure = figure_class()
    from matplotlib.ticker import MaxNLocator

    rounds = schedule_view.rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    rows = schedule_view.rows_of(plan, schedule, schedule_view.MOST_ROWS)
    height = 0.55 + 0.3 * max(len(rows), 2)
    # Only for people who learn by showings does the schedule alone determine the errors.
    heights = [height, 2.5, 2.1] if plan.problem.learns_by_showings else [height, 2.5]
    figure = make_figure(figsize=(10.0, sum(heights) + 0.8), dpi=120, layout="constrained")
    panels = list(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    _draw_timeline(panels[0], plan, schedule, rows)
    _draw_losses(panels[1], plan, schedule)
    if len(panels) > 2:
        _draw_errors(panels[2], plan, schedule)
    for axes in panels:
        bare(axes)
        axes.grid(axis="x" if axes is panels[0] else "both", color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
        if schedule_view.commits_in_sight(plan):
            begin = (schedule_view.settles_after(plan.policy) or 0) + 0.5
            axes.axvspan(begin, rounds + 0.5, color=PALE, linewidth=0, zorder=-1)
            axes.axvline(begin, color=BLACK, linewidth=1.0, linestyle=(0, (4, 3)))
    panels[0].set_title(_plain(schedule_view.commit_note(plan)), loc="left", fontsize=10)
    panels[-1].set_xlabel("case")
    panels[-1].set_xlim(0.5, rounds + 0.5)
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    discounted = "discounted " if plan.problem.discount < 1.0 else ""
    headline = f"Expected {discounted}loss {plan.value:.5g}: {plan.how_sure()}"
    figure.suptitle(headline, x=0.01, ha="left", fontsize=11)
    if path is not None:
        write_bytes(path, picture_of(figure, Path(path).suffix))
    return figure


def figure_class() -> type[Figure]:
    """Return matplotlib's figure class, or raise with what to install."""
    found: type[Figure] = from_extra("matplotlib.figure", "plot", "Drawing").Figure
    return found


def _draw_timeline(axes: Axes, plan: Plan, schedule: list[TestSet], rows: list[int]) -> None:
    """One row per test, named by its first column; a bar while it is shown."""
    world = plan.problem.world
    names = {block[0]: name for name, block in zip(world.tests, world.blocks, strict=True)}
    colours = schedule_view.colours_of(world, schedule)
    for row, test in enumerate(rows):
        bars = [(begin, end - begin) for begin, end in schedule_view.bars_of(test, schedule)]
        axes.broken_barh(bars, (row - 0.4, 0.8), facecolor=colours.get(test, GREY), linewidth=0)
    axes.set_yticks(range(len(rows)), [_short(names[test]) for test in rows])
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel("test shown")


def _draw_losses(axes: Axes, plan: Plan, schedule: list[TestSet]) -> None:
    problem, scale = plan.problem, scale_of(plan.problem)
    # Losses of a yes-or-no outcome are shown as wrong decisions per 100 cases, or by their name.
    per = scale.per if problem.is_binary else 1
    lines: list[tuple[str, FloatArray, str, str, float]] = []
    commit, floor = plan.policy.commit, least_loss(plan)
    if commit is not None and plan.exploration_length:
        fixed = losses_along(problem, [commit] * len(schedule))
        lines.append(("final set, from\nthe first case", fixed, VERMILION, "dashed", 1.4))
    lines.append(("this plan", losses_along(problem, schedule), BLACK, "solid", 1.6))
    if floor is not None:
        flat = np.full(len(schedule), floor)
        lines.append(("best achievable", flat, GREY, "dotted", 1.6))
    for label, values, colour, style, width in lines:
        _line(axes, per * values, label=label, color=colour, linestyle=style, linewidth=width)
    everything = np.concatenate([values for _, values, *_ in lines])
    if everything.min() > 0 and everything.max() > _LOG_RATIO * everything.min():
        axes.set_yscale("log")
    label = scale.label if problem.is_binary or "prices" in scale.label else "expected loss"
    axes.set_ylabel(label.replace(" per", "\nper").replace(", prices", ",\nprices"))
    _legend(axes)


def _draw_errors(axes: Axes, plan: Plan, schedule: list[TestSet]) -> None:
    """Signed errors of the person's coefficients; those never shown in grey, named once."""
    problem = plan.problem
    counts = running_counts(problem, schedule)[:-1]
    errors = problem.by_showings.errors(problem.world, counts)
    colours = schedule_view.colours_of(problem.world, schedule)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    unseen = [test for test in range(problem.size) if test not in colours]
    for test in unseen:
        label = "never shown" if test == unseen[0] else "_"
        _line(axes, errors[:, test], label=label, color=GREY, linewidth=1.2)
    for position, (test, colour) in enumerate(colours.items()):
        dash = DASHES[position // len(TESTS) % len(DASHES)]
        label = _short(problem.world.labels[test])
        _line(axes, errors[:, test], label=label, color=colour, linestyle=dash, linewidth=1.8)
    axes.set_ylabel("error of the\nperson's weight")
    _legend(axes)


def _line(axes: Axes, values: FloatArray, **look: Any) -> None:
    axes.plot(np.arange(1, values.size + 1), values, drawstyle="steps-mid", **look)


def _legend(axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles[: schedule_view.MOST_ROWS],
            names[: schedule_view.MOST_ROWS],
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            borderaxespad=0.0,
        )


def _short(label: str) -> str:
    """Shorten a label so that it fits next to an axis."""
    return _plain(label if len(label) <= 24 else label[:23] + "…")


def _plain(words: str) -> str:
    """Escape dollar signs, which would switch matplotlib to mathematics."""
    return words.replace("$", r"\$")


def bare(axes: Axes) -> None:
    """Hide the upper and right edge of the frame."""
    axes.spines[["top", "right"]].set_visible(False)


def picture_of(figure: Figure, ending: str) -> bytes:
    """Render a figure in the format of the ending."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    picture = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(picture, format=ending.lstrip(".").lower())
    return picture.getvalue()
