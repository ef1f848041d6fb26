"""How long exploration lasts as tests become more correlated, and how that depends on the horizon.

α = 1.05, δ = .99. Solid: the round from which the optimal plan shows one set forever (T_d), at the
horizon that the paper seems to have used (600 rounds for (2,1), 40 for (3,2)) and for the infinite
horizon. The paper prints no horizon for (3,2); 40 is the one that gives its numbers. Third panel:
T_d of (3,2) at ρ = .99 against the planning horizon (up to 60 rounds for at most two: longer ones
have too many states). Statements about ρ = .99 rest on 200 draws, because T_d varies widely.

Dashed: where the inequality in the proof of the theorem begins to hold, with the paper's constant,
if every test is assumed to recur from the first round on. This is the only reading we found that
gives rounds well above T_d, as in the paper, and it proves nothing about a plan that commits: along
the plan itself only the tests of its final set recur, and then the theorem certifies the very round
in which the plan commits. `certified_plan` in the data is that round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import preceptor.paper.look as look
import preceptor.paper.printed as paper
from preceptor.model.policies import Alternating
from preceptor.paper.experiment import Finding, Scale
from preceptor.paper.instances import BUDGETS, USUAL, best_plan, problem_of
from preceptor.paper.sweep import Row, SampleMean, Setting, Sweep, mean_where, means
from preceptor.planning.solvers import solve
from preceptor.theory.exploration import exploration_certificate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER_HORIZON = {(2, 1): 600, (3, 2): 40}
# Three tests with an infinite horizon take a fifth of a second each.
FEWER_CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, USUAL.high)
# Enough for T_d: in each of 20 instances it was the same with a hundredth of this tolerance and
# with ten times as much.
ENDLESS: dict[str, Any] = {"tolerance": 1e-4}


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """T_d against ρ at the paper's horizon and an infinite one, and against the horizon."""
    assume = scale.assume
    budgets = assume.kinds(BUDGETS)
    extras = assume.extras("alpha", "discount", "floor", "imputation")
    planned = {
        assume.sizes((size,))[0]: assume.horizon or horizon
        for size, horizon in reversed(PAPER_HORIZON.items())
    }
    sizes = dict(reversed(planned.items()))
    small, large = next(iter(sizes)), next(reversed(sizes))

    def settings(
        size: tuple[int, int], horizons: Sequence[int], rhos: Sequence[float]
    ) -> tuple[Setting, ...]:
        n, k = size
        return tuple(
            {"n": n, "k": k, "budget": budget, "horizon": horizon, "rho": rho, **extras}
            for budget in budgets
            for horizon in horizons
            for rho in rhos
        )

    def planned_rounds(size: tuple[int, int]) -> tuple[int, ...]:
        return (sizes[size], *endless(size))

    few = scale.correlations(FEWER_CORRELATIONS, quick=(USUAL.high,))
    pairs = settings(small, planned_rounds(small), scale.correlations())
    triples = settings(large, planned_rounds(large), few)
    # With at most two of three tests there are too many states for longer horizons.
    horizons = tuple(
        setting
        for setting in settings(large, (20, 30, 40, 60, 120, 300), (USUAL.high,))
        if setting["budget"] == "exactly" or setting["horizon"] <= 60
    )
    certificates = tuple(
        {"n": n, "k": k, "rho": rho, **extras}
        for n, k in sizes
        for rho in scale.correlations(FEWER_CORRELATIONS)
    )
    named = tuple(
        setting for size in sizes for setting in settings(size, planned_rounds(size), (USUAL.high,))
    )
    draws, seed = scale.draws_or(20), scale.seed
    found = [Sweep("pairs", task, pairs, draws, seed, batch=20)]
    if len(sizes) > 1:  # otherwise triples are the pairs again
        found.append(Sweep("triples", task, triples, draws, seed, batch=2))
    if assume.horizon is None:
        found.append(Sweep("horizons", task, horizons, draws, seed, batch=2))
    if assume.imputation is None:  # the theorem is about people who know the correlations
        found.append(Sweep("certificates", certificate_task, certificates, draws, seed, batch=10))
    return (*found, Sweep("named points", named_task, named, scale.draws_or(200), seed, batch=4))


def endless(size: tuple[int, int]) -> tuple[int, ...]:
    """Horizon 0 (infinite), or none: with more than three tests such plans take minutes each."""
    return (0,) if size[0] <= 3 else ()


def task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """T_d of the optimal plan; horizon 0 stands for an infinite one."""
    return _length(setting, seed, ENDLESS)


def named_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """The same with a larger tolerance: many draws say more than many digits."""
    return _length(setting, seed, {**ENDLESS, "tolerance": 1e-3})


def _length(setting: Setting, seed: np.random.SeedSequence, endless: dict[str, Any]) -> list[Row]:
    horizon = setting["horizon"] or None
    problem = problem_of(setting, seed, setting["budget"], horizon, alpha=USUAL.slow)
    plan = best_plan(problem) if problem.horizon else solve(problem, "lattice", **endless)
    return [{"length": _round(plan.exploration_length), "value": plan.value}]


def certificate_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """The certified round if every test recurs, and along the optimal plan itself (pairs only)."""
    problem = problem_of(setting, seed, "exactly", None, alpha=USUAL.slow)
    everything = exploration_certificate(problem, Alternating(tuple(problem.sets)))
    row: Row = {"certified": _round(everything.round_paper)}
    if setting["n"] == 2:
        plan = solve(problem, "lattice", **ENDLESS)
        row["certified_plan"] = _round(exploration_certificate(problem, plan.policy).round_paper)
        row["length"] = _round(plan.exploration_length)
    return [row]


def _round(number: int | None) -> float:
    return math.nan if number is None else float(number)


def figure(frame: pd.DataFrame) -> Figure:
    """(2,1), (3,2), and (3,2) against the horizon."""
    drawn, axes = look.new_figure(3, height=4.2)
    parts = [part for part in ("pairs", "triples") if part in set(frame["part"])]
    for ax, part in zip(axes[0], parts, strict=False):
        _against_correlation(ax, frame, part)
    _against_horizon(axes[0, 2], frame)
    for ax in axes[0, 1:]:
        if not ax.get_xlabel():
            ax.remove()
    return drawn


def _against_correlation(ax: Axes, frame: pd.DataFrame, part: str) -> None:
    chosen = frame[frame["part"] == part]
    n, k, used = (int(chosen[name].max()) for name in ("n", "k", "horizon"))
    style = 0
    for horizon, name in ((used, f"T = {used}"), (0, "endless")):
        for budget in chosen["budget"].unique():
            rows = chosen[(chosen["horizon"] == horizon) & (chosen["budget"] == budget)]
            if len(rows):
                label = f"{name}, {budget} {k}"
                look.draw_means(ax, rows, "rho", "length", label=label, style=style)
                style += 1
    certified = frame[(frame["part"] == "certificates") & (frame["n"] == n) & (frame["k"] == k)]
    name = "proof's inequality, if all tests recur"
    look.draw_means(ax, certified, "rho", "certified", label=name, style=style, dash="--")
    ax.set_ylim(-8, max(400, ax.get_ylim()[1]) if len(certified) else None)
    title = f"(n, k) = ({n}, {k})"
    look.finish(ax, "correlation ρ between the tests", "exploration $T_d$ (rounds)", title)


def _against_horizon(ax: Axes, frame: pd.DataFrame) -> None:
    named = frame[frame["part"] == "named points"]
    n, k = (int(named[name].iloc[-1]) for name in ("n", "k"))
    frame = frame[(frame["n"] == n) & (frame["k"] == k)]
    endless_too = frame["part"].eq("named points") & frame["horizon"].eq(0)
    if not (endless_too | frame["part"].eq("horizons")).any():
        return
    for style, budget in enumerate(named["budget"].unique()):
        rows = frame[frame["budget"] == budget]
        longer, label = rows[rows["part"] == "horizons"], f"{budget} {k}, horizon T"
        look.draw_means(ax, longer, "horizon", "length", label=label, style=style)
        limit = mean_where(rows, "length", part="named points", horizon=0)
        if not limit.draws:
            continue
        ax.errorbar(
            [600 + 60 * style],
            [limit.value],
            yerr=[0.0 if math.isnan(limit.margin) else limit.margin],
            fmt=look.MARKERS[style],
            color=look.COLOURS[style],
            markerfacecolor="white",
            capsize=3,
            label=f"{budget} {k}, endless",
        )
    if (n, k) == (3, 2):
        ax.axhline(paper.EXPLORATION_TRIPLE.value, color="0.4", linestyle="--", linewidth=1)
        ax.annotate(
            f"the paper: at most {paper.EXPLORATION_TRIPLE.value}",
            (20, paper.EXPLORATION_TRIPLE.value),
            xytext=(2, 3),
            textcoords="offset points",
            fontsize=8.5,
            color="0.3",
        )
    ax.set_xscale("log")
    ax.set_xticks([20, 40, 60, 120, 300, 630], ["20", "40", "60", "120", "300", "∞"])
    ax.minorticks_off()
    ax.set_ylim(0, None)
    title = f"(n, k) = ({n}, {k}) at ρ = .99"
    look.finish(ax, "planning horizon T (rounds)", "exploration $T_d$ (rounds)", title)


def findings(frame: pd.DataFrame) -> list[Finding]:
    """The printed lengths, those for an infinite horizon, larger k, and the certificate."""
    named = frame[frame["part"] == "named points"]
    lines = []
    for budget in BUDGETS:
        mean = mean_where(named, "length", n=2, horizon=600, budget=budget)
        name = f"{paper.EXPLORATION_PAIR.claim}, T=600, {budget} 1"
        lines.append(paper.compare(paper.EXPLORATION_PAIR, mean, claim=name))
        endless = mean_where(named, "length", n=2, horizon=0, budget=budget)
        lines.append(paper.not_stated(f"the same, endless, {budget} 1", endless, "rounds"))
    for budget in BUDGETS:
        mean = mean_where(named, "length", n=3, horizon=40, budget=budget)
        name = f"{paper.EXPLORATION_TRIPLE.claim} (at ρ=.99), T=40, {budget} 2"
        why = "no comparison: the paper prints no horizon, and 40 was chosen to give this number"
        lines.append(paper.fitted(paper.EXPLORATION_TRIPLE, mean, why, claim=name))
        endless = mean_where(named, "length", n=3, horizon=0, budget=budget)
        lines.append(paper.not_stated(f"the same, endless, {budget} 2", endless, "rounds"))
    lines += [_larger_k(named, budget) for budget in BUDGETS]
    lines += [_rises(frame, n, k) for n, k in PAPER_HORIZON]
    for n, k in PAPER_HORIZON:
        mean = mean_where(frame, "certified", part="certificates", n=n, rho=USUAL.high)
        empirical = mean_where(named, "length", n=n, horizon=0, budget="exactly")
        claim = f"the certificate of ({n},{k}) is much larger than T_d, ρ=.99"
        text = f"{paper.mean_in_words(mean, 'rounds')} if all tests recur"
        larger = None if not mean.draws else bool(mean.value > 1.5 * empirical.value)
        why = "counted as much larger if at least 1.5 times as large"
        lines.append(paper.statement(claim, "yes", text, larger, why))
    along = frame[(frame["part"] == "certificates") & (frame["n"] == 2)]
    difference = SampleMean.of(along["certified_plan"] - along["length"])
    why = "only the committed tests recur in a plan that commits, and nothing is left to certify"
    claim = "certificate along the plan itself, minus T_d, (2,1) exactly 1, all ρ"
    lines.append(paper.not_stated(claim, difference, "rounds", why))
    return lines


def _rises(frame: pd.DataFrame, n: int, k: int) -> Finding:
    """Whether mean T_d at the paper's horizon grows from each correlation to the next."""
    part = frame[frame["part"].isin(["pairs", "triples"]) & (frame["budget"] == "at most")]
    rows = part[(part["n"] == n) & (part["horizon"] == PAPER_HORIZON[n, k])]
    table = means(rows, ["rho"], "length")
    rising = bool(np.all(np.diff(table["mean"]) >= 0.0)) if len(table) > 2 else None
    text = ", ".join(f"{mean:.0f}" for mean in table["mean"])
    return paper.statement(f"mean T_d of ({n},{k}) grows with ρ", "yes", text, rising)


def _larger_k(named: pd.DataFrame, budget: str) -> Finding:
    """Does (3,2) explore for a shorter time than (2,1), draw by draw, without a horizon?"""
    endless = named[(named["horizon"] == 0) & (named["budget"] == budget)]
    lengths = endless.pivot(index="draw", columns="n", values="length")
    difference = SampleMean.of(lengths[3] - lengths[2])
    # Fails if a mean that is shorter by a tenth of (2,1)'s is ruled out.
    shorter = bool(difference.low < -0.1 * lengths[2].mean()) if difference.says_something else None
    text = f"(3,2) minus (2,1): {paper.mean_in_words(difference, 'rounds')}"
    why = "endless problems, ρ=.99; the paper: substantially shorter, here at least by a tenth"
    return paper.statement(f"larger k shortens exploration, {budget} k", "yes", text, shorter, why)
