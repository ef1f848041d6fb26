"""Numbers that make people of different kinds alike at first, so that only how they learn differs.

Somebody who learns from outcomes has a rate or a prior instead of a curve. These are chosen so that
a first showing teaches about as much as it teaches somebody who learns by showings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.world import World


def matched_delta_rate(world: World, learned: npt.ArrayLike, shown: Sequence[int]) -> float:
    """The delta rule's rate at which the first showing takes away these shares of the errors.

    With one test shown, a step takes away a share rate x variance of its expected error; tests are
    averaged. At most 1 / (3 x the variance that can be shown at once): from twice that on,
    squared errors of the delta rule may grow without end.

    Parameters
    ----------
    world
        Where the tests come from.
    learned
        Share of each error that a first showing takes away, shape (n,), or one for all.
    shown
        The columns with the most variance that can be shown at once.

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
    """As unsure of each weight as weights are in fact wrong, on average over tests.

    Parameters
    ----------
    world
        Where the tests come from.
    errors
        Truth minus first beliefs, shape (n,).

    Returns
    -------
    array of shape (n,)
        The prior variances for `Bayesian`: the average squared error of standardised weights, in
        each test's own scale.

    Examples
    --------
    >>> matched_prior_variance(World([1.0, 1.0], [[4.0, 0.0], [0.0, 1.0]]), [1.0, 2.0])
    array([1., 4.])
    """
    variances = np.diag(world.covariance)
    squared = np.mean(np.asarray(errors) ** 2 * variances)
    return np.asarray(squared / variances)


def matched_scatter(world: World, shown: Sequence[int]) -> float:
    """Variance left to somebody who reads these tests perfectly; never quite 0.

    Parameters
    ----------
    world
        Where the tests come from.
    shown
        Columns, such as those of the most predictive set.

    Returns
    -------
    float
        The noise variance for `Bayesian`.

    Examples
    --------
    >>> round(matched_scatter(World([1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]], 0.5), (1,)), 6)
    1.5
    """
    columns = list(shown)
    target = (world.covariance @ world.coefficients)[columns]
    explained = target @ np.linalg.solve(world.covariance[np.ix_(columns, columns)], target)
    return max(world.outcome_variance - float(explained), 1e-9 * world.outcome_variance, 1e-300)
