"""What a round costs somebody with known errors: how far they read a set from its best reading.

With Σ the covariance of the tests and Ω the one that the person fills in from, whoever reads the
set S best is still off by a floor, and a person whose weights have errors e is off by

    floor_S + |bend_S + F_S (Ωe)_S|²,     F_S = L'Ω_SS⁻¹,  LL' = Σ_SS,

where the bend is 0 if Ω = Σ. So a state costs one product with Ω, and then k² multiplications for
each set of k tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World


@dataclass(frozen=True, eq=False)
class Deviations:
    """Squared errors of all sets in the layout that kernels read, padded to the widest set."""

    omega: FloatArray  # (n, n): what the person fills in from
    members: IntArray  # (sets, k), padded with -1
    sizes: IntArray  # (sets,)
    least: FloatArray  # (sets,): floor and price together
    bend: FloatArray  # (sets, k)
    factor: FloatArray  # (sets, k, k)

    @property
    def arrays(self) -> tuple[FloatArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray]:
        """All of it, in the order in which kernels take it."""
        return self.omega, self.members, self.sizes, self.least, self.bend, self.factor


def deviations_of(world: World, sets: SetFamily, imputation_covariance: FloatArray) -> Deviations:
    """How far somebody who fills in from a covariance is off with each set.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    sets
        What may be shown.
    imputation_covariance
        Ω, shape (n, n).

    Returns
    -------
    Deviations
        For all sets, in their order.
    """
    sigma, truth = world.covariance, world.coefficients
    # A copy, because kernels would be compiled once more for what cannot be written.
    omega = np.array(imputation_covariance, dtype=np.float64)
    target, believed = sigma @ truth, omega @ truth
    explained = float(truth @ target)
    knows_correlations = np.array_equal(omega, sigma)
    count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
    members = np.full((count, widest), -1, dtype=np.int64)
    members[:, : sets.members.shape[1]] = sets.members[:, :widest]
    least = np.full(count, world.noise_variance + explained)
    bend = np.zeros((count, widest))
    factor = np.zeros((count, widest, widest))
    for size in np.unique(sets.sizes):
        if size == 0:
            continue
        rows = np.flatnonzero(sets.sizes == size)
        shown = members[rows, :size]
        across, down = shown[:, None, :], shown[:, :, None]
        root: FloatArray = np.asarray(np.linalg.cholesky(sigma[down, across]), dtype=np.float64)
        best = np.linalg.solve(root, target[shown][:, :, None])[:, :, 0]
        least[rows] -= np.minimum(np.sum(best * best, axis=1), explained)
        if knows_correlations:
            identity = np.broadcast_to(np.eye(size), root.shape)
            part = np.linalg.solve(root, identity)
        else:
            part = np.swapaxes(np.linalg.solve(omega[down, across], root), 1, 2)
            bend[rows, :size] = best - np.einsum("mij,mj->mi", part, believed[shown])
        factor[rows, :size, :size] = part
    return Deviations(omega, members, np.asarray(sets.sizes), least + sets.prices, bend, factor)
