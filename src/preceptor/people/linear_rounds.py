"""How a round moves people whose weights are linear in their errors, as arrays for kernels.

`moments.py` says what the letters mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.model.sets import SetFamily, TestSet
from preceptor.model.world import World

if TYPE_CHECKING:
    from preceptor.people.delta_rule import DeltaRule
    from preceptor.people.folding import Folding
    from preceptor.people.normalised import NormalisedMoments


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
    second: FloatArray  # (sets, k, k): V, or E[xx'/q²] of normalised steps
    gain2: FloatArray  # (sets,): squared rate of Isserlis' 𝓜; 0 for none
    fourth: FloatArray  # (sets, k, k, k, k): 𝓜 itself for normalised steps, or empty
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
    """The delta rule: K = ηVU, 𝓜[W] = η²(VWV + tr(VW)V), N2 = η² r2 V; or normalised steps."""
    readings = readings_of(world, person.imputing_covariance(world), sets)
    V, count = readings.variance, len(sets)
    widest = V.shape[1]
    own = np.zeros((count, widest))
    away: FloatArray = np.array(world.coefficients - person.leaks_to)
    if person.normalised is None:
        return LinearRounds(
            own=own,
            pull=person.rate * V,
            second=V,
            gain2=np.full(count, person.rate**2),
            fourth=np.empty((0, widest, widest, widest, widest)),
            all_weights=person.all_weights,
            cap=person.cap or 0.0,
            decay=person.decay,
            before=person.rounds,
            leak=person.leak,
            away=away,
        )
    from preceptor.people.normalised import normalised_moments

    pull, second = np.zeros_like(V), np.zeros_like(V)
    fourth = np.zeros((count, widest, widest, widest, widest))
    # They take longest, and depend on the tests alone: whoever plans again asks for the same.
    about = f"normalised moments {person.normalised!r}"
    known: dict[TestSet, NormalisedMoments] = remembered(world, about, dict)
    for s, size in enumerate(sets.sizes):
        if size == 0:
            continue
        shown = tuple(sets.members[s, :size].tolist())
        if shown not in known:
            known[shown] = normalised_moments(V[s, :size, :size], person.normalised)
        moments = known[shown]
        first = moments.first
        square = np.einsum("ia,bj->ijab", first, first)
        full = np.asarray(moments.fourth).reshape(size, size, size, size)
        pull[s, :size, :size] = person.rate * first
        second[s, :size, :size] = person.rate**2 * moments.second
        fourth[s, :size, :size, :size, :size] = person.rate**2 * (full - square)
    return LinearRounds(
        own, pull, second, np.zeros(count), fourth, decay=person.decay, before=person.rounds,
        leak=person.leak, away=away,
    )  # fmt: skip


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
        second=np.zeros_like(pull),
        gain2=np.zeros(count),
        fourth=np.empty((0, widest, widest, widest, widest)),
    )
