"""What somebody reads off each set, as arrays padded to the widest set.

With Σ the covariance of the tests and Ω the one that the person fills in from, somebody with
weights h who is shown S weighs its tests with F h, F = Ω_SS⁻¹ Ω[S,:]; the best weights are
β = Σ_SS⁻¹ (Σa)_S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World


@dataclass(frozen=True, eq=False)
class Readings:
    """For all sets; beyond a set's own tests, arrays are 0."""

    members: IntArray  # (sets, k)
    variance: FloatArray  # (sets, k, k): V = Σ_SS
    solved: FloatArray  # (sets, k, k): Ω_SS⁻¹
    target: FloatArray  # (sets, k): (Σa)_S
    offset: FloatArray  # (sets, k): c = β - F a
    residual: FloatArray  # (sets,): r2, what the best reader of the set gets wrong


def readings_of(world: World, omega: FloatArray, sets: SetFamily) -> Readings:
    """What a person who fills in from Ω reads off each set.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    omega
        Ω, shape (n, n).
    sets
        What may be shown.

    Returns
    -------
    Readings
        In the order of the sets.
    """
    widest = max(int(sets.sizes.max(initial=0)), 1)
    members = np.zeros((len(sets), widest), dtype=np.int64)
    members[:, : sets.members.shape[1]] = np.maximum(sets.members, 0)
    inside = np.arange(widest) < sets.sizes[:, None]
    # Padded with an identity, blocks of all sizes are inverted together.
    beyond = np.eye(widest) * ~inside[:, :, None]

    def block(matrix: FloatArray) -> FloatArray:
        whole = matrix[members[:, :, None], members[:, None, :]]
        return np.where(inside[:, :, None] & inside[:, None, :], whole, 0.0)

    truth, with_outcome = world.coefficients, world.covariance @ world.coefficients
    variance = block(world.covariance)
    solved = np.linalg.inv(block(omega) + beyond) - beyond
    target = np.where(inside, with_outcome[members], 0.0)
    best = np.linalg.solve(variance + beyond, target[:, :, None])[:, :, 0]
    offset = np.zeros_like(best)
    if not np.array_equal(omega, world.covariance):
        believed = np.where(inside, (omega @ truth)[members], 0.0)
        offset = best - np.einsum("mij,mj->mi", solved, believed)
    left = float(truth @ with_outcome) - np.sum(best * target, axis=1)
    residual = world.noise_variance + np.maximum(left, 0.0)
    return Readings(members, variance, solved, target, offset, residual)
