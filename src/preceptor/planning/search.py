"""Local search on whole schedules: a good plan fast, at any size, with an instant bound.

One search serves every person, risk and budget (`price_search`), because a person only has to say
what a change of one round is worth. People who learn by showings say it exactly for squared errors,
and to first order for other risks (`charged_rounds`), from a plan for squared errors. A crowd is
planned for in `crowd_plans`. Where sets are too many to be priced one by one, promising ones are
searched, then the neighbours of those that the plan uses, until nothing gets better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.progress import Progress, Status, report
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import IntArray
from preceptor.errors import InvalidInput, InvalidProblem, NotApplicable
from preceptor.evaluation.expectations import expectations
from preceptor.evaluation.value import evaluate
from preceptor.loss import ClosedForm
from preceptor.model.risks import SquaredError
from preceptor.people.crowd import Crowd
from preceptor.people.expected import Expected
from preceptor.plan import Plan
from preceptor.planning.anytime import Watch, watching
from preceptor.planning.bounds import instant_bound
from preceptor.planning.candidate_sets import (
    KEPT,
    first_candidates,
    has_many_sets,
    most_promising,
    narrowed,
    neighbours,
    with_sets,
)
from preceptor.planning.charged_rounds import ChargedRounds
from preceptor.planning.crowd_plans import (
    OWN_KICKS,
    check_objective,
    diverging,
    solve_for_crowd,
)
from preceptor.planning.finite import as_policy
from preceptor.planning.maintenance import words_to_repeat
from preceptor.planning.notes import accuracy_notes
from preceptor.planning.price_search import (
    Found,
    Start,
    policy_of,
    search_prices,
    searched_rounds,
)
from preceptor.planning.shape import shape_of
from preceptor.planning.solver import Solver
from preceptor.planning.streamed_floors import floor_over_all_sets
from preceptor.policies import Policy
from preceptor.problem import Problem

DEFAULT_SECONDS = 5.0
# One sweep goes over all pairs of rounds.
_MOST_ROUNDS = 5_000
# Share of the time that a search by squared errors gets where another risk is charged.
_SQUARED_SHARE = 0.5
# How often neighbours of the plan's own sets may join the candidates.
_ROUNDS_OF_GROWTH = 6
# Share of the time left that searches may take, and the least that a first one gets.
_USED, _LEAST_SECONDS = 0.9, 0.05
# Share of the time that looking at every set may take, and that finding candidates may.
_FLOOR_SHARE, _CLIMB_SHARE = 0.4, 0.2
# What a descent from a plan at hand may take; most take a fifth of a second.
_IMPROVING_SECONDS = 2.0


def solve_search(
    problem: Problem,
    watch: Watch | None = None,
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
    watch
        Whose time it has, in place of `time_limit`.
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
        There are too many rounds.
    InvalidInput
        Options that make no sense.
    """
    check_search_options(time_limit, max_kicks, seed)
    check_objective(problem, objective)
    why_not = why_not_search(problem)
    if why_not:
        raise NotApplicable(f"search: {why_not}")

    def plan_within(small: Problem, seconds: float) -> Plan:
        if isinstance(problem.learner, Crowd):
            return solve_for_crowd(
                small, clock, seconds, max_kicks, seed, objective or "regret", progress
            )
        return _plan_for_one(small, clock, seconds, max_kicks, seed, progress)

    with (
        watching(time_limit) if watch is None else nullcontext(watch) as clock,
        one_blas_thread(),
        # Whoever diverges makes infinities on the way; they are never chosen if anything else can.
        np.errstate(over="ignore", invalid="ignore"),
    ):
        if has_many_sets(problem):
            return plan_among_candidates(problem, plan_within, clock, progress)
        return plan_within(problem, clock.left)


def _plan_for_one(
    problem: Problem,
    watch: Watch,
    seconds: float,
    max_kicks: int | None,
    seed: int,
    progress: Progress | None,
) -> Plan:
    # First, since nobody can hurry it; the search takes what is left.
    with watch.proving():
        bound = instant_bound(problem, watch)
    found = _search(problem, watch, seconds, max_kicks, seed, progress)
    if diverging(found.costs[0]):
        raise InvalidProblem(
            "learner: whatever is shown, errors grow without end; the rate is too large for what "
            "is shown at once, use a smaller one"
        )
    policy = settled_policy(problem, found)
    value = evaluate(problem, policy)
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=value if len(problem.sets) == 1 else bound,
        status=watch.status(finished=found.finished),
        method="search",
        seconds=watch.seconds,
        proved=watch.proved,
        notes=accuracy_notes(problem),
        options={"seed": seed, "kicks": found.kicks},
    ).settled()


def search(
    problem: Problem,
    watch: Watch,
    *,
    max_kicks: int | None,
    seed: int,
    progress: Progress | None,
    seconds: float | None = None,
    start: IntArray | None = None,
) -> tuple[IntArray, int]:
    """For a person who learns by showings: positions of the sets shown, and of the set after them.

    It ends when the watch stops it, `seconds` have passed or the kicks are used up.
    """
    why_not = why_not_search(problem)
    if why_not:
        raise NotApplicable(f"search: {why_not}")
    limit = watch.left if seconds is None else min(seconds, watch.left)
    used = set() if start is None else {problem.sets[s] for s in set(start.tolist())}
    small = narrowed(problem, used, watch.until(_CLIMB_SHARE))
    starts: list[Start] = []
    if start is not None:
        place = {shown: small.sets.index(shown) for shown in used}
        path = np.array([place[problem.sets[s]] for s in start.tolist()], dtype=np.int64)
        starts.append((path, ()))
    found = _search(small, watch, limit, max_kicks, seed, progress, starts)
    path, commit = _committed(small, found)
    if small is not problem:
        where = {s: problem.sets.index(small.sets[s]) for s in {*path.tolist(), commit}}
        path = np.array([where[s] for s in path.tolist()], dtype=np.int64)
        commit = where[commit]
    return path, commit


def improved(
    problem: Problem, policy: Policy, *, seconds: float = _IMPROVING_SECONDS, seed: int = 0
) -> Policy:
    """A policy that costs at most what `policy` does, by one descent from it.

    Among promising sets and the policy's own where there are many.
    """
    small = narrowed(problem, policy.used_sets())
    position = {shown: small.sets.index(shown) for shown in policy.used_sets()}
    rounds = searched_rounds(small)
    settled = policy.settles() if problem.horizon is None else None
    first, word = (policy.schedule(rounds), []) if settled is None else settled
    schedule = [position[shown] for shown in first or word[:1]]
    start = (schedule, tuple(position[shown] for shown in word))
    watch = Watch(seconds)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        found = _search(small, watch, watch.left, 0, seed, None, [start], followed=1)
    better = settled_policy(small, found)
    return better if evaluate(problem, better) < evaluate(problem, policy) else policy


def _search(
    problem: Problem,
    watch: Watch,
    seconds: float,
    max_kicks: int | None,
    seed: int,
    progress: Progress | None,
    starts: Sequence[Start] = (),
    *,
    followed: int = 3,
) -> Found:
    """Search by prices for one person, all of whose sets can be priced."""
    until = watch.seconds + seconds
    expected = expected_of(problem)
    if isinstance(expected, ChargedRounds) and not starts:
        squared = problem.replace(risk=SquaredError(), loss=ClosedForm())
        share = _SQUARED_SHARE * seconds
        starts = [_search(squared, watch, share, max_kicks, seed, None).start]
        followed = 1
    kicks = max_kicks
    if kicks is None:
        kicks = 10**9 if problem.learns_by_showings else OWN_KICKS
    return search_prices(
        [expected],
        rounds=searched_rounds(problem),
        discount=problem.discount,
        infinite=problem.horizon is None,
        sets=len(problem.sets),
        starts=starts,
        followed=followed,
        tails=words_to_repeat([expected], problem.discount) if problem.horizon is None else (),
        seed=seed,
        max_kicks=kicks,
        stop=lambda: watch.stop() or watch.seconds >= until,
        improved=lambda value: report(progress, "search", value=value),
    )


def expected_of(problem: Problem) -> Expected:
    """By what changes of a schedule are priced for the one person of a problem."""
    exact = isinstance(problem.risk, SquaredError) and isinstance(problem.loss, ClosedForm)
    if exact or problem.is_binary or not problem.learns_by_showings:
        (expected,) = expectations(problem)
        return expected
    if problem.replace(risk=SquaredError()).oracle.forms() is None:
        # Too many tests for tables of all sets; what misses least squarely misses little anyhow.
        return problem.learner.expectation(problem.world, problem.sets, problem.start)
    return ChargedRounds(problem)


def settled_policy(problem: Problem, found: Found) -> Policy:
    """What was found as a policy; nobody who forgets nothing is shown a word over and over."""
    if problem.learns_by_showings:
        return as_policy(problem, *_committed(problem, found))
    return policy_of(problem, found)


def _committed(problem: Problem, found: Found) -> tuple[IntArray, int]:
    """A plan that ends with one set; a word that is repeated gives way to its best set at last."""
    path, tail = found.schedule, found.tail
    if len(tail) <= 1:
        return path, int(tail[0]) if tail else int(path[-1])
    path = np.concatenate([path, np.resize(np.array(tail, dtype=np.int64), path.size)])
    costs = {last: evaluate(problem, as_policy(problem, path, last)) for last in set(tail)}
    return path, min(costs, key=lambda last: (costs[last], last))


def plan_among_candidates(
    problem: Problem,
    plan_within: Callable[[Problem, float], Plan],
    watch: Watch,
    progress: Progress | None,
) -> Plan:
    """Plan with promising sets, let the plan's own sets breed new ones, and repeat.

    `plan_within` plans a problem with listed sets in that many seconds. The bound covers all sets.
    """
    # First, since it is known beforehand how long that takes; a search takes what is left.
    with watch.proving():
        floor = floor_over_all_sets(problem, watch.share(_FLOOR_SHARE))
    candidates = first_candidates(problem, watch.until(_CLIMB_SHARE))

    def planned(seconds: float) -> Plan:
        return plan_within(with_sets(problem, candidates), max(seconds, _LEAST_SECONDS))

    # Planning for a crowd takes too long to be done again and again.
    turns = 1 if isinstance(problem.learner, Crowd) else _ROUNDS_OF_GROWTH
    best: Plan | None = None
    for turn in range(turns):
        # a little is kept for what comes after: evaluating, and finding neighbours
        share, before = _USED * watch.left / (turns - turn), watch.seconds
        plan = planned(share)
        took, known = watch.seconds - before, np.inf if best is None else best.value
        best = plan if best is None else _better(best, plan)
        report(progress, "widening", done=(turn + 1) / turns, value=best.value)
        # half a search is worth little
        if best.status is Status.INTERRUPTED or watch.interrupted or watch.left < 0.5 * took:
            break
        new = candidates | neighbours(problem, best.policy.used_sets())
        if new == candidates or best.value >= known * (1 - 1e-6):
            if np.isfinite(watch.left):  # no set nearby helps; a longer search may
                best = _better(best, planned(_USED * watch.left))
            break
        keep = set(best.policy.used_sets())
        candidates = keep | most_promising(problem, new, 3 * KEPT, watch.until(_CLIMB_SHARE))
    assert best is not None
    return replace(
        _over_all_sets(problem, best, len(candidates), floor, watch),
        seconds=watch.seconds,
        proved=watch.proved,
    )


def _better(best: Plan, plan: Plan) -> Plan:
    """The cheaper of two plans; how the later one ended is how it all ended."""
    return plan if plan.value < best.value else replace(best, status=plan.status)


def _over_all_sets(
    problem: Problem, plan: Plan, candidates: int, floor: float, watch: Watch
) -> Plan:
    """The same policy for the whole problem, with a bound that holds for every set."""
    if problem.learns_by_showings and not shape_of(problem).too_many_sets:
        with watch.proving():
            floor = max(floor, instant_bound(problem, watch))
    note = (
        f"Planned with {candidates:,} promising sets out of {problem.budget.count(problem.size):,}"
        "; the lower bound covers all of them."
    )
    return replace(
        plan,
        problem=problem,
        value=evaluate(problem, plan.policy),
        lower_bound=floor,
        status=Status.BOUNDED if plan.status is Status.OPTIMAL else plan.status,
        notes=(*plan.notes, note),
    ).settled()


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
    if problem.horizon is None or problem.horizon <= _MOST_ROUNDS:
        return ""
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


SEARCH = Solver(
    "search", solve_search, proves="an instant bound", why_not=why_not_search, all_people=True
)
