"""Answers with slips (Student's t) and choices (0 or 1): integrals at the likeliest weights.

The density of such answers has no closed form once the weights are integrated out. At the likeliest
θ it is replaced by a normal distribution with the same curvature (Laplace's approximation), which
is close here: with the prior, θ is well held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.evidence.answers import (
    MEDIAN,
    Integrated,
    log_width_prior,
    logsumexp_rows,
    sum_over_widths,
)

# From wide to narrow: the wider, the nearer is the likeliest θ to the prior's.
_START = np.log(np.geomspace(2.5, 0.06, 6))
_NODES = 1.0 * np.arange(-3.0, 4.0)


@dataclass(frozen=True)
class StudentT:
    """Normal scatter with slips now and then: Student's t with few degrees of freedom."""

    degrees: float = 4.0
    name: str = "t"
    follows_surprises: bool = True

    def faults(self, answers: FloatArray) -> list[str]:
        """None: any numbers will do."""
        return []

    def integrate(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> Integrated:
        """Laplace's approximation at each width."""
        return _integrated(rows, known, answers, degrees=self.degrees, median=MEDIAN)


@dataclass(frozen=True)
class Choices:
    """Choices: 1 if the person thinks the outcome is above the average, with logistic scatter.

    A logistic regression with slope 1 / width. The threshold may be off by a constant (the bias).
    There is no surprise to follow, as a choice cannot be compared with an outcome.
    """

    name: str = "choices"
    follows_surprises: bool = False

    def faults(self, answers: FloatArray) -> list[str]:
        """Answers must be 0 or 1."""
        odd = answers[(answers != 0.0) & (answers != 1.0)]
        return [f"answers: {odd[0]:g}, choices must be 0 or 1"] if odd.size else []

    def integrate(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> Integrated:
        """Laplace's approximation at each width."""
        # A logistic distribution of width w has standard deviation 1.8 w.
        median = MEDIAN * math.sqrt(3.0) / math.pi
        return _integrated(rows, known, answers, degrees=None, median=median)


def _integrated(
    rows: FloatArray,
    known: FloatArray,
    answers: FloatArray,
    *,
    degrees: float | None,
    median: float,
) -> Integrated:
    """Slips with these degrees of freedom, or choices if there are none."""
    from scipy.special import gammaln

    from preceptor.evidence._laplace_kernels import likeliest

    cells, rounds, size = rows.shape
    theta, bends = np.zeros((cells, size)), np.empty((cells, size, size))
    rows, known = np.ascontiguousarray(rows), np.ascontiguousarray(known)
    answers = np.ascontiguousarray(answers)
    constant = 0.0
    if degrees is not None:
        constant = rounds * float(
            gammaln(0.5 * (degrees + 1.0))
            - gammaln(0.5 * degrees)
            - 0.5 * math.log(degrees * math.pi)
        )

    def log_posterior(log_widths: FloatArray) -> FloatArray:
        logs = np.empty(log_widths.shape)
        likeliest(
            degrees is None, degrees or 0.0, rows, known, answers,
            np.ascontiguousarray(log_widths), theta, logs, bends,
        )  # fmt: skip
        return logs + constant + log_width_prior(log_widths, median)

    # Coarser than for normal scatter: widths are known less well, and steps cost more.
    bell = 3.0 / math.sqrt(2.0 * rounds + 4.0)
    nodes, logs, best = sum_over_widths(log_posterior, cells, bell, _START, _NODES)
    log_posterior(best[:, None])
    total = logsumexp_rows(logs)
    covariance = np.asarray(np.linalg.inv(bends), dtype=np.float64)
    return Integrated(total, nodes, np.exp(logs - total[:, None]), theta, covariance)
