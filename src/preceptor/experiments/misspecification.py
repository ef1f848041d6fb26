"""Planning with a wrong input, living with the right one.

One fixed instance: two tests, at most one shown per round, a = (1, .8), â = (.2, 1.3), ρ = .8,
α = 1.10, δ = .99, 600 rounds. One input is wrong by a share η: the person's beliefs (in a random
direction), the speed of learning (log α times 1 ± η), the correlation in the loss (ρ times 1 ± η,
while the person is known to impute rightly), or the correlation by which the person is taken to
impute. The plan made with it is then evaluated with the right inputs. 80 repeats with random signs
or directions.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import preceptor.experiments.look as look
import preceptor.experiments.paper as paper
from preceptor._base.values import FloatArray
from preceptor.evaluation.value import evaluate
from preceptor.experiments.assumptions import Assumptions, given
from preceptor.experiments.experiment import Experiment, Finding, Scale, Verdict
from preceptor.experiments.instances import USUAL, beside_best, best_plan, budget_of
from preceptor.experiments.statistics import Mean, mean_where
from preceptor.experiments.sweep import Row, Setting, Sweep
from preceptor.model.matrices import equicorrelation
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.problem import Problem

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
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# Wrong correlations are kept this far from 1, as the paper keeps them below it.
_LARGEST_RHO = 0.999
# What of the right inputs may be changed; imputation is one of those that are made wrong here.
_KNOWN = ("alpha", "discount", "floor", "budget", "horizon")


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """Random repeats as in the paper, and both signs by themselves."""
    levels = (0.1, 0.2, 0.5) if scale.quick else LEVELS
    scale.assume.sizes(((2, 1),))
    beside = scale.assume.beside(*_KNOWN)
    repeats = tuple(
        {"input": name, "level": level, **beside} for name in INPUTS for level in levels
    )
    signs = tuple(
        {"input": name, "level": level, "sign": sign, **beside}
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
    told = given(setting, *_KNOWN)
    if setting["input"] != "beliefs":
        return [{"sign": sign, **outcome(setting["input"], sign * setting["level"], **told)}]
    length = setting["level"] * np.linalg.norm(BELIEFS)
    wrong = np.array(BELIEFS) + length * direction / np.linalg.norm(direction)
    return [deployed(planned_with(beliefs=wrong, **told), **told)]


def sign_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """The same for a given sign; nothing about it is random."""
    told = given(setting, *_KNOWN)
    return [outcome(setting["input"], setting["sign"] * setting["level"], **told)]


@cache
def outcome(wrong_input: str, change: float, **told: Any) -> dict[str, float]:
    """Many repeats share a sign, so each is planned once."""
    rho = float(np.clip(USUAL.rho * (1.0 + change), -_LARGEST_RHO, _LARGEST_RHO))
    if wrong_input == "learning":
        wrong = told.get("alpha", USUAL.alpha) ** (1.0 + change)
        return deployed(planned_with(**{**told, "alpha": wrong}), **told)
    if wrong_input == "loss":
        return deployed(planned_with(rho_of_loss=rho, **told), **told)
    return deployed(planned_with(rho_imputed=rho, **told), **told)


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
    """The instance, with some of its inputs replaced."""
    world = World.equicorrelated(COEFFICIENTS, rho_of_loss, noise_variance=USUAL.noise)
    learner = Learner(beliefs, Geometric(alpha, floor=floor), equicorrelation(2, rho_imputed))
    assumed = Assumptions(budget=budget)
    (kind,) = assumed.kinds(("at most",))
    return Problem(world, learner, budget_of(kind, assumed.shown or 1), discount, horizon)


def deployed(believed: Problem, **told: Any) -> dict[str, float]:
    """Plan with these inputs, then evaluate the plan with the right ones."""
    truth, best = _truth(**told)
    value = evaluate(truth, best_plan(believed).policy)
    return beside_best(truth, best, value)


@cache
def _truth(**told: Any) -> tuple[Problem, float]:
    truth = planned_with(**told)
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
        look.named_axes(
            ax, "the input is wrong by η (%)", name, "+ always too large, - always too small"
        )
        ax.set_ylim(None, 102)
        look.as_percent(ax)
        look.legend_below(ax)
    return drawn


def findings(frame: pd.DataFrame) -> list[Finding]:
    """The printed drops, beside the exact values between which they must lie."""
    repeats = frame[frame["part"] == "repeats"]
    lines = []
    for printed, wrong_input, level in (
        (paper.DROP_LEARNING_50, "learning", 0.5),
        (paper.DROP_LOSS_50, "loss", 0.5),
        (paper.DROP_IMPUTATION_20, "imputation", 0.2),
        (paper.DROP_IMPUTATION_50, "imputation", 0.5),
    ):
        # Nothing but the sign is random, and both signs are known: so is how their mean varies.
        large, small = (100.0 - _by_sign(frame, wrong_input, level)[sign] for sign in (1, -1))
        spread = abs(large - small) / 2.0
        drop = Mean((large + small) / 2.0, spread / math.sqrt(printed.draws), printed.draws)
        text = f"{drop.value:.2f}% ({large:.2f} if too large, {small:.2f} if too small)"
        why = f"a mean of {printed.draws} random signs varies by ± {drop.margin:.2f}"
        # Ours is exact: only the paper's mean varies.
        far = abs(drop.value - printed.value) > drop.margin + printed.rounding
        verdict = Verdict.DIFFERS if far else paper.judged(printed, drop)
        lines.append(Finding(printed.claim, printed.text, text, verdict, why))
    kept = [mean_where(repeats, "retained", input=name, level=0.1) for name in INPUTS]
    lines.append(paper.compare(paper.KEPT_AT_10, min(kept, key=lambda mean: mean.value)))
    at_half = {n: mean_where(repeats, "retained", input=n, level=0.5).value for n in INPUTS}
    order = sorted(at_half, key=at_half.__getitem__)
    text = ", ".join(f"{INPUTS[name]} {100 - at_half[name]:.1f}%" for name in reversed(order))
    robust = order[-1] == "learning" and order[0] == "imputation" if at_half else None
    claim = "φ matters least, imputation most, at 50%"
    lines.append(paper.said(claim, "yes", text, robust))
    least = min(at_half.values())
    text = f"at most {100 - least:.1f}% on average"
    lines.append(paper.said("inputs wrong by 50% lose less than 20%", "yes", text, least > 80.0))
    worst = mean_where(repeats, "excess", input="imputation", level=0.5)
    why = "excess loss, above the best achievable: the optimum's, as a share of the misled plan's"
    lines.append(paper.unsaid("excess-loss ratio, imputation wrong by 50%", worst, why=why))
    return lines


def _by_sign(frame: pd.DataFrame, wrong_input: str, level: float) -> dict[int, float]:
    rows = frame[(frame["part"] == "signs") & (frame["input"] == wrong_input)]
    rows = rows[np.isclose(rows["level"], level)]
    return {
        int(sign): float(kept) for sign, kept in zip(rows["sign"], rows["retained"], strict=True)
    }


EXPERIMENT = Experiment(
    name="misspecification",
    title="Planning with a wrong input",
    about=__doc__,
    sweeps=sweeps,
    figure=figure,
    findings=findings,
    varies=("draws",),
    assumes={
        "alpha": "1.10",
        "discount": "0.99",
        "floor": "0",
        "budget": "at most 1",
        "horizon": "600",
    },
    outcomes={"retained": "%", "excess": "%"},
)
