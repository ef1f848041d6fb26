"""What rounds weigh: the one place where a discount factor δ is turned into sums over time.

Round t (from 0) weighs δ^t. An infinite horizon is `rounds=None` and needs δ < 1.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.values import FloatArray

# Rounds beyond which all later ones together weigh less than this share of one round's loss.
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
    """Σ_{t<rounds} ratio^t elementwise, over infinitely many if `rounds` is None."""
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
    """What all rounds weigh together: a loss of 1 in every round adds up to this.

    >>> total_weight(0.99, None), total_weight(1.0, 30)
    (99.99999999999991, 30.0)
    """
    return float(geometric_sum(np.array(discount), rounds))


def weight_between(discount: float, first: int, end: int | None) -> float:
    """What the rounds from `first` up to but not including `end` weigh together."""
    left = None if end is None else max(end - first, 0)
    return discount**first * total_weight(discount, left) if left != 0 else 0.0


def weight_after(discount: float, rounds: int) -> float:
    """What everything after the first `rounds` rounds weighs when there is no end."""
    return discount**rounds / (1.0 - discount)


def rounds_until(discount: float, weight: float) -> int:
    """The first round that weighs no more than `weight`; δ must be inside (0, 1).

    >>> rounds_until(0.99, 1e-4)
    917
    """
    return math.ceil(math.log(weight) / math.log(discount))


def negligible_after(discount: float) -> int:
    """Rounds after which everything to come weighs less than rounding does."""
    if discount == 0.0:
        return 1
    return max(1, rounds_until(discount, _NEGLIGIBLE * (1.0 - discount)))


def cases_to_come(discount: float) -> float:
    """About how many cases a discount factor stands for: 1/(1-δ)."""
    return 1.0 / (1.0 - discount)


def discount_for(cases: float) -> float:
    """The discount factor that stands for about so many cases: 1 - 1/cases.

    >>> discount_for(100)
    0.99
    """
    return 1.0 - 1.0 / cases
