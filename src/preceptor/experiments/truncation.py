"""Planning only the first T̄ rounds: what it keeps of the optimum, and what time it saves.

Two tests, at most one shown, ρ = .8, δ = .99, against the optimal plan over 600 rounds. The paper
repeats the last set of the T̄-round plan; choosing the end state and the final set together is never
worse. Time is a share of the time for 600 rounds, measured with nothing else running: once for the
algorithm written down plainly in Python, as the paper's presumably is, and once for the compiled
planner, which needs less than a millisecond for 600 rounds and so is bound by fixed costs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import preceptor.experiments.look as look
import preceptor.experiments.paper as paper
from preceptor.errors import InvalidInput
from preceptor.experiments.assumptions import as_usual
from preceptor.experiments.experiment import Experiment, Finding, Scale
from preceptor.experiments.instances import (
    BUDGETS,
    USUAL,
    beside_best,
    best_plan,
    filled,
    least_seconds,
    problem_of,
)
from preceptor.experiments.plain_program import algorithm1
from preceptor.experiments.statistics import Mean, mean_where
from preceptor.experiments.sweep import Row, Setting, Sweep
from preceptor.planning import solve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LENGTHS = (5, 10, 20, 40, 60, 80, 120, 200, 300)
SUFFIXES = {"last": "last set repeated (the paper)", "best": "end and final set chosen (ours)"}
PROGRAMS = {"plain": 3, "compiled": 15}  # and how often each is timed
_LARGER = ("tests", "shown")


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """Quality for every α, T̄, suffix rule and budget; time for every T̄, alone."""
    assume = scale.assume
    assume.sizes(((2, 1),))
    (horizon,) = assume.among("horizon", (USUAL.horizon,))
    lengths = [n for n in ((10, 80, 120) if scale.quick else LENGTHS) if n < horizon]
    if not lengths:
        raise InvalidInput(f"horizon: {horizon}, must be above {min(LENGTHS)}, the shortest T̄")
    beside = assume.beside("discount", "floor", "imputation", "tests", "shown", "horizon")
    quality = tuple(
        {"budget": budget, "alpha": alpha, "length": length, **beside}
        for budget in assume.kinds(BUDGETS)
        for alpha in assume.among("alpha", USUAL.alphas)
        for length in lengths
    )
    # Written down plainly, more than two tests take hours.
    programs = [name for name in PROGRAMS if name == "compiled" or not {*beside} & {*_LARGER}]
    timing = tuple(
        {"program": program, "length": length, **assume.beside("alpha"), **beside}
        for program in programs
        for length in (*lengths, horizon)
    )
    return (
        Sweep("quality", task, quality, scale.draws_or(20), scale.seed, batch=20),
        Sweep("time", time_task, timing, 1, scale.seed, alone=True),
    )


def task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """Retained optimality and excess-loss ratio with either suffix."""
    problem = problem_of(setting, seed, setting["budget"], setting.get("horizon", USUAL.horizon))
    best = best_plan(problem).value
    rows: list[Row] = []
    for suffix in SUFFIXES:
        value = solve(problem, "truncated", length=setting["length"], suffix=suffix).value
        rows.append({"suffix": suffix, **beside_best(problem, best, value)})
    return rows


def time_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """The least of several times for planning T̄ rounds."""
    length, program = setting["length"], setting["program"]
    problem = problem_of(setting, seed, "exactly", length)
    plain, compiled = partial(algorithm1, problem), partial(filled, problem, length)
    run = plain if program == "plain" else compiled
    return [{"seconds": least_seconds(run, repeats=PROGRAMS[program])}]


def figure(frame: pd.DataFrame) -> Figure:
    """Quality, excess loss, and time."""
    drawn, axes = look.new_figure(3, height=4.0)
    quality = frame[frame["part"] == "quality"]
    quality = quality[quality["budget"] == sorted(quality["budget"].unique())[0]]
    for ax, column, name in (
        (axes[0, 0], "retained", "retained optimality"),
        (axes[0, 1], "excess", "excess loss of the optimum,\nas part of the truncated plan's"),
    ):
        _quality_panel(ax, quality, column)
        ax.set_ylabel(name)
    _time_panel(axes[0, 2], frame)
    return drawn


def _quality_panel(ax: Axes, frame: pd.DataFrame, column: str) -> None:
    for style, alpha in enumerate(sorted(frame["alpha"].unique())):
        for suffix, dash in (("last", "--"), ("best", "-")):
            rows = frame[(frame["alpha"] == alpha) & (frame["suffix"] == suffix)]
            label = f"α = {alpha:.2f}, {suffix}"
            look.draw_means(ax, rows, "length", column, label=label, style=style, dash=dash)
    look.named_axes(ax, "planned rounds T̄", title="dashed: last set repeated, solid: chosen")
    ax.set_ylim(None, 102)
    look.as_percent(ax)
    look.legend_below(ax, columns=3)


def _time_panel(ax: Axes, frame: pd.DataFrame) -> None:
    from matplotlib.ticker import FuncFormatter

    for style, (program, name) in enumerate(
        {"plain": "plain Python, as written down", "compiled": "compiled"}.items()
    ):
        shares = relative_times(frame, program)
        if not shares:
            continue
        ax.plot(
            list(shares),
            list(shares.values()),
            f"{look.MARKERS[style]}-",
            color=look.COLOURS[style],
            markersize=3.5,
            label=name,
        )
    plain = relative_times(frame, "plain")
    if plain:  # the count of states is that of two tests
        lengths = np.array(list(plain), dtype=float)
        states = 100.0 * (lengths * (lengths + 1.0)) / (lengths.max() * (lengths.max() + 1.0))
        ax.plot(lengths, states, "k:", linewidth=1, label="number of states")
    horizon = max(relative_times(frame, "compiled"))
    ax.set_xscale("log")
    ax.set_yscale("log")
    look.named_axes(ax, "planned rounds T̄", f"as part of that for T = {horizon}", "time")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}%"))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    look.legend_below(ax, columns=1)


def relative_times(frame: pd.DataFrame, program: str) -> dict[int, float]:
    """Time for T̄ rounds in per cent of the time for all of them (600)."""
    rows = frame[(frame["part"] == "time") & (frame["program"] == program)]
    seconds = dict(zip(rows["length"], rows["seconds"], strict=True))
    return {int(n): 100.0 * took / seconds[max(seconds)] for n, took in seconds.items()}


def findings(frame: pd.DataFrame) -> list[Finding]:
    """The paper's numbers with its own suffix rule, and ours beside them."""
    quality = frame[frame["part"] == "quality"]
    lines = []
    for budget in BUDGETS:
        rows = quality[quality["budget"] == budget]
        mean = mean_where(rows, "retained", alpha=1.10, length=80, suffix="last")
        name = f"{paper.TRUNCATED_80.claim}, {budget} one"
        lines.append(paper.compare(paper.TRUNCATED_80, mean, claim=name))
        worst = _worst(rows, "last")
        name = f"{paper.TRUNCATED_120.claim}, {budget} one"
        lines.append(paper.compare(paper.TRUNCATED_120, worst, claim=name))
    ours = quality[quality["budget"] == "at most"]
    for length in (10, 80):
        mean = mean_where(ours, "retained", alpha=1.10, length=length, suffix="best")
        lines.append(paper.unsaid(f"chosen end and final set, T̄={length} (α=1.10)", mean))
    mean = mean_where(ours, "excess", alpha=1.10, length=80, suffix="last")
    lines.append(paper.unsaid("excess-loss ratio, last set repeated, T̄=80 (α=1.10)", mean))
    plain, compiled = (relative_times(frame, program) for program in PROGRAMS)
    for printed, length in ((paper.TRUNCATED_TIME_80, 80), (paper.TRUNCATED_TIME_120, 120)):
        claim = f"{printed.claim}, plain Python"
        lines.append(paper.compare(printed, Mean.known(plain[length]), claim=claim))
    why = "600 rounds take it under a millisecond, and fixed costs show"
    text = f"{compiled[120]:.0f}%"
    lines.append(paper.unsaid("time at T̄=120, of that at T=600, compiled", text, why=why))
    return lines


def _worst(rows: pd.DataFrame, suffix: str) -> Mean:
    """The α with the least mean at T̄ = 120."""
    each = [
        mean_where(rows, "retained", alpha=alpha, length=120, suffix=suffix)
        for alpha in USUAL.alphas
    ]
    return min(each, key=lambda mean: mean.value)


EXPERIMENT = Experiment(
    name="truncation",
    title="Truncated planning: quality and time against T̄",
    about=__doc__,
    sweeps=sweeps,
    figure=figure,
    findings=findings,
    varies=("draws",),
    assumes=as_usual(alpha="1.05, 1.10 and 1.20", tests="2", budget="at most 1"),
    outcomes={"retained": "%", "excess": "%"},
    within=("suffix",),
)
