"""What somebody's weights make of each set, where the outcome is yes or no.

With weights h and S shown, tests that are not shown are filled in from Ω, so that the person's
score is w·x_S with w = Ω_SS⁻¹ (Ωh)_S. Together with γ = (Σa)_S and V = Σ_SS,

    c = γ·w,     vp = w'Vw

are its covariance with the true score and its variance, and a charge is read off the surface of
the risk at these two numbers (`model/surfaces.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.model.compiled_risks import CompiledRisk
from preceptor.model.score_pairs import ScorePair
from preceptor.model.sets import SetFamily
from preceptor.model.surfaces import surface_of
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk


@dataclass(frozen=True, eq=False)
class Scores:
    """Readings of all sets and the charge of a risk, in the layout that kernels read."""

    world: World
    risk: YesNoRisk
    sets: SetFamily
    omega: FloatArray  # (n, n)
    members: Any  # (sets, k), padded with 0
    solved: FloatArray  # (sets, k, k): Ω_SS⁻¹
    variance: FloatArray  # (sets, k, k): V
    target: FloatArray  # (sets, k): γ
    charge: CompiledRisk

    @property
    def arrays(self) -> Any:
        """What kernels take, in their order."""
        return (
            self.omega, self.members, self.sets.sizes, self.solved, self.variance, self.target,
            self.sets.prices, self.charge.numbers, self.charge.surface,
        )  # fmt: skip

    def floors(self) -> FloatArray:
        """What the best reader of each set is charged, price included, shape (sets,)."""
        outcome = self.world.outcome
        assert outcome is not None
        known = np.zeros(len(self.sets))
        for s, size in enumerate(self.sets.sizes):
            if size:
                gamma = self.target[s, :size]
                known[s] = gamma @ np.linalg.solve(self.variance[s, :size, :size], gamma)
        spread = self.world.score_variance
        # Sets often explain the same, and charges of probabilities take a sum each.
        distinct, place = np.unique(np.clip(known, 0.0, spread), return_inverse=True)
        readers = ScorePair.best_reader(outcome.from_score, self.world.base_score, spread, distinct)
        return np.asarray(self.risk.best(readers)[place] + self.sets.prices)


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
    count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
    members = np.zeros((count, widest), dtype=np.int64)
    members[:, : sets.members.shape[1]] = np.maximum(sets.members, 0)
    solved, variance = np.zeros((count, widest, widest)), np.zeros((count, widest, widest))
    target = np.zeros((count, widest))
    gamma = world.covariance @ world.coefficients
    for size in np.unique(sets.sizes):
        if size == 0:
            continue
        rows = np.flatnonzero(sets.sizes == size)
        shown = sets.members[rows, :size]
        block = (shown[:, :, None], shown[:, None, :])
        solved[rows, :size, :size] = np.linalg.inv(omega[block])
        variance[rows, :size, :size] = world.covariance[block]
        target[rows, :size] = gamma[shown]
    return Scores(
        world, risk, sets, np.array(omega), members, solved, variance, target,
        charge_of(world, risk),
    )  # fmt: skip


def charge_of(world: World, risk: YesNoRisk) -> CompiledRisk:
    """The surface of a risk in a world, made once."""
    known: dict[YesNoRisk, CompiledRisk] = remembered(world, "surfaces", dict)
    if risk not in known:
        known[risk] = surface_of(world, risk).compiled
    return known[risk]
