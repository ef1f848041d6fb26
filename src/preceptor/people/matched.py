"""Settings that make different kinds of person comparable: equal at the start and in initial speed.

People who learn from outcomes have a rate or a prior instead of a curve. These are matched so that
the first showing teaches about as much as it teaches a person who learns by showings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.world import World

DEFAULT_HALF_LIFE = 14.0
"""Showings that halve the error of a weight, where nothing else is known: the median of
published experiments (`docs/people.md`)."""


def matched_delta_rate(world: World, learned: npt.ArrayLike, shown: Sequence[int]) -> float:
    """Return the delta rule's rate at which the first showing removes these shares of the errors.

    With one test shown, a step removes a share rate x variance of its expected error; tests are
    averaged. At most 1 / (3 x the largest total variance of a set): from twice that on, squared
    errors of the delta rule may diverge.

    Parameters
    ----------
    world
        Where the tests come from.
    learned
        Share of each error that the first showing removes, shape (n,), or one for all.
    shown
        The allowed set with the largest total variance.

    Returns
    -------
    float
        The rate for `DeltaRule`.

    Examples
    --------
    >>> round(matched_delta_rate(World([1.0], [[4.0]]), 0.2, (0,)), 6)   # 0.2 / 4
    0.05
    """
    variances = np.diag(world.covariance)
    rate = np.mean(np.asarray(learned) / variances)
    return float(min(rate, 1.0 / (3.0 * variances[list(shown)].sum())))


def matched_prior_variance(world: World, errors: npt.ArrayLike) -> FloatArray:
    """Return prior variances that equal the actual squared errors, averaged over tests.

    Parameters
    ----------
    world
        Where the tests come from.
    errors
        True minus initial weights, shape (n,).

    Returns
    -------
    array of shape (n,)
        The prior variances for `Bayesian`: the mean squared error of standardised weights, in the
        scale of each test.

    Examples
    --------
    >>> matched_prior_variance(World([1.0, 1.0], [[4.0, 0.0], [0.0, 1.0]]), [1.0, 2.0])
    array([1., 4.])
    """
    variances = np.diag(world.covariance)
    squared = np.mean(np.asarray(errors) ** 2 * variances)
    return np.asarray(squared / variances)


def matched_scatter(world: World, shown: Sequence[int]) -> float:
    """Return the residual variance under the best weights of these tests; always positive.

    Parameters
    ----------
    world
        Where the tests come from.
    shown
        Positions of tests, such as the most predictive set.

    Returns
    -------
    float
        The noise variance for `Bayesian`.

    Examples
    --------
    >>> round(matched_scatter(World([1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]], 0.5), (1,)), 6)
    1.5
    """
    return max(world.best_reading(shown)[1], 1e-9 * world.outcome_variance, 1e-300)
