"""Two interchangeable tests, one shown a round: keep to one of them, or alternate?

The setting of the paper's first proposition: two tests of unit variance with correlation ρ in
[0, 1), equal coefficients a, a person who starts from zero (so both errors are a), geometric
learning with rate α > 1, discount δ, exactly one test a round, squared error, infinite horizon.

**Proposition.** Let ρ* = sqrt((1 - δ) / (1 - δ/α²)). Below ρ* the best policy keeps to one test,
above ρ* it shows the two in turn, and at ρ* both are best.

Write r for the smaller count, d for the gap between the counts. Scaling out what both policies
share, the value from a state is c/(1-δ) + a² α^(-2r) F_d with c = noise + (1-ρ²)a², and F_d is a
closed form for either policy; that is what `keeping_cost` and `alternating_cost` return.

Three remarks that the statement leaves to the reader, all checked in the tests:

- What is unique above ρ* is that the gap closes at once: in rounds 2t and 2t+1 each test is shown
  once, in whichever order. Strict alternation is one of these policies.
- At ρ* every policy that shows one test a round is optimal, not only these two.
- Allowing the empty set changes nothing: somebody who starts from zero and is shown nothing
  errs exactly as much as with a test, and learns nothing (a one-round tie, strictly worse as soon
  as later rounds count). It would matter for a person who starts elsewhere, with prices, or
  with negative ρ, none of which the proposition covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from preceptor.errors import InvalidInput
from preceptor.model.budgets import Budget, Exactly
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.policies import Alternating, Policy, Stationary
from preceptor.problem import Problem

# A correlation this close to the threshold, relatively, is taken to be on it: at that distance
# the values of the two policies agree to the last digit.
_AT_THRESHOLD = 1e-14


@dataclass(frozen=True)
class SymmetricPair:
    """Two interchangeable tests of unit variance, and somebody who starts from zero.

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
    if math.isclose(pair.correlation, threshold, rel_tol=_AT_THRESHOLD):
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
