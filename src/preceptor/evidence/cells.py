"""Cells: one family at several κ and in boxes of parameters, with the evidence of each.

And estimates that are read off them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.mixtures import mixture_quantiles
from preceptor._base.values import FloatArray
from preceptor.evidence.answers import logsumexp_rows
from preceptor.evidence.families import Family

# Of an interval that holds the truth with 95 % probability.
_ENDS = (0.025, 0.975)


class Estimate(NamedTuple):
    """A number and the interval that holds it with 95 % probability."""

    mean: float
    low: float
    high: float


class Cells(NamedTuple):
    """One family: a cell for each dial (κ) and point (the middle of a box of parameters).

    `coordinates` and `widths` (points, axes) are middles and sides of the boxes. `prior`
    (dials, points) adds up to 1 (as logarithms), `log_evidence` and `early` (of the first three
    quarters of the rounds) are (dials, points). `scatter` and `shares` (dials, points, nodes) are
    log widths of the scatter and their posterior; `mean` and `sds` (dials, points, p) are those of
    whitened first weights and nuisances.
    """

    family: Family
    coordinates: FloatArray
    widths: FloatArray
    dials: FloatArray
    prior: FloatArray
    log_evidence: FloatArray
    early: FloatArray
    scatter: FloatArray
    shares: FloatArray
    mean: FloatArray
    sds: FloatArray

    @property
    def total(self) -> float:
        """Log evidence of the family."""
        return float(logsumexp_rows((self.prior + self.log_evidence).ravel()))

    @property
    def early_total(self) -> float:
        """The same of the first three quarters."""
        return float(logsumexp_rows((self.prior + self.early).ravel()))

    @property
    def posterior(self) -> FloatArray:
        """Probabilities (dials, points) within the family."""
        total = self.total
        if not np.isfinite(total):
            return np.exp(self.prior)
        return np.asarray(np.exp(self.prior + self.log_evidence - total))


def mixture(shares: FloatArray, means: FloatArray, sds: FloatArray) -> Estimate:
    """Mean and interval of a mixture of normal distributions, each (parts,)."""
    total = float(shares.sum())
    mean = float(shares @ means / total)
    low, high = mixture_quantiles(shares / total, means, sds**2, _ENDS).tolist()
    return Estimate(mean, low, high)
