"""Two tests, one shown a round: keep to one of them, alternate, or end with the heavier one?

First come two interchangeable tests, in the setting of the paper's first proposition: two tests of
unit variance with correlation ρ in [0, 1), equal coefficients a, a person who starts from zero (so
both errors are a), geometric learning with rate α > 1, discount δ, exactly one test a round,
squared error, infinite horizon.

**Proposition.** Let ρ* = sqrt((1 - δ) / (1 - δ/α²)). Below ρ* the best policy keeps to one test,
above ρ* it shows the two in turn, and at ρ* both are best.

Write r for the smaller count, d for the gap between the counts. Scaling out what both policies
share, the value from a state is c/(1-δ) + a² α^(-2r) F_d with c = noise + (1-ρ²)a², and F_d is a
closed form for either policy; that is what `keeping_cost` and `alternating_cost` return.

Three remarks that the statement leaves to the reader, all checked in the tests:

- What is unique above ρ* is that the gap closes at once: in rounds 2t and 2t+1 each test is shown
  once, in whichever order. Strict alternation is one of these policies.
- At ρ* every policy that shows one test a round is optimal, not only these two.
- Allowing the empty set changes nothing: a person who starts from zero and is shown nothing
  errs exactly as much as with a test, and learns nothing (a one-round tie, strictly worse as soon
  as later rounds count). It would matter for a person who starts elsewhere, with prices, or
  with negative ρ, none of which the proposition covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.checks import count_faults, is_number
from preceptor.errors import InvalidInput
from preceptor.model.budgets import Budget, Exactly
from preceptor.model.policies import Alternating, Policy, Stationary
from preceptor.model.problem import Problem
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Curve, Geometric


@dataclass(frozen=True)
class SymmetricPair:
    """Two interchangeable tests of unit variance, and a person who starts from zero.

    Parameters
    ----------
    correlation
        ρ of the two tests, at least 0 and below 1.
    alpha
        What a showing divides an error by, above 1.
    discount
        δ, at least 0 and below 1.
    coefficient
        True weight of both tests, not 0.
    noise_variance
        Variance of what no test explains.

    Raises
    ------
    InvalidInput
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> pair = SymmetricPair(correlation=0.8, alpha=1.1, discount=0.9)
    >>> pair.alternating_value < pair.keeping_value
    True
    """

    correlation: float
    alpha: float
    discount: float
    coefficient: float = 1.0
    noise_variance: float = 1e-3

    def __post_init__(self) -> None:
        faults = _learning_faults(self.discount, self.alpha)
        if not 0.0 <= self.correlation < 1.0:
            faults.append(f"correlation: {self.correlation!r}, must be at least 0 and below 1")
        if not (math.isfinite(self.coefficient) and self.coefficient != 0.0):
            faults.append(f"coefficient: {self.coefficient!r}, must be finite and not 0")
        if not (math.isfinite(self.noise_variance) and self.noise_variance >= 0.0):
            faults.append(f"noise_variance: {self.noise_variance!r}, must be at least 0")
        InvalidInput.raise_if(faults)

    @property
    def critical_correlation(self) -> float:
        """The threshold ρ*."""
        return critical_correlation(self.discount, self.alpha)

    def keeping_cost(self, gap: int) -> float:
        """F_d of always showing the test that is ahead (the paper's F^same).

        Parameters
        ----------
        gap
            d, how many showings it is ahead.

        Returns
        -------
        float
            Cost from this state, scaled as in the proof.
        """
        rho, delta = self.correlation, self.discount
        left = math.pow(self.alpha, -gap)
        return (
            rho**2 / (1.0 - delta)
            + 2.0 * rho * left / (1.0 - delta / self.alpha)
            + left**2 / (1.0 - delta / self.alpha**2)
        )

    def alternating_cost(self, gap: int) -> float:
        """F_d of first closing the gap, then alternating (the paper's F^alt).

        Parameters
        ----------
        gap
            d, how many showings one test is ahead.

        Returns
        -------
        float
            Cost from this state, scaled as in the proof.
        """
        rho, delta, alpha = self.correlation, self.discount, self.alpha
        pair = (1.0 + rho) ** 2 + delta * (1.0 + rho / alpha) ** 2
        level = pair / (1.0 - (delta / alpha) ** 2)
        # While the gap closes, round j costs (1 + ρα^(j-gap))², weighted by (δ/α²)^j: three
        # geometric series.
        plain, mixed, square = delta / alpha**2, delta / alpha, delta
        return (
            math.pow(plain, gap) * level
            + _partial_sum(plain, gap)
            + 2.0 * rho * math.pow(alpha, -gap) * _partial_sum(mixed, gap)
            + rho**2 * math.pow(alpha, -2 * gap) * _partial_sum(square, gap)
        )

    @property
    def keeping_value(self) -> float:
        """Discounted loss of showing one test forever."""
        return self._value(self.keeping_cost(0))

    @property
    def alternating_value(self) -> float:
        """Discounted loss of showing the two tests in turn forever."""
        return self._value(self.alternating_cost(0))

    def problem(self, budget: Budget | None = None, horizon: int | None = None) -> Problem:
        """The same situation as a `Problem`.

        Parameters
        ----------
        budget
            What may be shown; exactly one test per case if left out.
        horizon
            Number of rounds, or None for no end.

        Returns
        -------
        Problem
            What any solver takes.
        """
        world = World.equicorrelated(
            [self.coefficient] * 2, self.correlation, noise_variance=self.noise_variance
        )
        learner = Learner([0.0, 0.0], Geometric(self.alpha))
        return Problem(world, learner, budget or Exactly(1), self.discount, horizon)

    def _value(self, cost: float) -> float:
        a = self.coefficient
        unavoidable = self.noise_variance + (1.0 - self.correlation**2) * a**2
        return unavoidable / (1.0 - self.discount) + a**2 * cost


@dataclass(frozen=True)
class PairSolution:
    """What to do with a symmetric pair.

    Attributes
    ----------
    critical_correlation
        The threshold ρ*.
    keeping_value
        Discounted loss of showing one test forever.
    alternating_value
        Discounted loss of showing the two in turn.
    value
        The least discounted loss of any policy.
    policies
        The best of keeping and alternating: one policy, or both at the threshold.
    """

    critical_correlation: float
    keeping_value: float
    alternating_value: float
    value: float
    policies: tuple[Policy, ...]


def critical_correlation(discount: float, alpha: float) -> float:
    """The correlation ρ* above which alternating beats keeping to one test.

    It is the square root of the discounted average of the learning curve, (1-δ)Σ_t δ^t α^(-2t):
    the more a person has learned by the time that counts, the less correlation it takes.

    Parameters
    ----------
    discount
        δ, at least 0 and below 1.
    alpha
        What a showing divides an error by, above 1.

    Returns
    -------
    float
        ρ*, between 0 and 1.

    Raises
    ------
    InvalidInput
        Values that make no sense.

    Examples
    --------
    >>> round(critical_correlation(discount=0.99, alpha=1.05), 4)
    0.313
    """
    InvalidInput.raise_if(_learning_faults(discount, alpha))
    return math.sqrt((1.0 - discount) / (1.0 - discount / alpha**2))


def optimal_policy(pair: SymmetricPair) -> PairSolution:
    """Solve the symmetric two-test case in closed form (the paper's first proposition).

    Parameters
    ----------
    pair
        The two tests and the person.

    Returns
    -------
    PairSolution
        Keep to one test, or alternate, and what that costs.

    Examples
    --------
    >>> solution = optimal_policy(SymmetricPair(correlation=0.8, alpha=1.1, discount=0.9))
    >>> solution.policies[0].schedule(4)
    [(0,), (1,), (0,), (1,)]
    """
    threshold = pair.critical_correlation
    keeping, alternating = Stationary((0,)), Alternating(((0,), (1,)))
    # A correlation this close to the threshold, relatively, is taken to be on it: at that distance
    # the values of the two policies agree to the last digit.
    if math.isclose(pair.correlation, threshold, rel_tol=1e-14):
        policies: tuple[Policy, ...] = (keeping, alternating)
    else:
        policies = (keeping,) if pair.correlation < threshold else (alternating,)
    return PairSolution(
        critical_correlation=threshold,
        keeping_value=pair.keeping_value,
        alternating_value=pair.alternating_value,
        value=min(pair.keeping_value, pair.alternating_value),
        policies=policies,
    )


def _partial_sum(ratio: float, terms: int) -> float:
    """Σ_{j<terms} ratio^j for a ratio below 1."""
    return (1.0 - math.pow(ratio, terms)) / (1.0 - ratio)


def _learning_faults(discount: float, alpha: float) -> list[str]:
    faults = []
    if not 0.0 <= discount < 1.0:
        faults.append(f"discount: {discount!r}, must be at least 0 and below 1")
    if not (math.isfinite(alpha) and alpha > 1.0):
        faults.append(f"alpha: {alpha!r}, must be a finite number above 1")
    return faults


# The step in the proof of the symmetric pair that decides: one branch of Bellman's equation against
# the other.
#
# From a gap of d >= 1 between the counts there are two things to do: show the test that is ahead
# (*keep*) or the one that is behind (*switch*). The proof writes down what a policy costs from
# every gap, F_d, takes one of the two steps and follows that policy from then on, and compares.
# Let λ = α^(-2) and
#
#     advantage = (1 - ρ²) - δ(1 - ρ²/α²) = (1 - δ/α²)(ρ*² - ρ²).
#
# With F of keeping, switching once costs more by (equation 10)
#
#     (1 + ρα^(-d))² + δλF_{d-1} - (α^(-d) + ρ)² - δF_{d+1}
#         = [(1 - δ/α²) - α^(-2d)(1 - δ)] · advantage / ((1 - δ)(1 - δ/α²)),
#
# and with F of alternating, keeping once costs more by (equation 13)
#
#     (α^(-d) + ρ)² + δF_{d+1} - (1 + ρα^(-d))² - δλF_{d-1}  =  -(1 - α^(-2)) · Q_d · advantage,
#
# with Q_d = Σ_{j<d} α^(-2j) Σ_{l<=j} δ^l > 0. Both have one sign for all gaps, that of the
# advantage and its opposite. So exactly one policy leaves nothing to gain, and ρ* is where that
# changes.
#
# Along any schedule that shows one test a round these differences add up to what the schedule
# costs beyond the policy: discounted, scaled by the smaller count, one for each round with the
# other step. The tests add them up.


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
    """Cost of one switch for a policy that keeps to one test before and after (equation 10).

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
    InvalidInput.raise_if(count_faults(1, gap=gap))
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
    InvalidInput.raise_if(count_faults(1, gap=gap))
    steps = np.arange(gap)
    # Added up rather than in closed form, which would divide two small numbers for δ near 1.
    inner = np.cumsum(np.power(pair.discount, steps.astype(np.float64)))
    return float(np.sum(np.power(pair.alpha, -2.0 * steps) * inner))


def keeping_difference(pair: SymmetricPair, gap: int) -> float:
    """Cost of one more showing of the test ahead for a policy that alternates (equation 13).

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


# Two tests of different weight: under every optimal policy one of them is left in the end.
#
# **Corollary.** Two tests of unit variance with correlation ρ, |ρ| < 1, one shown a round, squared
# error, and learning that tends to the truth. If |a_1| and |a_2| differ, every optimal policy of
# the endless problem ends by showing one set forever.
#
# If both tests were shown infinitely often, both would be learned, and then test i alone leaves
# noise + (1-ρ²)a_j² of the other one unexplained. The two tail losses differ by (1-ρ²)(a_2² -
# a_1²), so only the heavier test could be shown in late rounds. The symmetric pair is the
# exception: there they tie, and alternating forever can be optimal.
#
# Which test is left is another matter: if it is not worth learning the heavier one, the plan may
# never show it often enough, and stay with the lighter one.

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
