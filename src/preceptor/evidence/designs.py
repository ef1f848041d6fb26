"""Designs: answers of somebody of a kind as a known affine function of their first weights.

With the record of a person and the parameters of a kind, each answer is a row of numbers times the
first weights, plus an offset, plus scatter. `lockstep.affine_in_first_weights` does the same,
slowly, for anybody who is a `Person`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.evidence.record import Record


class Design(NamedTuple):
    """Rows (dials, points, rounds, n + 2) and offsets (dials, points, rounds), in standard units.

    The two columns behind the weights are left for the nuisances; offsets are NaN where errors grow
    without end.
    """

    rows: FloatArray
    offsets: FloatArray


@dataclass(frozen=True, eq=False)
class Rounds:
    """A record with tests filled in for several κ (dials): what the builders take."""

    record: Record
    dials: FloatArray
    filled: FloatArray  # (dials, rounds, n), standard

    @classmethod
    def of(cls, record: Record, dials: Sequence[float] | FloatArray) -> Rounds:
        """Fill in what was hidden, once for each dial."""
        filled = np.array([record.standard(float(dial)) for dial in dials])
        return cls(record, np.asarray(dials, dtype=np.float64), filled)

    @property
    def scale(self) -> FloatArray:
        """Steps (n,) of standard weights for a rate of 1.

        A delta rule has one rate for all tests in the world's units. Ours is that rate in units in
        which it is the share of an error that a showing removes, averaged over tests.
        """
        variances = self.record.test_sds**2
        return variances * np.mean(1.0 / variances)

    def empty(self, points: int) -> Design:
        """Room for so many points."""
        dials, rounds, n = self.filled.shape
        rows = np.zeros((dials, points, rounds, n + 2))
        return Design(rows, np.zeros((dials, points, rounds)))


def no_learning(rounds: Rounds, points: FloatArray) -> Design:
    """Weights stay."""
    design = rounds.empty(points.shape[0])
    design.rows[..., : rounds.filled.shape[2]] = rounds.filled[:, None]
    return design


def by_exposure(rounds: Rounds, points: FloatArray, *, power: bool = False) -> Design:
    """Points (points, 4): speed, floor, fading per round, fading per day."""
    from preceptor.evidence._design_kernels import exposure_rows

    record, design = rounds.record, rounds.empty(points.shape[0])
    exposure_rows(
        rounds.filled, record.shown, record.told, record.gaps, record.standard_truth,
        np.ascontiguousarray(points), power, *design,
    )  # fmt: skip
    return design


def by_surprise(rounds: Rounds, points: FloatArray) -> Design:
    """Points (points, 3): rate, decay, leak."""
    from preceptor.evidence._design_kernels import surprise_rows

    record, design = rounds.record, rounds.empty(points.shape[0])
    # A rate is the share of an error that a showing removes; a step moves by the surprise, which
    # in chances of yes is a share of that in scores.
    surprise_rows(
        rounds.filled, record.shown, record.told, *record.surprising,
        rounds.scale / record.mean_slope, np.ascontiguousarray(points), *design,
    )  # fmt: skip
    return design


def by_certainty(rounds: Rounds, points: FloatArray) -> Design:
    """Points (points, 2): prior variance and drift, over the noise variance."""
    from preceptor.evidence._design_kernels import certainty_rows

    record, design = rounds.record, rounds.empty(points.shape[0])
    certainty_rows(
        rounds.filled, record.told, record.standard_outcomes, rounds.scale,
        np.ascontiguousarray(points), *design,
    )  # fmt: skip
    return design
