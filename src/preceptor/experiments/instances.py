"""The paper's random instances: true and initial coefficients uniform between 0 and 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import TooLarge
from preceptor.model.budgets import AtMost, Budget, Exactly
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Curve, Geometric
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.planning.finite import DEFAULT_MEMORY, longest_that_fits
from preceptor.problem import Problem

NOISE = 1e-3
DISCOUNT = 0.99
HORIZON = 600
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
    discount: float = DISCOUNT,
    horizon: int | None = HORIZON,
    floor: float = 0.0,
    imputation: float = 0.0,
) -> Problem:
    """Equicorrelated Gaussian tests and geometric learning, unless another curve is given."""
    curve = alpha if isinstance(alpha, Curve) else Geometric(alpha, floor=floor)
    world = World.equicorrelated(drawn.coefficients, correlation, noise_variance=NOISE)
    return Problem(world, Learner(drawn.initial, curve, imputation), budget, discount, horizon)


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
