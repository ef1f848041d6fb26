"""Quantiles of mixtures of normal distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray


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
        To about 1e-12; a quantile lies between those of the parts.

    Examples
    --------
    >>> import numpy as np
    >>> mixture_quantiles(np.ones(1), np.zeros(1), np.ones(1), [0.975]).round(4)
    array([1.96])
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    spread = np.sqrt(np.maximum(variances, 0.0))
    counted = weights > 1e-12
    weights, means, spread = weights[counted], means[counted], spread[counted]
    safe = np.where(spread > 0.0, spread, 1.0)

    def excess(value: float, level: float) -> float:
        """The probability below a value, beyond the level."""
        away = value - means
        below = np.where(spread > 0.0, ndtr(away / safe), away >= 0.0)
        return float(below @ weights) - level

    found = np.empty(len(levels))
    for i, level in enumerate(levels):
        own = means + spread * ndtri(level)
        low, high = float(own.min()), float(own.max())
        if excess(low, level) >= 0.0:
            found[i] = low
        elif excess(high, level) <= 0.0:
            found[i] = high
        else:
            found[i] = brentq(excess, low, high, args=(level,))
    return found
