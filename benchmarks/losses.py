"""Losses of all sets for a batch of states, against NumPy."""

from __future__ import annotations

import numpy as np

from benchmarks.instances import instance
from benchmarks.measure import Row, best_time


def all_sets() -> Row:
    """(25,5), 256 states, 68,406 sets. NumPy gets everything precomputed."""
    problem = instance(25, 5, 0.99)
    rng = np.random.default_rng(1)
    errors = problem.initial_errors * rng.uniform(0, 1, (256, 25))
    sigma, members = problem.world.covariance, problem.sets.members
    rows = np.zeros((len(problem.sets), 5, 25))
    for size in range(1, 6):
        chosen = np.flatnonzero(problem.sets.sizes == size)
        s = members[chosen, :size]
        inverse = np.linalg.inv(np.linalg.cholesky(sigma[s[:, :, None], s[:, None, :]]))
        rows[chosen, :size] = inverse @ sigma[s]
    floor = problem.oracle.floors()
    stacked = np.ascontiguousarray(rows.reshape(-1, 25).T)

    def gemm() -> np.ndarray:
        y = (errors @ stacked).reshape(256, -1, 5)
        return floor + np.einsum("bsk,bsk->bs", y, y)

    few = slice(0, 16)  # dense matrices of all sets for 16 states, then scaled up
    dense = np.einsum("sri,srj->sij", rows, rows)

    def matrices() -> np.ndarray:
        return floor + np.einsum("bi,sij,bj->bs", errors[few], dense, errors[few], optimize=True)

    assert np.allclose(gemm(), problem.oracle.losses(errors))
    by_gemm = best_time(gemm)
    by_matrices = best_time(matrices, least=1) * 16
    ours = best_time(lambda: problem.oracle.losses(errors))
    return Row(
        work="all-sets loss, (25,5), 256 states",
        against="NumPy, GEMM or precomputed matrices, whichever is faster",
        ratio=min(by_gemm, by_matrices) / ours,
        wanted=10.0,
        details={"gemm_seconds": by_gemm, "matrices_seconds": by_matrices, "ours_seconds": ours},
    )


ROWS = {"losses": all_sets}
