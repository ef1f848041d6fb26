"""The paper's random instances: true and initial weights, uniform between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import TooLarge
from preceptor.model.budgets import AtMost, Budget, Exactly
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.model.world import World
from preceptor.paper.experiment import given
from preceptor.paper.sweep import Setting
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Curve, Geometric
from preceptor.planning.bounds import remaining_floor
from preceptor.planning.finite import DEFAULT_MEMORY, fill, longest_that_fits
from preceptor.planning.solvers import solve


@dataclass(frozen=True)
class Usual:
    """What the paper assumes unless an experiment says otherwise."""

    noise: float = 1e-3
    discount: float = 0.99
    horizon: int = 600
    # Learning speeds, and the two that experiments with a single speed use.
    alphas: tuple[float, ...] = (1.05, 1.10, 1.20)
    slow: float = 1.05
    alpha: float = 1.10
    # The correlation of experiments with a single one, and the strongest in the paper's plots.
    rho: float = 0.8
    high: float = 0.99


USUAL = Usual()
BUDGETS = ("at most", "exactly")


class DrawnWeights(NamedTuple):
    """a and â, each (n,)."""

    coefficients: FloatArray
    initial: FloatArray


def draw(size: int, seed: np.random.SeedSequence) -> DrawnWeights:
    """Draw a and â; determined by the seed."""
    numbers = np.random.default_rng(seed).uniform(size=(2, size))
    return DrawnWeights(numbers[0], numbers[1])


def budget_of(name: str, k: int) -> Budget:
    """`at most` k tests, as the paper defines its budget, or `exactly` k, as its program does."""
    return AtMost(k) if name == "at most" else Exactly(k)


def instance(
    drawn: DrawnWeights,
    correlation: float,
    alpha: float | Curve,
    budget: Budget,
    *,
    discount: float = USUAL.discount,
    horizon: int | None = USUAL.horizon,
    floor: float = 0.0,
    imputation: float = 0.0,
) -> Problem:
    """Return equicorrelated Gaussian tests with geometric learning, or another curve."""
    curve = alpha if isinstance(alpha, Curve) else Geometric(alpha, floor=floor)
    world = World.equicorrelated(drawn.coefficients, correlation, noise_variance=USUAL.noise)
    return Problem(world, Learner(drawn.initial, curve, imputation), budget, discount, horizon)


def problem_of(
    setting: Setting,
    seed: np.random.SeedSequence,
    budget: str,
    horizon: int | None,
    *,
    rho: float = USUAL.rho,
    alpha: float = USUAL.alpha,
) -> Problem:
    """The instance of a setting, for a sweep.

    Parameters
    ----------
    setting
        The number of tests (`n` or `tests`), how many are shown (`k` or `shown`), and every other
        assumption that differs from `USUAL`.
    seed
        Seed of the draw.
    budget
        "at most" or "exactly".
    horizon
        Rounds to plan; None for an infinite horizon.
    rho
        Correlation, where the setting has none.
    alpha
        Learning speed, where the setting has none.

    Returns
    -------
    Problem
        Determined by setting and seed.
    """
    size = setting.get("n", setting.get("tests", 2))
    return instance(
        draw(size, seed),
        setting.get("rho", rho),
        setting.get("alpha", alpha),
        budget_of(budget, setting.get("k", setting.get("shown", 1))),
        horizon=horizon,
        **given(setting, "discount", "floor", "imputation"),
    )


def best_plan(problem: Problem) -> Plan:
    """Return the optimal plan over the horizon; if too large, say which assumption to change."""
    try:
        return solve(problem, "finite")
    except TooLarge as error:
        assert problem.horizon is not None
        # States x sets that take a few seconds to plan.
        fits = longest_that_fits(problem, problem.horizon, DEFAULT_MEMORY, 500_000_000)
        raise TooLarge(
            f"{problem.size} tests over {problem.horizon} rounds would take "
            f"{error.bytes_needed / 2**30:,.1f} GiB to plan exactly; choose a shorter `horizon` "
            f"({fits} rounds are planned in seconds)",
            bytes_needed=error.bytes_needed,
        ) from None


def relative_to_best(problem: Problem, best: float, value: float) -> dict[str, float]:
    """Compare a plan's cost with that of the best plan: columns of a table, in per cent.

    Both costs include the unavoidable loss (`floor`); `excess` compares only what exceeds it.
    """
    floor = remaining_floor(problem, after=0)
    excess = 100.0 * (best - floor) / (value - floor)
    return {"floor": floor, "retained": 100.0 * best / value, "excess": excess}


def filled(problem: Problem, length: int) -> None:
    """Do the work of a truncated plan of that length and nothing else, to be timed."""
    fill(problem, length, DEFAULT_MEMORY, method="truncated")
