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
from preceptor.model.readings import readings_of_all
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
    # A copy, because kernels would be compiled once more for what cannot be written.
    omega = np.array(imputation_covariance, dtype=np.float64)
    readings = readings_of_all(world, omega, sets)
    least = readings.floor + sets.prices
    return Deviations(
        omega, sets.members, np.asarray(sets.sizes), least, readings.shift, readings.factor
    )
