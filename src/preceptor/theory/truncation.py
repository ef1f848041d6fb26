"""How many rounds to plan, and what planning no further can cost.

**Proposition.** Let no round ever cost more than L̄, and no less than 0. A policy whose first T
rounds are optimal for a world that ends after them costs at most

    L̄ δ^T / (1 - δ)

more than the infinite-horizon optimum, however it goes on. So T = ⌈log(L̄/((1-δ)ε)) / -log δ⌉
rounds are enough for an error of ε. As long as nothing is assumed about what follows, no smaller
bound holds: `tightness_example` attains it.

The bound is for use before planning. Once the T-round optimum J*_T is known, one can certify far
more: the first T rounds of any policy cost at least J*_T and each later one at least what the
best reader of the best set still gets wrong. `truncation_certificate` gives this bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from preceptor._base.numerics import rounds_until, weight_after
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.model.budgets import AtMost
from preceptor.model.evaluation import evaluate, worst_loss_of_all
from preceptor.model.policies import ExploreThenCommit, Policy
from preceptor.model.problem import Problem
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import OneShot
from preceptor.planning.bounds import remaining_floor
from preceptor.planning.finite import DEFAULT_MEMORY, solve_finite


@dataclass(frozen=True)
class TruncationCertificate:
    """A policy's value, and a lower bound on every policy.

    Attributes
    ----------
    rounds
        How many rounds were planned exactly.
    planned_optimum
        The optimum of these rounds alone.
    later_floor
        The least that all later rounds can cost together (discounted).
    value
        What the policy costs.
    """

    rounds: int
    planned_optimum: float
    later_floor: float
    value: float

    @property
    def lower_bound(self) -> float:
        """No policy costs less than this."""
        return self.planned_optimum + self.later_floor

    @property
    def error(self) -> float:
        """How far above the optimum the policy can be at most (0 if it meets the bound)."""
        return max(self.value - self.lower_bound, 0.0)

    @property
    def gap(self) -> float:
        """`error` as a share of the lower bound."""
        if self.error == 0.0:
            return 0.0
        return self.error / self.lower_bound if self.lower_bound > 0.0 else math.inf


@dataclass(frozen=True)
class TightnessExample:
    """A policy that is optimal for some rounds and then as bad as the bound allows.

    Attributes
    ----------
    problem
        The instance.
    policy
        Optimal for `rounds` rounds.
    rounds
        T.
    excess
        How much more it costs than the optimum.
    """

    problem: Problem
    policy: ExploreThenCommit
    rounds: int
    excess: float


def truncation_error(problem: Problem, rounds: int) -> float:
    """The proposition's bound L̄δ^T/(1-δ) for planning T rounds of an endless problem.

    Parameters
    ----------
    problem
        An endless problem.
    rounds
        T, how many rounds are planned, at least 0.

    Returns
    -------
    float
        The most by which such a policy can cost more than the optimum, whatever it shows later.

    Raises
    ------
    NotApplicable
        The problem has a horizon.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.9)
    >>> round(truncation_error(problem, 100), 5)
    0.00078
    """
    _refuse_finite(problem)
    if rounds < 0:
        raise InvalidInput(f"rounds: {rounds!r}, must be at least 0")
    ceiling = worst_loss_of_all(problem)
    return ceiling * weight_after(problem.discount, rounds)


def rounds_for_error(problem: Problem, error: float) -> int:
    """The fewest rounds to plan for which the proposition promises at most this error.

    Parameters
    ----------
    problem
        An endless problem.
    error
        The excess loss that is acceptable, above 0, in units of the problem's value.

    Returns
    -------
    int
        Rounds to plan.

    Raises
    ------
    NotApplicable
        The problem has a horizon.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.9)
    >>> rounds_for_error(problem, 0.001)
    98
    """
    _refuse_finite(problem)
    if not error > 0.0:
        raise InvalidInput(f"error: {error!r}, must be above 0")
    at_once = truncation_error(problem, 0)
    if at_once <= error:
        return 0
    if problem.discount == 0.0:
        return 1
    rounds = max(rounds_until(problem.discount, error / at_once), 1)
    # Where the formula lands on a whole number, rounding may put it one off on either side.
    if truncation_error(problem, rounds) > error:
        rounds += 1
    elif truncation_error(problem, rounds - 1) <= error:
        rounds -= 1
    return rounds


def truncation_certificate(
    problem: Problem, policy: Policy, rounds: int, *, memory_limit: int = DEFAULT_MEMORY
) -> TruncationCertificate:
    """Certify a policy after the fact by the exact optimum of the first rounds.

    Parameters
    ----------
    problem
        An endless problem.
    policy
        What to certify.
    rounds
        How many rounds to solve exactly.
    memory_limit
        Bytes that solving may use.

    Returns
    -------
    TruncationCertificate
        The policy's value, and a lower bound on every policy.

    Raises
    ------
    NotApplicable
        The problem has a horizon.
    TooLarge
        That many rounds do not fit in memory.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.9)
    >>> plan = pr.solve(problem, method="truncated", length=60)
    >>> truncation_certificate(problem, plan.policy, rounds=60).gap < 0.001
    True
    """
    _refuse_finite(problem)
    planned = solve_finite(problem.replace(horizon=rounds), memory_limit=memory_limit)
    return TruncationCertificate(
        rounds=rounds,
        planned_optimum=planned.value,
        later_floor=remaining_floor(problem, after=rounds),
        value=evaluate(problem, policy),
    )


def tightness_example(rounds: int, discount: float, worst: float = 1.0) -> TightnessExample:
    """The instance that attains the bound: `excess` equals L̄δ^T/(1-δ).

    Two uncorrelated tests, no noise, and a person who knows that only the first one matters.
    Showing it costs nothing, anything else costs L̄. A policy that shows it for T rounds is
    optimal so far, and may then change to the second forever.

    Parameters
    ----------
    rounds
        T, for how many rounds the policy is optimal.
    discount
        δ, at least 0 and below 1.
    worst
        L̄, the loss of a bad round, above 0.

    Returns
    -------
    TightnessExample
        The problem, the policy and its excess loss.

    Examples
    --------
    >>> example = tightness_example(rounds=10, discount=0.5, worst=2.0)
    >>> example.excess == truncation_error(example.problem, 10)
    True
    """
    if not (worst > 0.0 and math.isfinite(worst)):
        raise InvalidInput(f"worst: {worst!r}, must be a positive number")
    truth = [math.sqrt(worst), 0.0]
    world = World(truth, [[1.0, 0.0], [0.0, 1.0]], noise_variance=0.0)
    problem = Problem(world, Learner(truth, OneShot()), AtMost(1), discount)
    policy = ExploreThenCommit([(0,)] * rounds, commit=(1,))
    # The optimum costs nothing, so what the policy costs is its excess.
    return TightnessExample(problem, policy, rounds, excess=evaluate(problem, policy))


def _refuse_finite(problem: Problem) -> None:
    if problem.horizon is not None:
        raise NotApplicable(
            f"truncation: the horizon is {problem.horizon} rounds, but these bounds compare with "
            "an endless problem; use problem.replace(horizon=None), or method='finite'"
        )
