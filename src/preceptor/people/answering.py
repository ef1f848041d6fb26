"""Yes/no outcomes: from weighted sums to answers, and from an outcome to an update of beliefs.

The weighted sum of all tests is a score. The person adds the score of an average case and turns it
into a probability or a decision as the risk says. Surprises are measured from the probability of
yes.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk


def foreseen(world: World, added_up: FloatArray) -> FloatArray:
    """Return the expected outcome given the weighted sum of all tests.

    Parameters
    ----------
    world
        The world as the person believes it to be.
    added_up
        Weights times imputed results, any shape.

    Returns
    -------
    array
        The sum itself where outcomes are numbers; the probability of yes where they are yes/no.
    """
    if world.outcome is None:
        return added_up
    return world.outcome.from_score.probability(world.base_score + added_up)


def foreseen_slope(world: World, added_up: FloatArray) -> FloatArray:
    """Return the derivative of `foreseen` with respect to the weighted sum.

    Parameters
    ----------
    world
        The world as the person believes it to be.
    added_up
        Weights times imputed results, any shape.

    Returns
    -------
    array
        1 where outcomes are numbers, densities of the link where they are yes/no; same shape.
    """
    if world.outcome is None:
        return np.ones(np.shape(added_up))
    return world.outcome.from_score.density(world.base_score + added_up)


def as_normal(world: World, scatter: float) -> float:
    """Return the variance of the normal noise that best matches noise with this variance.

    The logistic distribution has heavier tails than the normal one of equal variance: the normal
    distribution whose probabilities agree best with it has 0.88 of its variance. With the probit
    link nothing changes.

    Parameters
    ----------
    world
        A world with a yes/no outcome.
    scatter
        Variance of the latent score around the weighted sum of the tests.

    Returns
    -------
    float
        Variance of the matching normal noise.
    """
    assert world.outcome is not None
    link = world.outcome.from_score
    return scatter * (link.unit**2 / link.variance)


class ProbitUpdate(NamedTuple):
    """Effect of a yes or no on a normal belief about a score, each of shape (...)."""

    pull: FloatArray  # shift of the mean, per unit of covariance with the score
    shrink: FloatArray  # loss of variance, per unit of squared covariance
    log_chance: FloatArray  # log probability of this answer


def probit_update(score: FloatArray, spread: FloatArray, yes: npt.ArrayLike) -> ProbitUpdate:
    """Update a normal belief on the event that a normal score was above 0 (or not).

    Assumed-density filtering: the posterior is not normal; the normal distribution with the same
    mean and covariance replaces it (Opper 1998; one pass of expectation propagation, Minka 2001).
    Both moments are exact for one case.

    Parameters
    ----------
    score
        Mean of the score, shape (...).
    spread
        Its variance, that of the belief plus that of the noise, shape (...).
    yes
        1 for yes, 0 for no, shape (...).

    Returns
    -------
    ProbitUpdate
        With c the covariance of the weights and the score, the mean of the weights moves by
        c x pull and their covariance loses c c' x shrink.
    """
    from scipy.special import log_ndtr

    deviation = np.sqrt(spread)
    side = np.where(np.asarray(yes) > 0.5, 1.0, -1.0)
    z = side * score / deviation
    log_chance = log_ndtr(z)
    # density / distribution function, without underflow far below 0
    ratio = np.exp(-0.5 * z * z - log_chance) / np.sqrt(2.0 * np.pi)
    return ProbitUpdate(side * ratio / deviation, ratio * (ratio + z) / deviation**2, log_chance)


def as_believed(world: World, risk: YesNoRisk) -> World:
    """Return the world as seen by a person who believes in the risk's prevalence.

    Parameters
    ----------
    world
        A world with a yes/no outcome.
    risk
        Its `believed_prevalence` is the share of yes that the person expects.

    Returns
    -------
    World
        The same world if that is None.
    """
    if risk.believed_prevalence is None:
        return world
    assert world.outcome is not None
    outcome = dataclasses.replace(world.outcome, prevalence=risk.believed_prevalence)
    return World(world.coefficients, world.covariance, outcome=outcome)
