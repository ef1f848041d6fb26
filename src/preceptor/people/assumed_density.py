"""What a yes or no does to somebody with a normal belief about weights: assumed-density filtering.

They take yes to mean that a score of theirs, with normal scatter around what the tests add up to,
was above 0. The belief given that is not normal; the normal one with the same mean and covariance
takes its place (Opper 1998; one pass of expectation propagation, Minka 2001). Both moments are
exact for one case.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.world import World


def as_normal(world: World, scatter: float) -> float:
    """Variance of the normal scatter that comes nearest to one with this variance.

    A logistic chance is flatter than a normal one of its variance: the normal one with which its
    probabilities agree best has 0.88 of it. With the probit link nothing changes.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    scatter
        Variance of what is compared with 0, around what the tests add up to.

    Returns
    -------
    float
        The variance to reckon with.
    """
    assert world.outcome is not None
    link = world.outcome.from_score
    return scatter * (link.unit**2 / link.variance)


def heard(
    world: World, added_up: FloatArray, spread: FloatArray, outcome: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """How far an outcome pulls a normal belief, and how much surer it makes it.

    With C the covariance of the weights and x the tests, the mean moves by pull x Cx, and the
    covariance loses surer x Cx(Cx)'.

    Parameters
    ----------
    world
        With an outcome that is yes or no, as the person takes it to be.
    added_up
        Mean of weights times tests, shape (...).
    spread
        Variance of the score around it, shape (...): scatter, and how unsure they are of weights.
    outcome
        1 for yes, 0 for no, shape (...).

    Returns
    -------
    tuple of two arrays
        Pull and surer, both of shape (...).
    """
    from scipy.special import log_ndtr

    assert world.outcome is not None
    deviation = np.sqrt(spread)
    side = np.where(np.asarray(outcome) > 0.5, 1.0, -1.0)
    z = side * (world.base_score + added_up) / deviation
    # density / distribution function, without underflow far below 0
    ratio = np.exp(-0.5 * z * z - log_ndtr(z)) / np.sqrt(2.0 * np.pi)
    return side * ratio / deviation, ratio * (ratio + z) / deviation**2
