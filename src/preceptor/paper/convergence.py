"""The paper's rule for how far to plan: run the finite program until the selections converge.

Algorithm 1 runs forward in time, so a longer horizon only adds rounds. Near its end a finite
plan optimises the last rounds, so the first half of one is compared with the same rounds of a
plan twice as long. If they are equal and have settled on one set, that set is shown from then
on.

Stopping this way proves nothing by itself: over horizons that are short for the discount,
learning does not pay, and selections are stable because nothing is explored yet. So the first
horizon is twice the effective number of cases 1/(1-δ), and the result states the cost of the
policy over an infinite horizon with a lower bound on every policy: the optimum of the longest
plan plus the least that later rounds can cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from preceptor._base.checks import is_count
from preceptor._base.numerics import effective_cases
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.model.evaluation import evaluate
from preceptor.model.policies import ExploreThenCommit
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.planning.bounds import remaining_floor
from preceptor.planning.finite import DEFAULT_MEMORY
from preceptor.planning.solvers import solve

_SHORTEST, _MOST = 32, 4096


@dataclass(frozen=True)
class Converged:
    """Result of planning over longer and longer horizons.

    Attributes
    ----------
    policy
        The selections of the first half of the longest plan, then their last set forever.
    value
        Its cost over an infinite horizon.
    lower_bound
        No policy costs less.
    converged
        Whether the selections stayed the same and settled. If not, the longest horizon was reached,
        or memory did not allow another.
    horizons
        The horizons that were planned, in order.
    """

    policy: ExploreThenCommit
    value: float
    lower_bound: float
    converged: bool
    horizons: tuple[int, ...]

    @property
    def gap(self) -> float:
        """(value - lower_bound) / lower_bound: 0.02 means at most 2% above the best possible."""
        return max(self.value - self.lower_bound, 0.0) / self.lower_bound


def run_until_converged(
    problem: Problem,
    *,
    first: int | None = None,
    most: int = _MOST,
    memory_limit: int = DEFAULT_MEMORY,
) -> Converged:
    """Plan over longer and longer horizons until the selections converge.

    Parameters
    ----------
    problem
        With an infinite horizon and a person who learns by showings.
    first
        The first horizon, at least 4; each next one is twice as long. If left out, 2/(1-δ) rounds,
        and at least 32.
    most
        The longest horizon to try.
    memory_limit
        Memory limit of a plan, in bytes.

    Returns
    -------
    Converged
        The policy, its cost, and whether the selections converged.

    Raises
    ------
    InvalidInput
        Horizons that make no sense.
    NotApplicable
        The problem has a horizon.
    TooLarge
        Not even the first horizon fits in memory.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.9)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.95)
    >>> found = pr.paper.run_until_converged(problem)
    >>> found.converged, found.policy.commit
    (True, (0,))
    """
    if problem.horizon is not None:
        raise NotApplicable("run_until_converged: for problems without a horizon")
    if first is None:
        first = max(_SHORTEST, math.ceil(2.0 * effective_cases(problem.discount)))
        most = max(most, 2 * first) if most == _MOST else most
    faults = []
    if not is_count(first, least=4):
        faults.append(f"first: {first!r}, must be a whole number of at least 4")
    if not is_count(most, least=1) or (not faults and most < first):
        faults.append(f"most: {most!r}, must be a whole number of at least `first` ({first})")
    InvalidInput.raise_if(faults)
    horizons: list[int] = []
    shown: list[TestSet] = []
    best, converged, horizon = 0.0, False, first
    while horizon <= most and not converged:
        try:
            plan = solve(problem.replace(horizon=horizon), "finite", memory_limit=memory_limit)
        except TooLarge:
            if not horizons:
                raise
            break
        selections = plan.policy.schedule(horizon)
        converged = bool(shown) and selections[: len(shown)] == shown and _settled(shown)
        best = plan.value
        # Converged selections are kept; otherwise those of the longer plan are used.
        shown = shown if converged else selections[: horizon // 2]
        horizons.append(horizon)
        horizon *= 2
    policy = ExploreThenCommit(shown, shown[-1], problem.start)
    value = evaluate(problem, policy)
    bound = best + remaining_floor(problem, after=horizons[-1])
    return Converged(policy, value, min(bound, value), converged, tuple(horizons))


def _settled(shown: list[TestSet]) -> bool:
    """Whether the later half of these rounds shows only one set."""
    return len(set(shown[len(shown) // 2 :])) == 1
