"""Where a group of people lies: how common kinds are, and means and spreads of rates and scatters.

Frequencies of groups, of families within them and of κ have Dirichlet distributions, uniform
before; log rates of those who have one are normal around an unknown mean with an unknown spread.
Draws go round (Gibbs): everybody's kind and rate given these, then these given everybody's. Where
people are hard to tell that takes all of the uncertainty along.

Scatter is known of everybody, whatever their kind: mean and spread of its logarithm are summed over
a grid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.evidence.axes import Population
from preceptor.evidence.cells import Estimate, mixture

_DRAWS, _BEFORE = 2_000, 300
# Spreads of log rates that are drawn, and of any axis that are summed over.
_DRAWN_SPREADS = np.geomspace(0.07, 2.5, 48)
_RATIO = float(np.log(_DRAWN_SPREADS[1] / _DRAWN_SPREADS[0]))
_MEANS, _SPREADS = 61, np.geomspace(0.05, 2.0, 16)


class Draws(NamedTuple):
    """One draw a row: frequencies of groups, of families (adding up to 1) and of κ; then the mean
    and the spread of log rates (draws,).
    """

    groups: FloatArray
    families: FloatArray
    dials: FloatArray
    mean: FloatArray
    spread: FloatArray


def draw_group(
    evidence: FloatArray,
    axis: FloatArray,
    has_rate: Any,
    belongs: IntArray,
    prior: Population,
    rng: np.random.Generator,
) -> Draws:
    """Draw frequencies and the population of rates.

    Parameters
    ----------
    evidence
        Log evidence (people, families, dials, points) at each log rate.
    axis
        These log rates (points,), evenly spaced.
    has_rate
        Whether each family (families,) has a rate; else its evidence is the same at all points.
    belongs
        Group of each family (families,).
    prior
        Of the mean log rate. The spread has a flat prior in its logarithm, cut off softly above 1.
    rng
        Source of the draws.

    Returns
    -------
    Draws
        From the posterior.
    """
    people, families, dials = evidence.shape[:3]
    likely = np.exp(evidence - evidence.max(axis=(1, 2, 3), keepdims=True))
    everybody, step = np.arange(people), float(axis[1] - axis[0])
    groups = int(belongs.max()) + 1
    found = Draws(
        np.empty((_DRAWS, groups)),
        np.empty((_DRAWS, families)),
        np.empty((_DRAWS, dials)),
        np.empty(_DRAWS),
        np.empty(_DRAWS),
    )
    counts = np.zeros((families, dials))
    mean, spread = prior.mean, 0.7
    for draw in range(-_BEFORE, _DRAWS):
        inside = counts.sum(axis=1)
        common = rng.dirichlet(1.0 + np.bincount(belongs, inside, minlength=groups))
        each = rng.gamma(1.0 + inside)
        each = common[belongs] * each / np.bincount(belongs, each)[belongs]
        ways = rng.dirichlet(1.0 + counts.sum(axis=0))
        bell = np.exp(-0.5 * ((axis - mean) / spread) ** 2)
        bell /= bell.sum()
        kinds = _one_of((likely @ bell * np.outer(each, ways)).reshape(people, -1), rng)
        table = np.bincount(kinds, minlength=families * dials).astype(np.float64)
        counts = table.reshape(families, dials)
        family, dial = np.divmod(kinds, dials)
        learners = has_rate[family]
        at = likely[everybody[learners], family[learners], dial[learners]] * bell
        rates = axis[_one_of(at, rng)] + step * (rng.random(at.shape[0]) - 0.5)
        mean, spread = _population(rates, spread, prior, rng)
        if draw >= 0:
            for kept, value in zip(found, (common, each, ways, mean, spread), strict=True):
                kept[draw] = value
    return found


def _one_of(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """A column for each row, as likely as its weight."""
    below = np.cumsum(weights, axis=1)
    mark = rng.random((weights.shape[0], 1)) * below[:, -1:]
    return np.asarray(np.minimum((below < mark).sum(axis=1), weights.shape[1] - 1))


def _population(
    rates: FloatArray, spread: float, prior: Population, rng: np.random.Generator
) -> tuple[float, float]:
    """Mean given the spread, then spread given the mean."""
    precision = 1.0 / prior.spread**2 + rates.size / spread**2
    centre = (prior.mean / prior.spread**2 + rates.sum() / spread**2) / precision
    mean = float(centre + rng.standard_normal() / np.sqrt(precision))
    squares = float(np.sum((rates - mean) ** 2))
    logs = (
        -rates.size * np.log(_DRAWN_SPREADS)
        - 0.5 * squares / _DRAWN_SPREADS**2
        - 0.5 * _DRAWN_SPREADS**2
    )
    at = _one_of(np.exp(logs - logs.max())[None], rng)[0]
    return mean, float(_DRAWN_SPREADS[at] * np.exp(_RATIO * (rng.random() - 0.5)))


class PopulationFit(NamedTuple):
    """Mean and spread (in logarithms) with intervals, and the distribution of a further person."""

    mean: Estimate
    spread: Estimate
    predictive: Population


def fit_population(axis: FloatArray, likelihoods: FloatArray, prior: Population) -> PopulationFit:
    """Mean and spread of people whose own position is only known up to a likelihood.

    Parameters
    ----------
    axis
        Positions (points,), evenly spaced.
    likelihoods
        Of each person at each of them, shape (people, points).
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
        each = np.log(bells.reshape(-1, axis.size) @ likelihoods.T)
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
