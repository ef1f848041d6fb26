"""What somebody's weights make of each set, where the outcome is yes or no.

With weights h and S shown, tests that are not shown are filled in from Ω, so that the person's
score is w·x_S with w = Ω_SS⁻¹ (Ωh)_S. Together with γ = (Σa)_S and V = Σ_SS,

    c = γ·w,     vp = w'Vw

are its covariance with the true score and its variance, and a charge is read off the surface of
the risk at these two numbers (`model/surfaces.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.surfaces import best_charges, surface_of
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.set_readings import Readings, readings_of


@dataclass(frozen=True, eq=False)
class Scores:
    """Readings of all sets and the charge of a risk, in the layout that kernels read."""

    world: World
    risk: YesNoRisk
    sets: SetFamily
    omega: FloatArray  # (n, n)
    readings: Readings

    @property
    def members(self) -> IntArray:
        """Tests of each set (sets, k), padded with 0."""
        return self.readings.members

    @cached_property
    def arrays(self) -> Any:
        """What kernels take, in their order."""
        read, charge = self.readings, surface_of(self.world, self.risk).compiled
        return (
            self.omega, read.members, self.sets.sizes, read.solved, read.variance, read.target,
            self.sets.prices, charge.numbers, charge.surface,
        )  # fmt: skip

    def floors(self) -> FloatArray:
        """What the best reader of each set is charged, price included, shape (sets,)."""
        best = best_charges(self.world, self.risk, self.readings.residual)
        return best + self.sets.prices


def scores_of(world: World, sets: SetFamily, omega: FloatArray, risk: YesNoRisk) -> Scores:
    """Readings of somebody who fills in from Ω.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    sets
        What may be shown.
    omega
        What the person fills in from, shape (n, n).
    risk
        How answers come out of scores, and what they cost; plug-in answers only.

    Returns
    -------
    Scores
        For all sets, in their order.
    """
    return Scores(world, risk, sets, np.array(omega), readings_of(world, omega, sets))
