"""When one fixed set is as good as the plan, as far as the cases can tell: then that is the advice.

Nobody should follow a schedule of twelve sets that may be worth nothing. The plan is kept if what
it saves over the best fixed set is worth having in the estimated world, and more than nothing in
nearly all worlds that other draws of the cases would have given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from preceptor._base.progress import Status
from preceptor.advice.resampling import Resampled
from preceptor.evaluation.expectations import expected_costs
from preceptor.plan import Plan
from preceptor.planning.crowd_plans import PLAN
from preceptor.policies import Policy

# Savings below this share of the loss are not worth a schedule.
WORTH_HAVING = 0.005
# What the searched plan is called among a crowd's policies where a simpler one is the plan.
SEARCHED = "plan found by search"


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
