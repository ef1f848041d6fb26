"""The paper's Algorithm 1 written down line by line, with dicts: what we compare with."""

from __future__ import annotations

import math

import numpy as np

import preceptor as pr


def algorithm1(problem: pr.Problem) -> tuple[float, list[tuple[int, ...]]]:
    """Optimal value and sets. L(S, â(m)) is the closed form with M_S computed beforehand."""
    sets = list(problem.budget.subsets(problem.size))
    tests = range(problem.size)
    a = problem.world.coefficients.tolist()
    initial = problem.learner.initial.tolist()
    alpha = problem.learner.curve_of[0].alpha
    sigma = problem.world.covariance
    floor, matrix = {}, {}
    for shown in sets:
        s = list(shown)
        m = sigma[:, s] @ np.linalg.inv(sigma[np.ix_(s, s)]) @ sigma[s] if s else 0 * sigma
        floor[shown] = problem.world.noise_variance + float(np.array(a) @ (sigma - m) @ a)
        matrix[shown] = m.tolist()

    def phi(count: int) -> float:
        return alpha ** (-2 * count)

    def belief(i: int, count: int) -> float:
        return a[i] - (a[i] - initial[i]) * math.sqrt(phi(count))

    def loss(shown: tuple[int, ...], counts: tuple[int, ...]) -> float:
        e = [a[i] - belief(i, counts[i]) for i in tests]
        m = matrix[shown]
        return floor[shown] + sum(e[i] * m[i][j] * e[j] for i in tests for j in tests)

    start = (0,) * problem.size
    value = {start: 0.0}
    parents = []
    for t in range(problem.horizon):
        following: dict[tuple[int, ...], float] = {}
        parent = {}
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
