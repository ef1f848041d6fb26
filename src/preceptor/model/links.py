"""From a score to a probability: probit and logistic, both as mixtures of normal thresholds.

The outcome is yes if score + ξ > 0. With the probit link ξ is standard normal. With the logistic
link it is logistic, which is a normal whose scale is drawn first: twice a Kolmogorov-Smirnov
variable (Andrews and Mallows 1974, Stefanski 1991). So P(yes | score) = Σ w Φ(score / scale) for
both, and every expectation over normal scores that is closed for the probit is a short weighted
sum of the same closed forms for the logistic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from preceptor._base.values import FloatArray

PROBIT, LOGISTIC = "probit", "logistic"
LINKS = (PROBIT, LOGISTIC)

# Between these logarithms all but 1e-16 of the scale's distribution lies; the sum over equally
# spaced points converges so fast that 22 of them leave about 1e-12.
_LOWEST, _HIGHEST, _POINTS = math.log(0.17), math.log(4.6), 22


@dataclass(frozen=True, eq=False)
class Link:
    """P(yes | score) = Σ `weights` Φ(score / `scales`).

    `unit` is how many of its scores are about one of the probit's: probabilities then agree
    within .0095.
    """

    name: str
    scales: FloatArray  # (terms,)
    weights: FloatArray  # (terms,)
    unit: float

    @property
    def variance(self) -> float:
        """Variance of what is added to a score before it is compared with 0."""
        return 1.0 if self.name == PROBIT else math.pi**2 / 3.0

    def probability(self, score: FloatArray | float) -> FloatArray:
        """P(yes) of scores, any shape."""
        from scipy.special import expit, ndtr

        return np.asarray((ndtr if self.name == PROBIT else expit)(score))

    def density(self, score: FloatArray | float) -> FloatArray:
        """How steeply P(yes) rises at scores, any shape."""
        scores = np.asarray(score, dtype=np.float64)
        if self.name == PROBIT:
            return np.asarray(np.exp(-0.5 * scores**2) / math.sqrt(2.0 * math.pi))
        chance = self.probability(scores)
        return np.asarray(chance * (1.0 - chance))

    def log_probability(self, score: FloatArray | float) -> FloatArray:
        """log P(yes) of scores, any shape, without underflow."""
        from scipy.special import log_expit, log_ndtr

        return np.asarray((log_ndtr if self.name == PROBIT else log_expit)(score))

    def score(self, probability: FloatArray | float) -> FloatArray:
        """The score at which yes has that probability."""
        from scipy.special import logit, ndtri

        return np.asarray((ndtri if self.name == PROBIT else logit)(probability))

    def mean_probability(
        self, mean: FloatArray | float, variance: FloatArray | float
    ) -> FloatArray:
        """P(yes) of somebody of whom only a normal score is known, elementwise."""
        from scipy.special import ndtr

        centre, spread = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
        total = np.zeros(centre.shape)
        for weight, scale in zip(self.weights, self.scales, strict=True):
            total += weight * ndtr(centre / np.sqrt(scale * scale + spread))
        return total


@cache
def link_of(name: str) -> Link:
    """The link with that name: "probit" or "logistic"."""
    if name == PROBIT:
        return Link(PROBIT, np.ones(1), np.ones(1), 1.0)
    logs = np.linspace(_LOWEST, _HIGHEST, _POINTS)
    u = np.exp(logs)
    weights = u * _kolmogorov_density(u)
    return Link(LOGISTIC, 2.0 * u, weights / weights.sum(), 1.702)


def _kolmogorov_density(u: FloatArray) -> FloatArray:
    """Density of the Kolmogorov-Smirnov distribution: one series for small u, one for large."""
    k = np.arange(1, 12)[:, None]
    odd = ((2 * k - 1) * math.pi) ** 2
    small = np.sum(
        (odd / (4.0 * u**4) - 1.0 / u**2) * np.exp(-odd / (8.0 * u**2)), axis=0
    ) * math.sqrt(2.0 * math.pi)
    large = 8.0 * u * np.sum((-1.0) ** (k + 1) * k**2 * np.exp(-2.0 * k**2 * u**2), axis=0)
    return np.asarray(np.where(u < 0.9, small, large))
