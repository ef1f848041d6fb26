"""Yes-or-no outcomes: links from a score to a probability, and how common yes is.

Both links, probit and logistic, are mixtures of normal thresholds. The outcome is yes if score + ξ
> 0. With the probit link ξ is standard normal. With the logistic link it is logistic, which is a
normal whose scale is drawn first: twice a Kolmogorov-Smirnov variable (Andrews and Mallows 1974,
Stefanski 1991). So P(yes | score) = Σ w Φ(score / scale) for both, and every expectation over
normal scores that is closed for the probit is a short weighted sum of the same closed forms for the
logistic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np

from preceptor._base.schema import Limits, OneOf, set_checked
from preceptor._base.values import FloatArray, Value
from preceptor.errors import InvalidProblem

PROBIT, LOGISTIC = "probit", "logistic"
LINKS = (PROBIT, LOGISTIC)

# All but 1e-16 of the scale's distribution lies between these logarithms; a sum over 22 equally
# spaced points is accurate to about 1e-12.
_LOWEST, _HIGHEST, _POINTS = math.log(0.17), math.log(4.6), 22


@dataclass(frozen=True, eq=False)
class Link:
    """P(yes | score) = Σ `weights` Φ(score / `scales`).

    `unit` is how many of its units make about one unit of the probit score; probabilities then
    agree within 0.0095.
    """

    name: str
    scales: FloatArray  # (terms,)
    weights: FloatArray  # (terms,)
    unit: float

    @property
    def variance(self) -> float:
        """Variance of the noise ξ that is added to a score before it is compared with 0."""
        return 1.0 if self.name == PROBIT else math.pi**2 / 3.0

    def probability(self, score: FloatArray | float) -> FloatArray:
        """P(yes) of scores, any shape."""
        from scipy import special

        return np.asarray((special.ndtr if self.name == PROBIT else special.expit)(score))

    def density(self, score: FloatArray | float) -> FloatArray:
        """Derivative of P(yes) at scores, any shape."""
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
        """The score at which P(yes) has this value."""
        from scipy.special import logit, ndtri

        return np.asarray((ndtri if self.name == PROBIT else logit)(probability))

    def mean_probability(
        self, mean: FloatArray | float, variance: FloatArray | float
    ) -> FloatArray:
        """P(yes) averaged over a normal score, elementwise."""
        from scipy.special import ndtr

        centre, spread = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
        total = np.zeros(centre.shape)
        for weight, scale in zip(self.weights, self.scales, strict=True):
            total += weight * ndtr(centre / np.sqrt(scale * scale + spread))
        return total


@cache
def link_of(name: str) -> Link:
    """Return a link by its name, "probit" or "logistic"."""
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


@dataclass(frozen=True, eq=False)
class Binary(Value):
    """An outcome that is yes or no, and how common yes is.

    Parameters
    ----------
    prevalence
        Share of cases whose outcome is yes, above 0 and below 1.
    link
        How a score becomes a probability: "probit" (the noise is standard normal) or "logistic".

    Raises
    ------
    InvalidProblem
        Invalid values, all in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World([1.0, 0.8], [[1.0, 0.5], [0.5, 1.0]], outcome=Binary(prevalence=0.2))
    >>> world.is_binary, world.sample(5, rng=0).outcomes.tolist()
    (True, [0.0, 1.0, 0.0, 1.0, 0.0])
    """

    prevalence: Annotated[
        float, Limits(above=0, below=1), "Share of cases whose outcome is yes."
    ] = 0.5
    link: Annotated[str, OneOf(*LINKS), "How a score becomes a probability."] = PROBIT

    def __post_init__(self) -> None:
        InvalidProblem.raise_if(set_checked(self, prevalence=self.prevalence, link=self.link))

    @property
    def from_score(self) -> Link:
        """The link from scores to probabilities."""
        return link_of(self.link)

    def base_score(self, spread: float, prevalence: float | None = None) -> float:
        """The score of an average case that gives the prevalence.

        Parameters
        ----------
        spread
            Variance of the score over cases.
        prevalence
            The prevalence, if not that of the outcome.

        Returns
        -------
        float
            b with P(b + score + noise > 0) = prevalence.
        """
        share = self.prevalence if prevalence is None else prevalence
        link = self.from_score
        if self.link == PROBIT:
            return float(link.score(share)) * math.sqrt(1.0 + spread)
        from scipy.optimize import brentq

        # The logistic is steeper than the probit near 0 and flatter beyond, so this brackets b.
        edge = abs(float(link.score(share))) * math.sqrt(1.0 + spread) + 1.0
        return float(brentq(lambda b: float(link.mean_probability(b, spread)) - share, -edge, edge))
