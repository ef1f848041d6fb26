"""The paper's Algorithm 1 in plain Python, line by line, for comparison.

For closed-form squared error and one geometric curve. It shares nothing with the planners, and is
slow.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor.errors import NotApplicable
from preceptor.model.problem import Problem
from preceptor.people.curves import Geometric


def algorithm1(problem: Problem) -> tuple[float, list[tuple[int, ...]]]:
    """Return optimal value and schedule. L(S, â(m)) is the closed form with M_S precomputed."""
    sets = list(problem.budget.subsets(problem.size))
    tests = range(problem.size)
    a = problem.world.coefficients.tolist()
    initial = problem.learner.initial.tolist()
    curve = problem.by_showings.curve_of[0]
    if not isinstance(curve, Geometric) or problem.horizon is None:
        raise NotApplicable("algorithm1: for geometric curves and a finite horizon")
    alpha = curve.alpha
    sigma = problem.world.covariance
    floor, matrix = {}, {}
    for shown in sets:
        s = list(shown)
        m = sigma[:, s] @ np.linalg.inv(sigma[np.ix_(s, s)]) @ sigma[s] if s else 0 * sigma
        floor[shown] = problem.world.noise_variance + float(np.array(a) @ (sigma - m) @ a)
        matrix[shown] = m.tolist()

    def phi(count: int) -> float:
        return float(alpha ** (-2 * count))

    def belief(i: int, count: int) -> float:
        return float(a[i] - (a[i] - initial[i]) * math.sqrt(phi(count)))

    def loss(shown: tuple[int, ...], counts: tuple[int, ...]) -> float:
        e = [a[i] - belief(i, counts[i]) for i in tests]
        m = matrix[shown]
        return float(floor[shown] + sum(e[i] * m[i][j] * e[j] for i in tests for j in tests))

    start = (0,) * problem.size
    value = {start: 0.0}
    parents = []
    for t in range(problem.horizon):
        following: dict[tuple[int, ...], float] = {}
        parent: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        for counts, prefix in value.items():
            for shown in sets:
                cost = prefix + problem.discount**t * loss(shown, counts)
                after = tuple(c + (i in shown) for i, c in enumerate(counts))
                if cost < following.get(after, np.inf):
                    following[after] = cost
                    parent[after] = (counts, shown)
        parents.append(parent)
        value = following
    state = min(value, key=value.__getitem__)
    best = value[state]
    schedule = []
    for parent in reversed(parents):
        state, shown = parent[state]
        schedule.append(shown)
    return best, schedule[::-1]
