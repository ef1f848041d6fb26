"""Parameters with intervals: smaller boxes where the posterior of a family lies.

The boxes that weigh kinds are small enough for a sum, not for the ends of an interval. Here they
are split further, with κ free between 0 and 1, and intervals are read off the interpolated
marginals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.mixtures import mixture_quantiles
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor.evidence.designs import Rounds

if TYPE_CHECKING:
    from preceptor.evidence.cells import Cells
    from preceptor.evidence.families import Family
    from preceptor.evidence.weighing import Setting

LEVEL = 0.95
# κ in fifths of the way, with the weights of a sum over even steps.
_DIALS = np.linspace(0.0, 1.0, 5)
_DIAL_WEIGHTS = np.array([0.5, 1.0, 1.0, 1.0, 0.5]) / 4.0
# Boxes are then at most about 0.4 standard deviations wide, and ends of intervals are off by at
# most 0.02 of them, if the posterior is a bell.
_FINE = 0.005


class Estimate(NamedTuple):
    """A number and the interval that holds it with 95 % probability."""

    mean: float
    low: float
    high: float


class Refined(NamedTuple):
    """One family's parameters by name, and κ, each with its interval."""

    parameters: dict[str, Estimate]
    imputation: Estimate
    cells: Cells


def refined(setting: Setting, family: Family, level: float = LEVEL) -> Refined:
    """Parameters of one family, and κ as a free number.

    Parameters
    ----------
    setting
        Of the person.
    family
        Which.
    level
        Probability that an interval holds the truth.

    Returns
    -------
    Refined
        Within this family.
    """
    from preceptor.evidence.weighing import resolved

    free = setting._replace(rounds=Rounds.of(setting.rounds.record, _DIALS))
    with one_blas_thread():
        cells = resolved(free, family, _DIAL_WEIGHTS, held_out=False, enough=_FINE)
    posterior = cells.posterior
    shares = posterior.sum(axis=0)
    found = {}
    for position, axis in enumerate(family.axes):
        middles = cells.coordinates[:, position]
        ends = _box_quantiles(middles, cells.widths[:, position], shares, level)
        found[axis.name] = Estimate(*axis.value([float(shares @ middles), *ends]).tolist())
    dials = posterior.sum(axis=1) / _DIAL_WEIGHTS
    low, high = _quantiles(_DIALS, dials, level)
    imputation = Estimate(float(_DIALS @ posterior.sum(axis=1)), low, high)
    return Refined(found, imputation, cells)


def _box_quantiles(
    middles: FloatArray, widths: FloatArray, shares: FloatArray, level: float
) -> tuple[float, float]:
    """The two ends that leave equal tails, on the interpolated distribution over boxes."""
    from scipy.interpolate import PchipInterpolator

    starts, ends = middles - 0.5 * widths, middles + 0.5 * widths
    # Halves of one box agree on their common edge up to rounding.
    edges = np.unique(np.round(np.concatenate([starts, ends]), 9))
    below = np.array([shares @ np.clip((edge - starts) / widths, 0.0, 1.0) for edge in edges])
    fine = np.linspace(edges[:-1], edges[1:], 8, axis=1).ravel()
    tail = 0.5 * (1.0 - level)
    low, high = np.interp([tail, 1.0 - tail], PchipInterpolator(edges, below)(fine), fine)
    return float(low), float(high)


def _quantiles(side: FloatArray, density: FloatArray, level: float) -> tuple[float, float]:
    """The two ends that leave equal tails, on the interpolated logarithm of a density."""
    from scipy.interpolate import PchipInterpolator

    logs = np.log(np.maximum(density, density.max() * 1e-30))
    fine = np.linspace(side[0], side[-1], 600)
    bell = np.exp(PchipInterpolator(side, logs)(fine) - logs.max())
    below = np.r_[0.0, np.cumsum(0.5 * (bell[1:] + bell[:-1]))]
    tail = 0.5 * (1.0 - level)
    low, high = np.interp([tail, 1.0 - tail], below / below[-1], fine)
    return float(low), float(high)


def mixture(
    shares: FloatArray, means: FloatArray, sds: FloatArray, level: float = LEVEL
) -> Estimate:
    """Mean and interval of a mixture of normal distributions, each (parts,)."""
    total = float(shares.sum())
    mean = float(shares @ means / total)
    tail = 0.5 * (1.0 - level)
    low, high = mixture_quantiles(shares / total, means, sds**2, (tail, 1.0 - tail)).tolist()
    return Estimate(mean, low, high)
