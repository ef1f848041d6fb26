"""Slow, obvious twins of what the package computes. They share no code with it."""

from __future__ import annotations

import itertools

import numpy as np

import preceptor as pr


def variance(problem: pr.Problem, beliefs: np.ndarray, shown: tuple[int, ...]) -> float:
    """Variance of y - ŷ from first principles: weights on the shown tests, dense algebra."""
    world, learner = problem.world, problem.learner
    sigma, a = world.covariance, world.coefficients
    if np.ndim(learner.imputation) == 0:
        kappa = float(learner.imputation)
        omega = (1 - kappa) * sigma + kappa * np.diag(np.diag(sigma))
    else:
        omega = np.asarray(learner.imputation)
    s = list(shown)
    # x̂ = B x_S, prediction = beliefs · x̂ = w · x_S
    fill = np.zeros((world.size, len(s)))
    if s:
        fill = omega[:, s] @ np.linalg.inv(omega[np.ix_(s, s)])
    w = fill.T @ beliefs
    predicted = float(w @ sigma[np.ix_(s, s)] @ w)
    together = float(w @ (sigma @ a)[s])
    return world.noise_variance + float(a @ sigma @ a) - 2 * together + predicted


def beliefs_at(problem: pr.Problem, counts) -> np.ndarray:
    """The paper's â(m), test by test."""
    a, h = problem.world.coefficients, problem.learner.initial
    curves = problem.learner.curve_of
    left = [c.sign(m) * np.sqrt(c.phi(m)) for c, m in zip(curves, counts, strict=True)]
    return a - (a - h) * np.array(left)


def round_loss(problem: pr.Problem, counts, shown: tuple[int, ...]) -> float:
    v = variance(problem, beliefs_at(problem, counts), shown)
    prices = np.broadcast_to(problem.budget.price, (problem.size,))
    return float(problem.risk.expected(v)) + float(prices[list(shown)].sum())


def schedule_value(problem: pr.Problem, schedule) -> float:
    """Discounted loss of a finite schedule, one round after the other."""
    counts = list(problem.start_counts)
    total = 0.0
    for t, shown in enumerate(schedule):
        total += problem.discount**t * round_loss(problem, counts, tuple(shown))
        for i in shown:
            counts[i] += 1
    return total


def brute_force(problem: pr.Problem) -> tuple[float, list[tuple[tuple[int, ...], ...]]]:
    """Least value over every sequence of sets, and all sequences that attain it."""
    sets = list(problem.budget.subsets(problem.size))
    values = {
        schedule: schedule_value(problem, schedule)
        for schedule in itertools.product(sets, repeat=problem.horizon)
    }
    least = min(values.values())
    return least, [s for s, v in values.items() if v <= least + 1e-9 * (1 + abs(least))]


def operating_curve(pair, points: int) -> tuple[np.ndarray, np.ndarray]:
    """False-alarm rate and sensitivity of one pair of scores, wherever limits are put."""
    limits = np.ravel(pair.believed)[0] + np.ravel(pair.deviation)[0] * np.linspace(8, -8, points)
    misses, alarms = pair.mistakes(limits)
    yes = float(pair.link.mean_probability(pair.base, pair.spread))
    return alarms / (1.0 - yes), 1.0 - misses / yes
