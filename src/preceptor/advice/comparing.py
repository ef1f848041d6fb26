"""Compare a plan with its rivals and with changed assumptions, in the time that is left.

The order is that of importance: the rivals, without which nothing can be said; whether one fixed
set is as good; changed assumptions. The advice says what did not fit.

A schedule of twelve sets that may be worth nothing is not worth following. The plan is kept if its
saving over the best fixed set matters in the estimated world, and is positive in nearly all worlds
that other draws of the cases would have given: plan and fixed set are evaluated in a few dozen
worlds, each estimated from cases drawn with replacement.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from preceptor._base.progress import Deadline, Status, report
from preceptor._base.values import FloatArray
from preceptor._base.words import counted, percent
from preceptor.advice.alternatives import Alternative, alternatives
from preceptor.advice.planning import Effort
from preceptor.advice.sensitivity import Change, sensitivity_until
from preceptor.data.world_estimate import WorldBootstrap, WorldEstimate
from preceptor.errors import InvalidInput
from preceptor.model.evaluation import evaluate, expected_costs, fixed_costs, weights_of
from preceptor.model.plan import Plan
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.planning.candidate_sets import neighbours
from preceptor.planning.crowd_plans import PLAN

RESAMPLES = 40
# Fewer replicates say nothing about the spread of a gain.
_FEWEST = 8
# Coverage of the intervals.
LEVEL = 0.9


@dataclass(frozen=True)
class WeightInterval:
    """An estimated weight: the change of the outcome per standard deviation of a column.

    Attributes
    ----------
    name
        The column.
    weight
        The estimate.
    low
        Lower end of the bootstrap interval.
    high
        Upper end.
    correlation
        Of the column alone with the outcome, in the table.
    disagrees
        Whether weight and correlation have opposite signs, and neither is near 0.
    """

    name: str
    weight: float
    low: float
    high: float
    correlation: float
    disagrees: bool


@dataclass(frozen=True, eq=False)
class Resampled:
    """Plan and habit in worlds estimated from resampled cases.

    Attributes
    ----------
    habit
        The fixed set that the plan is compared with.
    gains
        Saving of the plan per replicate, as a share of the habit's loss; for a crowd, the mean.
    benefits
        The same; for a crowd, the larger of the mean and that of the worst-off member.
    winners
        How often each candidate was the best fixed set, most frequent first.
    weights
        Each column's estimated weight with its interval.
    replicates
        Number of worlds behind the weight intervals.
    level
        Coverage of the intervals.
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
        """The interval that contains nine in ten gains."""
        tail = (1.0 - self.level) / 2.0
        low, high = np.quantile(self.gains, [tail, 1.0 - tail])
        return float(low), float(high)

    @property
    def least_benefit(self) -> float:
        """The lower end of the interval of benefits."""
        return float(np.quantile(self.benefits, (1.0 - self.level) / 2.0))

    def share_of(self, shown: TestSet) -> float:
        """Share of the replicates in which this set was the best fixed one.

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
    """Evaluate plan and habit in as many replicates as time allows; None if there are too few.

    Parameters
    ----------
    estimate
        The estimate of the plan's world.
    plan
        The plan to evaluate.
    habit
        One fixed set.
    contenders
        Candidates for the best fixed set.
    deadline
        When to end.
    seed
        Seed of the resampling.

    Returns
    -------
    Resampled or None
        Gains, winners and weights over the replicates.
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
            costs = fixed_costs(other, among)
            with np.errstate(over="ignore", invalid="ignore"):
                gain = gain_over(plan, _costs_of(plan, other), costs[0])
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
    """Saving of a plan as a share of the habit's loss; see `gain_over`."""

    mean: float
    benefit: float


def _costs_of(plan: Plan, problem: Problem) -> FloatArray:
    """Cost of the plan's policy for each person (people,) of this problem."""
    if plan.regrets is None:
        return np.array([evaluate(problem, plan.policy)])
    return expected_costs(problem, plan.policy)


def gain_over(plan: Plan, ours: FloatArray, theirs: FloatArray) -> Gain:
    """Saving of a plan as a share of the habit's loss, from both costs per person (people,).

    The benefit is the mean saving or, where the regret of a crowd counts, the reduction of the
    worst regret if that is larger. The best plan for each person is not searched for again in a
    changed world: its cost is assumed to change in proportion to that of the plan.
    """
    weights = weights_of(plan.problem)
    spent = float(weights @ theirs)
    mean = 1.0 - float(weights @ ours) / spent if spent > 0.0 else 0.0
    if plan.regrets is None or plan.regrets.objective == "mean":
        return Gain(mean, mean)
    beyond = plan.regrets.table[0] + 1.0
    return Gain(mean, max(mean, float(np.max(beyond * theirs / ours) - beyond.max())))


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


# Candidates for the best fixed set in other draws of the cases; fewer where each must be simulated.
_CONTENDERS, _CONTENDERS_PLAYED = 24, 6
# Savings below this share of the loss are not worth a schedule.
WORTH_HAVING = 0.005
# Name of the searched plan among a crowd's policies, where a simpler one became the plan.
SEARCHED = "plan found by search"


@dataclass(frozen=True, eq=False)
class Compared:
    """The plan that was preferred and its comparisons; attributes as those of `Advice`."""

    plan: Plan
    rivals: tuple[Alternative, ...]
    changes: tuple[Change, ...]
    resampled: Resampled | None
    notes: tuple[str, ...]


def compare(plan: Plan, effort: Effort, estimate: WorldEstimate | None) -> Compared:
    """Compare the plan, or one fixed set if that is as good, with rivals and other assumptions."""
    deadline, seed = effort.deadline, effort.seed
    report(effort.progress, "comparing")
    rivals = alternatives(plan, seed=seed)
    fixed = strongest_habit(plan, rivals)
    notes: list[str] = []
    resampled = None
    if estimate is not None and fixed.policy is not None:
        report(effort.progress, "drawing cases again")
        contenders, until = _contenders(plan, rivals), deadline.halfway()
        resampled = resample(estimate, plan, fixed.policy, contenders, deadline=until, seed=seed)
        if resampled is None:
            notes.append(
                "The uncertainty of the weights was not examined: there were too few cases, or the "
                "time was up (--time-limit gives more)."
            )
        gain = gain_of(plan, fixed)
        simpler = not effort.full_plan and plan.exploration_length != 0
        if simpler and prefers_habit(gain.benefit, resampled):
            plan = with_policy(plan, fixed.policy, fixed.value, _why(gain.mean, resampled))
    changes: tuple[Change, ...] = ()
    if effort.vary:
        report(effort.progress, "changing assumptions")
        changes, missed = sensitivity_until(plan, seed=seed, deadline=deadline)
        if missed:
            notes.append(
                f"{counted(missed, 'changed assumption').capitalize()} left out: the time was up "
                "(--time-limit gives more)."
            )
    return Compared(plan, rivals, changes, resampled, tuple(notes))


def strongest_habit(plan: Plan, rivals: tuple[Alternative, ...]) -> Alternative:
    """The fixed set against which the plan gains least.

    For one person that is the best fixed set. For a crowd, the set with the smallest regret may
    cost more on average than the most predictive tests, and a plan has to beat both.
    """
    return min(rivals[:2], key=lambda rival: gain_of(plan, rival).benefit)


def gain_of(plan: Plan, habit: Alternative) -> Gain:
    """Saving of the plan in the estimated world, as a share of the habit's loss."""
    if plan.regrets is None or habit.policy is None:
        return gain_over(plan, np.array([plan.value]), np.array([habit.value]))
    return gain_over(plan, plan.regrets.costs[0], expected_costs(plan.problem, habit.policy))


def _why(gain: float, resampled: Resampled | None) -> str:
    """Why the fixed set is preferred, as a note of the plan."""
    saved = percent(max(gain, 0.0))
    if resampled is None:
        return f"The plan found by search would save {saved}; one fixed set is as good."
    low, high = resampled.interval
    return (
        f"The plan found by search would save {saved} of the loss in the estimated world, and "
        f"{low:.1%} to {high:.1%} in {len(resampled.gains)} worlds estimated from other draws of "
        "the cases: too little, or too uncertain, for a schedule. --full-plan keeps it."
    )


def _contenders(plan: Plan, rivals: tuple[Alternative, ...]) -> list[TestSet]:
    """Candidates for the best fixed set: those of the rivals, of the plan, and their neighbours."""
    problem = plan.problem
    commits = [r.policy.commit for r in rivals if r.policy is not None]
    fixed = [commit for commit in commits if commit is not None]
    used = plan.policy.used_sets()
    most = _CONTENDERS if problem.learns_by_showings else _CONTENDERS_PLAYED
    near = sorted(neighbours(problem, fixed[:1]) - set(fixed))
    ranked = near  # nothing to rank without a set that shows something
    if any(near):
        small = problem.replace(budget=problem.budget.listing(near))
        ranked = [small.sets[int(i)] for i in np.argsort(small.oracle.floors(), kind="stable")]
    return list(dict.fromkeys([*fixed, *used[: most // 3], *ranked]))[:most]


def prefers_habit(benefit: float, resampled: Resampled | None) -> bool:
    """Return whether the habit is as good: the gain is tiny, or not distinguishable from zero.

    `benefit` is the saving in the estimated world, as a share of the habit's loss; for a crowd, the
    larger of the mean saving and that of the worst-off member.
    """
    if benefit < WORTH_HAVING:
        return True
    return resampled is not None and resampled.least_benefit <= 0.0


def with_policy(plan: Plan, policy: Policy, value: float, note: str) -> Plan:
    """Return the plan with another policy for the same problem; its bound still holds."""
    regrets = plan.regrets
    if regrets is not None:
        place = regrets.policies.index(PLAN)
        costs = np.vstack([regrets.costs, regrets.costs[place]])
        costs[place] = expected_costs(plan.problem, policy)
        best = np.minimum(regrets.best, costs.min(axis=0))
        policies = (*regrets.policies, SEARCHED)
        regrets = replace(regrets, policies=policies, costs=costs, best=best)
    stopped = plan.status is Status.INTERRUPTED
    return replace(
        plan,
        policy=policy,
        value=value,
        status=plan.status if stopped else Status.BOUNDED,
        notes=(*plan.notes, note),
        regrets=regrets,
    ).settled()
