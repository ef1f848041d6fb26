"""A plan beside what else could be done and be true, in the time that is left.

In the order of what matters: the rivals, without which nothing can be said; whether one fixed set
is as good; changed assumptions. What does not fit is left out, and said.

Nobody should follow a schedule of twelve sets that may be worth nothing. The plan is kept if what
it saves over the best fixed set is worth having in the estimated world, and more than nothing in
nearly all worlds that other draws of the cases would have given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.deadline import Deadline
from preceptor._base.progress import Progress, Status, report
from preceptor._base.words import counted, percent
from preceptor.advice.alternatives import Alternative, alternatives
from preceptor.advice.resampling import Gain, Resampled, crowd_gain, resample
from preceptor.advice.sensitivity import Change, sensitivity_until
from preceptor.evaluation.expectations import expected_costs
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.planning.candidate_sets import neighbours
from preceptor.planning.crowd_plans import PLAN
from preceptor.policies import Policy

if TYPE_CHECKING:
    from preceptor.estimation import WorldEstimate

# Sets that may turn out to be the best fixed one in other draws of the cases.
_CONTENDERS, _CONTENDERS_PLAYED = 24, 6
# Savings below this share of the loss are not worth a schedule.
WORTH_HAVING = 0.005
# What the searched plan is called among a crowd's policies where a simpler one is the plan.
SEARCHED = "plan found by search"


@dataclass(frozen=True, eq=False)
class Compared:
    """What advice is made of besides its origin; attributes as those of `Advice`."""

    plan: Plan
    rivals: tuple[Alternative, ...]
    changes: tuple[Change, ...]
    free: Plan | None
    resampled: Resampled | None
    notes: tuple[str, ...]


def compare(
    plan: Plan,
    free: Plan,
    *,
    estimate: WorldEstimate | None,
    full_plan: bool,
    vary: bool,
    seed: int,
    deadline: Deadline,
    progress: Progress | None,
) -> Compared:
    """The plan, or one fixed set where that is as good; its rivals; what else could be true."""
    report(progress, "comparing")
    rivals = alternatives(plan, seed=seed)
    fixed = habit_beside(plan, rivals)
    notes: list[str] = []
    resampled = None
    if estimate is not None and fixed.policy is not None:
        report(progress, "drawing cases again")
        contenders, until = _contenders(plan, rivals), deadline.halfway()
        resampled = resample(estimate, plan, fixed.policy, contenders, deadline=until, seed=seed)
        if resampled is None:
            notes.append(
                "How sure the weights are was not looked at: there were too few cases, or the time "
                "was up (--time-limit gives more)."
            )
    if estimate is not None and not full_plan and fixed.policy is not None:
        gain = gain_of(plan, fixed)
        if plan.exploration_length != 0 and prefers_habit(gain.benefit, resampled):
            plan = with_policy(plan, fixed.policy, fixed.value, _why(gain.mean, resampled))
    changes: tuple[Change, ...] = ()
    if vary:
        report(progress, "changing assumptions")
        changes, missed = sensitivity_until(plan, seed=seed, deadline=deadline)
        if missed:
            notes.append(
                f"{counted(missed, 'changed assumption').capitalize()} left out: the time was up "
                "(--time-limit gives more)."
            )
    kept = None if plan is free else free
    return Compared(plan, rivals, changes, kept, resampled, tuple(notes))


def habit_beside(plan: Plan, rivals: tuple[Alternative, ...]) -> Alternative:
    """The fixed set beside which the plan gains least.

    For one person that is the best fixed set. For a crowd the set by which nobody loses much may
    cost more on average than the most predictive tests, and a plan has to beat both.
    """
    return min(rivals[:2], key=lambda rival: gain_of(plan, rival).benefit)


def gain_of(plan: Plan, habit: Alternative) -> Gain:
    """What the plan saves in the estimated world, as a share of the habit's loss."""
    if plan.regrets is not None and habit.policy is not None:
        ours, theirs = plan.regrets.costs[0], expected_costs(plan.problem, habit.policy)
        return crowd_gain(plan, ours, theirs)
    saved = 1.0 - plan.value / habit.value if habit.value > 0.0 else 0.0
    return Gain(saved, saved)


def _why(gain: float, resampled: Resampled | None) -> str:
    """Why the simple habit is preferred, as a note of the plan."""
    saved = percent(max(gain, 0.0))
    if resampled is None:
        return f"The plan found by search would save {saved}; one fixed set is as good."
    low, high = resampled.interval
    return (
        f"The plan found by search would save {saved} of the loss in the estimated world, and "
        f"{low:.1%} to {high:.1%} in {len(resampled.gains)} worlds estimated from other draws of "
        "the cases: too little, or too unsure, for a schedule. --full-plan keeps it."
    )


def _contenders(plan: Plan, rivals: tuple[Alternative, ...]) -> list[TestSet]:
    """Sets near the fixed ones that rivals show, and those that the plan shows."""
    problem = plan.problem
    commits = [r.policy.commit for r in rivals if r.policy is not None]
    fixed = [commit for commit in commits if commit is not None]
    used = plan.policy.used_sets()
    most = _CONTENDERS if problem.learns_by_showings else _CONTENDERS_PLAYED
    near = sorted(neighbours(problem, fixed[:1]) - set(fixed))
    ranked = near  # nothing to rank where it is no set at all, or the one that shows nothing
    if any(near):
        small = problem.replace(budget=problem.budget.listing(near))
        ranked = [small.sets[int(i)] for i in np.argsort(small.oracle.floors(), kind="stable")]
    return list(dict.fromkeys([*fixed, *used[: most // 3], *ranked]))[:most]


def prefers_habit(benefit: float, resampled: Resampled | None) -> bool:
    """Whether the habit is as good: the gain is tiny, or the cases cannot tell it from none.

    Parameters
    ----------
    benefit
        What the plan saves in the estimated world, as a share of the habit's loss; for a crowd, on
        average or for the worst off, whichever is more.
    resampled
        The same in worlds estimated from other draws; None if there were none.

    Returns
    -------
    bool
        True where one fixed set should be preferred.
    """
    if benefit < WORTH_HAVING:
        return True
    return resampled is not None and resampled.least_benefit <= 0.0


def with_policy(plan: Plan, policy: Policy, value: float, note: str) -> Plan:
    """A plan for the same problem that shows something else; the bound holds for it too."""
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
