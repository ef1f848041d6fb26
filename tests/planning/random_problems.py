"""Random problems that are small enough to be solved exactly, of every kind there is.

Curves, imputations, risks, budgets, prices, groups, counts at the start, both horizons; weights and
errors of both signs; correlations of both signs, some of them nearly singular.
"""

from __future__ import annotations

import numpy as np

import preceptor as pr


def pinball(residual):
    return np.where(residual > 0, 0.8 * residual, -0.2 * residual)


def log_cosh(residual):
    size = np.abs(residual)
    return size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0)


def random_problem(seed: int) -> pr.Problem:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    groups = {"both": [0, 1]} if size == 3 and rng.random() < 0.15 else None
    world = pr.World(
        rng.standard_normal(size), covariance(rng, size), float(rng.uniform(0, 0.3)), groups=groups
    )
    one = rng.random() < 0.5
    curves = [curve(rng) for _ in range(1 if one or groups else size)]
    if len(curves) == 1:
        curves = curves * size
    imputation = [0.0, 0.0, 0.3, float(rng.uniform()), 1.0, covariance(rng, size)][rng.integers(6)]
    learner = pr.Learner(rng.standard_normal(size), curves, imputation)
    horizon = None if rng.random() < 0.6 else int(rng.integers(1, 9))
    start = [0] * size
    if rng.random() < 0.3:
        start = rng.integers(0, 4, size).tolist()
        if groups:
            start[1] = start[0]
    return pr.Problem(
        world,
        learner,
        budget(rng, size - (groups is not None)),
        discount=float(rng.uniform(0.3, 0.8)),
        horizon=horizon,
        risk=risk(rng),
        start=start,
    )


def covariance(rng: np.random.Generator, size: int) -> np.ndarray:
    kind = rng.integers(4)
    if kind == 0:  # nearly copies of each other
        return np.full((size, size), 0.995) + 0.005 * np.eye(size)
    if kind == 1:  # as negative as it gets, or nearly
        rho = -0.999 / (size - 1)
        return np.full((size, size), rho) + (1.0 - rho) * np.eye(size)
    root = rng.standard_normal((size, size + 1))
    return (root @ root.T + 0.02 * np.eye(size)) * rng.uniform(0.2, 2.0)


def curve(rng: np.random.Generator) -> pr.Curve:
    rate, floor = float(rng.uniform(1.05, 2.0)), float(rng.choice([0.0, 0.05, 0.3]))
    return [
        pr.Geometric(rate),
        pr.Geometric(rate, floor=floor),
        pr.PowerLaw(float(rng.uniform(0.2, 2.0)), floor=floor),
        pr.OneShot(),
        pr.Tabulated([1.0, 0.9, 0.4, 0.4, 0.1]),
        pr.Branch(pr.Geometric(rate), [1, -1]),
    ][rng.integers(6)]


def risk(rng: np.random.Generator) -> pr.Risk:
    return [
        pr.SquaredError(),
        pr.SquaredError(),
        pr.Huber(float(rng.uniform(0.2, 2.0))),
        pr.AbsoluteError(),
        pr.ResidualRisk(pinball if rng.random() < 0.5 else log_cosh),
    ][rng.integers(5)]


def budget(rng: np.random.Generator, size: int) -> pr.Budget:
    price = [0.0, 0.1, rng.uniform(0.0, 0.3, size)][rng.integers(3)]
    k = int(rng.integers(1, size + 1))
    kind = rng.integers(3)
    if kind == 0:
        return pr.AtMost(k, price=price)
    if kind == 1:
        return pr.Exactly(k, price=price)
    costs = rng.uniform(0.5, 2.0, size)
    return pr.Knapsack(costs, float(costs.max() + rng.uniform(0.0, 2.0)), price=price)
