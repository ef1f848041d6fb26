"""Plans with a limited number of different sets, since twelve sets of three are hard to follow.

Candidates are the sets that the free plan shows most and the best fixed sets. Sets are added
greedily, then exchanged one at a time as long as that helps. Every selection is judged by the exact
value of a plan made for it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from preceptor._base.checks import count_faults
from preceptor._base.progress import Deadline
from preceptor._base.words import counted, percent
from preceptor.advice.alternatives import best_fixed_set, followed_rounds
from preceptor.advice.comparing import judged, with_policy
from preceptor.advice.planning import QUICK_SECONDS
from preceptor.errors import InvalidInput
from preceptor.model.evaluation import (
    evaluate,
    expectations,
    expected_costs,
    fixed_costs,
    weights_of,
)
from preceptor.model.plan import Plan
from preceptor.model.policies import Policy, Stationary
from preceptor.model.sets import TestSet
from preceptor.planning.candidate_sets import most_predictive_set, neighbours, with_sets
from preceptor.planning.crowd_plans import objective_of
from preceptor.planning.objectives import Objective
from preceptor.planning.price_search import GAIN, ScheduleSearch, searched_rounds
from preceptor.planning.search import expected_of, settled_policy
from preceptor.planning.solvers import solve

# Candidates: all sets if there are at most 30; else 8 that the free plan shows, and the 8 best of
# 40 neighbours of the best fixed set.
_ALL, _MOST_USED, _MOST_NEAR = 30, 8, 40


# A schedule of more sets than this is hard to follow; the version with this many is offered where
# it costs less than this share more (3 s find it; without a limit they may take minutes).
FEW, LITTLE_MORE, _SECONDS = 3, 0.005, 3.0


def check_simple(simple: int | None) -> None:
    """Raise `InvalidInput` if this is not a number of sets."""
    InvalidInput.raise_if(count_faults(1, or_none=True, simple=simple))


def plan_with_few_sets(free: Plan, most: int, *, deadline: Deadline, seed: int = 0) -> Plan:
    """Return the best plan found that shows at most `most` different sets.

    Parameters
    ----------
    free
        A plan with any number of sets.
    most
        How many different sets, at least 1.
    deadline
        When to end; the first selection is always finished.
    seed
        Seed of searches.

    Returns
    -------
    Plan
        For the same problem, with the free plan's bound; the free plan itself if it is as simple.
    """
    if len(_shown(free)) <= most:
        return free
    work = _SetSearch(free, _pool(free), seed)
    chosen, best = _chosen(work, most, deadline)
    policy = min((best, _polished(work, chosen, deadline)), key=work.judge)
    value = evaluate(free.problem, policy)
    more = percent(max(value / free.value - 1.0, 0.0)) if free.value > 0.0 else "nothing"
    note = (
        f"Limited to {counted(most, 'different set')}, as asked: that costs {more} more than the "
        f"plan found without the limit, which uses {len(_shown(free))}."
    )
    return with_policy(free, policy, value, note)


def few_sets_offer(plan: Plan, *, deadline: Deadline, seed: int = 0) -> Plan | None:
    """The version of a plan with three sets, where it costs hardly more; None elsewhere.

    Parameters
    ----------
    plan
        A plan with any number of sets.
    deadline
        When to end.
    seed
        Seed of searches.
    """
    if deadline.is_over or plan.value <= 0.0 or len(_shown(plan)) <= FEW:
        return None
    few = plan_with_few_sets(plan, FEW, deadline=Deadline(min(_SECONDS, deadline.left)), seed=seed)
    return few if few.value < (1.0 + LITTLE_MORE) * plan.value else None


def _shown(plan: Plan) -> Counter[TestSet]:
    """Discounted number of times that each set is shown."""
    schedule = plan.policy.schedule(followed_rounds(plan.problem))
    weights = plan.problem.discount ** np.arange(len(schedule), dtype=np.float64)
    often: Counter[TestSet] = Counter()
    for shown, weight in zip(schedule, weights.tolist(), strict=True):
        often[shown] += weight
    return often


def _pool(free: Plan) -> list[TestSet]:
    """Candidate sets, the best fixed one first."""
    problem = free.problem
    best = None if free.regrets is None else free.regrets.best
    first = best_fixed_set(problem, best)
    if problem.budget.count(problem.size) <= _ALL:
        return list(dict.fromkeys([first, *problem.sets]))
    used = [shown for shown, _ in _shown(free).most_common(_MOST_USED)]
    near = sorted(neighbours(problem, [first]) - {first, *used})[:_MOST_NEAR]
    ranked = np.argsort(judged(free, fixed_costs(problem, near)), kind="stable")
    best_near = [near[int(i)] for i in ranked[:_MOST_USED]]
    return list(dict.fromkeys([first, *used, most_predictive_set(problem), *best_near]))


class _SetSearch:
    """Searches for the best plan with some of the sets in a pool."""

    def __init__(self, free: Plan, pool: list[TestSet], seed: int) -> None:
        self.free, self.pool, self.seed = free, pool, seed
        self.small = with_sets(free.problem, pool)

    def judge(self, policy: Policy) -> float:
        """What is minimised: the expected loss, or the crowd's objective."""
        if self.free.regrets is None:
            return evaluate(self.free.problem, policy)
        return float(self._objective().value(expected_costs(self.free.problem, policy)))

    def plan(self, sets: list[TestSet]) -> Policy:
        """Return a good policy that shows only these sets."""
        if len(sets) == 1:
            return Stationary(sets[0])
        hurry = Deadline(2.0 * QUICK_SECONDS)
        crowd = self.free.regrets is not None
        people = expectations(self.small) if crowd else [expected_of(self.small)]
        rounds, endless = searched_rounds(self.small), self.small.horizon is None
        search = ScheduleSearch(
            tuple(people), rounds, self.small.discount, endless, len(self.small.sets), (), self.seed
        )
        found = search.find(
            0,
            objective=self._objective() if crowd else None,
            candidates=np.array(sorted(self.small.sets.index(shown) for shown in sets)),
            stop=lambda: hurry.is_over,
        )
        return settled_policy(self.small, found)

    def _objective(self) -> Objective:
        regrets = self.free.regrets
        assert regrets is not None
        return objective_of(regrets.objective, weights_of(self.free.problem), regrets.best)


def _chosen(work: _SetSearch, most: int, deadline: Deadline) -> tuple[list[TestSet], Policy]:
    """Add sets one by one, then exchange them, as long as the plan gets cheaper."""
    chosen = [work.pool[0]]
    best = work.plan(chosen)
    while len(chosen) < 2 or not deadline.is_over:
        kept = [chosen]
        if len(chosen) == most:
            kept = [[shown for shown in chosen if shown != out] for out in chosen]
        new = [shown for shown in work.pool if shown not in chosen]
        options = [[*each, shown] for each in kept for shown in new]
        if most == 1 or not options:
            break
        sets, policy = _cheapest(work, options, deadline)
        if work.judge(policy) >= work.judge(best) * (1.0 - GAIN):
            break
        chosen, best = sets, policy
    return chosen, best


def _cheapest(
    work: _SetSearch, options: list[list[TestSet]], deadline: Deadline
) -> tuple[list[TestSet], Policy]:
    """The selection whose plan is best; the first one is always tried."""
    tried: list[tuple[list[TestSet], Policy]] = []
    for sets in options:
        if tried and deadline.is_over:
            break
        tried.append((sets, work.plan(sets)))
    return min(tried, key=lambda each: work.judge(each[1]))


def _polished(work: _SetSearch, chosen: list[TestSet], deadline: Deadline) -> Policy:
    """A longer search with the chosen sets; exact where that is quick."""
    problem = work.free.problem
    if len(chosen) == 1 or not problem.learns_by_showings:
        return work.plan(chosen)
    seconds = float(np.clip(deadline.left / 2.0, 0.2, 3.0))
    few = with_sets(problem, chosen)
    return solve(few, "auto", time_limit=seconds, seed=work.seed).policy
