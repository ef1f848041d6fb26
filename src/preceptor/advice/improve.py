"""A quick better plan, found by changing a plan at hand.

Full searches begin from many schedules and take seconds. To ask what a plan misses when the world
is a little different, one descent from that very plan is enough, and takes a twentieth of one.
"""

from __future__ import annotations

import time

import numpy as np

from preceptor.errors import NotApplicable
from preceptor.evaluation.expectations import expectations
from preceptor.evaluation.value import evaluate
from preceptor.planning import solve
from preceptor.planning.finite import as_policy
from preceptor.planning.people_search import policy_of
from preceptor.planning.price_search import search_prices
from preceptor.planning.reduction import to_instance
from preceptor.planning.shape import shape_of
from preceptor.policies import Policy
from preceptor.problem import Problem

# Rounds that a descent may change beyond the exploration of the plan it begins with.
_MORE_ROUNDS = 20
_LONGER = 1.1
_MOST_ROUNDS = 400
# Where no descent is possible: a short search, which the clock rarely ends.
_SECONDS, _KICKS = 0.5, 20
# What a descent for people who do not learn by showings may take.
_PRICED_SECONDS = 1.0
# Larger families are not priced whole for people who do not learn by showings.
_MOST_SETS = 3_000


def improve(problem: Problem, policy: Policy, *, seed: int = 0) -> Policy:
    """A policy that costs at most what `policy` does, by one descent; the same every time.

    Descents for people who do not learn by showings take longer, and a clock may end them.
    """
    found = _descend(problem, policy, seed) or _search(problem, seed)
    return found if evaluate(problem, found) < evaluate(problem, policy) else policy


def _descend(problem: Problem, policy: Policy, seed: int) -> Policy | None:
    """Local search from the policy's own schedule; None where the form it needs is missing."""
    if not problem.learns_by_showings:
        return _descend_by_prices(problem, policy, seed)
    if not shape_of(problem).has_dual:
        return None
    from preceptor.engine.search import search_schedule

    explored = policy.exploration_length or 0
    rounds = problem.horizon or min(int(_LONGER * explored) + _MORE_ROUNDS, _MOST_ROUNDS)
    position = {shown: index for index, shown in enumerate(problem.sets)}
    start = np.array([position[shown] for shown in policy.schedule(rounds)], dtype=np.int64)
    found = search_schedule(
        to_instance(problem),
        length=rounds,
        time_limit=0.0,  # the first descent is always finished, and no other begun
        max_kicks=0,
        seed=seed,
        start=start,
    )
    commit = found.commit if problem.horizon is None else int(found.schedule[-1])
    return as_policy(problem, found.schedule, commit)


def _descend_by_prices(problem: Problem, policy: Policy, seed: int) -> Policy | None:
    """The same for one person who does not learn by showings; None where sets are too many."""
    if shape_of(problem).too_many_sets or problem.budget.count(problem.size) > _MOST_SETS:
        return None
    settled = policy.settles()
    infinite = problem.horizon is None
    if infinite and settled is None:
        return None
    first = settled[0] if settled is not None and infinite else []
    rounds = problem.horizon or min(int(_LONGER * len(first)) + _MORE_ROUNDS, _MOST_ROUNDS)
    position = {shown: index for index, shown in enumerate(problem.sets)}
    start = np.array([position[shown] for shown in policy.schedule(rounds)], dtype=np.int64)
    word = tuple(position[shown] for shown in settled[1]) if settled and infinite else ()
    # A word that is repeated begins where the searched rounds end.
    turned = (rounds - len(first)) % len(word) if word else 0
    until = time.perf_counter() + _PRICED_SECONDS
    found = search_prices(
        expectations(problem),
        rounds=rounds,
        discount=problem.discount,
        infinite=infinite,
        sets=len(problem.sets),
        starts=[(start, word[turned:] + word[:turned])],
        seed=seed,
        max_kicks=0,
        stop=lambda: time.perf_counter() >= until,
    )
    return policy_of(problem, found)


def _search(problem: Problem, seed: int) -> Policy:
    try:
        return solve(problem, "search", time_limit=_SECONDS, max_kicks=_KICKS, seed=seed).policy
    except NotApplicable:
        return solve(problem, "beam", width=2, layers=10).policy
