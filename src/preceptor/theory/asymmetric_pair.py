"""Two tests of different weight: whoever shows them, in the end one of them is left.

**Corollary.** Two tests of unit variance with correlation ρ, |ρ| < 1, one shown a round, squared
error, and learning that tends to the truth. If |a_1| and |a_2| differ, every optimal policy of the
endless problem ends by showing one set forever.

If both tests were shown infinitely often, both would be learned, and then test i alone leaves
noise + (1-ρ²)a_j² of the other one unexplained. The two tail losses differ by
(1-ρ²)(a_2² - a_1²), so only the heavier test could be shown in late rounds. The symmetric pair of
`two_features.py` is the exception: there they tie, and alternating forever can be optimal.

Which test is left is another matter: if it is not worth learning the heavier one, the plan may
never show it often enough, and stay with the lighter one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from preceptor._base.checks import is_number
from preceptor.errors import InvalidInput
from preceptor.model.budgets import Budget, Exactly
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Curve, Geometric
from preceptor.problem import Problem

_PACE = Geometric(1.1)


def asymmetric_pair(
    correlation: float,
    weights: Sequence[float] = (1.0, 0.8),
    *,
    initial: Sequence[float] = (0.0, 0.0),
    curve: Curve = _PACE,
    discount: float = 0.99,
    noise_variance: float = 1e-3,
    budget: Budget | None = None,
    horizon: int | None = None,
) -> Problem:
    """Two tests of different weight, for which alternating forever is never optimal.

    Parameters
    ----------
    correlation
        ρ of the two tests, above -1 and below 1.
    weights
        True weights of the two tests, of different size.
    initial
        Weights that the person starts with.
    curve
        How they learn, on a curve that tends to 0; of either sign (`Branch`).
    discount
        δ, at least 0 and below 1.
    noise_variance
        Variance of what no test explains.
    budget
        What may be shown; exactly one test per case if left out.
    horizon
        Number of rounds, or None for no end.

    Returns
    -------
    Problem
        What any solver takes.

    Raises
    ------
    InvalidInput
        Values that the corollary does not cover, all of them in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> plan = pr.solve(asymmetric_pair(0.8, [1.0, 0.9], discount=0.95))
    >>> plan.policy.schedule(4), plan.policy.commit
    ([(0,), (0,), (1,), (0,)], (0,))
    """
    faults = []
    if not (is_number(correlation) and -1.0 < correlation < 1.0):
        faults.append(f"correlation: {correlation!r}, must be above -1 and below 1")
    sizes = [abs(weight) for weight in weights if is_number(weight)]
    if len(weights) != 2 or len(sizes) != 2:
        faults.append(f"weights: {weights!r}, must be two finite numbers")
    elif sizes[0] == sizes[1]:
        faults.append(
            f"weights: {weights!r}, must differ in size; use SymmetricPair for equal ones, where "
            "alternating forever can be optimal"
        )
    if len(initial) != 2:
        faults.append(f"initial: {initial!r}, must be two numbers")
    if curve.limit > 0.0:
        faults.append(f"curve: {curve!r} does not tend to 0, but the truth must be learned")
    if not (is_number(discount) and 0.0 <= discount < 1.0):
        faults.append(f"discount: {discount!r}, must be at least 0 and below 1")
    InvalidInput.raise_if(faults)
    world = World.equicorrelated(weights, correlation, noise_variance=noise_variance)
    return Problem(world, Learner(initial, curve), budget or Exactly(1), discount, horizon)


def pair_tail_losses(
    correlation: float, weights: Sequence[float], noise_variance: float = 1e-3
) -> tuple[float, float]:
    """What each test of a pair costs alone, once both are learned.

    Parameters
    ----------
    correlation
        ρ of the two tests of unit variance.
    weights
        Their true weights.
    noise_variance
        Variance of what no test explains.

    Returns
    -------
    tuple of two floats
        noise + (1-ρ²)a_2² for the first, noise + (1-ρ²)a_1² for the second.

    Examples
    --------
    >>> pair_tail_losses(0.6, [2.0, 1.0], noise_variance=0.25)
    (0.89, 2.81)
    """
    first, second = weights
    left = math.fsum((1.0, -(correlation**2)))
    return noise_variance + left * second**2, noise_variance + left * first**2
