"""Search, then a proof: dual multipliers, a beam that they guide, and search again.

Every plan is followed by a lower bound that holds for all policies; where people learn from
outcomes, for schedules fixed in advance unless more is asked for (`certified_person.py`). A dual
bounds what any continuation must cost; the beam walks the count states in order of that bound,
pruning what cannot beat the plan at hand, and so raises the bound and often finds a better plan.
Its
rounds are minimised in one of two ways, with the same kind of certificate in the end:

- over errors (`engine.error_dual`), where every showing divides an error by a constant, errors are
  squared and nobody imputes wrongly;
- over counts (`engine.count_dual`), for any other curve, imputation and convex risk, unless the
  whole box of counts is small enough to be swept outright.

What is left (yes or no, charges that are not convex, samples of a risk other than squared error)
has neither; the bound then comes from the lattice or from a truncated plan, whichever proves more.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.discounting import total_weight
from preceptor._base.progress import Progress
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import IntArray
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.plan import ALL_POLICIES, FIXED_SCHEDULES, Plan
from preceptor.planning.anytime import Watch, watching
from preceptor.planning.bounds import instant_bound
from preceptor.planning.certified_person import certify_person, why_not_certified
from preceptor.planning.counting import to_counts, why_not_counted
from preceptor.planning.finite import DEFAULT_MEMORY, solve_finite
from preceptor.planning.lattice import DEFAULT_TOLERANCE, solve_lattice, states_needed
from preceptor.planning.proof import Proof
from preceptor.planning.reduction import to_instance
from preceptor.planning.search import check_search_options, solve_search, why_not_search
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver
from preceptor.planning.truncated import solve_truncated
from preceptor.problem import Problem

DEFAULT_SECONDS = 30.0
DEFAULT_GAP = 1e-4
# Shares of the time: search, dual; the beam gets the rest. Rounds are dearer, and a dual takes
# longer, over counts; with many tests a good first plan takes longer, too.
_SHARES, _COUNTS_SHARES, _LARGE_SHARES = (0.12, 0.33), (0.08, 0.5), (0.25, 0.62)
_LARGE = 10
# Seconds of the first search, at most, where a dual follows: the rest comes after the proof.
_FIRST_SEARCH = 3.0
# A box of counts of so many bytes is swept outright instead of being bounded by a dual,
_SWEPT_BYTES = 2**30
# if that takes no more than this share of the time that is left. Where there is no dual, the first
# search takes as much.
_THIRD = 1 / 3
# States x sets that an exact method gets through in a second, by the code of the risk; a charge
# without a closed form is integrated for each of them.
_STATES_A_SECOND = {0: 2.5e8, 1: 2e7, 2: 8e7, 3: 5e6, -1: 1e5}


def solve_certified(
    problem: Problem,
    *,
    time_limit: float | None = DEFAULT_SECONDS,
    target_gap: float = DEFAULT_GAP,
    max_iterations: int | None = None,
    width: int | None = None,
    seed: int = 0,
    memory_limit: int = DEFAULT_MEMORY,
    bound_holds_for: str = FIXED_SCHEDULES,
    progress: Progress | None = None,
) -> Plan:
    """A plan and a bound, until the gap is at most `target_gap` or the time is up.

    With `max_iterations`, `width` and `time_limit=None` the result depends on the seed alone.
    Ctrl-C ends it with the best so far.

    Parameters
    ----------
    problem
        What to plan.
    time_limit
        Seconds; None for no limit.
    target_gap
        Stop once value and bound are this close, as a share of the bound.
    max_iterations
        Limits kicks of the search and steps of the dual.
    width
        Fixes the width of the beam that raises the bound.
    seed
        Seed of the search.
    memory_limit
        Bytes that it may use.
    bound_holds_for
        "all policies" asks for a bound that no policy goes below, whatever it looks at before the
        case. It matters where people learn from outcomes: bounds on "schedules fixed in advance"
        are higher there. Everybody else's bounds hold for all policies as it is.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        With a `certificate` that `verify` proves again, where the bound comes from a dual.

    Raises
    ------
    InvalidInput
        Options that make no sense.
    """
    if not is_number(target_gap) or target_gap < 0:
        raise InvalidInput(f"target_gap: {target_gap!r}, must be a number of at least 0")
    if width is not None and not is_count(width, least=1):
        raise InvalidInput(f"width: {width!r}, must be a whole number of at least 1, or None")
    check_search_options(time_limit, max_iterations, seed)
    check_bound_holds_for(bound_holds_for)
    if why_not_proven(problem):
        raise NotApplicable(f"certified: {why_not_proven(problem)}")
    if not problem.learns_by_showings:
        with watching(time_limit) as watch:
            return certify_person(
                problem,
                watch,
                target_gap=target_gap,
                max_iterations=max_iterations,
                seed=seed,
                bound_holds_for=bound_holds_for,
                progress=progress,
            )
    shape = shape_of(problem)
    general = not shape.has_dual and not why_not_counted(problem)
    with watching(time_limit) as watch, one_blas_thread():
        if shape.too_many_sets:
            plan = solve_search(
                problem, watch, max_kicks=max_iterations, seed=seed, progress=progress
            )
            return replace(plan, method="certified")
        work = Proof(
            problem, watch, target_gap, max_iterations, width, seed, memory_limit, progress
        )
        with watch.proving():
            work.instant = instant_bound(problem, watch)
        if shape.has_dual or general:
            prove_by_dual(work, over_errors=shape.has_dual)
        else:
            prove_without_dual(work, why_not_counted(problem))
        return work.plan()


def check_bound_holds_for(asked: str) -> None:
    """Raise `InvalidInput` for a bound on anything but schedules or all policies."""
    if asked not in (ALL_POLICIES, FIXED_SCHEDULES):
        raise InvalidInput(
            f"bound_holds_for: {asked!r}, must be {ALL_POLICIES!r} or {FIXED_SCHEDULES!r}"
        )


def why_not_proven(problem: Problem) -> str:
    """Why there is no proof for a problem; empty if there may be one."""
    if not problem.learns_by_showings:
        return why_not_certified(problem)
    return why_not_search(problem) if shape_of(problem).has_dual else ""


def prove_by_dual(work: Proof, over_errors: bool) -> None:
    """The whole way: a first plan, a dual, beams that it guides, a search from the best plan."""
    from preceptor.engine.count_dual import solve_counts
    from preceptor.engine.error_dual import solve_errors

    problem, watch = work.problem, work.watch
    if not over_errors:
        sweep_if_small(work)
        if work.done() or watch.stop():
            return
    shares = _SHARES if over_errors else _COUNTS_SHARES
    if over_errors and problem.size > _LARGE:
        shares = _LARGE_SHARES
    most = np.inf if problem.size > _LARGE else _FIRST_SEARCH
    path, commit = _first_plan(work, shares[0], most)
    if work.done() or watch.stop():
        return
    if over_errors:
        solve = partial(solve_errors, to_instance(problem), path)
    else:
        loss = work.value / total_weight(problem.discount, problem.horizon)
        solve = partial(solve_counts, to_counts(problem), loss, work.value)
    work.raise_by_dual(solve, shares[1], path, commit)


def _first_plan(work: Proof, share: float, most: float = np.inf) -> tuple[IntArray, int]:
    """A plan to begin with: searched for, or a fixed set."""
    seconds = work.watch.share(share)
    if np.isfinite(seconds):  # else the seed is to decide everything, not the clock
        seconds = min(seconds, most)
    try:
        return work.look_for_plans(seconds)
    except NotApplicable:  # a user's own risk, say
        if work.policy is None:
            work.take_best_fixed()
        path = work.path()
        return path, int(path[-1])


def affordable_bytes(problem: Problem, watch: Watch, memory_limit: int, share: float) -> int:
    """What tables may take so that filling them takes no more than a share of the time left."""
    rate = _STATES_A_SECOND[problem.risk.code]
    states = min(share * watch.left, 1e6) * rate / len(problem.sets)
    return min(memory_limit, _SWEPT_BYTES, int(9 * states) + 2**16)


def sweep_if_small(work: Proof) -> None:
    """Every state there is, where they are few enough."""
    problem = work.problem
    budget = affordable_bytes(problem, work.watch, work.memory_limit, _THIRD)
    endless = problem.horizon is None
    if not endless or states_needed(problem, DEFAULT_TOLERANCE)[1] <= budget:
        _sweep(work, budget)


def _sweep(work: Proof, budget: int) -> None:
    """Every state, or over infinitely many rounds as many as fit."""
    solve = solve_lattice if work.problem.horizon is None else solve_finite
    work.take_plan(solve, memory_limit=budget)


def prove_without_dual(work: Proof, why_not: str) -> None:
    """What no dual covers: exact methods where they fit, else what bounds."""
    problem, watch = work.problem, work.watch
    work.notes = (f"No dual bound: {why_not}.",)
    _first_plan(work, _THIRD)
    if not work.done() and not watch.stop():
        _sweep(work, affordable_bytes(problem, watch, work.memory_limit, 1.0))
    if not work.done() and not watch.stop():
        rate = _STATES_A_SECOND[3 if problem.oracle.forms() is not None else -1]
        budget = affordable_bytes(problem, watch, work.memory_limit, 1.0)
        most = int(min(watch.left, 1e6) * rate)
        # the paper's rule for the suffix: weighing every end state can take minutes
        work.take_plan(solve_truncated, most, suffix="last", memory_limit=budget)
    if not work.done() and not watch.stop() and work.max_iterations is None:
        with suppress(NotApplicable):
            work.look_for_plans(watch.left, start=work.path())


CERTIFIED = Solver(
    "certified",
    solve_certified,
    proves="a bound on the gap, down to the target",
    why_not=why_not_proven,
    all_people=True,
)
