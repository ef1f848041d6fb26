"""Search, then a proof: dual multipliers, a beam that they guide, and search again.

Every plan is followed by a lower bound that holds for all policies; where people learn from
outcomes, for schedules fixed in advance unless more is asked for (`certified_person.py`). A dual
bounds what any continuation must cost; the beam walks the count states in order of that bound,
pruning what cannot beat the plan at hand, and so raises the bound and often finds a better plan.
There are two duals:

- where every showing divides an error by a constant, errors are squared and nobody imputes wrongly,
  multipliers of each round (`engine.dual`);
- for any other curve, imputation and convex risk, potentials of the counts
  (`engine.general_dual`), unless the whole box of counts is small enough to be swept outright.

What is left (yes or no, charges that are not convex, samples of a risk other than squared error)
has neither; the bound then comes from the lattice or from a truncated plan, whichever proves more.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.progress import Progress
from preceptor._base.threads import one_blas_thread
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.plan import ALL_POLICIES, FIXED_SCHEDULES, Plan
from preceptor.planning.anytime import OutOfTime, Watch, watching
from preceptor.planning.bounds import instant_bound
from preceptor.planning.certified_counts import affordable_bytes, prove_by_counts
from preceptor.planning.certified_person import certify_person, why_not_certified
from preceptor.planning.counting import why_not_counted
from preceptor.planning.finite import DEFAULT_MEMORY, finite_plan
from preceptor.planning.lattice import lattice_plan
from preceptor.planning.proof import Proof
from preceptor.planning.reduction import certificate_of, to_instance
from preceptor.planning.search import check_search_options, solve_search, why_not_search
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver
from preceptor.planning.truncated import truncated_plan
from preceptor.problem import Problem

DEFAULT_SECONDS = 30.0
DEFAULT_GAP = 1e-4
# Shares of the time: search, dual; the beam gets the rest. Large families need a longer dual.
_SHARES = (0.12, 0.33)
_LARGE_SHARES = (0.25, 0.62)
_LARGE = 10
_FIRST_SEARCH = 3.0


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
                problem,
                time_limit=time_limit,
                max_kicks=max_iterations,
                seed=seed,
                progress=progress,
            )
            return replace(plan, method="certified")
        work = Proof(
            problem, watch, target_gap, max_iterations, width, seed, memory_limit, progress
        )
        with watch.proving():
            work.instant = instant_bound(problem, watch)
        if shape.has_dual:
            prove_by_multipliers(work)
        elif general:
            prove_by_counts(work)
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


def prove_by_multipliers(work: Proof) -> None:
    """The whole way, where each showing divides an error by a constant."""
    from preceptor.engine.dual import solve_dual
    from preceptor.engine.multiplier_guide import MultiplierGuide

    problem, watch = work.problem, work.watch
    shares = _SHARES if problem.size <= _LARGE else _LARGE_SHARES
    first = watch.share(shares[0])
    if problem.size <= _LARGE and np.isfinite(first):
        first = min(first, _FIRST_SEARCH)  # the rest of the search comes after the proof
    path, commit = work.look_for_plans(first)
    if work.done():
        return
    work.raise_by_dual(
        lambda **limits: solve_dual(to_instance(problem), path, **limits),
        shares[1],
        certificate_of,
        MultiplierGuide,
        path,
        commit,
    )


def prove_without_dual(work: Proof, why_not: str) -> None:
    """What neither dual covers: exact methods where they fit, else what bounds."""
    problem, watch = work.problem, work.watch
    work.notes = (f"No dual bound: {why_not}.",)
    with suppress(NotApplicable):  # a user's own risk, say
        work.look_for_plans(watch.share(0.4))
    if work.policy is None:
        work.take_best_fixed()
    for solver in (_exactly, _first_rounds):
        if work.done() or watch.stop():
            break
        rate = 5e6 if problem.oracle.forms() is not None else 1e5
        most_work = int(min(watch.left, 1e6) * rate)
        budget = affordable_bytes(problem, watch, work.memory_limit, 1.0)
        try:
            with watch.proving():
                plan = solver(problem, watch, budget, most_work)
        except TooLarge:
            continue
        except OutOfTime:
            work.finished = False
            break
        work.raise_bound(plan.lower_bound)
        work.states += plan.states
        if plan.value < work.value:
            work.policy, work.value = plan.policy, plan.value
    if not work.done() and not watch.stop() and work.max_iterations is None:
        with suppress(NotApplicable):
            work.look_for_plans(watch.left, start=work.path())


def _exactly(problem: Problem, watch: Watch, memory: int, _work: int) -> Plan:
    if problem.horizon is not None:
        return finite_plan(problem, memory, watch)
    return lattice_plan(problem, watch, memory_limit=memory)


def _first_rounds(problem: Problem, watch: Watch, memory: int, work: int) -> Plan:
    # the paper's rule for the suffix: weighing every end state can take minutes
    return truncated_plan(problem, watch, suffix="last", memory_limit=memory, most_work=work)


CERTIFIED = Solver(
    "certified",
    solve_certified,
    proves="a bound on the gap, down to the target",
    why_not=why_not_proven,
    all_people=True,
)
