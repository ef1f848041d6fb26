"""What the cases can tell: plan and habit in worlds estimated from cases drawn again.

A plan is made for the estimated world. Had other cases come, the estimate would be another, and
the plan might gain more over the simplest habit (one fixed set) or nothing at all. So both are
played in a few dozen worlds, each estimated from cases drawn with replacement; the spread of the
gain says whether the estimate can tell plan and habit apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.deadline import Deadline
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import expected_costs, family_of, people_of, weights_of
from preceptor.evaluation.value import commit_value, evaluate
from preceptor.model.sets import TestSet
from preceptor.people.expected import Expected
from preceptor.plan import Plan
from preceptor.policies import Policy
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.estimation import WorldEstimate
    from preceptor.estimation.bootstrap import WorldBootstrap

RESAMPLES = 40
# Fewer replicates than this say nothing about how far a gain spreads.
_FEWEST = 8
# Share of the draws inside the intervals.
LEVEL = 0.9


@dataclass(frozen=True)
class WeightInterval:
    """An estimated weight: what one standard deviation of a column adds to the outcome.

    Attributes
    ----------
    name
        The column.
    weight
        As estimated.
    low
        Lower end of an interval over draws of the cases.
    high
        Upper end.
    correlation
        Of the column alone with the outcome, in the table.
    disagrees
        Whether the sign of the weight is not that of the correlation, and neither is near 0.
    """

    name: str
    weight: float
    low: float
    high: float
    correlation: float
    disagrees: bool


@dataclass(frozen=True, eq=False)
class Resampled:
    """What became of plan and habit in worlds estimated from cases drawn again.

    Attributes
    ----------
    habit
        The fixed set that the plan is compared with.
    gains
        By replicate, what the plan saves: a share of the habit's loss; for a crowd, on average.
    benefits
        The same; for a crowd, on average or for the worst off, whichever is more.
    winners
        How often each set was the best fixed one among those looked at, most often first.
    weights
        Each column's estimated weight with its interval.
    replicates
        How many worlds there were for the weights.
    level
        Share of the draws inside intervals.
    """

    habit: TestSet
    gains: FloatArray = field(repr=False)
    benefits: FloatArray = field(repr=False)
    winners: tuple[tuple[TestSet, int], ...]
    weights: tuple[WeightInterval, ...] = field(repr=False)
    replicates: int
    level: float = LEVEL

    @property
    def interval(self) -> tuple[float, float]:
        """Between which gains nine in ten replicates lie."""
        tail = (1.0 - self.level) / 2.0
        low, high = np.quantile(self.gains, [tail, 1.0 - tail])
        return float(low), float(high)

    @property
    def least_benefit(self) -> float:
        """The lower end of the interval of benefits."""
        return float(np.quantile(self.benefits, (1.0 - self.level) / 2.0))

    def share_of(self, shown: TestSet) -> float:
        """In which share of the replicates this set was the best fixed one.

        Parameters
        ----------
        shown
            The set.

        Returns
        -------
        float
            From 0 to 1.
        """
        return dict(self.winners).get(shown, 0) / len(self.gains)


def resample(
    estimate: WorldEstimate,
    plan: Plan,
    habit: Policy,
    contenders: list[TestSet],
    *,
    deadline: Deadline,
    seed: int = 0,
) -> Resampled | None:
    """Plan and habit in as many replicates as time allows; None if those are too few.

    Parameters
    ----------
    estimate
        What the plan's world was estimated from.
    plan
        What to put to the test.
    habit
        One fixed set.
    contenders
        Sets that may turn out to be the best fixed one.
    deadline
        When to have ended.
    seed
        Seed of the draws.

    Returns
    -------
    Resampled or None
        What became of them.
    """
    fixed = habit.commit
    if fixed is None:
        return None
    try:
        drawn = estimate.bootstrap(RESAMPLES, seed=seed, until=deadline.halfway())
    except InvalidInput:
        return None
    among = list(dict.fromkeys([fixed, *contenders]))
    gains, winners = [], dict.fromkeys(among, 0)
    for replicate in range(drawn.replicates):
        if deadline.is_over:
            break
        try:
            other = plan.problem.replace(world=drawn.world_of(replicate))
            costs = fixed_costs_of(other, among)
            gain = _gain(plan, other, costs[0])
        except (InvalidInput, np.linalg.LinAlgError):
            continue
        if np.isfinite(gain.benefit):
            gains.append(gain)
            winners[among[int(np.argmin(judged(plan, costs)))]] += 1
    if len(gains) < _FEWEST:
        return None
    ranked = sorted(((s, n) for s, n in winners.items() if n), key=lambda each: -each[1])
    weights = _weights(estimate, drawn)
    saved, benefits = np.array(gains).T
    return Resampled(fixed, saved, benefits, tuple(ranked), weights, drawn.replicates)


class Gain(NamedTuple):
    """What a plan saves as a share of the habit's loss; for a crowd, see `crowd_gain`."""

    mean: float
    benefit: float


def _gain(plan: Plan, problem: Problem, habit: FloatArray) -> Gain:
    """What the plan saves in this problem beside what the habit costs its people (people,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        if plan.regrets is not None:
            return crowd_gain(plan, expected_costs(problem, plan.policy), habit)
        spent = float(habit[0])
        saved = 1.0 - evaluate(problem, plan.policy) / spent if spent > 0.0 else 0.0
        return Gain(saved, saved)


def crowd_gain(plan: Plan, ours: FloatArray, theirs: FloatArray) -> Gain:
    """What a plan saves a crowd, as a share of the habit's loss, from what both cost each person.

    On average; the benefit is that or, where the worst off counts, how much less they lose.
    Own best plans of a changed world are not searched for again: they are taken to cost as much
    more or less as the plan itself does.
    """
    assert plan.regrets is not None
    weights = weights_of(plan.problem)
    mean = 1.0 - float(weights @ ours) / float(weights @ theirs)
    if plan.regrets.objective == "mean":
        return Gain(mean, mean)
    beyond = plan.regrets.table[0] + 1.0
    return Gain(mean, max(mean, float(np.max(beyond * theirs / ours) - beyond.max())))


def fixed_costs_of(problem: Problem, sets: list[TestSet]) -> FloatArray:
    """What each set costs each person if it is always shown (sets, people)."""
    horizon, discount = problem.horizon, problem.discount
    if problem.learns_by_showings:
        counts = np.array(problem.start_counts, dtype=np.int64)
        return np.array([[commit_value(problem, counts, s, horizon).value] for s in sets])
    family = family_of(problem, sets)
    everybody = [
        person.expectation(problem.world, family, problem.start, problem.risk)
        for person in people_of(problem).values()
    ]

    def throughout(who: Expected, position: int) -> float:
        if horizon is None:
            return who.total([], discount, (position,))
        return who.total([position] * horizon, discount, ())

    costs = np.array([[throughout(who, i) for who in everybody] for i in range(len(sets))])
    return np.where(np.isnan(costs), np.inf, costs)


def judged(plan: Plan, costs: FloatArray) -> FloatArray:
    """Costs (sets, people) as the plan's objective judges them (sets,)."""
    if plan.regrets is None or plan.regrets.objective == "mean":
        return np.asarray(costs @ weights_of(plan.problem))
    return np.asarray(np.max(costs / plan.regrets.best, axis=1))


def _weights(estimate: WorldEstimate, drawn: WorldBootstrap) -> tuple[WeightInterval, ...]:
    world = estimate.world
    scale = np.sqrt(np.diag(world.covariance))
    ends = drawn.coefficient_intervals(LEVEL) * scale[:, None]
    opposite = {each.name for each in estimate.signs_that_disagree}
    return tuple(
        WeightInterval(
            name=name,
            weight=float(world.coefficients[i] * scale[i]),
            low=float(ends[i, 0]),
            high=float(ends[i, 1]),
            correlation=float(estimate.outcome_correlations[i]),
            disagrees=name in opposite,
        )
        for i, name in enumerate(world.labels)
    )
