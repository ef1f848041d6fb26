"""What is shown in each round, for one instance and every correlation.

Two tests, at most one shown, α = 1.05, δ = .99, T = 600. The paper does not print its instance; it
describes one that is stationary up to ρ = .5, explores for 49 rounds at ρ = .6, and for more than
150 at ρ = .99. Of the usual random draws (uniform, rounded to two digits), those were kept that are
stationary up to .5 and explore beyond round 150 at .99. There are 257 in the first 10,000 draws of
seed 0; at .6 they explore not at all (71 of them) or for 55 rounds and more. The instance shown
here is the first with 55. Most of those that explore at .6 lie on a line: T_d(.99) = T_d(.6) + 96
in 130 of 186, one round less in 51, about 70 more in the last 5, and never above the line. On it 49
rounds at .6 correspond to 145 at .99, so the paper's pair (49, more than 150) lies just off it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

import preceptor.paper.look as look
import preceptor.paper.printed as paper
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.paper.experiment import Finding, Scale, given
from preceptor.paper.instances import USUAL, DrawnWeights, best_plan, budget_of, instance
from preceptor.paper.sweep import Row, SampleMean, Setting, Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CHOSEN = DrawnWeights(np.array([0.95, 0.12]), np.array([0.01, 0.61]))
CORRELATIONS = (*(round(0.02 * i, 2) for i in range(50)), 0.99)
ROUNDS_DRAWN = 200
_FITTED = "no comparison: the instance was chosen to have this; the paper does not print its own"


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """One plan for each correlation."""
    quick = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
    assume = scale.assume
    if assume.shown not in (None, 1):
        raise InvalidInput(f"budget: {assume.budget!r}, this map shows one test per round; give 1")
    extras = assume.extras("alpha", "discount", "floor", "imputation", "budget", "horizon")
    settings = tuple({"rho": rho, **extras} for rho in scale.correlations(CORRELATIONS, quick))
    return (Sweep("actions", task, settings, 1, scale.seed, batch=8),)


def task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """The set shown in each of the first rounds (0: none), and T_d."""
    kind = "exactly" if str(setting.get("budget")).startswith("exactly") else "at most"
    changed = given(setting, "discount", "floor", "imputation", "horizon")
    alpha, rounds = setting.get("alpha", USUAL.slow), changed.get("horizon", USUAL.horizon)
    plan = best_plan(instance(CHOSEN, setting["rho"], alpha, budget_of(kind, 1), **changed))
    schedule = plan.policy.schedule(min(ROUNDS_DRAWN, rounds))
    actions = "".join(str(shown[0] + 1) if shown else "0" for shown in schedule)
    return [{"length": plan.exploration_length, "actions": actions}]


def figure(frame: pd.DataFrame) -> Figure:
    """Rounds across, correlations upward, colour for what is shown."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    drawn, axes = look.new_figure(2, height=4.4)
    axes[0, 1].remove()
    ax = axes[0, 0]
    ax.set_subplotspec(axes[0, 0].get_gridspec()[:, :])
    frame = frame.sort_values("rho")
    actions = np.array([[int(letter) for letter in row] for row in frame["actions"]])
    rho = frame["rho"].to_numpy(dtype=float)
    between = (rho[1:] + rho[:-1]) / 2
    edges = np.concatenate([[rho[0] - 0.005], between, [rho[-1] + 0.005]])
    colours = ("0.85", look.COLOURS[0], look.COLOURS[1])
    ax.grid(visible=False)
    ax.pcolormesh(
        np.arange(actions.shape[1] + 1),
        edges,
        actions,
        cmap=ListedColormap(colours),
        norm=BoundaryNorm([-0.5, 0.5, 1.5, 2.5], 3),
        rasterized=True,
    )
    inside = frame[frame["length"] <= actions.shape[1]]
    ax.plot(inside["length"], inside["rho"], "k.", markersize=5)
    alpha, discount = (
        frame[name].iloc[0] if name in frame else usual
        for name, usual in (("alpha", USUAL.slow), ("discount", ".99"))
    )
    who = f"a = {_pair(CHOSEN.coefficients)}, â = {_pair(CHOSEN.initial)}"
    title = f"{who}, α = {alpha}, δ = {discount}"
    handles = [Patch(color=colours[1], label="test 1"), Patch(color=colours[2], label="test 2")]
    if (actions == 0).any():
        handles.append(Patch(color=colours[0], label="nothing"))
    line = ax.plot([], [], "k.", markersize=5, label="$T_d$: exploration is over")[0]
    rho = "correlation ρ between the tests"
    look.finish(ax, "round t", rho, title, columns=4, handles=[*handles, line])
    return drawn


def _pair(numbers: FloatArray) -> str:
    return f"({numbers[0]:g}, {numbers[1]:g})"


def findings(frame: pd.DataFrame) -> list[Finding]:
    """Stationary up to ρ = .5, 49 rounds at .6, more than 150 at .99."""
    lengths = dict(zip(frame["rho"], frame["length"], strict=True))
    still = [rho for rho in sorted(lengths) if all(lengths[r] == 0 for r in lengths if r <= rho)]
    lines = []
    if still and (max(lengths) >= paper.MAP_LAST_STATIONARY.value or max(lengths.values()) > 0):
        lines.append(paper.fitted(paper.MAP_LAST_STATIONARY, SampleMean.known(max(still)), _FITTED))
    if 0.6 in lengths:
        why = (
            "of 257 draws (in 10,000) that are stationary up to .5 and explore beyond round 150 at "
            ".99, none explores for 1 to 54 rounds at .6, and of the others none for more than 96 "
            "rounds longer at .99 (130 of 186 for exactly 96); (49, more than 150) lies just off "
            "that line"
        )
        lines.append(
            paper.compare(paper.MAP_AT_SIXTY, SampleMean.known(float(lengths[0.6])), why=why)
        )
    if 0.99 in lengths:
        high = SampleMean.known(float(lengths[0.99]))
        lines.append(paper.fitted(paper.MAP_AT_HIGH, high, _FITTED))
    order = [lengths[rho] for rho in sorted(lengths)]
    falls = sum(later < earlier for earlier, later in itertools.pairwise(order))
    text = f"on the whole; it falls in {falls} of {len(order) - 1} steps of ρ"
    why = "the round of the last detour changes in jumps with ρ"
    grows = falls == 0 if len(order) > 2 else None
    lines.append(paper.statement("larger ρ, longer exploration", "yes", text, grows, why))
    return lines
