"""Plausible initial weights of people, for example for a `Learner`.

Each function takes a world and returns one weight per test (n,), in the world's units.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.world import World


def novice(world: World) -> FloatArray:
    """Return zero weights: the person always predicts the mean.

    Parameters
    ----------
    world
        The world in which the person is a novice.

    Returns
    -------
    array of shape (n,)
        One weight per column, in the world's units.

    Examples
    --------
    >>> novice(World([2.0, -1.0], np.eye(2)))
    array([0., 0.])
    """
    return np.zeros(world.size)


def equal_weights(world: World) -> FloatArray:
    """Return equal weights of standardised tests, signed by their correlation with the outcome.

    Their common size is the one that predicts best. Dawes called this unit weighting.

    Parameters
    ----------
    world
        Model of tests and outcomes.

    Returns
    -------
    array of shape (n,)
        One weight per column, in the world's units.

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
    """Return slopes of regressions on each test alone, which count shared information twice.

    Parameters
    ----------
    world
        Model of tests and outcomes.

    Returns
    -------
    array of shape (n,)
        One weight per column, in the world's units.

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
"""Initial weights by the names that `advise` and `preceptor plan --beliefs` take."""
