"""Quantiles of mixtures of normal distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray

# Halvings of the interval: to a relative precision of 1e-12.
_HALVINGS = 60
_FAR = 40.0


def mixture_quantiles(
    weights: FloatArray, means: FloatArray, variances: FloatArray, levels: Sequence[float]
) -> FloatArray:
    """Where a mixture of normals has these probabilities below it.

    Parameters
    ----------
    weights
        Shares of the parts, shape (parts,), adding up to 1.
    means
        Of the parts, shape (parts,).
    variances
        Of the parts, shape (parts,); 0 is a point.
    levels
        Probabilities between 0 and 1.

    Returns
    -------
    array of shape (levels,)
        By bisection of the distribution function.

    Examples
    --------
    >>> import numpy as np
    >>> mixture_quantiles(np.ones(1), np.zeros(1), np.ones(1), [0.975]).round(4)
    array([1.96])
    """
    from scipy.special import ndtr

    spread = np.sqrt(np.maximum(variances, 0.0))
    counted = weights > 1e-12
    weights, means, spread = weights[counted], means[counted], spread[counted]
    low = np.full(len(levels), float(np.min(means - _FAR * spread)))
    high = np.full(len(levels), float(np.max(means + _FAR * spread)))
    wanted = np.asarray(levels, dtype=np.float64)
    safe = np.where(spread > 0.0, spread, 1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        away = middle[:, None] - means
        below = np.where(spread > 0.0, ndtr(away / safe), away >= 0.0) @ weights
        high, low = np.where(below >= wanted, middle, high), np.where(below < wanted, middle, low)
    found: FloatArray = (low + high) / 2.0
    return found
