"""Local search on whole schedules: a good plan fast, at any size, with an instant bound.

Starts from the best fixed sets, greedy schedules and a small beam, then changes sets in single
rounds or blocks, swaps rounds and the final set while that helps, then kicks and repeats until
the time is up. Where every showing divides an error by a constant, changes are priced in closed
form (`engine.search`), and so they are for any other curve (`by_prices`); for risks other than
squared error they are replayed (`replay_search`), from a plan for squared errors.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.discounting import rounds_until
from preceptor._base.progress import Progress, report
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import IntArray
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.evaluation.value import evaluate
from preceptor.plan import Plan
from preceptor.planning.anytime import Watch, watching
from preceptor.planning.beam import solve_beam
from preceptor.planning.bounds import instant_bound
from preceptor.planning.by_prices import Found, has_prices, has_prices_nearby, search_by_prices
from preceptor.planning.finite import as_policy
from preceptor.planning.people_search import check_objective, solve_for_people
from preceptor.planning.reduction import to_instance
from preceptor.planning.replay_search import replay_search
from preceptor.planning.restricted import solve_restricted
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver
from preceptor.planning.warm_up import compile_for, compile_search
from preceptor.problem import Problem

DEFAULT_SECONDS = 5.0
# Families up to this size get a beam as one of the starts.
_BEAM_SETS = 2000
_BEAM_WORK = 300_000
# if there is as much time as this.
_BEAM_SECONDS = 0.5
# Families up to this size are first searched by prices, for that share of as much time.
_PRICED_SETS, _PRICED_SHARE = 1000, 0.5
_NEGLIGIBLE = 1e-4
# What a plan says whose changes could not be priced by its own risk.
SQUARED_INSTEAD = (
    "Changes were weighed by squared errors, since losses have no closed form here; the value is "
    "that of the risk itself."
)
# One sweep goes over all pairs of rounds.
_MOST_ROUNDS = 5_000


def solve_search(
    problem: Problem,
    *,
    time_limit: float | None = DEFAULT_SECONDS,
    max_kicks: int | None = None,
    seed: int = 0,
    objective: str | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The best schedule found within `time_limit` seconds or `max_kicks` restarts.

    The same seed and `max_kicks` give the same plan as long as the clock does not end the search
    (`time_limit=None` makes sure of that).

    Parameters
    ----------
    problem
        What to plan.
    time_limit
        Seconds; None for no limit.
    max_kicks
        Restarts from a changed schedule; None for no limit.
    seed
        Seed of the search.
    objective
        For a crowd: "regret" (the default: the worst loss beyond a person's own best plan), "mean"
        (of costs relative to the own best, by weight) or "cvar" (of the worst fifth).
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        Good, with an instant bound.

    Raises
    ------
    NotApplicable
        Changes of a schedule cannot be priced for this problem.
    InvalidInput
        Options that make no sense.
    """
    check_search_options(time_limit, max_kicks, seed)
    check_objective(problem, objective)
    if not problem.learns_by_showings:
        compile_for(problem)
        with watching(time_limit) as watch:
            return solve_for_people(
                problem,
                watch,
                max_kicks=max_kicks,
                seed=seed,
                objective=objective,
                progress=progress,
            )
    shape = shape_of(problem)
    if shape.too_many_sets or not shape.why_not_geometric:
        compile_search()
    if has_prices_nearby(problem):
        compile_for(problem)
    with watching(time_limit) as watch, one_blas_thread():
        if shape.too_many_sets:
            return solve_restricted(
                problem,
                lambda small, seconds: solve_search(
                    small, time_limit=seconds, max_kicks=max_kicks, seed=seed, progress=progress
                ),
                watch,
                progress,
            )
        # First, since nobody can hurry it; the search takes what is left.
        with watch.proving():
            instant = instant_bound(problem, watch)
        found = search(problem, watch, max_kicks=max_kicks, seed=seed, progress=progress)
        policy = as_policy(problem, found.path, found.commit)
        value = evaluate(problem, policy)
        near = bool(shape.why_not_geometric) and problem.oracle.forms() is None
        return Plan(
            problem=problem,
            policy=policy,
            value=value,
            lower_bound=instant,
            status=watch.status(finished=found.finished),
            method="search",
            seconds=watch.seconds,
            proved=watch.proved,
            notes=(SQUARED_INSTEAD,) if near else (),
            options={"seed": seed, "kicks": found.kicks},
        ).settled()


def quick_search(problem: Problem, seconds: float) -> Plan:
    """A plan for somebody who waits: a narrow beam, and descents from it until time is up.

    Parameters
    ----------
    problem
        What to plan.
    seconds
        After which the descent is ended wherever it is; beam, value and bound come on top.

    Returns
    -------
    Plan
        Nearly as good as that of a search, with an instant bound.
    """
    if not problem.learns_by_showings or shape_of(problem).why_not_geometric:
        return solve_search(problem, time_limit=seconds)
    from preceptor.engine.search import search_schedule

    compile_search()
    with watching(None) as watch:
        start = beam_start(problem)
        if start is None:
            start = _best_fixed(problem)[:1]
        with watch.halting(seconds) as halt:
            found = search_schedule(
                to_instance(problem),
                _searched_rounds(problem),
                time_limit=seconds,
                max_kicks=0,
                start=start,
                halt=halt,
            )
        policy = as_policy(problem, found.schedule, found.commit)
        value = evaluate(problem, policy)
        bound, status = instant_bound(problem), watch.status(finished=False)
        return Plan(problem, policy, value, bound, status, "search", watch.seconds).settled()


def search(
    problem: Problem,
    watch: Watch,
    *,
    max_kicks: int | None,
    seed: int,
    progress: Progress | None,
    seconds: float | None = None,
    start: IntArray | None = None,
) -> Found:
    """Search until the watch stops it, `seconds` have passed or the kicks are used up."""
    limit = watch.left if seconds is None else min(seconds, watch.left)
    kicks = 10**9 if max_kicks is None else max_kicks
    until = watch.seconds + limit

    def stop() -> bool:
        return watch.stop() or watch.seconds >= until

    why_not = why_not_search(problem)
    if why_not:
        raise NotApplicable(f"search: {why_not}")

    def improved(value: float) -> None:
        report(progress, "search", value=value)

    shape = shape_of(problem)
    if shape.why_not_geometric and has_prices(problem):
        return search_by_prices(
            problem, seed=seed, max_kicks=kicks, stop=stop, start=start, improved=improved
        )
    # somebody's own risk, say
    only_near = bool(shape.why_not_geometric) and problem.oracle.forms() is None
    # By another risk a plan for squared errors is only a start, and no help where there is one.
    helps = (
        limit >= _BEAM_SECONDS and len(problem.sets) <= _PRICED_SETS
        if has_prices(problem)
        else start is None and has_prices_nearby(problem)
    )
    if only_near or helps:
        soon = watch.seconds + (1.0 if only_near else _PRICED_SHARE) * limit
        found = search_by_prices(
            problem,
            seed=seed,
            max_kicks=kicks,
            stop=lambda: stop() or watch.seconds >= soon,
            start=start,
            improved=improved if has_prices(problem) else lambda _value: None,
        )
        if only_near:
            return found
        start = found.path
    if not shape.why_not_geometric:
        if start is None and limit >= _BEAM_SECONDS:
            start = beam_start(problem)
        return _search_geometric(problem, watch, until, kicks, seed, progress, start)
    fixed_starts = [np.full(1, k, dtype=np.int64) for k in _best_fixed(problem)]
    return replay_search(
        problem,
        starts=fixed_starts if start is None else [start],
        seed=seed,
        max_kicks=kicks,
        stop=stop,
        improved=improved,
    )


def _search_geometric(
    problem: Problem,
    watch: Watch,
    until: float,
    kicks: int,
    seed: int,
    progress: Progress | None,
    start: IntArray | None,
) -> Found:
    """By closed prices of the paper's learner."""
    from preceptor.engine.search import search_schedule

    left = max(until - watch.seconds, 0.0)
    with watch.halting(left) as halt:
        result = search_schedule(
            to_instance(problem),
            length=_searched_rounds(problem),
            time_limit=min(left, 1e9),
            max_kicks=kicks,
            seed=seed,
            start=start,
            progress=lambda stage, _, value: report(progress, stage, value=value),
            should_stop=lambda: watch.stop() or watch.seconds >= until,
            halt=halt,
        )
    commit = result.commit if problem.horizon is None else int(result.schedule[-1])
    return Found(result.schedule, commit, result.kicks, result.kicks >= kicks)


def _searched_rounds(problem: Problem) -> int:
    """Rounds before the final set takes over: until they weigh next to nothing, 400 at most."""
    if problem.discount >= 1.0:
        return problem.horizon or 400
    return min(max(rounds_until(problem.discount, _NEGLIGIBLE), 20), 400)


def beam_start(problem: Problem) -> IntArray | None:
    """A schedule from a narrow beam, where that takes no time to speak of."""
    sets = len(problem.sets)
    if sets > _BEAM_SETS:
        return None
    layers = int(np.clip(_BEAM_WORK // max(sets * sets, 1), 1, 60))
    plan = solve_beam(problem, width=2, layers=layers)
    rounds = problem.horizon if problem.horizon is not None else max(layers, 1)
    schedule = plan.policy.schedule(rounds)
    places = {shown: problem.sets.index(shown) for shown in set(schedule)}
    return np.array([places[shown] for shown in schedule])


def _best_fixed(problem: Problem, how_many: int = 3) -> IntArray:
    """Positions of the sets that are cheapest now and of those that are cheapest once learned."""
    now = problem.oracle.losses(problem.initial_errors[None, :])[0]
    learned = problem.oracle.floors()
    each = [np.argsort(values, kind="stable")[:how_many] for values in (now + learned, learned)]
    return np.unique(np.concatenate(each))


def check_search_options(time_limit: float | None, max_kicks: int | None, seed: int) -> None:
    """Faults of the options that all searches share."""
    faults = []
    if max_kicks is not None and not is_count(max_kicks, least=0):
        faults.append(f"max_kicks: {max_kicks!r}, must be a whole number of at least 0, or None")
    if max_kicks is None and time_limit is None:
        faults.append("time_limit: None needs max_kicks, or the search would never end")
    if not is_count(seed, least=0):
        faults.append(f"seed: {seed!r}, must be a whole number of at least 0")
    InvalidInput.raise_if(faults)


def why_not_search(problem: Problem) -> str:
    """Why changes of a schedule cannot be priced."""
    if problem.horizon is not None and problem.horizon > _MOST_ROUNDS:
        remedy = (
            "leave out the horizon, so that only the rounds matter which the discount leaves"
            if problem.discount < 1.0
            else "without a discount all of them matter, so plan the first ones exactly and let "
            "the last set go on (method='truncated'), or give a discount below 1"
        )
        return (
            f"{problem.horizon:,} rounds are too many to be searched, {_MOST_ROUNDS:,} are the "
            f"most; {remedy}"
        )
    if not problem.learns_by_showings:
        return ""
    shape = shape_of(problem)
    if shape.too_many_sets or not shape.why_not_geometric or problem.oracle.forms() is not None:
        return ""
    if has_prices_nearby(problem):
        return ""
    return "needs a built-in risk and exact losses (or squared error on a sample)"


SEARCH = Solver(
    "search", solve_search, proves="an instant bound", why_not=why_not_search, all_people=True
)
