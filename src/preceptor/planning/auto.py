"""Choose a solver by the shape and size of the problem, and record the reason."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from preceptor._base.progress import Progress, check_time_limit
from preceptor.errors import InvalidInput, TooLarge
from preceptor.model.plan import FIXED_SCHEDULES, Plan
from preceptor.model.problem import Problem
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.candidate_sets import shape_of
from preceptor.planning.certified import (
    check_bound_holds_for,
    may_be_proven,
    solve_certified,
    why_not_proven,
)
from preceptor.planning.finite import DEFAULT_MEMORY, FINITE
from preceptor.planning.lattice import LATTICE
from preceptor.planning.search import check_search_options, solve_search
from preceptor.planning.solver import Solver
from preceptor.planning.stationary import solve_independent, solve_stationary
from preceptor.planning.truncated import solve_truncated

DEFAULT_SECONDS = 10.0
# States x sets that an exact method gets through in a few seconds.
_EXACT_WORK = 10**9


def solve_auto(
    problem: Problem,
    *,
    time_limit: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    memory_limit: int = DEFAULT_MEMORY,
    objective: str | None = None,
    bound_holds_for: str = FIXED_SCHEDULES,
    progress: Progress | None = None,
) -> Plan:
    """Exact where that takes seconds, otherwise the best plan and bound within `time_limit`.

    Parameters
    ----------
    problem
        What to plan.
    time_limit
        Seconds, where no exact method is quick enough; None for no limit.
    seed
        Seed of the search.
    memory_limit
        Bytes that a solver may use.
    objective
        For a crowd: "regret" (the default), "mean" or "cvar", as for `search`.
    bound_holds_for
        "all policies" asks for a bound that no policy goes below; see `certified`.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        By the method that `plan.method` names, for the `plan.reason` it gives.
    """
    check_time_limit(time_limit)
    # No clock is fine where an exact method answers; the searches ask for one themselves.
    check_search_options(time_limit or DEFAULT_SECONDS, None, seed)
    check_bound_holds_for(bound_holds_for)
    if not problem.learns_by_showings and objective is None and may_be_proven(problem):
        plan = solve_certified(
            problem,
            time_limit=time_limit,
            seed=seed,
            bound_holds_for=bound_holds_for,
            progress=progress,
        )
        return replace(plan, reason="small enough for a proof, so searched and bounded")
    if not problem.learns_by_showings:
        plan = solve_search(
            problem, time_limit=time_limit, seed=seed, objective=objective, progress=progress
        )
        return replace(plan, reason="people who do not learn by showings are planned for by search")
    if objective is not None:
        raise InvalidInput(f"objective: {objective!r} is for a crowd; this is one person")
    # An exact method gets most of the time, a search the rest.
    watch = Watch(None if time_limit is None else 0.8 * time_limit)
    shape = shape_of(problem)
    if shape.too_many_sets:
        plan = solve_search(problem, time_limit=time_limit, seed=seed, progress=progress)
        return replace(plan, reason="there are too many sets to list")
    if problem.budget.count(problem.size) == 1:
        return replace(solve_stationary(problem), reason="only one set may be shown")
    if not shape.why_not_independent:
        plan = solve_independent(problem)
        return replace(plan, reason="tests are uncorrelated, so one sort is exact")
    # Of the two exact solvers one is for finite horizons, the other for infinite ones.
    exact = next(solver for solver in (FINITE, LATTICE) if not solver.why_not(problem))
    assert exact.work is not None
    work = exact.work(problem)
    compiled = problem.oracle.forms() is not None
    # A user-defined risk is slower: each charge is a sum over hundreds of residuals.
    most = _EXACT_WORK if compiled else _EXACT_WORK // 1000
    if work.bytes <= memory_limit and work.states * len(problem.sets) <= most:
        with suppress(OutOfTime, TooLarge):
            plan = exact.solve(problem, watch, memory_limit=memory_limit)
            return replace(plan, reason=f"{work.words} are few enough to be exact")
    if why_not_proven(problem):
        try:
            plan = solve_truncated(problem, watch, memory_limit=memory_limit)
        except OutOfTime:
            plan = solve_stationary(problem)
        return replace(plan, seconds=watch.seconds, reason="there are too many rounds to search")
    left = None if time_limit is None else max(time_limit - watch.seconds, 0.1 * time_limit)
    plan = solve_certified(
        problem, time_limit=left, seed=seed, memory_limit=memory_limit, progress=progress
    )
    reason = f"{work.words} are too many to be exact, so searched and bounded"
    return replace(plan, seconds=watch.seconds, reason=reason)


AUTO = Solver("auto", solve_auto, proves="the optimum, or a bound on the gap", all_people=True)
