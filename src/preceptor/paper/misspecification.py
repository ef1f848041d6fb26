"""Plan with a wrong input, and evaluate with the right one.

One fixed instance: two tests, at most one shown per round, a = (1, .8), â = (.2, 1.3), ρ = .8,
α = 1.10, δ = .99, 600 rounds. One input is wrong by a share η: the person's beliefs (in a random
direction), the learning speed (log α times 1 ± η), the correlation in the loss (ρ times 1 ± η,
while the person's imputation is known), or the correlation with which the person is assumed to
impute. The plan made with it is then evaluated with the right inputs, in 80 repeats with random
signs or directions.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import preceptor.paper.look as look
import preceptor.paper.printed as paper
from preceptor._base.values import FloatArray
from preceptor.model.evaluation import evaluate
from preceptor.model.matrices import equicorrelation
from preceptor.model.problem import Problem
from preceptor.model.world import World
from preceptor.paper.experiment import Agreement, Assumptions, Finding, Scale, given
from preceptor.paper.instances import USUAL, best_plan, budget_of, relative_to_best
from preceptor.paper.sweep import Row, SampleMean, Setting, Sweep, mean_where
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COEFFICIENTS, BELIEFS = (1.0, 0.8), (0.2, 1.3)
INPUTS = {
    "beliefs": "beliefs â",
    "learning": "learning curve φ",
    "loss": "correlation in the loss",
    "imputation": "imputation",
}
# Wrong correlations are kept this far from 1, as the paper keeps them below it.
_LARGEST_RHO = 0.999
# Assumptions that may be changed; imputation is one of the inputs that are made wrong here.
_KNOWN = ("alpha", "discount", "floor", "budget", "horizon")


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """Random repeats as in the paper, and each sign separately."""
    levels = (0.1, 0.2, 0.5) if scale.quick else (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    scale.assume.sizes(((2, 1),))
    extras = scale.assume.extras(*_KNOWN)
    repeats = tuple(
        {"input": name, "level": level, **extras} for name in INPUTS for level in levels
    )
    signs = tuple(
        {"input": name, "level": level, "sign": sign, **extras}
        for name in INPUTS
        if name != "beliefs"
        for level in levels
        for sign in (1, -1)
    )
    return (
        Sweep("repeats", repeat_task, repeats, scale.draws_or(80), scale.seed, batch=80),
        Sweep("signs", sign_task, signs, 1, scale.seed, batch=6),
    )


def repeat_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """One random sign, or one random direction of the beliefs."""
    rng = np.random.default_rng(seed)
    sign = int(rng.integers(2)) * 2 - 1
    direction = rng.standard_normal(2)
    changed = given(setting, *_KNOWN)
    if setting["input"] != "beliefs":
        return [{"sign": sign, **outcome(setting["input"], sign * setting["level"], **changed)}]
    length = setting["level"] * np.linalg.norm(BELIEFS)
    wrong = np.array(BELIEFS) + length * direction / np.linalg.norm(direction)
    return [deployed(planned_with(beliefs=wrong, **changed), **changed)]


def sign_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """The same for a given sign; nothing about it is random."""
    changed = given(setting, *_KNOWN)
    return [outcome(setting["input"], setting["sign"] * setting["level"], **changed)]


@cache
def outcome(wrong_input: str, change: float, **changed: Any) -> dict[str, float]:
    """Result for one change of an input; cached, since many repeats share a sign."""
    rho = float(np.clip(USUAL.rho * (1.0 + change), -_LARGEST_RHO, _LARGEST_RHO))
    if wrong_input == "learning":
        wrong = changed.get("alpha", USUAL.alpha) ** (1.0 + change)
        return deployed(planned_with(**{**changed, "alpha": wrong}), **changed)
    if wrong_input == "loss":
        return deployed(planned_with(rho_of_loss=rho, **changed), **changed)
    return deployed(planned_with(rho_imputed=rho, **changed), **changed)


def planned_with(
    *,
    beliefs: tuple[float, ...] | FloatArray = BELIEFS,
    alpha: float = USUAL.alpha,
    rho_of_loss: float = USUAL.rho,
    rho_imputed: float = USUAL.rho,
    discount: float = USUAL.discount,
    floor: float = 0.0,
    budget: int | str = 1,
    horizon: int = USUAL.horizon,
) -> Problem:
    """Return the instance with some of its inputs replaced."""
    world = World.equicorrelated(COEFFICIENTS, rho_of_loss, noise_variance=USUAL.noise)
    learner = Learner(beliefs, Geometric(alpha, floor=floor), equicorrelation(2, rho_imputed))
    assumed = Assumptions(budget=budget)
    (kind,) = assumed.kinds(("at most",))
    return Problem(world, learner, budget_of(kind, assumed.shown or 1), discount, horizon)


def deployed(believed: Problem, **changed: Any) -> dict[str, float]:
    """Plan with these inputs, then evaluate the plan with the right ones."""
    truth, best = _truth(**changed)
    value = evaluate(truth, best_plan(believed).policy)
    return relative_to_best(truth, best, value)


@cache
def _truth(**changed: Any) -> tuple[Problem, float]:
    truth = planned_with(**changed)
    return truth, best_plan(truth).value


def figure(frame: pd.DataFrame) -> Figure:
    """Retained optimality and excess loss against η."""
    drawn, axes = look.new_figure(2, height=4.0)
    for ax, column, name in (
        (axes[0, 0], "retained", "retained optimality"),
        (axes[0, 1], "excess", "excess loss of the optimum,\nas part of the misled plan's"),
    ):
        for style, wrong_input in enumerate(INPUTS):
            rows = frame[(frame["part"] == "repeats") & (frame["input"] == wrong_input)]
            rows, label = rows.assign(percent=100 * rows["level"]), INPUTS[wrong_input]
            look.draw_means(ax, rows, "percent", column, label=label, style=style)
            signs = frame[(frame["part"] == "signs") & (frame["input"] == wrong_input)]
            for sign, mark in ((1, "+"), (-1, "_")):
                chosen = signs[signs["sign"] == sign]
                colour = look.COLOURS[style]
                ax.plot(100 * chosen["level"], chosen[column], mark, color=colour, markersize=8)
        ax.set_ylim(None, 102)
        title = "+ always too large, - always too small"
        look.finish(ax, "the input is wrong by η (%)", name, title, percent=True)
    return drawn


def findings(frame: pd.DataFrame) -> list[Finding]:
    """The printed drops, compared with the exact values between which they must lie."""
    repeats = frame[frame["part"] == "repeats"]
    lines = []
    for printed, wrong_input, level in (
        (paper.DROP_LEARNING_50, "learning", 0.5),
        (paper.DROP_LOSS_50, "loss", 0.5),
        (paper.DROP_IMPUTATION_20, "imputation", 0.2),
        (paper.DROP_IMPUTATION_50, "imputation", 0.5),
    ):
        # Only the sign is random, and both signs are known, so the spread of the mean is known too.
        large, small = (100.0 - _by_sign(frame, wrong_input, level)[sign] for sign in (1, -1))
        spread = abs(large - small) / 2.0
        drop = SampleMean((large + small) / 2.0, spread / math.sqrt(printed.draws), printed.draws)
        text = f"{drop.value:.2f}% ({large:.2f} if too large, {small:.2f} if too small)"
        why = f"a mean of {printed.draws} random signs varies by ± {drop.margin:.2f}"
        # Ours is exact: only the paper's mean varies.
        far = abs(drop.value - printed.value) > drop.margin + printed.rounding
        verdict = Agreement.DIFFERS if far else paper.verdict_on(printed, drop)
        lines.append(Finding(printed.claim, printed.text, text, verdict, why))
    kept = [mean_where(repeats, "retained", input=name, level=0.1) for name in INPUTS]
    lines.append(paper.compare(paper.KEPT_AT_10, min(kept, key=lambda mean: mean.value)))
    at_half = {n: mean_where(repeats, "retained", input=n, level=0.5).value for n in INPUTS}
    order = sorted(at_half, key=at_half.__getitem__)
    text = ", ".join(f"{INPUTS[name]} {100 - at_half[name]:.1f}%" for name in reversed(order))
    robust = order[-1] == "learning" and order[0] == "imputation" if at_half else None
    claim = "φ matters least, imputation most, at 50%"
    lines.append(paper.statement(claim, "yes", text, robust))
    least = min(at_half.values())
    text = f"at most {100 - least:.1f}% on average"
    lines.append(
        paper.statement("inputs wrong by 50% lose less than 20%", "yes", text, least > 80.0)
    )
    worst = mean_where(repeats, "excess", input="imputation", level=0.5)
    why = "excess loss, above the best achievable: the optimum's, as a share of the misled plan's"
    lines.append(paper.not_stated("excess-loss ratio, imputation wrong by 50%", worst, why=why))
    return lines


def _by_sign(frame: pd.DataFrame, wrong_input: str, level: float) -> dict[int, float]:
    rows = frame[(frame["part"] == "signs") & (frame["input"] == wrong_input)]
    rows = rows[np.isclose(rows["level"], level)]
    return {
        int(sign): float(kept) for sign, kept in zip(rows["sign"], rows["retained"], strict=True)
    }
