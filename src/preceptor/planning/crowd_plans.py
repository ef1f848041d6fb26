"""One schedule for several people: each person's own best plan first, then the compromise.

What somebody loses by a common plan is measured against their own best plan. Both come from local
search, so a common search may happen upon something better for one person than their own search
did; their own plan is then taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput
from preceptor.people.expected import Expected, Tail
from preceptor.planning.fixed_sets import FixedSets, fixed_sets
from preceptor.planning.objectives import CVaR, Mean, Objective, Regret
from preceptor.planning.price_search import Found, search_prices
from preceptor.planning.priced_schedule import Stop

# A plan is better for somebody than their own if it saves this share.
_BETTER = 1e-9
# How often own plans may be replaced before the common search counts.
_REPAIRS = 3
# No cost is taken to be below this share of the largest: ratios would say nothing.
_NOTHING = 1e-12

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

    @property
    def fixed(self) -> FloatArray:
        """About what each set costs each person if always shown (sets, people)."""
        return self.alone.costs


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

    def alone(
        self,
        who: int,
        fixed: FixedSets,
        max_kicks: int,
        starts: Sequence[tuple[IntArray, Tail]] = (),
        stop: Stop | None = None,
    ) -> Found:
        """A plan for one person: given time, the one that they would get without the others."""
        return search_prices(
            [self.people[who]],
            rounds=self.rounds,
            discount=self.discount,
            infinite=self.infinite,
            sets=self.sets,
            starts=starts,
            tails=self.tails,
            fixed=FixedSets(fixed.costs[:, [who]], fixed.late[:, [who]]),
            seed=self.seed,
            max_kicks=max_kicks,
            stop=self.stop if stop is None else stop,
        )

    def together(
        self,
        objective: Objective,
        fixed: FixedSets,
        max_kicks: int,
        starts: Sequence[tuple[IntArray, Tail]],
        improved: Callable[[float], None] = lambda _value: None,
    ) -> Found:
        """A plan for everybody."""
        return search_prices(
            self.people,
            rounds=self.rounds,
            discount=self.discount,
            infinite=self.infinite,
            sets=self.sets,
            objective=objective,
            starts=starts,
            tails=self.tails,
            fixed=fixed,
            seed=self.seed,
            max_kicks=max_kicks,
            stop=self.stop,
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
    search: Search,
    max_kicks: int = 5,
    stops: Sequence[Stop] | None = None,
    fixed_known: Callable[[FixedSets], None] = lambda _fixed: None,
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
    fixed_known
        Told what fixed sets cost, as soon as that is known.

    Returns
    -------
    OwnPlans
        One plan a person.
    """
    fixed = fixed_sets(search.people, search.sets, search.rounds, search.discount, search.infinite)
    fixed_known(fixed)
    until = [search.stop] * len(search.people) if stops is None else stops
    plans = [search.alone(i, fixed, max_kicks, stop=until[i]) for i in range(len(search.people))]
    table = np.array([search.costs(*_plain(plan)) for plan in plans])
    for i, plan in enumerate(plans):
        other = int(np.argmin(table[:, i]))
        if table[other, i] < plan.costs[0] * (1.0 - _BETTER):
            starts = [_plain(plans[other])]
            again = search.alone(i, fixed, 0, starts)
            if again.costs[0] < plan.costs[0]:
                plans[i] = again
    return OwnPlans(tuple(plans), positive_costs([plan.costs[0] for plan in plans]), fixed)


def continued(search: Search, own: OwnPlans, max_kicks: int, stops: Sequence[Stop]) -> OwnPlans:
    """Own plans whose search the clock cut short, searched on from where they stand.

    Regrets are measured against own plans, so a poor one would make them look small.
    """
    plans, best = list(own.plans), own.best.copy()
    for i, plan in enumerate(plans):
        if plan.finished or stops[i]():
            continue
        longer = search.alone(i, own.alone, max_kicks, [_plain(plan)], stops[i])
        if longer.costs[0] < plan.costs[0]:
            plans[i], best[i] = longer, min(best[i], longer.costs[0])
    return OwnPlans(tuple(plans), positive_costs(best), own.alone)


def plan_for_crowd(
    search: Search,
    *,
    weights: npt.ArrayLike | None = None,
    objective: str = "regret",
    own: OwnPlans | None = None,
    max_kicks: int = 10,
    own_kicks: int = 5,
    repair_stop: Stop | None = None,
    thorough: bool = True,
    improved: Callable[[float], None] = lambda _value: None,
) -> CrowdPlan:
    """Find one schedule that is good for everybody, measured against their own best plans.

    Parameters
    ----------
    search
        The crowd and its rounds.
    weights
        How much each person counts, shape (people,); equally if left out. The worst regret does
        not ask.
    objective
        "regret" (the worst), "mean" or "cvar" (of costs relative to the own best).
    own
        Everybody's own plans, if they are known.
    max_kicks
        Random kicks for the common plan.
    own_kicks
        Random kicks for each person's own plan.
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

    Raises
    ------
    InvalidInput
        An objective that does not exist.
    """
    if objective not in _OBJECTIVES:
        raise InvalidInput(f"objective: {objective!r}, must be one of {', '.join(_OBJECTIVES)}")
    equal = np.ones(len(search.people))
    shares = equal if weights is None else np.asarray(weights, dtype=np.float64)
    repair_stop = search.stop if repair_stop is None else repair_stop
    own = own_plans(search, own_kicks) if own is None else own
    starts = [_plain(plan) for plan in own.plans]
    if objective == "regret" and len(search.people) > 1 and thorough:
        # The worst regret has many poor local optima; those of several people lead past some.
        several = search.together(CVaR(shares, own.best), own.alone, 0, starts)
        starts = [_plain(several), *starts]
    kicks = max_kicks
    for _ in range(_REPAIRS):
        goal = _OBJECTIVES[objective](shares, own.best)
        plan = search.together(goal, own.alone, kicks, starts, improved)
        own, repaired = _repaired(search, own, plan, repair_stop)
        if not repaired:
            break
        # The best plan so far is a good start, and the kicks have been spent.
        starts, kicks = [_plain(plan), *(_plain(p) for p in own.plans)], 0
    return CrowdPlan(plan, own)


def _repaired(search: Search, own: OwnPlans, plan: Found, stop: Stop) -> tuple[OwnPlans, bool]:
    """Whoever does better with the common plan than with their own gets a new own plan from it."""
    better = np.flatnonzero(plan.costs < own.best * (1.0 - _BETTER))
    if not better.size:
        return own, False
    plans, best = list(own.plans), own.best.copy()
    for i in better.tolist():
        plans[i] = search.alone(i, own.alone, 0, [_plain(plan)], stop)
        best[i] = min(plan.costs[i], plans[i].costs[0])
    return OwnPlans(tuple(plans), positive_costs(best), own.alone), True


def _plain(plan: Found) -> tuple[IntArray, Tail]:
    return plan.schedule, plan.tail


def positive_costs(costs: Sequence[float] | FloatArray) -> FloatArray:
    """Costs to divide by."""
    found = np.where(np.isnan(costs), np.inf, np.asarray(costs, dtype=np.float64))
    largest = float(np.max(found, where=np.isfinite(found), initial=0.0))
    return np.maximum(found, max(_NOTHING * largest, np.finfo(np.float64).tiny))
