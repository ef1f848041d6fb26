"""One schedule for several people: each person's own best plan first, then the compromise.

A person's regret under a common plan is measured against the best plan for that person alone. Both
come from local search, so the common search may find a schedule that is better for one person than
the plan found for them alone; the individual plan is then replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.progress import report
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.model.evaluation import evaluate, expectations, people_of, weights_of
from preceptor.model.expected import Tail
from preceptor.model.plan import CONTRADICTED, OBJECTIVES, Plan, Regrets
from preceptor.model.problem import Problem
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.crowd import Crowd
from preceptor.planning.anytime import SearchEffort, Stop, Watch
from preceptor.planning.bounds import instant_bound
from preceptor.planning.candidate_sets import SET_LIMITS
from preceptor.planning.objectives import CVaR, MeanRatio, Objective, Regret
from preceptor.planning.price_search import (
    GAIN,
    FixedSets,
    ScheduleSearch,
    SearchResult,
    best_positions,
    fixed_sets,
    policy_of,
)
from preceptor.planning.solver import accuracy_notes

# Default number of kicks of each individual search, and of the common one.
OWN_KICKS, _KICKS = 5, 10
# Shares of the time after which the individual searches and the common search end. Individual plans
# that turn out worse than the common one are improved until the third share, since regrets against
# them would be too small; those that were cut short are continued until the fourth.
_OWN_SHARE, _COMMON_SHARE, _REPAIR_SHARE, _LONGER_SHARE = 0.5, 0.87, 0.95, 0.97

NOTHING_LEARNED = "nothing is learned, so the best fixed set is best"
PLAN, PREDICTIVE, FIXED = "this plan", "most predictive", "best fixed set"

_OBJECTIVES: dict[str, Callable[[FloatArray, FloatArray], Objective]] = {
    "mean": MeanRatio,
    "regret": lambda _weights, best: Regret(best),
    "cvar": CVaR,
}


def objective_of(name: str, weights: FloatArray, best: FloatArray) -> Objective:
    """The objective of this name, given the costs `best` (people,) of individual plans."""
    return _OBJECTIVES[name](weights, best)


@dataclass(frozen=True, eq=False)
class OwnPlans:
    """The best known plan for each person alone.

    `plans` has one per person, `best` (people,) its cost, `alone` estimates for each set shown
    throughout.
    """

    plans: tuple[SearchResult, ...]
    best: FloatArray
    alone: FixedSets


@dataclass(frozen=True, eq=False)
class CrowdPlan:
    """A common plan, and the individual plans with which it is compared."""

    plan: SearchResult
    own: OwnPlans

    @property
    def regrets(self) -> FloatArray:
        """Regret of each person under the common plan, as a share of their own best (people,)."""
        return np.asarray(self.plan.costs / self.own.best - 1.0)


def own_plans(
    search: ScheduleSearch, max_kicks: int = OWN_KICKS, stops: Sequence[Stop] | None = None
) -> OwnPlans:
    """Find the best plan for each person alone, trying the other people's plans as starts too.

    Parameters
    ----------
    search
        The crowd and its rounds.
    max_kicks
        Random kicks for each person.
    stops
        A stop condition for each person, so that one search does not use up the time of the next;
        `search.stop` if left out.

    Returns
    -------
    OwnPlans
        One plan per person.
    """
    people = range(len(search.people))
    fixed = fixed_sets(search.people, search.sets, search.rounds, search.discount, search.infinite)
    until = [search.stop for _ in people] if stops is None else stops
    plans = tuple(search.find(max_kicks, who=i, fixed=fixed, stop=until[i]) for i in people)
    own = OwnPlans(plans, positive_costs([plan.costs[0] for plan in plans]), fixed)
    return _challenged(search, own, plans, search.stop)[0]


def _challenged(
    search: ScheduleSearch, own: OwnPlans, others: Sequence[SearchResult], stop: Stop
) -> tuple[OwnPlans, bool]:
    """Replace individual plans that are worse than one of `others` by a descent from that one.

    Also returns whether any plan was replaced.
    """
    costs = np.array([search.costs(plan.schedule, plan.tail) for plan in others])
    plans, best = list(own.plans), own.best.copy()
    better = np.flatnonzero(costs.min(axis=0) < own.best * (1.0 - GAIN))
    for i in better.tolist():
        other = others[int(np.argmin(costs[:, i]))]
        plans[i] = search.find(0, [other.start], who=i, fixed=own.alone, stop=stop)
        best[i] = min(float(costs[:, i].min()), float(plans[i].costs[0]))
    return OwnPlans(tuple(plans), positive_costs(best), own.alone), bool(better.size)


def continued(
    search: ScheduleSearch, own: OwnPlans, max_kicks: int, stops: Sequence[Stop]
) -> OwnPlans:
    """Continue the individual searches that ran out of time.

    Regrets are measured against these plans, so a poor one would make a regret look small.
    """
    plans, best = list(own.plans), own.best.copy()
    for i, plan in enumerate(plans):
        if plan.finished or stops[i]():
            continue
        longer = search.find(max_kicks, [plan.start], who=i, fixed=own.alone, stop=stops[i])
        if longer.costs[0] < plan.costs[0]:
            plans[i], best[i] = longer, min(best[i], longer.costs[0])
    return OwnPlans(tuple(plans), positive_costs(best), own.alone)


def plan_for_crowd(
    search: ScheduleSearch,
    own: OwnPlans,
    *,
    weights: FloatArray | None = None,
    objective: str = "regret",
    max_kicks: int = _KICKS,
    repair_stop: Stop | None = None,
    thorough: bool = True,
    improved: Callable[[float], None] = lambda _value: None,
) -> CrowdPlan:
    """Find one schedule for all people, judged against the best plan for each of them.

    Parameters
    ----------
    search
        The crowd and its rounds.
    own
        The best plan for each person alone.
    weights
        Weight of each person, shape (people,); equal if left out. "regret" ignores it.
    objective
        "regret" (the worst), "mean" or "cvar" (of costs relative to the individual plans).
    max_kicks
        Random kicks for the common plan.
    repair_stop
        When to stop improving the individual plans of people who do better with the common one;
        without that their regret would seem to be 0. `search.stop` if left out.
    thorough
        Whether another search first looks for a start for the worst regret: worth it unless time
        is short.
    improved
        Called with every better value of the objective.

    Returns
    -------
    CrowdPlan
        The common plan and the individual ones.
    """
    shares = np.ones(len(search.people)) if weights is None else weights
    starts = [plan.start for plan in own.plans]
    if objective == "regret" and len(search.people) > 1 and thorough:
        # The worst regret has many poor local optima; a start from a smoother objective helps.
        several = search.find(0, starts, fixed=own.alone, objective=CVaR(shares, own.best))
        starts = [several.start, *starts]
    kicks = max_kicks
    # Individual plans may be replaced this often before the common search is final.
    for _ in range(3):
        goal = objective_of(objective, shares, own.best)
        plan = search.find(kicks, starts, fixed=own.alone, objective=goal, improved=improved)
        own, repaired = _challenged(search, own, [plan], repair_stop or search.stop)
        if not repaired:
            break
        # The best plan so far is a good start, and the kicks are used up.
        starts, kicks = [plan.start, *(each.start for each in own.plans)], 0
    return CrowdPlan(plan, own)


def positive_costs(costs: Sequence[float] | FloatArray) -> FloatArray:
    """Costs clipped away from 0, so that ratios to them are finite."""
    found = np.where(np.isnan(costs), np.inf, np.asarray(costs, dtype=np.float64))
    largest = float(np.max(found, where=np.isfinite(found), initial=0.0))
    # Ratios to a cost that is a smaller share of the largest would mean nothing.
    return np.maximum(found, max(1e-12 * largest, np.finfo(np.float64).tiny))


def check_objective(problem: Problem, objective: str | None) -> None:
    """Raise `InvalidInput` for an objective that does not exist, or without a crowd."""
    if objective is None:
        return
    if objective not in OBJECTIVES:
        raise InvalidInput(f"objective: {objective!r}, must be one of {', '.join(OBJECTIVES)}")
    if not isinstance(problem.learner, Crowd):
        raise InvalidInput(
            "objective: compares the people of a crowd, but the plan is for one person; leave it "
            "out, or plan for a crowd"
        )


def solve_for_crowd(problem: Problem, effort: SearchEffort, seconds: float, objective: str) -> Plan:
    """The best common schedule found within `seconds`, and its cost for each person."""
    watch, max_kicks, seed, progress = effort
    everyone = expectations(problem)
    people, began = len(everyone), watch.seconds

    def until(share: float) -> Stop:
        return lambda: watch.interrupted or watch.seconds >= began + share * seconds

    search = ScheduleSearch.of(problem, everyone, seed, until(_OWN_SHARE))
    report(progress, "searching a plan for each person")
    kicks = OWN_KICKS if max_kicks is None else max_kicks
    stops = [until(_OWN_SHARE * (i + 1) / people) for i in range(people)]
    own = own_plans(search, kicks, stops)
    _refuse_divergence(problem, own)
    report(progress, "searching a common plan")
    # With many sets and little time left, a second search for a start would take too long.
    common = plan_for_crowd(
        replace(search, stop=until(_COMMON_SHARE)),
        own,
        weights=weights_of(problem),
        objective=objective,
        max_kicks=_KICKS if max_kicks is None else max_kicks,
        repair_stop=until(_REPAIR_SHARE),
        thorough=len(problem.sets) <= SET_LIMITS.few or watch.left > 20.0,
        improved=lambda value: report(progress, "searching a common plan", value=value),
    )
    longer = _LONGER_SHARE - _COMMON_SHARE
    stops = [until(_COMMON_SHARE + longer * (i + 1) / people) for i in range(people)]
    common = replace(common, own=continued(search, common.own, kicks, stops))
    regrets = _regrets_of(problem, search, common, objective, watch)
    notes = accuracy_notes(problem)
    if CONTRADICTED in regrets.bound_kinds:
        pairs = zip(regrets.people, regrets.bound_kinds, strict=True)
        who = ", ".join(name for name, kind in pairs if kind == CONTRADICTED)
        notes += (f"Lower bounds of {who} came out above what this plan costs, and were dropped.",)
    policy = policy_of(problem, common.plan)
    value = evaluate(problem, policy)
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=value if len(problem.sets) == 1 else float(regrets.weights @ regrets.bounds),
        status=watch.status(finished=common.plan.finished),
        method="search",
        seconds=watch.seconds,
        proved=watch.proved,
        notes=notes,
        options={"seed": seed, "kicks": common.plan.kicks},
        regrets=regrets,
    ).settled()


def diverging(cost: float) -> bool:
    """Return whether a cost is that of a person whose errors diverge."""
    return not cost <= 1e100


def _refuse_divergence(problem: Problem, own: OwnPlans) -> None:
    """Raise `InvalidProblem` for people whose errors diverge whatever they are shown."""
    InvalidProblem.raise_if(
        f"learner: {name}: errors grow without bound whatever is shown; the rate is too large for "
        "the number of tests shown at once, use a smaller one"
        for name, best in zip(people_of(problem), own.best.tolist(), strict=True)
        if diverging(best)
    )


def _regrets_of(
    problem: Problem, search: ScheduleSearch, found: CrowdPlan, objective: str, watch: Watch
) -> Regrets:
    """Costs of the plan and of its alternatives for each person, and of the individual plans."""
    everyone, names = search.people, tuple(people_of(problem))
    predictive = int(np.argmin(problem.oracle.floors()))
    fixed = best_positions(
        problem, lambda costs: np.max(costs / found.own.best, axis=1), found.own.alone.costs
    )
    rivals: dict[str, tuple[IntArray, Tail]] = {
        PLAN: (found.plan.schedule, found.plan.tail),
        PREDICTIVE: search.always(predictive),
        FIXED: search.always(fixed),
    }
    for name, own in zip(names, found.own.plans, strict=True):
        rivals[f"plan for {name}"] = (own.schedule, own.tail)
    costs = np.array([search.costs(*rival) for rival in rivals.values()])
    alone = [problem.replace(learner=person) for person in people_of(problem).values()]
    return Regrets(
        people=names,
        weights=weights_of(problem),
        policies=tuple(rivals),
        costs=costs,
        best=positive_costs(np.minimum(found.own.best, costs.min(axis=0))),
        bounds=np.array([instant_bound(each, watch) for each in alone]),
        bound_kinds=tuple(_bound_kind(each) for each in alone),
        exact=tuple(each.exact for each in everyone),
        accuracy=tuple(dict.fromkeys(each.accuracy for each in everyone if each.accuracy)),
        objective=objective,
    )


def _bound_kind(alone: Problem) -> str:
    """Which argument `instant_bound` uses for one person, in words."""
    if alone.learner.kind == NoLearning.kind:
        return NOTHING_LEARNED
    return "instant bound" if alone.learns_by_showings else "floor of every case"
