"""Picks a solver by the shape and size of the problem, and says why."""

from __future__ import annotations

from dataclasses import replace

from preceptor.plan import Plan, Progress
from preceptor.planning.certified import solve_certified
from preceptor.planning.count_space import CountSpace
from preceptor.planning.finite import DEFAULT_MEMORY, bytes_needed, solve_finite
from preceptor.planning.independent import solve_independent, why_not_independent
from preceptor.planning.lattice import DEFAULT_TOLERANCE, solve_lattice, states_needed
from preceptor.planning.planned_sets import PlannedSets
from preceptor.planning.restricted import is_restricted
from preceptor.planning.search import solve_search
from preceptor.problem.problem import Problem

DEFAULT_SECONDS = 10.0
# States x sets that an exact method gets through in a few seconds.
_EXACT_WORK = 10**9


def solve_auto(
    problem: Problem,
    *,
    time_limit: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    memory_limit: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Plan:
    """Exact where that takes seconds, otherwise the best plan and bound within `time_limit`."""
    if is_restricted(problem):
        plan = solve_search(problem, time_limit=time_limit, seed=seed, progress=progress)
        return replace(plan, reason="there are too many sets to list")
    if not why_not_independent(problem):
        plan = solve_independent(problem)
        return replace(plan, reason="tests are uncorrelated, so one sort is exact")
    if problem.horizon is not None:
        space = CountSpace.smallest(PlannedSets.of(problem).family, problem.horizon)
        states, needed = space.states(), float(bytes_needed(problem, space))
        what = f"{_many(states)} states over {problem.horizon} rounds"
    else:
        states, needed = states_needed(problem, DEFAULT_TOLERANCE)
        what = f"{_many(states)} states for an infinite horizon"
    if needed <= memory_limit and states * len(problem.sets) <= _EXACT_WORK:
        if problem.horizon is not None:
            plan = solve_finite(problem, memory_limit=memory_limit)
        else:
            plan = solve_lattice(problem, memory_limit=memory_limit)
        return replace(plan, reason=f"{what} are few enough to be exact")
    plan = solve_certified(
        problem, time_limit=time_limit, seed=seed, memory_limit=memory_limit, progress=progress
    )
    return replace(plan, reason=f"{what} are too many to be exact, so searched and bounded")


def _many(states: float) -> str:
    """Digits that nobody reads are left out."""
    return f"{states:,.0f}" if states < 1e12 else f"{states:.0e}".replace("e+", "e")
