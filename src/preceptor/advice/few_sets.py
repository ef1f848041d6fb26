"""Plans of at most so many different sets: nobody follows twelve sets of three.

Sets are taken from those that the free plan shows most and from the best fixed ones. One is chosen
after the other, each time the one with which a plan gets cheapest; then single sets are exchanged
as long as that helps. Every choice is judged by a plan made for it, whose value is exact.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.deadline import Deadline
from preceptor._base.words import counted, percent
from preceptor.advice.alternatives import best_fixed_set, followed_rounds, most_predictive_set
from preceptor.advice.comparing import with_policy
from preceptor.advice.resampling import fixed_costs_of, judged
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import expectations, expected_costs, weights_of
from preceptor.evaluation.value import evaluate
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.planning.candidate_sets import neighbours, with_sets
from preceptor.planning.crowd_plans import objective_of
from preceptor.planning.objectives import Objective
from preceptor.planning.price_descent import GAIN
from preceptor.planning.price_search import search_prices, searched_rounds
from preceptor.planning.search import expected_of, settled_policy
from preceptor.policies import Policy, Stationary

# Sets to choose from: all if there are no more than the first; else so many of the plan's own, and
# as many of the best fixed ones among those near the best one of all.
_ALL, _MOST_USED, _MOST_NEAR = 30, 8, 40
# The most that a plan for one choice of sets may take.
_SEARCH_SECONDS = 1.0


def check_simple(simple: int | None) -> None:
    """Raise `InvalidInput` for what is not a number of sets."""
    if simple is not None and not is_count(simple, least=1):
        raise InvalidInput(f"simple: {simple!r}, must be a whole number of at least 1")


def plan_with_few_sets(free: Plan, most: int, *, deadline: Deadline, seed: int = 0) -> Plan:
    """The best plan found that shows at most `most` different sets.

    Parameters
    ----------
    free
        A plan of any number of sets.
    most
        How many different sets, at least 1.
    deadline
        When to have ended; the first choice is always finished.
    seed
        Seed of searches.

    Returns
    -------
    Plan
        For the same problem, with the free plan's bound; the free plan where that is so simple.
    """
    if len(_shown(free)) <= most:
        return free
    work = _Work(free, _pool(free), seed)
    chosen, best = _chosen(work, most, deadline)
    policy = min((best, _polished(work, chosen, deadline)), key=work.judge)
    value = evaluate(free.problem, policy)
    more = percent(max(value / free.value - 1.0, 0.0)) if free.value > 0.0 else "nothing"
    note = (
        f"Limited to {counted(most, 'different set')}, as asked: that costs {more} more than the "
        f"plan found without the limit, which uses {len(_shown(free))}."
    )
    return with_policy(free, policy, value, note)


def _shown(plan: Plan) -> Counter[TestSet]:
    """How often each set comes while cases count."""
    schedule = plan.policy.schedule(followed_rounds(plan.problem))
    weights = plan.problem.discount ** np.arange(len(schedule), dtype=np.float64)
    often: Counter[TestSet] = Counter()
    for shown, weight in zip(schedule, weights.tolist(), strict=True):
        often[shown] += weight
    return often


def _pool(free: Plan) -> list[TestSet]:
    """Sets to choose from, the best fixed one first."""
    problem = free.problem
    best = None if free.regrets is None else free.regrets.best
    first = best_fixed_set(problem, best)
    if problem.budget.count(problem.size) <= _ALL:
        return list(dict.fromkeys([first, *problem.sets]))
    used = [shown for shown, _ in _shown(free).most_common(_MOST_USED)]
    near = sorted(neighbours(problem, [first]) - {first, *used})[:_MOST_NEAR]
    ranked = np.argsort(judged(free, fixed_costs_of(problem, near)), kind="stable")
    best_near = [near[int(i)] for i in ranked[:_MOST_USED]]
    return list(dict.fromkeys([first, *used, most_predictive_set(problem), *best_near]))


class _Work:
    """Finds the best plan for some of the sets in a pool, and says what it is worth."""

    def __init__(self, free: Plan, pool: list[TestSet], seed: int) -> None:
        self.free, self.pool, self.seed = free, pool, seed
        self.small = with_sets(free.problem, pool)

    def judge(self, policy: Policy) -> float:
        """What is to be small: the expected loss, or the crowd's objective."""
        if self.free.regrets is None:
            return evaluate(self.free.problem, policy)
        return float(self._objective().value(expected_costs(self.free.problem, policy)))

    def plan(self, sets: list[TestSet]) -> Policy:
        """A good policy that shows only these sets."""
        if len(sets) == 1:
            return Stationary(sets[0])
        hurry = Deadline(_SEARCH_SECONDS)
        crowd = self.free.regrets is not None
        found = search_prices(
            expectations(self.small) if crowd else [expected_of(self.small)],
            rounds=searched_rounds(self.small),
            discount=self.small.discount,
            infinite=self.small.horizon is None,
            sets=len(self.small.sets),
            objective=self._objective() if crowd else None,
            candidates=np.array(sorted(self.small.sets.index(shown) for shown in sets)),
            seed=self.seed,
            max_kicks=0,
            stop=lambda: hurry.is_over,
        )
        return settled_policy(self.small, found)

    def _objective(self) -> Objective:
        regrets = self.free.regrets
        assert regrets is not None
        return objective_of(regrets.objective, weights_of(self.free.problem), regrets.best)


def _chosen(work: _Work, most: int, deadline: Deadline) -> tuple[list[TestSet], Policy]:
    """Sets are added one by one, then exchanged, each time so that a plan gets cheapest."""
    chosen = [work.pool[0]]
    best = work.plan(chosen)
    while len(chosen) < 2 or not deadline.is_over:
        kept = [chosen] if len(chosen) < most else [_without(chosen, out) for out in chosen]
        new = [shown for shown in work.pool if shown not in chosen]
        options = [[*each, shown] for each in kept for shown in new]
        if most == 1 or not options:
            break
        sets, policy = _cheapest(work, options, deadline)
        if work.judge(policy) >= work.judge(best) * (1.0 - GAIN):
            break
        chosen, best = sets, policy
    return chosen, best


def _without(chosen: list[TestSet], out: TestSet) -> list[TestSet]:
    return [shown for shown in chosen if shown != out]


def _cheapest(
    work: _Work, options: list[list[TestSet]], deadline: Deadline
) -> tuple[list[TestSet], Policy]:
    """The choice of sets whose plan is best; the first one is always tried."""
    best: tuple[float, list[TestSet], Policy] | None = None
    for sets in options:
        if best is not None and deadline.is_over:
            break
        policy = work.plan(sets)
        value = work.judge(policy)
        if best is None or value < best[0]:
            best = value, sets, policy
    assert best is not None
    return best[1], best[2]


def _polished(work: _Work, chosen: list[TestSet], deadline: Deadline) -> Policy:
    """A longer search for the sets that were chosen; exact where that is quick."""
    problem = work.free.problem
    if len(chosen) == 1 or not problem.learns_by_showings:
        return work.plan(chosen)
    seconds = float(np.clip(deadline.left / 2.0, 0.2, 3.0))
    few = with_sets(problem, chosen)
    return solve(few, "auto", time_limit=seconds, seed=work.seed).policy
