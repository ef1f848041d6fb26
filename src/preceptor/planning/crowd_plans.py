"""One schedule for several people: each person's own best plan first, then the compromise.

What somebody loses by a common plan is measured against their own best plan. Both come from local
search, so a common search may happen upon something better for one person than their own search
did; their own plan is then taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.evaluation.expectations import expectations, people_of, weights_of
from preceptor.evaluation.value import evaluate
from preceptor.people.crowd import Crowd
from preceptor.people.expected import Expected, Tail
from preceptor.people.no_learning import NoLearning
from preceptor.plan import Plan
from preceptor.planning.anytime import Watch
from preceptor.planning.bounds import instant_bound
from preceptor.planning.fixed_sets import FixedSets, best_fixed, fixed_sets
from preceptor.planning.maintenance import words_to_repeat
from preceptor.planning.notes import accuracy_notes
from preceptor.planning.objectives import CVaR, Mean, Objective, Regret
from preceptor.planning.price_descent import GAIN
from preceptor.planning.price_search import (
    Found,
    Start,
    policy_of,
    search_prices,
    searched_rounds,
)
from preceptor.planning.priced_schedule import Stop
from preceptor.problem import Problem
from preceptor.regrets import CONTRADICTED, OBJECTIVES, Regrets

# How often own plans may be replaced before the common search counts.
_REPAIRS = 3
# No cost is taken to be below this share of the largest: ratios would say nothing.
_NOTHING = 1e-12

# With more sets than this, and less time, a second search for a start would take too long.
_FEW_SETS, _AMPLE_SECONDS = 60, 20.0
# Costs above this are those of somebody whose errors explode.
_LARGEST = 1e100
# Kicks of each person's own search, and of the common one, where no number is given.
OWN_KICKS, _KICKS = 5, 10
# Shares of the time after which own plans and the common plan end. Own plans that turn out worse
# than the common one are looked at again until the third, since regrets against them would be too
# small; those that were cut short are continued until the fourth.
_OWN_SHARE, _COMMON_SHARE, _REPAIR_SHARE, _LONGER_SHARE = 0.5, 0.87, 0.95, 0.97

STANDS_STILL = "nothing is learned, so the best fixed set is best"
PLAN, PREDICTIVE, FIXED = "this plan", "most predictive", "best fixed set"

_OBJECTIVES: dict[str, Callable[[FloatArray, FloatArray], Objective]] = {
    "mean": Mean,
    "regret": lambda _weights, best: Regret(best),
    "cvar": CVaR,
}


def objective_of(name: str, weights: FloatArray, best: FloatArray) -> Objective:
    """What a plan for a crowd minimises, by its name, beside what own plans cost (people,)."""
    return _OBJECTIVES[name](weights, best)


@dataclass(frozen=True, eq=False)
class OwnPlans:
    """The best known plan for each person alone.

    `plans` has one a person, `best` (people,) what each costs its person, `alone` about what each
    set costs if always shown.
    """

    plans: tuple[Found, ...]
    best: FloatArray
    alone: FixedSets


@dataclass(frozen=True, eq=False)
class CrowdPlan:
    """A common plan, and everybody's own plans beside which it is measured."""

    plan: Found
    own: OwnPlans

    @property
    def regrets(self) -> FloatArray:
        """What each person loses by the common plan, as a share of their own best (people,)."""
        lost: FloatArray = self.plan.costs / self.own.best - 1.0
        return lost


@dataclass(frozen=True, eq=False)
class Search:
    """What all searches for one crowd have in common; see `search_prices`."""

    people: tuple[Expected, ...]
    rounds: int
    discount: float
    infinite: bool
    sets: int
    tails: tuple[Tail, ...] = ()
    seed: int = 0
    stop: Stop = lambda: False

    def find(
        self,
        fixed: FixedSets,
        max_kicks: int,
        starts: Sequence[Start] = (),
        *,
        who: int | None = None,
        objective: Objective | None = None,
        stop: Stop | None = None,
        improved: Callable[[float], None] = lambda _value: None,
    ) -> Found:
        """A plan for everybody, or the one that one person would get without the others."""
        columns = list(range(len(self.people))) if who is None else [who]
        return search_prices(
            [self.people[i] for i in columns],
            rounds=self.rounds,
            discount=self.discount,
            infinite=self.infinite,
            sets=self.sets,
            objective=objective,
            starts=starts,
            tails=self.tails,
            fixed=FixedSets(fixed.costs[:, columns], fixed.late[:, columns]),
            seed=self.seed,
            max_kicks=max_kicks,
            stop=self.stop if stop is None else stop,
            improved=improved,
        )

    def always(self, position: int) -> tuple[IntArray, Tail]:
        """One set throughout, as a schedule and its tail."""
        schedule = np.full(self.rounds, position, dtype=np.int64)
        return schedule, (position,) if self.infinite else ()

    def costs(self, schedule: IntArray, tail: Tail) -> FloatArray:
        """What a plan costs each person (people,)."""
        totals = np.array([p.total(schedule, self.discount, tail) for p in self.people])
        return np.where(np.isnan(totals), np.inf, totals)


def own_plans(
    search: Search, max_kicks: int = OWN_KICKS, stops: Sequence[Stop] | None = None
) -> OwnPlans:
    """Find everybody's own plan; whoever does better with another's goes on from there.

    Parameters
    ----------
    search
        The crowd and its rounds.
    max_kicks
        Random kicks for each person.
    stops
        When to stop searching for each person, so that nobody takes the time of those after them;
        the search's own if left out.

    Returns
    -------
    OwnPlans
        One plan a person.
    """
    people = range(len(search.people))
    fixed = fixed_sets(search.people, search.sets, search.rounds, search.discount, search.infinite)
    until = [search.stop for _ in people] if stops is None else stops
    plans = tuple(search.find(fixed, max_kicks, who=i, stop=until[i]) for i in people)
    own = OwnPlans(plans, positive_costs([plan.costs[0] for plan in plans]), fixed)
    return _challenged(search, own, plans, search.stop)[0]


def _challenged(
    search: Search, own: OwnPlans, others: Sequence[Found], stop: Stop
) -> tuple[OwnPlans, bool]:
    """Whoever does better with another plan than with their own gets a new own plan from it.

    Says also whether anybody did.
    """
    costs = np.array([search.costs(plan.schedule, plan.tail) for plan in others])
    plans, best = list(own.plans), own.best.copy()
    better = np.flatnonzero(costs.min(axis=0) < own.best * (1.0 - GAIN))
    for i in better.tolist():
        other = others[int(np.argmin(costs[:, i]))]
        plans[i] = search.find(own.alone, 0, [other.start], who=i, stop=stop)
        best[i] = min(float(costs[:, i].min()), float(plans[i].costs[0]))
    return OwnPlans(tuple(plans), positive_costs(best), own.alone), bool(better.size)


def continued(search: Search, own: OwnPlans, max_kicks: int, stops: Sequence[Stop]) -> OwnPlans:
    """Own plans whose search the clock cut short, searched on from where they stand.

    Regrets are measured against own plans, so a poor one would make them look small.
    """
    plans, best = list(own.plans), own.best.copy()
    for i, plan in enumerate(plans):
        if plan.finished or stops[i]():
            continue
        longer = search.find(own.alone, max_kicks, [plan.start], who=i, stop=stops[i])
        if longer.costs[0] < plan.costs[0]:
            plans[i], best[i] = longer, min(best[i], longer.costs[0])
    return OwnPlans(tuple(plans), positive_costs(best), own.alone)


def plan_for_crowd(
    search: Search,
    own: OwnPlans,
    *,
    weights: FloatArray | None = None,
    objective: str = "regret",
    max_kicks: int = _KICKS,
    repair_stop: Stop | None = None,
    thorough: bool = True,
    improved: Callable[[float], None] = lambda _value: None,
) -> CrowdPlan:
    """Find one schedule that is good for everybody, measured against their own best plans.

    Parameters
    ----------
    search
        The crowd and its rounds.
    own
        Everybody's own plans.
    weights
        How much each person counts, shape (people,); equally if left out. The worst regret does
        not ask.
    objective
        "regret" (the worst), "mean" or "cvar" (of costs relative to the own best).
    max_kicks
        Random kicks for the common plan.
    repair_stop
        When to stop looking again at people who do better with the common plan than with their
        own, without which they would seem to lose nothing; the search's own if left out.
    thorough
        Whether to look for a start of the worst regret in another search first: worth it unless
        time is short.
    improved
        Told about every better value of the objective.

    Returns
    -------
    CrowdPlan
        The common plan and everybody's own.
    """
    shares = np.ones(len(search.people)) if weights is None else weights
    starts = [plan.start for plan in own.plans]
    if objective == "regret" and len(search.people) > 1 and thorough:
        # The worst regret has many poor local optima; those of several people lead past some.
        several = search.find(own.alone, 0, starts, objective=CVaR(shares, own.best))
        starts = [several.start, *starts]
    kicks = max_kicks
    for _ in range(_REPAIRS):
        goal = objective_of(objective, shares, own.best)
        plan = search.find(own.alone, kicks, starts, objective=goal, improved=improved)
        own, repaired = _challenged(search, own, [plan], repair_stop or search.stop)
        if not repaired:
            break
        # The best plan so far is a good start, and the kicks have been spent.
        starts, kicks = [plan.start, *(each.start for each in own.plans)], 0
    return CrowdPlan(plan, own)


def positive_costs(costs: Sequence[float] | FloatArray) -> FloatArray:
    """Costs to divide by."""
    found = np.where(np.isnan(costs), np.inf, np.asarray(costs, dtype=np.float64))
    largest = float(np.max(found, where=np.isfinite(found), initial=0.0))
    return np.maximum(found, max(_NOTHING * largest, np.finfo(np.float64).tiny))


# --- a crowd's problem, from the clock to the regrets ---


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


def solve_for_crowd(
    problem: Problem,
    watch: Watch,
    seconds: float,
    max_kicks: int | None,
    seed: int,
    objective: str,
    progress: Progress | None,
) -> Plan:
    """The best common schedule found in so many seconds, and what it costs each person."""
    everybody, infinite = expectations(problem), problem.horizon is None
    people, began = len(everybody), watch.seconds

    def until(share: float) -> Stop:
        return lambda: watch.interrupted or watch.seconds >= began + share * seconds

    search = Search(
        everybody,
        searched_rounds(problem),
        problem.discount,
        infinite,
        len(problem.sets),
        words_to_repeat(everybody, problem.discount) if infinite else (),
        seed,
        until(_OWN_SHARE),
    )
    report(progress, "searching each person's own plan")
    kicks = OWN_KICKS if max_kicks is None else max_kicks
    stops = [until(_OWN_SHARE * (i + 1) / people) for i in range(people)]
    own = own_plans(search, kicks, stops)
    _refuse_divergence(problem, own)
    report(progress, "searching a plan for everybody")
    common = plan_for_crowd(
        replace(search, stop=until(_COMMON_SHARE)),
        own,
        weights=weights_of(problem),
        objective=objective,
        max_kicks=_KICKS if max_kicks is None else max_kicks,
        repair_stop=until(_REPAIR_SHARE),
        thorough=len(problem.sets) <= _FEW_SETS or watch.left > _AMPLE_SECONDS,
        improved=lambda value: report(progress, "searching a plan for everybody", value=value),
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
    """Whether a cost is that of somebody whose errors grow without end."""
    return not cost <= _LARGEST


def _refuse_divergence(problem: Problem, own: OwnPlans) -> None:
    """Raise for people whose errors grow without end whatever they are shown."""
    InvalidProblem.raise_if(
        f"learner: {name}: whatever is shown, errors grow without end; the rate is too large for "
        "what is shown at once, use a smaller one"
        for name, best in zip(people_of(problem), own.best.tolist(), strict=True)
        if diverging(best)
    )


def _regrets_of(
    problem: Problem, search: Search, found: CrowdPlan, objective: str, watch: Watch
) -> Regrets:
    """What the plan and its rivals cost each person beside their own best plan."""
    everybody, names = search.people, tuple(people_of(problem))
    predictive = int(np.argmin(problem.oracle.floors()))
    fixed = best_fixed(
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
        exact=tuple(each.exact for each in everybody),
        accuracy=tuple(dict.fromkeys(each.accuracy for each in everybody if each.accuracy)),
        objective=objective,
    )


def _bound_kind(alone: Problem) -> str:
    """How `instant_bound` knows what it says about one person."""
    if alone.learner.kind == NoLearning.kind:
        return STANDS_STILL
    return "instant bound" if alone.learns_by_showings else "floor of every case"
