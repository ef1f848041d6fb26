"""The theorems as pictures.

Left: two interchangeable tests and a person who starts from zero (α = 1.10). Colour: how much less
the optimal plan loses than the best fixed set, found by the planner for every ρ and δ; the line is
the proposition's threshold ρ*(δ). Right: problems on which every fixed set is bad; the ratio of the
best fixed set's loss to the optimum grows without bound as δ nears 1, above the theorem's line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import preceptor.paper.look as look
import preceptor.paper.printed as paper
from preceptor.model.matrices import equicorrelation
from preceptor.paper.experiment import Finding, Scale
from preceptor.paper.instances import USUAL
from preceptor.paper.sweep import Row, Setting, Sweep
from preceptor.planning.solvers import solve
from preceptor.theory.stationary_gap import stationary_gap
from preceptor.theory.two_tests import SymmetricPair, critical_correlation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A plan that is better by less than this is the fixed set, up to rounding.
_SAME = 1e-9
RATIO_RHO = (0.3, 0.6, 0.9)


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """ρ x δ for the phase diagram, δ x ρ for the unbounded ratio."""
    points = 8 if scale.quick else 40
    rhos = scale.rho or tuple(round(float(r), 6) for r in np.linspace(0.02, 0.98, points))
    assume = scale.assume
    deltas = tuple(round(float(d), 6) for d in np.linspace(0.3, 0.98, points))
    deltas = assume.among("discount", deltas)
    extras = assume.extras("alpha")
    diagram = tuple({"rho": rho, "discount": delta, **extras} for delta in deltas for rho in rhos)
    horizons: tuple[float, ...] = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
    if scale.quick:
        horizons = (2, 10, 100)
    if assume.discount is not None:
        horizons = (1.0 / (1.0 - assume.discount),)
    # One showing teaches everything there, so the learning speed has no effect.
    ratios = tuple(
        {"rho": rho, "ahead": ahead, **extras} for rho in RATIO_RHO for ahead in horizons
    )
    return (
        Sweep("phases", phase_task, diagram, 1, scale.seed, batch=40),
        Sweep("ratios", ratio_task, ratios, 1, scale.seed, batch=5),
    )


def phase_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """Value of the optimal plan and of the best fixed set for a symmetric pair."""
    pair = SymmetricPair(setting["rho"], setting.get("alpha", USUAL.alpha), setting["discount"])
    problem = pair.problem()
    best = solve(problem, "lattice", tolerance=1e-9).value
    fixed = solve(problem, "stationary").value
    return [
        {
            "gain": 100.0 * max(1.0 - best / fixed, 0.0),
            "threshold": pair.critical_correlation,
            "alternating": pair.alternating_value / best,
        }
    ]


def ratio_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """Loss of the best fixed set over the optimum, and what the theorem promises at least."""
    gap = stationary_gap(equicorrelation(2, setting["rho"]), 1, 1.0 - 1.0 / setting["ahead"])
    best = solve(gap.problem, "lattice").value
    fixed = solve(gap.problem, "stationary").value
    return [
        {"ratio": fixed / best, "theorem": gap.theorem_ratio, "guaranteed": gap.guaranteed_ratio}
    ]


def figure(frame: pd.DataFrame) -> Figure:
    """Phase diagram and ratio."""
    drawn, axes = look.new_figure(2, height=4.0)
    _diagram(drawn, axes[0, 0], frame[frame["part"] == "phases"])
    _ratios(axes[0, 1], frame[frame["part"] == "ratios"])
    return drawn


def _diagram(drawn: Figure, ax: Axes, frame: pd.DataFrame) -> None:
    table = frame.pivot(index="rho", columns="discount", values="gain")
    gain = np.where(table.to_numpy() > 100.0 * _SAME, table.to_numpy(), np.nan)
    deltas, rhos = table.columns.to_numpy(dtype=float), table.index.to_numpy(dtype=float)
    if len(rhos) == 1:  # a single row needs a height, a single column a width
        rhos, gain = np.array([rhos[0] - 0.01, rhos[0] + 0.01]), np.repeat(gain, 2, axis=0)
    if len(deltas) == 1:
        deltas, gain = deltas[0] + np.array([-0.002, 0.002]), np.repeat(gain, 2, axis=1)
    ax.grid(visible=False)
    ax.set_facecolor("0.93")
    mesh = ax.pcolormesh(deltas, rhos, gain, cmap="viridis", shading="nearest", rasterized=True)
    drawn.colorbar(mesh, ax=ax, label="gain over the best fixed set (%)")
    line = np.linspace(deltas[0], deltas[-1], 200)
    alpha = float(frame["alpha"].iloc[0]) if "alpha" in frame else USUAL.alpha
    threshold = [critical_correlation(delta, alpha) for delta in line if delta < 1.0]
    line = line[line < 1.0]
    ax.plot(line, threshold, color=look.COLOURS[5], linewidth=2.5, label="proposition: ρ*(δ)")
    ax.plot(
        [], [], "s", color="0.93", markeredgecolor="0.6", label="planner: a fixed set is optimal"
    )
    rho = "correlation ρ between the tests"
    look.finish(ax, "discount δ", rho, "two interchangeable tests", columns=1)


def _ratios(ax: Axes, frame: pd.DataFrame) -> None:
    for style, rho in enumerate(sorted(frame["rho"].unique())):
        rows = frame[frame["rho"] == rho].sort_values("ahead")
        colour = look.COLOURS[style]
        mark = look.MARKERS[style]
        ax.plot(rows["ahead"], rows["ratio"], f"{mark}-", color=colour, markersize=4,
                label=f"ρ = {rho:g}, measured")  # fmt: skip
        ax.plot(rows["ahead"], rows["theorem"], "--", color=colour, label=f"ρ = {rho:g}, theorem")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ratio, bad = "loss of the best fixed set / optimum", "fixed sets can be arbitrarily bad"
    look.finish(ax, "rounds that matter, 1/(1 - δ)", ratio, bad, columns=3)


def findings(frame: pd.DataFrame) -> list[Finding]:
    """Does the planner find the threshold, and the ratio stay above the theorem's?"""
    phases = frame[frame["part"] == "phases"]
    above = phases["rho"] > phases["threshold"]
    better = phases["gain"] > 100.0 * _SAME
    ratios = frame[frame["part"] == "ratios"]
    largest = f"; up to {ratios['ratio'].max():,.0f} times"
    exceeds = ratios["ratio"] >= ratios["theorem"] * (1 - 1e-9)
    alternates = phases.loc[above, "alternating"] <= 1.0 + 1e-6
    return [
        paper.statement(
            claim, "yes", f"so in {holds.sum():,} of {len(holds):,} points{more}", bool(holds.all())
        )
        for claim, holds, more in (
            ("a fixed set is optimal up to ρ*(δ), never above", above == better, ""),
            ("above ρ*(δ) alternating is optimal", alternates, ""),
            ("best fixed set / optimum is at least c δ/(1 - δ)", exceeds, largest),
        )
    ]
