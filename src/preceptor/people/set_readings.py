"""How people read each set: effective weights, deviations and scores, padded to the largest set.

With Σ the covariance of the tests and Ω the one used for imputation, a person with weights h who is
shown S effectively weighs its tests with F h, F = Ω_SS⁻¹ Ω[S,:]; the best weights are β = Σ_SS⁻¹
(Σa)_S.

The best weights on S leave a floor, and a person whose weights have errors e has the expected
squared error

    floor_S + |bend_S + F_S (Ωe)_S|²,     F_S = L'Ω_SS⁻¹,  LL' = Σ_SS,

where the bend is 0 if Ω = Σ. So evaluating a state takes one product with Ω, and then k²
multiplications for each set of k tests.

Where outcomes are yes/no, the person's score is w·x_S with w = Ω_SS⁻¹ (Ωh)_S. With γ = (Σa)_S and V
= Σ_SS,

    c = γ·w,     vp = w'Vw

are its covariance with the true score and its variance, and the expected charge is read off the
surface of the risk at these two numbers (`model/surfaces.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.readings import readings_of_all
from preceptor.model.sets import SetFamily
from preceptor.model.surfaces import best_charges, level_surfaces, surface_of
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk


@dataclass(frozen=True, eq=False)
class SetReadings:
    """Arrays for all sets; entries beyond the size of a set are 0."""

    members: IntArray  # (sets, k)
    variance: FloatArray  # (sets, k, k): V = Σ_SS
    solved: FloatArray  # (sets, k, k): Ω_SS⁻¹
    target: FloatArray  # (sets, k): (Σa)_S
    offset: FloatArray  # (sets, k): c = β - F a
    residual: FloatArray  # (sets,): r2, expected squared error under the best weights


def set_readings(world: World, omega: FloatArray, sets: SetFamily) -> SetReadings:
    """Return the readings of a person who imputes hidden tests from Ω.

    Parameters
    ----------
    world
        Model of tests and outcomes.
    omega
        Ω, shape (n, n).
    sets
        Sets of tests that may be shown.

    Returns
    -------
    SetReadings
        In the order of the sets.
    """
    widest = max(int(sets.sizes.max(initial=0)), 1)
    members = np.zeros((len(sets), widest), dtype=np.int64)
    members[:, : sets.members.shape[1]] = np.maximum(sets.members, 0)
    inside = np.arange(widest) < sets.sizes[:, None]
    # Padding with an identity lets blocks of all sizes be inverted together.
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
    return SetReadings(members, variance, solved, target, offset, residual)


@dataclass(frozen=True, eq=False)
class Deviations:
    """Squared errors of all sets in the layout that kernels read, padded to the largest set."""

    omega: FloatArray  # (n, n): the covariance used for imputation
    members: IntArray  # (sets, k), padded with -1
    sizes: IntArray  # (sets,)
    least: FloatArray  # (sets,): floor and price together
    bend: FloatArray  # (sets, k)
    factor: FloatArray  # (sets, k, k)

    @property
    def arrays(self) -> Any:
        """All arrays in the order of the kernels' arguments."""
        return self.omega, self.members, self.sizes, self.least, self.bend, self.factor


def deviations_of(world: World, sets: SetFamily, imputation_covariance: FloatArray) -> Deviations:
    """Return the deviations of a person who imputes hidden tests from a covariance.

    Parameters
    ----------
    world
        Model of tests and outcomes.
    sets
        Sets of tests that may be shown.
    imputation_covariance
        Ω, shape (n, n).

    Returns
    -------
    Deviations
        For all sets, in their order.
    """
    # A copy, because Numba would compile kernels again for read-only arrays.
    omega = np.array(imputation_covariance, dtype=np.float64)
    readings = readings_of_all(world, omega, sets)
    least = readings.floor + sets.prices
    return Deviations(
        omega, sets.members, np.asarray(sets.sizes), least, readings.shift, readings.factor
    )


@dataclass(frozen=True, eq=False)
class Scores:
    """Readings of all sets and the charges of a risk, in the layout that kernels read."""

    world: World
    risk: YesNoRisk
    sets: SetFamily
    omega: FloatArray  # (n, n)
    readings: SetReadings
    # Places at which charges are tabulated if the last test of every set is a constant, whose
    # weight is the level; empty otherwise.
    levels: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def members(self) -> IntArray:
        """Tests of each set (sets, k), padded with 0."""
        return self.readings.members

    @cached_property
    def arrays(self) -> Any:
        """Arrays in the order of the kernels' arguments."""
        read = self.readings
        return (
            self.omega, read.members, self.sets.sizes, read.solved, read.variance, read.target,
            self.sets.prices, *self.tables(self.risk), self.levels,
        )  # fmt: skip

    def tables(self, risk: YesNoRisk) -> tuple[FloatArray, FloatArray]:
        """Charges of a risk: numbers (tables, 11) and surfaces (tables, rows, columns, 16)."""
        if self.levels.size:
            return level_surfaces(self.world, risk, self.levels)
        charge = surface_of(self.world, risk).compiled
        return charge.numbers[None], charge.surface[None]

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included, shape (sets,)."""
        best = best_charges(self.world, self.risk, self.readings.residual)
        return best + self.sets.prices


def scores_of(world: World, sets: SetFamily, omega: FloatArray, risk: YesNoRisk) -> Scores:
    """Return the readings and charges of a person who imputes hidden tests from Ω.

    Parameters
    ----------
    world
        A world with a yes/no outcome.
    sets
        Sets of tests that may be shown.
    omega
        Ω, shape (n, n).
    risk
        How scores become answers, and the loss of each answer.

    Returns
    -------
    Scores
        For all sets, in their order.
    """
    return Scores(world, risk, sets, np.array(omega), set_readings(world, omega, sets))
