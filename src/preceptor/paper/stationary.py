"""How much of the best plan's value the best fixed set retains, as tests become more correlated.

Two tests, at most one shown per round, planned over 600 rounds. Left: three learning speeds α.
Right: four discount factors δ. *Retained optimality* is the least loss divided by the loss of the
fixed set; both contain the best achievable loss, so the lower panels show the same for the excess
loss above that. The numbers that the paper prints are compared with 400 draws, because these losses
are skewed and twenty draws say little about how much a mean of twenty varies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import preceptor.paper.look as look
import preceptor.paper.printed as paper
from preceptor.paper.experiment import Finding, Scale
from preceptor.paper.instances import BUDGETS, USUAL, best_plan, problem_of, relative_to_best
from preceptor.paper.sweep import Row, Setting, Sweep, mean_where, means
from preceptor.planning.solvers import solve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NAMED = (  # what the paper prints, with α and ρ
    (paper.STATIONARY_HALF, 1.10, 0.5),
    (paper.STATIONARY_HIGH, 1.10, 0.99),
    (paper.STATIONARY_SLOW, 1.05, 0.5),
    (paper.STATIONARY_FAST, 1.20, 0.5),
)


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """The curves of the figure, and the named points with both budgets and many draws."""
    assume = scale.assume
    assume.sizes(((2, 1),))
    (discount,) = assume.among("discount", (USUAL.discount,))
    (usual,) = assume.among("alpha", (USUAL.alpha,))
    pairs = [(alpha, discount) for alpha in assume.among("alpha", USUAL.alphas)]
    pairs += [
        (usual, each)
        for each in assume.among("discount", (0.85, 0.90, 0.95, USUAL.discount))
        if each != discount
    ]
    extras = assume.extras("floor", "imputation", "tests", "shown", "horizon")
    curves = tuple(
        {"budget": budget, "alpha": alpha, "discount": each, "rho": rho, **extras}
        for alpha, each in pairs
        for rho in scale.correlations()
        for budget in assume.kinds(("at most",))
    )
    points = dict.fromkeys((assume.alpha or alpha, rho) for _, alpha, rho in NAMED)
    named = tuple(
        {"budget": budget, "alpha": alpha, "discount": discount, "rho": rho, **extras}
        for alpha, rho in points
        for budget in assume.kinds(BUDGETS)
    )
    return (
        Sweep("curves", task, curves, scale.draws_or(20), scale.seed, batch=40),
        Sweep("named points", task, named, scale.draws_or(400), scale.seed, batch=40),
    )


def task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """Retained optimality and excess-loss ratio of the best fixed set."""
    problem = problem_of(setting, seed, setting["budget"], setting.get("horizon", USUAL.horizon))
    best = best_plan(problem).value
    fixed = solve(problem, "stationary").value
    return [{"best": best, "fixed": fixed, **relative_to_best(problem, best, fixed)}]


def figure(frame: pd.DataFrame) -> Figure:
    """Four panels: retained optimality and excess loss, against α and against δ."""
    curves = frame[frame["part"] == "curves"]
    drawn, axes = look.new_figure(2, 2)
    for row, (column, name) in enumerate(
        [
            ("retained", "retained optimality"),
            ("excess", "excess loss of the best plan,\nas part of the fixed set's"),
        ]
    ):
        # With a changed assumption there is only one discount, or one speed.
        discount = curves["discount"].max()
        alpha = USUAL.alpha if USUAL.alpha in set(curves["alpha"]) else curves["alpha"].max()
        left = curves[curves["discount"] == discount]
        right = curves[curves["alpha"] == alpha]
        for ax, rows, key, letter, title in (
            (axes[row, 0], left, "alpha", "α", f"δ = {discount}, learning speed varies"),
            (axes[row, 1], right, "discount", "δ", f"α = {alpha}, discount varies"),
        ):
            look.draw_each(ax, rows, key, f"{letter} = {{:.2f}}", "rho", column)
            ax.set_ylim(0, 104)
            rho = "correlation ρ between the tests"
            look.finish(ax, rho, name, title, percent=True, columns=4)
    return drawn


def findings(frame: pd.DataFrame) -> list[Finding]:
    """The paper's four percentages for both budgets, its two trends, and the excess loss."""
    named = frame[frame["part"] == "named points"]
    lines = []
    for printed, alpha, rho in NAMED:
        for budget in BUDGETS:
            mean = mean_where(named, "retained", budget=budget, alpha=alpha, rho=rho)
            lines.append(paper.compare(printed, mean, claim=f"{printed.claim}, {budget} one"))
    curve = frame[(frame["part"] == "curves") & (frame["alpha"] == 1.10)]
    table = means(curve[curve["discount"] == USUAL.discount], ["rho"], "retained")
    weak = table.loc[table["rho"] <= 0.2, "mean"]
    text = f"at least {weak.min():.2f}% at ρ ≤ .2" if len(weak) else "-"
    best = bool(weak.min() > 99.5) if len(weak) else None
    claim = "fixed sets are optimal when tests are weakly correlated (α=1.10)"
    lines.append(paper.statement(claim, "yes", text, best))
    worse = bool(np.all(np.diff(table["mean"]) <= 1e-9)) if len(table) > 2 else None
    text = f"from {table['mean'].iloc[0]:.1f}% down to {table['mean'].iloc[-1]:.1f}%"
    lines.append(paper.statement("fixed sets get worse as ρ grows (α=1.10)", "yes", text, worse))
    lines.append(_falls(frame, "alpha", "faster learning makes fixed sets worse"))
    lines.append(_falls(frame, "discount", "longer horizons make fixed sets worse"))
    for _, alpha, rho in NAMED[:2]:
        mean = mean_where(named, "excess", budget="at most", alpha=alpha, rho=rho)
        why = (
            "excess loss, above the best achievable: the best plan's, as a share of the fixed set's"
        )
        lines.append(paper.not_stated(f"excess-loss ratio at ρ={rho:g} (α={alpha})", mean, why=why))
    return lines


def _falls(frame: pd.DataFrame, key: str, claim: str) -> Finding:
    """Whether retained optimality, averaged over all ρ, falls with α or with δ."""
    fixed = ("discount", USUAL.discount) if key == "alpha" else ("alpha", USUAL.alpha)
    curves = frame[(frame["part"] == "curves") & (frame[fixed[0]] == fixed[1])]
    table = means(curves, [key], "retained")
    text = ", ".join(f"{m:.1f}%" for m in table["mean"])
    values = ", ".join(f"{v:.2f}" for v in table[key])
    falling = bool(np.all(np.diff(table["mean"]) < 0)) if frame["draw"].max() > 0 else None
    return paper.statement(claim, "yes", f"mean over all ρ: {text} at {values}", falling)
