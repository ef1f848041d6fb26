"""Sums over time under a discount factor δ, and quantiles of mixtures.

This is the one place where δ is turned into sums over time. Round t (from 0) has weight δ^t. An
infinite horizon is `rounds=None` and needs δ < 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray

# Values and gaps that differ by no more than this share count as equal.
ROUNDING = 1e-10
# Later rounds are negligible once their total weight is below this share of one round.
_NEGLIGIBLE = 1e-15


def weights(discount: float, rounds: int) -> FloatArray:
    """Weights (rounds,) of single rounds: 1, δ, δ², ...

    >>> weights(0.5, 3).tolist()
    [1.0, 0.5, 0.25]
    """
    return discount ** np.arange(rounds, dtype=np.float64)


def discounted_sum(losses: FloatArray, discount: float) -> float:
    """Σ_t δ^t losses[t]."""
    return float(weights(discount, losses.size) @ losses)


def geometric_sum(ratio: FloatArray, rounds: int | None) -> FloatArray:
    """Σ_{t<rounds} ratio^t elementwise; the infinite sum if `rounds` is None."""
    ratio = np.asarray(ratio, dtype=np.float64)
    if rounds is None:
        return 1.0 / (1.0 - ratio)
    if rounds == 0:
        return np.zeros_like(ratio)
    safe = np.where(ratio == 1.0, 0.5, ratio)
    # expm1/log1p keep the digits when ratio^rounds is close to 1.
    with np.errstate(divide="ignore"):
        partial = -np.expm1(rounds * np.log(safe)) / (1.0 - safe)
    return np.where(ratio == 1.0, float(rounds), partial)


def total_weight(discount: float, rounds: int | None) -> float:
    """Total weight of all rounds: the discounted sum of a loss of 1 per round.

    >>> total_weight(0.99, None), total_weight(1.0, 30)
    (99.99999999999991, 30.0)
    """
    return float(geometric_sum(np.array(discount), rounds))


def weight_between(discount: float, first: int, end: int | None) -> float:
    """Total weight of the rounds from `first` up to but not including `end`."""
    left = None if end is None else max(end - first, 0)
    return discount**first * total_weight(discount, left) if left != 0 else 0.0


def weight_after(discount: float, rounds: int) -> float:
    """Total weight of all rounds after the first `rounds`, on an infinite horizon."""
    return discount**rounds / (1.0 - discount)


def rounds_until(discount: float, weight: float) -> int:
    """The first round, from 1, whose weight is at most `weight` < 1; needs δ < 1.

    >>> rounds_until(0.99, 1e-4)
    917
    """
    return math.ceil(math.log(weight) / math.log(discount)) if discount > 0.0 else 1


def negligible_after(discount: float) -> int:
    """Number of rounds after which the total weight of the rest is below rounding."""
    return rounds_until(discount, _NEGLIGIBLE * (1.0 - discount))


def effective_cases(discount: float) -> float:
    """Effective number of cases of a discount factor: 1/(1-δ)."""
    return 1.0 / (1.0 - discount)


def discount_for(cases: float) -> float:
    """The discount factor whose effective number of cases is `cases`: 1 - 1/cases.

    >>> discount_for(100)
    0.99
    """
    return 1.0 - 1.0 / cases


def mixture_quantiles(
    weights: FloatArray, means: FloatArray, variances: FloatArray, levels: Sequence[float]
) -> FloatArray:
    """Quantiles of a mixture of normals at the given levels.

    Parameters
    ----------
    weights
        Weights of the components, shape (components,), adding up to 1.
    means
        Their means, shape (components,).
    variances
        Their variances, shape (components,); 0 is a point mass.
    levels
        Probabilities between 0 and 1.

    Returns
    -------
    array of shape (levels,)
        Accurate to about 1e-12.

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
        """Probability below a value, minus the level."""
        away = value - means
        below = np.where(spread > 0.0, ndtr(away / safe), away >= 0.0)
        return float(below @ weights) - level

    found = np.empty(len(levels))
    for i, level in enumerate(levels):
        # A quantile of the mixture lies between those of its components.
        own = means + spread * ndtri(level)
        low, high = float(own.min()), float(own.max())
        if excess(low, level) >= 0.0:
            found[i] = low
        elif excess(high, level) <= 0.0:
            found[i] = high
        else:
            found[i] = brentq(excess, low, high, args=(level,))
    return found
