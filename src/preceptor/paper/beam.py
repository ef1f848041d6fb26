"""Beam search against truncated planning in the same time, on problems too large to solve.

(n, k) = (10,2) to (25,5) with every set of exactly k tests, ρ = .99, α = 1.05, T = 600, three
draws; beams of 20 rounds, of 6 for (25,5). Each beam is compared with the best truncated plan that
took no longer on the same instance, by the ratio of their losses: above 100% the beam is better.
The paper's truncated plan repeats its last set; with the end and the final set chosen together,
truncated planning is a far stronger competitor, so both are shown (up to (15,3): beyond, comparing
every end with every final set takes longer than the beams). Times are measured one after another
with nothing else running; how far a beam gets in a given time depends on the program, so these
ratios are ours, not the paper's.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

import preceptor.paper.look as look
import preceptor.paper.printed as paper
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.paper.experiment import Finding, Scale
from preceptor.paper.instances import USUAL, problem_of
from preceptor.paper.sweep import Row, Setting, Sweep
from preceptor.paper.truncation import SUFFIXES
from preceptor.planning.count_space import CountSpace
from preceptor.planning.solvers import solve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# (width, rounds) of the beams; each takes some seconds at most, the largest a minute or two.
BEAMS = {
    (10, 2): ((1, 20), (4, 20), (16, 20), (64, 20)),
    (15, 3): ((1, 20), (4, 20), (16, 20)),
    (20, 4): ((1, 20), (4, 20)),
    (25, 5): ((1, 6),),
}
_OTHER_BEAMS = ((1, 20), (4, 20))


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """Every size, three draws, timed alone."""
    assume = scale.assume
    sizes = assume.sizes(((10, 2),) if scale.quick else tuple(BEAMS))
    extras = assume.extras("alpha", "discount", "floor", "imputation", "horizon")
    if isinstance(assume.budget, str):
        (extras["budget"],) = assume.kinds(())
    settings: tuple[Setting, ...] = tuple({"n": n, "k": k, **extras} for n, k in sizes)
    return (Sweep("matched", task, settings, scale.draws_or(3), scale.seed, alone=True),)


def task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """All beams, then truncated plans of growing length while they take no longer."""
    size, k = setting["n"], setting["k"]
    budget, horizon = setting.get("budget", "exactly"), setting.get("horizon", USUAL.horizon)
    problem = problem_of(setting, seed, budget, horizon, rho=USUAL.high, alpha=USUAL.slow)
    _warm(problem)
    beams = [
        (width, *_timed(problem, "beam", width=width, layers=layers))
        for width, layers in BEAMS.get((size, k), _OTHER_BEAMS)
    ]
    longest = max(seconds for _, _, seconds in beams)
    rows: list[Row] = []
    for suffix in SUFFIXES:
        # With more sets, comparing every end with every final set takes longer than the beams.
        if suffix == "best" and len(problem.sets) > 1000:
            continue
        plans = _truncated_within(problem, suffix, longest)
        for width, plan, seconds in beams:
            matched = [value for value, took in plans if took <= seconds]
            rows.append(
                {
                    "suffix": suffix,
                    "width": width,
                    "beam": plan.value,
                    "truncated": min(matched) if matched else float("nan"),
                    "ratio": 100.0 * min(matched) / plan.value if matched else float("nan"),
                    "seconds_beam": seconds,
                    "lengths": len(plans),
                }
            )
    return rows


def _truncated_within(problem: Problem, suffix: str, seconds: float) -> list[tuple[float, float]]:
    """Value and time of truncated plans, until one takes longer than that."""
    plans: list[tuple[float, float]] = []
    sets = problem.sets
    for length in range(1, 9):
        # The last layer counts only where final sets are chosen.
        layers = length if suffix == "best" else length - 1
        weighed = CountSpace.smallest(sets, layers).states() if layers else 1.0
        # No truncated plan gets through more states x sets than 10 million in a second.
        if weighed * len(sets) > 1e7 * seconds:
            break
        plan, took = _timed(problem, "truncated", length=length, suffix=suffix)
        plans.append((plan.value, took))
        if took > seconds:
            break
    return plans


def _timed(problem: Problem, method: str, **options: object) -> tuple[Plan, float]:
    started = time.perf_counter()
    plan = solve(problem, method, **options)
    return plan, time.perf_counter() - started


def _warm(problem: Problem) -> None:
    """Compile and list what all methods share, so that no method is charged for it."""
    problem.oracle.floors()
    small = problem_of({"n": 3, "k": 2}, np.random.SeedSequence(0), "exactly", USUAL.horizon)
    solve(small, "beam", width=1, layers=2)
    for suffix in SUFFIXES:
        solve(small, "truncated", length=1, suffix=suffix)


def figure(frame: pd.DataFrame) -> Figure:
    """Ratio of losses against the beam's time, one panel for each suffix rule."""
    drawn, axes = look.new_figure(2, height=4.0)
    for ax, (suffix, name) in zip(axes[0], SUFFIXES.items(), strict=True):
        _panel(ax, frame[frame["suffix"] == suffix], f"truncated: {name}")
    return drawn


def _panel(ax: Axes, frame: pd.DataFrame, title: str) -> None:
    """Every draw as a faint mark, their geometric mean as a line."""
    for style, ((n, k), group) in enumerate(frame.groupby(["n", "k"], sort=True)):
        colour, mark = look.COLOURS[style], look.MARKERS[style]
        ax.plot(group["seconds_beam"], group["ratio"], mark, color=colour, alpha=0.35, markersize=4)
        widths = [rows for _, rows in group.groupby("width", sort=True)]
        ax.plot(
            [_geometric_mean(rows["seconds_beam"]) for rows in widths],
            [_geometric_mean(rows["ratio"]) for rows in widths],
            f"{mark}-",
            color=colour,
            label=f"({n}, {k})",
        )
    ax.axhline(100.0, color="0.4", linewidth=1, linestyle="--")
    if np.allclose(frame["ratio"].dropna(), 100.0):
        ax.set_ylim(90.0, 111.0)  # the line at 100% alone needs a height
    ax.set_xscale("log")
    ax.set_yscale("log")
    low, high = ax.get_xlim()
    times = [t for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if low <= t <= high]
    ax.set_xticks(times, [f"{t:g}" for t in times])
    low, high = ax.get_ylim()
    marks = [m for m in (80, 100, 120, 150, 200, 500, 1000, 2000, 5000) if low <= m <= high]
    ax.set_yticks(marks, [f"{m}%" for m in marks])
    ax.minorticks_off()
    ratio = "loss of truncated / loss of beam"
    about, faint = "time of the beam (s), growing with its width", "(n, k); faint: single draws"
    look.finish(ax, about, ratio, title, columns=4, explained=faint)


def _geometric_mean(values: pd.Series) -> float:
    return float(np.exp(np.log(values.dropna()).mean()))


def findings(frame: pd.DataFrame) -> list[Finding]:
    """Whether the beam wins in the same time, against both suffix rules."""
    lines = []
    for suffix, name in SUFFIXES.items():
        for (n, k), group in frame[frame["suffix"] == suffix].groupby(["n", "k"]):
            ratios = group.loc[group["width"] == group["width"].max(), "ratio"].dropna()
            claim = f"loss of truncated / beam at equal time, ({n},{k}), {name}"
            if ratios.empty:
                lines.append(paper.not_stated(claim, "no truncated plan is that fast"))
                continue
            text = f"{_geometric_mean(ratios):,.0f}% ({ratios.min():,.0f} to {ratios.max():,.0f})"
            why = "above 100% the beam is better; the paper shows this ratio but prints no number"
            lines.append(paper.not_stated(claim, text, why=why if not lines else ""))
    return lines
