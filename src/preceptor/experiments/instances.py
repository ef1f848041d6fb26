"""The paper's random instances: true and initial coefficients uniform between 0 and 1."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import TooLarge
from preceptor.experiments.assumptions import given
from preceptor.experiments.sweep import Setting
from preceptor.model.budgets import AtMost, Budget, Exactly
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Curve, Geometric
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.planning.bounds import remaining_floor
from preceptor.planning.finite import DEFAULT_MEMORY, fill, longest_that_fits
from preceptor.problem import Problem


@dataclass(frozen=True)
class Usual:
    """What the paper assumes throughout; an experiment may say otherwise."""

    noise: float = 1e-3
    discount: float = 0.99
    horizon: int = 600
    # Speeds of learning, and the two that experiments with one speed take.
    alphas: tuple[float, ...] = (1.05, 1.10, 1.20)
    slow: float = 1.05
    alpha: float = 1.10
    # The correlation of experiments with one, and the strongest that the paper plots.
    rho: float = 0.8
    high: float = 0.99


USUAL = Usual()
BUDGETS = ("at most", "exactly")
# States times sets that are planned in a few seconds.
_QUICK_WORK = 500_000_000


class Draw(NamedTuple):
    """a and â, each (n,)."""

    coefficients: FloatArray
    initial: FloatArray


def draw(size: int, seed: np.random.SeedSequence) -> Draw:
    """One draw of a and â; the same seed always gives the same."""
    numbers = np.random.default_rng(seed).uniform(size=(2, size))
    return Draw(numbers[0], numbers[1])


def budget_of(name: str, k: int) -> Budget:
    """`at most` k tests, as the paper defines its budget, or `exactly` k, as its program does."""
    return AtMost(k) if name == "at most" else Exactly(k)


def instance(
    drawn: Draw,
    correlation: float,
    alpha: float | Curve,
    budget: Budget,
    *,
    discount: float = USUAL.discount,
    horizon: int | None = USUAL.horizon,
    floor: float = 0.0,
    imputation: float = 0.0,
) -> Problem:
    """Equicorrelated Gaussian tests and geometric learning, unless another curve is given."""
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
        The number of tests (`n` or `tests`), how many are shown (`k` or `shown`), and whatever else
        of the usual is changed.
    seed
        Of the draw.
    budget
        "at most" or "exactly".
    horizon
        Rounds to plan; None for no end.
    rho
        Correlation, where the setting has none.
    alpha
        Speed of learning, where the setting has none.

    Returns
    -------
    Problem
        Drawn by the seed alone.
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
    """The best plan over the horizon; where that is too large, says which assumption to change."""
    try:
        return solve(problem, "finite")
    except TooLarge as error:
        assert problem.horizon is not None
        fits = longest_that_fits(problem, problem.horizon, DEFAULT_MEMORY, _QUICK_WORK)
        raise TooLarge(
            f"{problem.size} tests over {problem.horizon} rounds would take "
            f"{error.bytes_needed / 2**30:,.1f} GiB to plan exactly; choose a shorter `horizon` "
            f"({fits} rounds are planned in seconds)",
            bytes_needed=error.bytes_needed,
        ) from None


def beside_best(problem: Problem, best: float, value: float) -> dict[str, float]:
    """How a plan that costs this stands to the best one: columns of a table, in per cent.

    Both costs are sums of what nobody can avoid and more; `excess` compares only the more.
    """
    floor = remaining_floor(problem, after=0)
    excess = 100.0 * (best - floor) / (value - floor)
    return {"floor": floor, "retained": 100.0 * best / value, "excess": excess}


def filled(problem: Problem, length: int) -> None:
    """The work of a truncated plan of that length, and nothing else, to be timed."""
    fill(problem, length, DEFAULT_MEMORY, method="truncated")


def least_seconds(run: Callable[[], object], repeats: int) -> float:
    """The least of several times that something takes."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)
