"""What answers a person is expected to give, as a function of everything that is estimated.

A person who fills in x̂ and has been shown tests m times answers

    b + Σ_i x̂_i(κ) [a_i - (a_i - h_i) r(m_i)] + noise,

with bias b, initial coefficients h, the world's coefficients a. Given the curve and κ this is
linear in b and h, so the best of those are had at once and only two or three numbers have to be
searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.estimation.learner_answers import Answers
from preceptor.estimation.learner_families import Family

# A direction with a singular value this much below the largest is one that the log leaves open.
SINGULAR = 1e-8


class Solved(NamedTuple):
    """What the rows say about the linear part, given curve and κ."""

    bias: float
    initial: FloatArray
    residuals: FloatArray
    slopes: FloatArray
    basis: FloatArray


@dataclass(frozen=True, eq=False)
class Model:
    """What is estimated from which rows.

    - `free` (n,): initial coefficients that are estimated; the others keep `default` (n,);
    - `imputation`: κ if it is known, None if it is estimated;
    - `biased`: whether the person may be off by a constant.
    """

    answers: Answers
    family: Family
    free: npt.NDArray[np.bool_]
    default: FloatArray
    imputation: float | None
    biased: bool

    @property
    def searched(self) -> tuple[str, ...]:
        """Names of the parameters that enter nonlinearly."""
        return self.family.parameters + (("imputation",) if self.imputation is None else ())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of the Jacobian's columns."""
        labels = self.answers.world.labels
        tests = tuple(f"initial {labels[i]}" for i in np.flatnonzero(self.free))
        return (("bias",) if self.biased else ()) + tests + self.searched

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Smallest and largest value of what is searched for."""
        return self.family.bounds + ([(0.0, 1.0)] if self.imputation is None else [])

    def on(self, answers: Answers) -> Model:
        """The same model for other rows."""
        return Model(answers, self.family, self.free, self.default, self.imputation, self.biased)

    def split(self, point: FloatArray) -> tuple[FloatArray, float]:
        """The curve's parameters and κ in a vector of what is searched for."""
        curve = point[: len(self.family.parameters)]
        return curve, float(point[-1]) if self.imputation is None else self.imputation

    @cached_property
    def _filled(self) -> dict[float, tuple[FloatArray, FloatArray]]:
        return {}

    def _imputed(self, dial: float) -> tuple[FloatArray, FloatArray]:
        """As the answers impute; the last few dials are remembered, for searches that keep κ."""
        if dial not in self._filled:
            if len(self._filled) >= 6:
                self._filled.pop(next(iter(self._filled)))
            self._filled[dial] = self.answers.imputed(dial)
        return self._filled[dial]

    def mean(self, bias: float, initial: FloatArray, point: FloatArray) -> FloatArray:
        """Expected answers (rows,)."""
        curve, dial = self.split(point)
        left = self.family.retention(curve, self.answers.counts)
        truth = self.answers.world.coefficients
        beliefs = truth - (truth - initial) * left
        total: FloatArray = np.sum(self._imputed(dial)[0] * beliefs, axis=1)
        return bias + total

    def design(self, point: FloatArray) -> FloatArray:
        """Derivatives of the answers by bias and free initial coefficients: (rows, linear)."""
        curve, dial = self.split(point)
        weights = self._imputed(dial)[0] * self.family.retention(curve, self.answers.counts)
        ones = np.ones((len(self.answers), int(self.biased)))
        return np.hstack([ones, weights[:, self.free]])

    def slopes(self, initial: FloatArray, point: FloatArray) -> FloatArray:
        """Derivatives of the answers by what is searched for: (rows, searched)."""
        curve, dial = self.split(point)
        filled, by_dial = self._imputed(dial)
        counts, truth = self.answers.counts, self.answers.world.coefficients
        error = truth - initial
        columns = [-(filled * slope) @ error for slope in self.family.slopes(curve, counts)]
        if self.imputation is None:
            beliefs = truth - error * self.family.retention(curve, counts)
            columns.append(np.sum(by_dial * beliefs, axis=1))
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.answers), 0))

    def jacobian(self, initial: FloatArray, point: FloatArray) -> FloatArray:
        """All derivatives of the answers, columns in the order of `names`."""
        return np.hstack([self.design(point), self.slopes(initial, point)])

    def solve(self, point: FloatArray) -> Solved:
        """The best bias and initial coefficients for this curve and κ.

        Where the rows leave a direction open, the solution stays as near the default as it can.
        """
        design = self.design(point)
        target = self.answers.answers - self.mean(0.0, self.default, point)
        scale = np.linalg.norm(design, axis=0)
        scale[scale == 0.0] = 1.0
        orthogonal, triangle = np.linalg.qr(design / scale)
        left, singular, right = np.linalg.svd(triangle)
        rank = int(np.sum(singular > SINGULAR * singular.max(initial=0.0)))
        basis = orthogonal @ left[:, :rank]
        found = right[:rank].T @ ((basis.T @ target) / singular[:rank]) / scale
        bias = float(found[0]) if self.biased else 0.0
        initial = self.default.copy()
        initial[self.free] += found[int(self.biased) :]
        return Solved(bias, initial, target - design @ found, self.slopes(initial, point), basis)
