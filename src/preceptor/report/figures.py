"""The pictures of the report, each one idea, as matplotlib figures in the look of `plots.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from preceptor.evaluation.value import losses_along, running_counts
from preceptor.plan import Plan
from preceptor.report.plots import (
    BLACK,
    BLUE,
    DASHES,
    GREY,
    MAX_ROWS,
    OKABE_ITO,
    VERMILION,
    bare,
    draw_timeline,
    figure_class,
    mark_commit,
    rounds_shown,
    rows_of,
    short,
)
from preceptor.report.scale import scale_of
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    from preceptor.advice import Alternative, Change

_WIDTH = 9.0
_STYLES = {
    "fixed": (VERMILION, "dashed"),
    "predictive": (OKABE_ITO[1], "dashdot"),
    "random": (OKABE_ITO[4], "solid"),
}
# Beyond this many tests, numbers in the cells of the heat map could not be read.
_MOST_NUMBERED = 16
# Beyond this many, labels of the heat map could not be read either.
_MOST_LABELLED = 40


def timeline(plan: Plan) -> Figure:
    """What is shown when: one row per test, a bar while it is shown."""
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    rows = rows_of(plan, schedule, 2 * MAX_ROWS)
    figure = figure_class()(figsize=(_WIDTH, 1.1 + 0.27 * max(len(rows), 2)), layout="constrained")
    axes = figure.subplots()
    draw_timeline(axes, plan, schedule, rows, colours(plan))
    axes.set_ylabel("")
    _rounds_axis(axes, rounds)
    mark_commit(plan, rounds, [axes])
    return figure


def colours(plan: Plan) -> dict[int, str]:
    """A colour for each test that the pictures show, so that few tests never share one."""
    schedule = plan.policy.schedule(rounds_shown(plan))
    shown = sorted({test for tests in schedule for test in tests})
    return {test: OKABE_ITO[i % len(OKABE_ITO)] for i, test in enumerate(shown)}


def losses(plan: Plan, rivals: Sequence[Alternative]) -> Figure:
    """Each case of the plan beside its rivals, and the best achievable."""
    problem, scale = plan.problem, scale_of(plan.problem)
    rounds = min([rounds_shown(plan), *(rival.losses.size for rival in rivals)])
    cases = np.arange(1, rounds + 1)
    figure = figure_class()(figsize=(_WIDTH, 3.6), layout="constrained")
    axes = figure.subplots()
    for title, rival in _distinct(rivals):
        colour, style = _STYLES[rival.name]
        values = scale.of(rival.losses[:rounds])
        axes.plot(cases, values, color=colour, linestyle=style, linewidth=1.5, label=_broken(title))
    own = scale.of(losses_along(problem, plan.policy.schedule(rounds)))
    axes.plot(cases, own, color=BLACK, linewidth=1.8, drawstyle="steps-mid", label="This plan")
    floor = least_loss(plan)
    if floor is not None:
        axes.axhline(
            float(scale.of(floor)),
            color=GREY,
            linestyle="dotted",
            linewidth=1.8,
            label="Best achievable",
        )
    axes.set_ylabel(_broken(scale.axis))
    axes.grid(color="0.9", linewidth=0.8)
    bare(axes)
    _rounds_axis(axes, rounds)
    _legend(axes)
    return figure


def learning(plan: Plan) -> Figure:
    """The person's weights on their way to the true ones, of the tests that are shown."""
    problem = plan.problem
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    counts = running_counts(problem, schedule)[:-1]
    deviations = np.sqrt(np.diag(problem.world.covariance))
    beliefs = problem.learner.beliefs(problem.world, counts) * deviations
    truth = problem.world.coefficients * deviations
    seen = sorted({test for tests in schedule for test in tests})
    cases = np.arange(1, rounds + 1)
    figure = figure_class()(figsize=(_WIDTH, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    colour = colours(plan)
    for position, test in enumerate(seen):
        style = DASHES[position // len(OKABE_ITO) % len(DASHES)]
        axes.plot(
            cases,
            beliefs[:, test],
            color=colour[test],
            linestyle=style,
            linewidth=1.8,
            drawstyle="steps-mid",
            label=short(problem.world.labels[test]),
        )
        axes.plot(
            [rounds + 0.5],
            [truth[test]],
            marker="<",
            color=colour[test],
            markersize=7,
            clip_on=False,
            zorder=5,
        )
    unit = f" of {scale_of(problem).unit}" if scale_of(problem).unit else ""
    axes.set_ylabel(_broken(f"weight: change{unit} for one standard deviation of the test", 34))
    axes.grid(color="0.9", linewidth=0.8)
    bare(axes)
    _rounds_axis(axes, rounds)
    if seen:
        _legend(axes)
    return figure


def correlations(plan: Plan) -> Figure:
    """How tests go together; the set that the plan commits to has frames and bold names."""
    world, commit = plan.problem.world, plan.policy.commit or ()
    deviations = np.sqrt(np.diag(world.covariance))
    matrix = world.covariance / np.outer(deviations, deviations)
    size = world.size
    side = min(max(0.42 * size + 1.6, 4.0), 7.6)
    figure = figure_class()(figsize=(side + 1.0, side), layout="constrained")
    axes = figure.subplots()
    picture = axes.imshow(matrix, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    if size <= _MOST_NUMBERED:
        for i, j in np.ndindex(size, size):
            if i != j:
                colour = "white" if abs(matrix[i, j]) > 0.6 else "0.15"
                text = f"{matrix[i, j]:.1f}".replace("-0.0", "0.0")
                cell = axes.text(j, i, text, ha="center", va="center", fontsize=7, color=colour)
                cell.set_in_layout(False)  # inside its cell anyway; measuring them takes long
    if size <= _MOST_LABELLED:
        labels = [short(label) for label in world.labels]
        axes.set_xticks(range(size), labels, rotation=45, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(size), labels)
        for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
            for test in commit:
                ticks[test].set_fontweight("bold")
    for i in commit:
        for j in commit:
            axes.add_patch(_frame(j, i))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(picture, ax=axes, shrink=0.7, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("correlation")
    return figure


def sensitivities(changes: Sequence[Change]) -> Figure:
    """Saving missed under each changed assumption: found (solid), and the most there can be."""
    figure = figure_class()(figsize=(_WIDTH, 0.9 + 0.42 * len(changes)), layout="constrained")
    axes = figure.subplots()
    rows = np.arange(len(changes))
    found = [100.0 * change.saving for change in changes]
    most = [100.0 * change.saving_at_most for change in changes]
    axes.barh(rows, most, height=0.62, color="0.88", label="at most (proven)")
    axes.barh(rows, found, height=0.62, color=BLUE, label="found by planning again")
    for row, value in zip(rows, found, strict=True):
        axes.annotate(
            f"{value:.2g}%" if value >= 0.005 else "0%",
            (value, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    names = [change.direction[0].upper() + change.direction[1:] for change in changes]
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("expected loss that a plan made for the change saves, %")
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    bare(axes)
    _legend(axes)
    return figure


def _distinct(rivals: Sequence[Alternative]) -> list[tuple[str, Alternative]]:
    """Rivals that show the same are drawn once, under both titles."""
    found: list[tuple[str, Alternative]] = []
    for rival in rivals:
        for position, (title, other) in enumerate(found):
            if rival.policy is not None and rival.policy == other.policy:
                found[position] = (f"{title}; also: {rival.title.lower()}", other)
                break
        else:
            found.append((rival.title, rival))
    return found


def _rounds_axis(axes: Axes, rounds: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("case")
    axes.set_xlim(0.5, rounds + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def _legend(axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    axes.legend(
        handles[: 2 * MAX_ROWS],
        names[: 2 * MAX_ROWS],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        borderaxespad=0.0,
    )


def _frame(column: int, row: int) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=BLACK, lw=2.0)


def _broken(text: str, width: int = 22) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width)).replace("$", r"\$")
