"""The step in the proof of the symmetric pair that decides: one branch of Bellman's equation
against the other.

From a gap of d >= 1 between the counts there are two things to do: show the test that is ahead
(*keep*) or the one that is behind (*switch*). The proof writes down what a policy costs from every
gap, F_d, takes one of the two steps and follows that policy from then on, and compares. Let
λ = α^(-2) and

    advantage = (1 - ρ²) - δ(1 - ρ²/α²) = (1 - δ/α²)(ρ*² - ρ²).

With F of keeping, switching once costs more by (equation 10)

    (1 + ρα^(-d))² + δλF_{d-1} - (α^(-d) + ρ)² - δF_{d+1}
        = [(1 - δ/α²) - α^(-2d)(1 - δ)] · advantage / ((1 - δ)(1 - δ/α²)),

and with F of alternating, keeping once costs more by (equation 13)

    (α^(-d) + ρ)² + δF_{d+1} - (1 + ρα^(-d))² - δλF_{d-1}  =  -(1 - α^(-2)) · Q_d · advantage,

with Q_d = Σ_{j<d} α^(-2j) Σ_{l<=j} δ^l > 0. Both have one sign for all gaps, that of the advantage
and its opposite. So exactly one policy leaves nothing to gain, and ρ* is where that changes.

Along any schedule that shows one test a round these differences add up to what the schedule costs
beyond the policy: discounted, scaled by the smaller count, one for each round with the other step.
The tests add them up.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.checks import is_count
from preceptor.errors import InvalidInput
from preceptor.theory.two_features import SymmetricPair


def keeping_advantage(pair: SymmetricPair) -> float:
    """What decides between the two policies: above 0 keep, below 0 alternate, at 0 either.

    Parameters
    ----------
    pair
        The two tests and the person.

    Returns
    -------
    float
        (1 - δ/α²)(ρ*² - ρ²), which is (1 - ρ²) - δ(1 - ρ²/α²).

    Examples
    --------
    >>> keeping_advantage(SymmetricPair(correlation=0.8, alpha=1.1, discount=0.9)) < 0
    True
    """
    left = 1.0 - pair.discount / pair.alpha**2
    return (1.0 - pair.discount) - pair.correlation**2 * left


def switching_difference(pair: SymmetricPair, gap: int) -> float:
    """What one switch costs somebody who keeps to one test before and after (equation 10).

    Parameters
    ----------
    pair
        The two tests and the person.
    gap
        d, how many showings one test is ahead, at least 1.

    Returns
    -------
    float
        Scaled as `SymmetricPair.keeping_cost`. Below 0 if the switch pays.

    Raises
    ------
    InvalidInput
        A gap below 1: then both tests are alike and there is nothing to switch.

    Examples
    --------
    >>> pair = SymmetricPair(correlation=0.1, alpha=1.1, discount=0.9)
    >>> 0 < switching_difference(pair, 1) < switching_difference(pair, 2)
    True
    """
    _check(gap)
    near, far = 1.0 - pair.discount, 1.0 - pair.discount / pair.alpha**2
    return (far - math.pow(pair.alpha, -2 * gap) * near) * keeping_advantage(pair) / (near * far)


def closing_weight(pair: SymmetricPair, gap: int) -> float:
    """Q_d = Σ_{j<d} α^(-2j) Σ_{l<=j} δ^l: how much a gap of d weighs in `keeping_difference`.

    Parameters
    ----------
    pair
        The two tests and the person.
    gap
        d, how many showings one test is ahead, at least 1.

    Returns
    -------
    float
        At least 1, growing with the gap.

    Raises
    ------
    InvalidInput
        A gap below 1.

    Examples
    --------
    >>> closing_weight(SymmetricPair(correlation=0.8, alpha=2.0, discount=0.5), 2)   # 1 + 1.5/4
    1.375
    """
    _check(gap)
    steps = np.arange(gap)
    # Added up rather than in closed form, which would divide two small numbers for δ near 1.
    inner = np.cumsum(np.power(pair.discount, steps.astype(np.float64)))
    return float(np.sum(np.power(pair.alpha, -2.0 * steps) * inner))


def keeping_difference(pair: SymmetricPair, gap: int) -> float:
    """What one more showing of the test ahead costs somebody who alternates (equation 13).

    Parameters
    ----------
    pair
        The two tests and the person.
    gap
        d, how many showings one test is ahead, at least 1.

    Returns
    -------
    float
        Scaled as `SymmetricPair.alternating_cost`. Below 0 if widening the gap pays.

    Raises
    ------
    InvalidInput
        A gap below 1.

    Examples
    --------
    >>> pair = SymmetricPair(correlation=0.8, alpha=1.1, discount=0.9)
    >>> 0 < keeping_difference(pair, 1) < keeping_difference(pair, 2)
    True
    """
    return -(1.0 - pair.alpha**-2) * closing_weight(pair, gap) * keeping_advantage(pair)


def _check(gap: int) -> None:
    if not is_count(gap, least=1):
        raise InvalidInput(f"gap: {gap!r}, must be a whole number of at least 1")
