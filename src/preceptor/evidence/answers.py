"""How answers scatter around what weights say, and what that makes of a design.

Given a design, an answer is `known + rows · θ + scatter`, where θ has a standard normal prior (the
unknown first weights and nuisances, whitened). A model of scatter integrates θ out, and then its
own width. Normal scatter does so exactly; the others in `laplace.py` by a normal approximation at
the likeliest θ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from preceptor._base.values import FloatArray

# Width of scatter over the outcome's standard deviation: log-normal, median .5, as experiments
# found (10, 50 and 90 % points .56, .69, .89), and wider, for they were few.
MEDIAN, SPREAD = 0.5, 0.6
_LN_2PI = math.log(2.0 * math.pi)
# Widths to begin from, and nodes of the sum around the likeliest width, in standard deviations.
_START = np.log(np.geomspace(0.02, 30.0, 18))
_NODES = 0.85 * np.arange(-5.0, 6.0)


class Integrated(NamedTuple):
    """Per cell: log evidence (cells,), and what is known of scatter and of θ given that cell.

    `scatter` (cells, nodes) are logarithms of widths and `shares` (cells, nodes) their posterior;
    `mean` (cells, p) and `covariance` (cells, p, p) are those of θ at the likeliest width.
    """

    log_evidence: FloatArray
    scatter: FloatArray
    shares: FloatArray
    mean: FloatArray
    covariance: FloatArray


class Scatter(Protocol):
    """A model of how answers scatter."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def follows_surprises(self) -> bool:
        """Whether answers are numbers like outcomes, so that they can follow a surprise."""

    def integrate(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> Integrated:
        """Rows (cells, rounds, p), what is known (cells, rounds), and answers (rounds,)."""

    def faults(self, answers: FloatArray) -> list[str]:
        """What is wrong with answers of this kind."""


def log_width_prior(log_width: FloatArray, median: float = MEDIAN) -> FloatArray:
    """Log density of the logarithm of the width of scatter."""
    away = (log_width - math.log(median)) / SPREAD
    return np.asarray(-0.5 * away**2 - math.log(SPREAD) - 0.5 * _LN_2PI)


@dataclass(frozen=True)
class Gaussian:
    """Normal scatter: exact. One decomposition of a design serves every width."""

    name: str = "gaussian"
    follows_surprises: bool = True

    def faults(self, answers: FloatArray) -> list[str]:
        """None: any numbers will do."""
        return []

    def integrate(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> Integrated:
        """Sum over widths around the likeliest one, cell by cell."""
        rounds = answers.size
        off = answers - known
        turned = rows.swapaxes(-1, -2)
        sizes, turns = np.linalg.eigh(turned @ rows)
        sizes = np.maximum(sizes, 0.0)
        pulls = ((turned @ off[..., None]).swapaxes(-1, -2) @ turns)[..., 0, :]
        squares = np.sum(off * off, axis=-1)

        def log_posterior(log_widths: FloatArray) -> FloatArray:
            s = np.exp(-2.0 * log_widths)
            stretched = 1.0 + s[..., None] * sizes[:, None, :]
            bent = np.einsum("cp,cwp->cw", pulls**2, 1.0 / stretched)
            logs = np.log(stretched, out=stretched).sum(axis=-1)
            logs += rounds * (2.0 * log_widths + _LN_2PI) + s * (squares[:, None] - s * bent)
            return np.asarray(log_width_prior(log_widths) - 0.5 * logs)

        bell = 1.0 / math.sqrt(2.0 * rounds + 4.0)
        scatter, logs, best = sum_over_widths(log_posterior, squares.size, bell, _START, _NODES)
        total = logsumexp_rows(logs)
        s = np.exp(-2.0 * best)[:, None]
        shrunk = 1.0 / (1.0 + s * sizes)
        mean = np.einsum("cij,cj->ci", turns, s * shrunk * pulls)
        covariance = (turns * shrunk[:, None, :]) @ turns.swapaxes(-1, -2)
        shares = np.exp(logs - total[:, None])
        return Integrated(total, scatter, shares, mean, covariance)


def sum_over_widths(
    log_posterior: Callable[[FloatArray], FloatArray],
    cells: int,
    bell: float,
    start: FloatArray,
    steps: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes (cells, nodes), logarithms of their terms in the integral, and the likeliest width.

    The posterior of a log width is close to a bell, on which a sum over even steps is an integral.
    `bell` is about how wide it is, `start` log widths to begin from, `steps` the nodes in standard
    deviations of the bell.
    """
    if not cells:
        return np.zeros((0, steps.size)), np.zeros((0, steps.size)), np.zeros(0)
    best = start[np.argmax(log_posterior(np.broadcast_to(start, (cells, start.size))), axis=1)]
    nudge, wide = 0.3 * bell, np.zeros(cells)
    for _ in range(3):
        around = best[:, None] + nudge * np.array([-1.0, 0.0, 1.0])
        low, middle, high = log_posterior(around).T
        bend = np.maximum((2.0 * middle - low - high) / nudge**2, 1.0)
        best = best + np.clip((high - low) / (2.0 * nudge) / bend, -0.4, 0.4)
        wide = 1.0 / np.sqrt(bend)
    nodes = best[:, None] + wide[:, None] * steps
    terms = log_posterior(nodes) + np.log((steps[1] - steps[0]) * wide)[:, None]
    return nodes, terms, best


def logsumexp_rows(logs: FloatArray) -> FloatArray:
    """Logarithm of the sum of exponentials along the last axis; rows of -inf stay -inf."""
    top = np.max(logs, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.sum(np.exp(logs - top), axis=-1)) + top[..., 0])
