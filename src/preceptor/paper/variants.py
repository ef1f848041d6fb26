"""Other marginals, another loss, another learning curve: does exploration look the same?

Two tests, exactly one shown per round as in the paper's program (and at most one, for comparison),
δ = .99, T = 180, three draws. All four scenarios use the same kind of oracle, averages over 1,024
sampled cases that are drawn once for each scenario, correlation and draw; imputation is by least
squares, linear for Gaussian tests and cubic for Beta. For Gaussian tests and squared or Huber loss
the expectation is also known exactly, and the plan made with it is shown too. Times are those of
the compiled planner, where fixed costs matter, except for Huber loss, which is averaged case by
case.
"""

from __future__ import annotations

import math
import timeit
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import preceptor.paper.look as look
import preceptor.paper.printed as paper
from preceptor.errors import InvalidInput
from preceptor.model.empirical_loss import DEGREES, Empirical
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.model.problem import Problem
from preceptor.model.risks import Huber, SquaredError
from preceptor.model.world import World
from preceptor.paper.experiment import Finding, Scale, given
from preceptor.paper.instances import USUAL, best_plan, budget_of, draw, filled
from preceptor.paper.sweep import Row, SampleMean, Setting, Sweep, mean_where
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Curve, Geometric, PowerLaw
from preceptor.planning.solvers import solve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SCENARIOS = {
    "baseline": "baseline",
    "beta": "Beta(2,5) tests",
    "huber": "Huber loss",
    "power": "power-law learning",
    "baseline exact": "baseline, exact expectation",
    "huber exact": "Huber loss, exact expectation",
}
SAMPLED = ("baseline", "beta", "huber", "power")
HORIZON = 180
SAMPLES = 1024
LENGTHS = (5, 10, 20, 40, 60, 80, 100, 120)
_REPEATS = 5
_KNOWN = ("alpha", "discount", "floor", "imputation", "tests", "shown", "horizon")


def sweeps(scale: Scale) -> tuple[Sweep, ...]:
    """T_d against ρ, quality against T̄ at ρ = .8, and time against T̄, alone."""
    assume = scale.assume
    assume.sizes(((2, 1),))
    if isinstance(assume.imputation, float):
        words = " or ".join(DEGREES)
        raise InvalidInput(
            f"imputation: {assume.imputation}, sampled cases are imputed by regression: {words}"
        )
    if assume.horizon is not None and assume.horizon <= min(LENGTHS):
        raise InvalidInput(
            f"horizon: {assume.horizon}, must be above {min(LENGTHS)}, the shortest T̄"
        )
    extras = assume.extras(*_KNOWN)
    phases = tuple(
        {"scenario": scenario, "budget": budget, "rho": rho, **extras}
        for scenario in SCENARIOS
        for budget in assume.kinds(("exactly", "at most"))
        if budget == "exactly" or scenario != "huber"  # case by case, three sets take too long
        for rho in scale.correlations((0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99))
    )
    if isinstance(assume.budget, str):
        (extras["budget"],) = assume.kinds(())
    quality: tuple[Setting, ...] = tuple({"scenario": scenario, **extras} for scenario in SAMPLED)
    draws, seed = scale.draws_or(3), scale.seed
    return (
        Sweep("phases", phase_task, phases, draws, seed),
        Sweep("quality", quality_task, quality, draws, seed),
        Sweep("time", time_task, quality, 1, seed, alone=True),
    )


def phase_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """T_d of the optimal plan over 180 rounds."""
    plan = best_plan(problem(setting, setting["rho"], seed))
    length = plan.exploration_length
    return [{"length": math.nan if length is None else float(length), "value": plan.value}]


def quality_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """Retained optimality of truncated plans with the paper's suffix rule."""
    task = problem(setting, USUAL.rho, seed)
    best = best_plan(task).value
    return [
        {
            "planned": length,
            "retained": 100.0 * best / solve(task, "truncated", length=length, suffix="last").value,
        }
        for length in LENGTHS
        if length < (task.horizon or HORIZON)
    ]


def time_task(setting: Setting, seed: np.random.SeedSequence) -> list[Row]:
    """The least of several times for filling the table, for every T̄."""
    task = problem(setting, USUAL.rho, seed)
    return [
        {
            "planned": length,
            "seconds": min(timeit.repeat(partial(filled, task, length), number=1, repeat=_REPEATS)),
        }
        for length in LENGTHS
        if length < (task.horizon or HORIZON)
    ]


def problem(setting: Setting, rho: float, seed: np.random.SeedSequence) -> Problem:
    """Return the problem of a scenario; each scenario, correlation and draw has its own cases."""
    changed, scenario = given(setting, *_KNOWN), setting["scenario"]
    drawn = draw(changed.get("tests", 2), seed)
    name, floor = scenario.removesuffix(" exact"), changed.get("floor", 0.0)
    if name == "beta":
        world = World.beta_copula(drawn.coefficients, rho, (2.0, 5.0), noise_variance=USUAL.noise)
    else:
        world = World.equicorrelated(drawn.coefficients, rho, noise_variance=USUAL.noise)
    place = (SAMPLED.index(name), round(1e6 * rho))
    own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *place))
    impute = changed.get("imputation", "cubic" if name == "beta" else "linear")
    oracle = Empirical(SAMPLES, impute, seed=int(own.generate_state(1)[0]))
    curve: Curve = Geometric(changed.get("alpha", USUAL.slow), floor=floor)
    if name == "power":
        curve = PowerLaw(0.75, floor=floor)
    return Problem(
        world,
        Learner(drawn.initial, curve),
        budget_of(setting.get("budget", "exactly"), changed.get("shown", 1)),
        changed.get("discount", USUAL.discount),
        changed.get("horizon", HORIZON),
        risk=Huber(1.0) if name == "huber" else SquaredError(),
        loss=ClosedForm() if scenario.endswith(" exact") else oracle,
    )


def figure(frame: pd.DataFrame) -> Figure:
    """T_d, quality and time."""
    drawn, axes = look.new_figure(3, height=4.2)
    phases = frame[frame["part"] == "phases"]
    budget = "exactly" if "exactly" in set(phases["budget"]) else "at most"
    phases = phases[phases["budget"] == budget]
    for scenario, name in SCENARIOS.items():
        rows = phases[phases["scenario"] == scenario]
        exact = scenario.endswith(" exact")
        style = SAMPLED.index(scenario.removesuffix(" exact"))
        dash = ":" if exact else "-"
        look.draw_means(axes[0, 0], rows, "rho", "length", label=name, style=style, dash=dash)
    horizon = int(phases["horizon"].iloc[0]) if "horizon" in phases else HORIZON
    rho, length = "correlation ρ (latent for Beta)", "exploration $T_d$ (rounds)"
    for style, scenario in enumerate(SAMPLED):
        quality = frame[(frame["part"] == "quality") & (frame["scenario"] == scenario)]
        times, label = relative_times(frame, scenario), SCENARIOS[scenario]
        look.draw_means(axes[0, 1], quality, "planned", "retained", label=label, style=style)
        look.draw_means(axes[0, 2], times, "planned", "share", label=label, style=style)
    for ax, name in (
        (axes[0, 1], "retained optimality"),
        (axes[0, 2], f"time, as part of that for T̄ = {int(frame['planned'].max())}"),
    ):
        look.finish(ax, "planned rounds T̄", name, f"ρ = {USUAL.rho}", percent=True)
    look.finish(axes[0, 0], rho, length, f"T = {horizon}")
    axes[0, 0].set_ylim(-3, None)
    axes[0, 1].set_ylim(40, 105)
    return drawn


def relative_times(frame: pd.DataFrame, scenario: str) -> pd.DataFrame:
    """Time in per cent of that for the longest T̄."""
    rows = frame[(frame["part"] == "time") & (frame["scenario"] == scenario)].copy()
    longest = rows.loc[rows["planned"].idxmax(), "seconds"]
    rows["share"] = 100.0 * rows["seconds"] / longest
    return rows


def findings(frame: pd.DataFrame) -> list[Finding]:
    """Exploration grows mainly under strong correlation; the longest T̄ keeps 97%; exact Huber."""
    both = frame[frame["part"] == "phases"]
    phases = both[both["budget"] == "exactly"]
    lines = []
    for scenario in SAMPLED:
        weak = SampleMean.of(
            phases.loc[(phases["scenario"] == scenario) & (phases["rho"] <= 0.5), "length"]
        )
        strong = mean_where(phases, "length", scenario=scenario, rho=0.99)
        text = f"{weak.value:.3g} rounds at ρ ≤ .5, {strong.value:.3g} at .99"
        grows = bool(strong.value > 2.0 * weak.value) if weak.draws and strong.draws else None
        claim = f"exploration grows mainly under strong correlation, {SCENARIOS[scenario]}"
        lines.append(paper.statement(claim, "yes", text, grows))
    quality = frame[frame["part"] == "quality"]
    longest = quality["planned"].max()
    kept = [
        mean_where(quality, "retained", scenario=scenario, planned=longest) for scenario in SAMPLED
    ]
    least = min(kept, key=lambda mean: mean.value)
    lines.append(paper.compare(paper.VARIANTS_LONGEST, least))
    lines += [_sampling_error(phases, name) for name in ("baseline", "huber")]
    lengths = both.pivot(index=["scenario", "rho", "draw"], columns="budget", values="length")
    lengths = lengths.dropna()
    same = int((lengths["exactly"] == lengths["at most"]).sum())
    text = f"the same exploration in {same} of {len(lengths)} plans"
    lines.append(paper.not_stated("at most one test instead of exactly one", text))
    return lines


def _sampling_error(phases: pd.DataFrame, scenario: str) -> Finding:
    """How far the optimum on 1,024 cases is from the exact one, over all ρ and draws."""
    table = phases[phases["scenario"].isin([scenario, f"{scenario} exact"])].pivot(
        index=["rho", "draw"], columns="scenario", values="value"
    )
    error = 100.0 * (table[scenario] / table[f"{scenario} exact"] - 1.0).abs()
    why = "effect of 1,024 sampled cases on the optimal value; the exact one needs no sample"
    return paper.not_stated(
        f"error of the optimal value from sampling, {SCENARIOS[scenario]}",
        SampleMean.of(error),
        why=why,
    )
