"""Picks a solver by the shape and size of the problem, and says why."""

from __future__ import annotations

from dataclasses import replace

from preceptor.plan import Plan
from preceptor.planning.count_space import CountSpace
from preceptor.planning.finite import DEFAULT_MEMORY, bytes_needed, solve_finite
from preceptor.planning.independent import solve_independent, why_not_independent
from preceptor.planning.truncated import default_length, solve_truncated
from preceptor.problem.problem import Problem

# Finite plans up to this many states x sets are exact within about a minute.
_EXACT_WORK = 5 * 10**9


def solve_auto(problem: Problem, *, memory_limit: int = DEFAULT_MEMORY) -> Plan:
    """Uncorrelated: the sort. Finite and small enough: exact. Otherwise: plan, then commit."""
    if not why_not_independent(problem):
        plan = solve_independent(problem)
        return replace(plan, reason="tests are uncorrelated, so one sort is exact")
    if problem.horizon is not None:
        space = CountSpace.smallest(problem.sets, problem.horizon)
        states = space.states()
        fits = bytes_needed(problem, space) <= memory_limit
        if fits and states * len(problem.sets) <= _EXACT_WORK:
            plan = solve_finite(problem, memory_limit=memory_limit)
            return replace(plan, reason=f"{states:,.0f} states are few enough for the exact plan")
        why = f"{states:,.0f} states over {problem.horizon} rounds are too many for the exact plan"
    else:
        why = "the horizon is infinite"
    length = default_length(problem, memory_limit)
    plan = solve_truncated(problem, length=length, memory_limit=memory_limit)
    return replace(plan, reason=f"{why}, so {length} rounds are planned exactly before committing")
