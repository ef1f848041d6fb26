"""The paper's beam with our kernels, against the same algorithm in plain NumPy."""

from __future__ import annotations

import numpy as np

import preceptor as pr
from benchmarks.instances import instance
from benchmarks.measure import Row, one_time


def plain_beam(problem: pr.Problem, width: int, layers: int, report: list[float]) -> float:
    """Vectorised NumPy, written the obvious way: every child scored over every set."""
    sigma, a = problem.world.covariance, problem.world.coefficients
    first = a - problem.learner.initial
    alpha, delta = problem.learner.curve_of[0].alpha, problem.discount
    sets = [list(s) for s in problem.sets]
    matrix = np.array(
        [
            sigma[:, s] @ np.linalg.inv(sigma[np.ix_(s, s)]) @ sigma[s] if s else 0 * sigma
            for s in sets
        ]
    )
    floor = problem.world.noise_variance + np.einsum("i,sij,j->s", a, sigma - matrix, a)
    shown = np.array([[i in s for i in range(problem.size)] for s in sets], dtype=float)
    a0, a1, a2 = 1 / (1 - delta), 1 / (1 - delta / alpha), 1 / (1 - delta / alpha**2)
    counts, values = np.zeros((1, problem.size), dtype=int), np.zeros(1)
    for t in range(layers):
        e = first * alpha ** -counts.astype(float)
        losses = floor + np.einsum("bi,sij,bj->bs", e, matrix, e, optimize=True)
        costs = (values[:, None] + delta**t * losses).ravel()
        children = (counts[:, None] + shown[None].astype(int)).reshape(-1, problem.size)
        unique, where = np.unique(children, axis=0, return_inverse=True)
        best = np.full(len(unique), np.inf)
        np.minimum.at(best, where.ravel(), costs)
        scores = np.empty(len(unique))
        for start in range(0, len(unique), 256):
            e = first * alpha ** -unique[start : start + 256].astype(float)
            q = e @ sigma
            uu = np.einsum("bi,sij,bj->bs", e, matrix, e, optimize=True)
            uv = (q * e) @ shown.T
            inside = e[:, None, :] * shown[None]
            vv = np.einsum("bsi,bsi->bs", inside @ sigma, inside)
            cost = floor * a0 + a0 * (uu - 2 * uv + vv) + 2 * a1 * (uv - vv) + a2 * vv
            scores[start : start + 256] = cost.min(axis=1)
        scores = best + delta ** (t + 1) * scores
        kept = np.argsort(scores)[:width]
        counts, values = unique[kept], best[kept]
        report.append(float(scores[kept[0]]))
    return report[-1]


def against_numpy() -> Row:
    """(15,3), width 100. The plain one is timed over its last few of 50 layers' worth of work."""
    problem = instance(15, 3, 0.99)
    layers, timed = 50, 4
    pr.solve(problem, "beam", width=100, layers=2)
    ours, plan = one_time(lambda: pr.solve(problem, "beam", width=100, layers=layers))
    seen: list[float] = []
    plain, _ = one_time(lambda: plain_beam(problem, 100, timed, seen))
    same = pr.solve(problem, "beam", width=100, layers=timed)
    assert np.isclose(same.value, seen[-1], rtol=1e-9)
    short, _ = one_time(lambda: pr.solve(problem, "beam", width=100, layers=timed))
    return Row(
        work=f"beam, (15,3), M=100, {timed} layers of {layers}",
        against="the same algorithm written plainly in NumPy",
        ratio=plain / short,
        wanted=50.0,
        details={
            "numpy_seconds": plain,
            "ours_seconds": short,
            "ours_seconds_all_layers": ours,
            "same_value": True,
            "value": plan.value,
        },
    )


ROWS = {"beam": against_numpy}
