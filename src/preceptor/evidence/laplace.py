"""Answers with slips (Student's t) and choices (0 or 1): integrals at the likeliest weights.

The density of such answers has no closed form once the weights are integrated out. At the likeliest
θ it is replaced by a normal distribution with the same curvature (Laplace's approximation), which
is close here: with the prior, θ is well held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, gammaln

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
# Steps towards the likeliest θ at each width; the next width begins where this one ended.
_STEPS = 5


class Terms(NamedTuple):
    """Of each answer: log density, slope and curvature by its mean, and a safe curvature.

    All are (cells, rounds). The safe one is positive, and a step with it never overshoots far.
    """

    logs: FloatArray
    slope: FloatArray
    curvature: FloatArray
    safe: FloatArray


class _Density(Protocol):
    def terms(self, mean: FloatArray, answers: FloatArray, width: FloatArray) -> Terms: ...


@dataclass(frozen=True)
class StudentT:
    """Normal scatter with slips now and then: Student's t with few degrees of freedom."""

    degrees: float = 4.0
    name: str = "t"
    follows_surprises: bool = True

    def faults(self, answers: FloatArray) -> list[str]:
        """None: any numbers will do."""
        return []

    def terms(self, mean: FloatArray, answers: FloatArray, width: FloatArray) -> Terms:
        """The safe curvature is that of the weights of reweighted least squares."""
        nu, off = self.degrees, answers - mean
        squared, wide = off * off, nu * width * width
        constant = gammaln(0.5 * (nu + 1)) - gammaln(0.5 * nu) - 0.5 * math.log(nu * math.pi)
        logs = constant - np.log(width) - 0.5 * (nu + 1) * np.log1p(squared / wide)
        safe = (nu + 1) / (wide + squared)
        return Terms(logs, safe * off, (nu + 1) * (wide - squared) / (wide + squared) ** 2, safe)

    def integrate(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> Integrated:
        """Laplace's approximation at each width."""
        return _integrated(self, rows, known, answers, MEDIAN)


@dataclass(frozen=True)
class Choices:
    """Choices: 1 if the person thinks the outcome is above the average, with logistic scatter.

    The threshold may be off by a constant (the bias). There is no surprise to follow, as a choice
    cannot be compared with an outcome.
    """

    name: str = "choices"
    follows_surprises: bool = False

    def faults(self, answers: FloatArray) -> list[str]:
        """Answers must be 0 or 1."""
        odd = answers[(answers != 0.0) & (answers != 1.0)]
        return [f"answers: {odd[0]:g}, choices must be 0 or 1"] if odd.size else []

    def terms(self, mean: FloatArray, answers: FloatArray, width: FloatArray) -> Terms:
        """A logistic regression with slope 1 / width."""
        at = mean / width
        sure = expit(at)
        logs = answers * at - np.logaddexp(0.0, at)
        far = np.maximum(np.abs(at), 1e-6)
        # The parabola that touches the density on both sides of 0 and lies below it.
        safe = np.tanh(0.5 * far) / (2.0 * far) / width**2
        slope = (answers - sure) / width
        return Terms(logs, slope, sure * (1.0 - sure) / width**2, safe)

    def integrate(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> Integrated:
        """Laplace's approximation at each width."""
        # A logistic distribution of width w has standard deviation 1.8 w.
        return _integrated(self, rows, known, answers, MEDIAN * math.sqrt(3.0) / math.pi)


def _integrated(
    density: _Density, rows: FloatArray, known: FloatArray, answers: FloatArray, median: float
) -> Integrated:
    cells, rounds, size = rows.shape
    theta = np.zeros((cells, size))

    def log_posterior(log_widths: FloatArray) -> FloatArray:
        nonlocal theta
        columns = []
        for u in log_widths.T:
            theta, logs, _ = at_width(density, rows, known, answers, u, theta)
            columns.append(logs + log_width_prior(u, median))
        return np.stack(columns, axis=1)

    # Coarser than for normal scatter: widths are known less well, and steps cost more.
    bell = 3.0 / math.sqrt(2.0 * rounds + 4.0)
    nodes, logs, best = sum_over_widths(log_posterior, cells, bell, _START, _NODES)
    mean, _, covariance = at_width(density, rows, known, answers, best, theta)
    total = logsumexp_rows(logs)
    return Integrated(total, nodes, np.exp(logs - total[:, None]), mean, covariance)


def at_width(
    density: _Density,
    rows: FloatArray,
    known: FloatArray,
    answers: FloatArray,
    log_width: FloatArray,
    theta: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The likeliest θ (cells, p) at a log width (cells,), log evidence, and covariance of θ.

    Parameters
    ----------
    density
        Of answers around their mean.
    rows, known, answers
        The design, as for `Scatter.integrate`.
    log_width
        One for each cell.
    theta
        Where to begin.

    Returns
    -------
    tuple of three arrays
        Shapes (cells, p), (cells,) and (cells, p, p).
    """
    width, eye, turned = np.exp(log_width)[:, None], np.eye(rows.shape[2]), rows.swapaxes(1, 2)
    for _ in range(_STEPS):
        terms = density.terms(known + (rows @ theta[..., None])[..., 0], answers, width)
        hold = eye + (turned * terms.safe[:, None, :]) @ rows
        pull = (turned @ terms.slope[..., None])[..., 0] - theta
        theta = theta + np.linalg.solve(hold, pull[..., None])[..., 0]
    terms = density.terms(known + (rows @ theta[..., None])[..., 0], answers, width)
    bend = eye + (turned * terms.curvature[:, None, :]) @ rows
    sign, size = np.linalg.slogdet(bend)
    bad = (sign <= 0) | (np.linalg.eigvalsh(bend)[:, 0] < 0.05)
    if np.any(bad):
        # Slips that balance each other leave a flat top; the safe curvature is not too flat.
        bend[bad] = eye + (turned[bad] * terms.safe[bad][:, None, :]) @ rows[bad]
        size = np.linalg.slogdet(bend)[1]
    logs = np.asarray(terms.logs.sum(axis=1) - 0.5 * np.sum(theta * theta, axis=1) - 0.5 * size)
    return theta, logs, np.asarray(np.linalg.inv(bend), dtype=np.float64)
