"""The paper's random instances: true and initial coefficients uniform between 0 and 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.budgets import AtMost, Budget, Exactly
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Curve, Geometric
from preceptor.problem import Problem

NOISE = 1e-3
DISCOUNT = 0.99
HORIZON = 600
BUDGETS = ("at most", "exactly")


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
