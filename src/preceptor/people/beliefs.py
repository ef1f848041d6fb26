"""First beliefs that people are known to have, as weights for a `Learner`.

Each takes a world and gives one weight for each test (n,), in the world's units.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.world import World


def novice(world: World) -> FloatArray:
    """Zero weights: the person predicts the average, whatever the tests say.

    Parameters
    ----------
    world
        The world that the person is new to.

    Returns
    -------
    array of shape (n,)
        One weight for each column, in the world's units.

    Examples
    --------
    >>> novice(World([2.0, -1.0], np.eye(2)))
    array([0., 0.])
    """
    return np.zeros(world.size)


def equal_weights(world: World) -> FloatArray:
    """Every test counts the same, in standard deviations, in the direction it points by itself.

    Signs are those of each test's own correlation with the outcome; the common size is the one
    that predicts best. Dawes called this unit weighting.

    Parameters
    ----------
    world
        The world that the person has a first idea of.

    Returns
    -------
    array of shape (n,)
        One weight for each column, in the world's units.

    Examples
    --------
    >>> equal_weights(World([2.0, -1.0], np.eye(2)))
    array([ 1.5, -1.5])
    """
    deviations = np.sqrt(np.diag(world.covariance))
    with_outcome = world.covariance @ world.coefficients
    direction = np.where(with_outcome >= 0.0, 1.0, -1.0) / deviations
    size = (direction @ with_outcome) / (direction @ world.covariance @ direction)
    return np.asarray(size * direction)


def marginal_weights(world: World) -> FloatArray:
    """Each test has the slope of a regression on it alone, so that correlation is counted twice.

    Parameters
    ----------
    world
        The world whose tests the person has met one at a time.

    Returns
    -------
    array of shape (n,)
        One weight for each column, in the world's units.

    Examples
    --------
    >>> marginal_weights(World([1.0, 1.0], [[1.0, 0.5], [0.5, 1.0]]))
    array([1.5, 1.5])
    """
    return np.asarray((world.covariance @ world.coefficients) / np.diag(world.covariance))


BELIEFS: dict[str, Callable[[World], FloatArray]] = {
    "zero": novice,
    "equal": equal_weights,
    "marginal": marginal_weights,
}
"""First beliefs by the names that `advise` and `preceptor plan --beliefs` take."""
