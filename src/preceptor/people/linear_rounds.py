"""How a round moves people whose weights are linear in their errors, as arrays for kernels.

`moments.py` says what the letters mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World

if TYPE_CHECKING:
    from preceptor.people.delta_rule import DeltaRule
    from preceptor.people.folding import Folding


@dataclass(frozen=True, eq=False)
class Readings:
    """What somebody reads off each set, as arrays padded to the widest set."""

    variance: FloatArray  # (sets, k, k): V
    solved: FloatArray  # (sets, k, k): Ω_SS⁻¹
    offset: FloatArray  # (sets, k): c
    residual: FloatArray  # (sets,): r2


@dataclass(frozen=True, eq=False)
class LinearRounds:
    """How a round with each set moves somebody: see the head of `moments.py`."""

    own: FloatArray  # (sets, k)
    pull: FloatArray  # (sets, k, k)
    gain2: FloatArray  # (sets,): squared rate of Isserlis' 𝓜; 0 for none
    all_weights: bool = False
    cap: float = 0.0  # of surprises; 0 for none
    decay: float = 0.0
    before: int = 0  # rounds played before, for the decay
    leak: float = 0.0  # share of the way back that errors go after each round
    away: FloatArray | None = None  # (n,): errors that they go back to


def readings_of(world: World, omega: FloatArray, sets: SetFamily) -> Readings:
    """What a person who fills in from Ω reads off each set."""
    count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
    sigma, truth = world.covariance, world.coefficients
    target, believed = sigma @ truth, omega @ truth
    explained = float(truth @ target)
    variance = np.zeros((count, widest, widest))
    solved = np.zeros((count, widest, widest))
    offset = np.zeros((count, widest))
    residual = np.full(count, world.noise_variance + explained)
    for size in np.unique(sets.sizes):
        if size == 0:
            continue
        rows = np.flatnonzero(sets.sizes == size)
        members = sets.members[rows, :size]
        shown = sigma[members[:, :, None], members[:, None, :]]
        best = np.linalg.solve(shown, target[members][:, :, None])[:, :, 0]
        inverse = np.linalg.inv(omega[members[:, :, None], members[:, None, :]])
        variance[rows, :size, :size] = shown
        solved[rows, :size, :size] = inverse
        offset[rows, :size] = best - np.einsum("mij,mj->mi", inverse, believed[members])
        left = explained - np.sum(best * target[members], axis=1)
        residual[rows] = world.noise_variance + np.maximum(left, 0.0)
    if np.array_equal(omega, sigma):
        offset[:] = 0.0
    return Readings(variance, solved, offset, residual)


def delta_rule_rounds(person: DeltaRule, world: World, sets: SetFamily) -> LinearRounds:
    """The delta rule: K = ηVU, 𝓜[W] = η²(VWV + tr(VW)V), N2 = η² r2 V."""
    V = readings_of(world, person.imputing_covariance(world), sets).variance
    away: FloatArray = np.array(world.coefficients - person.leaks_to)
    return LinearRounds(
        own=np.zeros(V.shape[:2]),
        pull=person.rate * V,
        gain2=np.full(len(sets), person.rate**2),
        all_weights=person.all_weights,
        cap=person.cap or 0.0,
        decay=person.decay,
        before=person.rounds,
        leak=person.leak,
        away=away,
    )


def folding_rounds(person: Folding, world: World, sets: SetFamily) -> LinearRounds:
    """Shown weights move by K = (1 - ratio)((1 - λ) I_S + λ U); no chance in it."""
    count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
    ratios = np.array([float(curve.ratio or 0.0) for curve in person.curve_of])
    learned = np.where(sets.members >= 0, 1.0 - ratios[np.maximum(sets.members, 0)], 0.0)
    learned = np.pad(learned, ((0, 0), (0, widest - learned.shape[1])))
    pull = person.folding * learned[:, :, None] * np.eye(widest)
    return LinearRounds(
        own=(1.0 - person.folding) * learned,
        pull=pull,
        gain2=np.zeros(count),
    )
