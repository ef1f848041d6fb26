"""A log arranged for fitting: what each answer was made from, in the world's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.logs import Log
from preceptor.logs.in_world import in_world_units
from preceptor.model.world import World


class _Guesses(NamedTuple):
    """Rows that showed equally many tests: the sets (sets, k), each row's set, and its results."""

    members: IntArray
    rows: IntArray
    which: IntArray
    results: FloatArray


@dataclass(frozen=True, eq=False)
class Answers:
    """Rows of a log as arrays.

    - `person` (rows,): index of who answered;
    - `shown` (rows, n), `features` (rows, n): results in the world's units, 0 where hidden;
    - `counts` (rows, n): showings with feedback before this row;
    - `answers` (rows,): predictions as deviations from the average outcome; where that is yes or
      no, scores without the base score, or 1 and 0 if they are decisions (`decided`);
    - `sides` (rows,): on which side of its limit a score was. 1 (above) for an answer of 100 % and
      for yes, -1 for 0 % and for no; 0 for scores that are known.
    """

    world: World
    person: IntArray
    shown: npt.NDArray[np.bool_]
    features: FloatArray
    counts: FloatArray
    answers: FloatArray
    sides: FloatArray
    decided: bool = False

    @classmethod
    def of(cls, world: World, log: Log) -> Answers:
        """The rows of a log about the tests of this world."""
        values, answers, _outcomes = in_world_units(world, log)
        index = {name: i for i, name in enumerate(log.participants)}
        return cls(
            world,
            np.array([index[name] for name in log.participant.tolist()], dtype=np.int64),
            log.shown,
            values,
            log.counts_before.astype(np.float64),
            answers,
            _certain(log.prediction) if world.is_binary else np.zeros(len(log)),
            world.is_binary and log.decided,
        )

    def __len__(self) -> int:
        return int(self.answers.size)

    def rows(self, chosen: npt.NDArray[np.bool_] | IntArray) -> Answers:
        """Some of the rows; counts stay those of the whole log."""
        arrays = ("person", "shown", "features", "counts", "answers", "sides")
        return replace(self, **{name: getattr(self, name)[chosen] for name in arrays})

    @property
    def is_limited(self) -> bool:
        """Whether some answers only say above or below."""
        return self.decided or bool(np.any(self.sides))

    @property
    def limits(self) -> FloatArray:
        """Scores (rows,), or what they were above or below: of decisions, minus the base score."""
        if self.decided:
            return np.full(len(self), -self.world.base_score)
        return self.answers

    @cached_property
    def _guesses(self) -> list[_Guesses]:
        """Rows that left something to fill in, grouped by how many tests they showed."""
        found = []
        sizes = self.shown.sum(axis=1)
        for size in np.unique(sizes[(sizes > 0) & (sizes < self.world.size)]).tolist():
            rows = np.flatnonzero(sizes == size)
            seen = np.nonzero(self.shown[rows])[1].reshape(-1, size)
            members, which = np.unique(seen, axis=0, return_inverse=True)
            results = np.take_along_axis(self.features[rows], seen, axis=1)
            found.append(_Guesses(members, rows, which.ravel(), results))
        return found

    @cached_property
    def depends_on_imputation(self) -> bool:
        """Whether any answer would change if the person imputed differently."""
        return bool(np.any(self.imputed(0.5)[1]))

    def imputed(self, dial: float) -> tuple[FloatArray, FloatArray]:
        """Tests as a person with this κ fills them in (rows, n), and the derivative by κ.

        With Ω = (1-κ)Σ + κ diag Σ, hidden tests H are x̂_H = Ω_HS Ω_SS⁻¹ x_S; and since Ω changes
        by D = diag Σ - Σ, they change by (D_HS - Ω_HS Ω_SS⁻¹ D_SS) Ω_SS⁻¹ x_S.
        """
        covariance = self.world.covariance
        change = np.diag(np.diag(covariance)) - covariance
        omega = covariance + dial * change
        filled, slope = self.features.copy(), np.zeros(self.features.shape)
        for members, rows, which, results in self._guesses:
            block = (members[:, :, None], members[:, None, :])
            reading = np.linalg.solve(omega[block], omega[members])
            moved = np.linalg.solve(omega[block], change[members] - change[block] @ reading)
            hidden, at = ~self.shown[rows], results[:, None, :]
            filled[rows] += hidden * (at @ reading[which])[:, 0]
            slope[rows] = hidden * (at @ moved[which])[:, 0]
        return filled, slope


def _certain(answers: FloatArray) -> FloatArray:
    return np.where(answers == 1.0, 1.0, np.where(answers == 0.0, -1.0, 0.0))
