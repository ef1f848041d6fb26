"""Where a group of people lies on one axis: mean and spread of a normal distribution, on a grid.

Each person gives a likelihood over the axis. Mean and spread of the population have a posterior of
their own, so that its interval is wide where people are few, and covers also where they differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.evidence.axes import Population
from preceptor.evidence.refining import Estimate, mixture

_MEANS, _SPREADS = 61, np.geomspace(0.05, 2.0, 16)


class PopulationFit(NamedTuple):
    """Mean and spread (in logarithms) with intervals, and the distribution of a further person."""

    mean: Estimate
    spread: Estimate
    predictive: Population


def fit_population(
    axis: FloatArray, likelihoods: FloatArray, besides: FloatArray, prior: Population
) -> PopulationFit:
    """Mean and spread of people whose own position is only known up to a likelihood.

    Parameters
    ----------
    axis
        Positions (points,), evenly spaced.
    likelihoods
        Of each person at each of them, shape (people, points).
    besides
        Likelihood (people,) of what has no position on this axis: they may be of a kind that
        does not have this parameter.
    prior
        Of the mean. The spread has a flat prior in its logarithm, cut off softly above 1.

    Returns
    -------
    PopulationFit
        Intervals have 95 % probability.
    """
    means = np.linspace(axis[0], axis[-1], _MEANS)
    away = (axis[None, None, :] - means[:, None, None]) / _SPREADS[None, :, None]
    bells = np.exp(-0.5 * away**2)
    bells /= bells.sum(axis=-1, keepdims=True)
    logs = prior.log_density(means)[:, None] - 0.5 * _SPREADS**2
    with np.errstate(divide="ignore"):
        each = np.log(bells.reshape(-1, axis.size) @ likelihoods.T + besides)
    logs = logs + each.sum(axis=1).reshape(logs.shape)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    over_means, over_spreads = shares.sum(axis=1), shares.sum(axis=0)
    step = float(means[1] - means[0])
    # A step of the grid is smeared out, so that ends of the interval do not sit on it.
    mean = mixture(over_means, means, np.full(means.size, 0.5 * step))
    ratio = float(np.log(_SPREADS[1] / _SPREADS[0]))
    spread = mixture(over_spreads, np.log(_SPREADS), np.full(_SPREADS.size, 0.5 * ratio))
    variance = float(over_spreads @ _SPREADS**2) + float(over_means @ (means - mean.mean) ** 2)
    return PopulationFit(
        mean,
        Estimate(*(float(np.exp(end)) for end in spread)),
        Population(mean.mean, float(np.sqrt(variance))),
    )
