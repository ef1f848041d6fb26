"""Random instances shared by benchmarks: coefficients, then beliefs, uniform on [0, 1]."""

from __future__ import annotations

import numpy as np

import preceptor as pr


def instance(size: int, k: int, rho: float, seed: int = 0, **changes: object) -> pr.Problem:
    """Equicorrelated, geometric learning with α = 1.05, δ = 0.99, at most k tests."""
    rng = np.random.default_rng(seed)
    a, h = rng.uniform(0, 1, size), rng.uniform(0, 1, size)
    world = pr.World.equicorrelated(a, rho)
    problem = pr.Problem(world, pr.Learner(h, pr.Geometric(1.05)), k, discount=0.99)
    return problem.replace(**changes)
