"""Local search on whole schedules: a good plan quickly, at any size, with an instant bound.

One search serves every person, risk and budget (`price_search`): it only needs the cost of changing
a round. For learners by showings that cost is exact, under squared error (`people.exposures`) and
under other risks (`charged_rounds`), where the search starts from a plan for squared error. A crowd
is planned for in `crowd_plans`. Where there are too many sets to price, candidates are searched,
then the neighbours of the sets in the plan, until the plan stops improving.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from preceptor._base.checks import count_faults, is_count
from preceptor._base.parallel import one_blas_thread
from preceptor._base.progress import Progress, Status, report
from preceptor.errors import InvalidInput, InvalidProblem, NotApplicable
from preceptor.model.evaluation import evaluate, expectations
from preceptor.model.expected import Expected
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.model.plan import Plan
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.model.risks import SquaredError
from preceptor.model.sets import TestSet
from preceptor.people.crowd import Crowd
from preceptor.planning.anytime import SearchEffort, Stop, Watch, never, watching
from preceptor.planning.bounds import floor_over_all_sets, instant_bound
from preceptor.planning.candidate_sets import (
    KEPT,
    first_candidates,
    has_many_sets,
    limited_to_candidates,
    most_promising,
    neighbours,
    shape_of,
    with_sets,
)
from preceptor.planning.charged_rounds import ChargedRounds
from preceptor.planning.crowd_plans import OWN_KICKS, check_objective, diverging, solve_for_crowd
from preceptor.planning.finite import as_policy
from preceptor.planning.price_search import (
    ScheduleSearch,
    SearchResult,
    Start,
    fitted,
    policy_of,
    searched_rounds,
)
from preceptor.planning.solver import Solver, accuracy_notes

DEFAULT_SECONDS = 5.0
# The work of a sweep is quadratic in the number of rounds.
_MOST_ROUNDS = 5_000
# Share of the time left for searches, and the minimum seconds of the first one.
_USED, _LEAST_SECONDS = 0.9, 0.05
# Shares of the time for enumerating every set, and for finding candidates.
_FLOOR_SHARE, CLIMB_SHARE = 0.4, 0.2


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

    The same seed and `max_kicks` give the same plan unless the clock ends the search
    (`time_limit=None` rules that out).

    Parameters
    ----------
    problem
        What to plan.
    watch
        Replaces `time_limit`.
    time_limit
        Seconds; None for no limit.
    max_kicks
        Restarts from a perturbed schedule; None for no limit.
    seed
        Seed of the search.
    objective
        For a crowd: "regret" (the default: the largest excess over a person's own best plan),
        "mean" (weighted, of costs relative to the own best plan) or "cvar" (of the worst fifth).
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        Without a guarantee, but with an instant bound.

    Raises
    ------
    NotApplicable
        There are too many rounds.
    InvalidInput
        An option is out of range.
    """
    check_search_options(time_limit, max_kicks, seed)
    check_objective(problem, objective)
    why_not = why_not_search(problem)
    if why_not:
        raise NotApplicable(f"search: {why_not}")

    def plan_within(
        small: Problem, seconds: float, known: Policy | None = None, kicks: int | None = max_kicks
    ) -> Plan:
        effort = SearchEffort(clock, kicks, seed, progress)
        if isinstance(problem.learner, Crowd):
            return solve_for_crowd(small, effort, seconds, objective or "regret")
        starts = [] if known is None else [_start_from(small, known)]
        return _plan_for_one(small, effort, seconds, starts)

    with (
        watching(time_limit) if watch is None else nullcontext(watch) as clock,
        one_blas_thread(),
        # People whose errors diverge produce infinities, which are avoided where possible.
        np.errstate(over="ignore", invalid="ignore"),
    ):
        if has_many_sets(problem):
            return plan_among_candidates(problem, plan_within, clock, progress)
        return plan_within(problem, clock.left)


def _plan_for_one(
    problem: Problem, effort: SearchEffort, seconds: float, starts: Sequence[Start]
) -> Plan:
    watch = effort.watch
    # First, since it cannot be cut short; the search takes the time that is left.
    with watch.proving():
        bound = instant_bound(problem, watch)
    found = _search(problem, effort, seconds, starts)
    if diverging(found.costs[0]):
        raise InvalidProblem(
            "learner: errors grow without bound whatever is shown; the rate is too large for the "
            "number of tests shown at once, use a smaller one"
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
        options={"seed": effort.seed, "kicks": found.kicks},
    ).settled()


def search(
    problem: Problem,
    effort: SearchEffort,
    *,
    seconds: float = np.inf,
    known: Policy | None = None,
    followed: int = 3,
    stop: Stop = never,
) -> Policy:
    """The best policy found for one person, starting from a known one if it is given.

    The search ends when the watch stops it, `seconds` have passed or the kicks are used up. Where
    there are many sets, only candidates (found until `stop`) and those of `known` are considered.
    """
    why_not = why_not_search(problem)
    if why_not:
        raise NotApplicable(f"search: {why_not}")
    small = limited_to_candidates(problem, () if known is None else known.used_sets(), stop)
    starts = [] if known is None else [_start_from(small, known)]
    return settled_policy(small, _search(small, effort, seconds, starts, followed))


def improved(problem: Problem, policy: Policy, *, seconds: float = 2.0, seed: int = 0) -> Policy:
    """A policy that costs no more than `policy`, by one descent from it.

    Most descents take a fifth of a second.
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        better = search(problem, SearchEffort(Watch(seconds), 0, seed), known=policy, followed=1)
    return better if evaluate(problem, better) < evaluate(problem, policy) else policy


def _start_from(problem: Problem, policy: Policy) -> Start:
    """The rounds of a policy and what it repeats after them, as positions of sets."""
    position = {shown: problem.sets.index(shown) for shown in policy.used_sets()}
    settled = policy.settles() if problem.horizon is None else None
    first, word = (policy.schedule(searched_rounds(problem)), []) if settled is None else settled
    return [position[s] for s in first or word[:1]], tuple(position[s] for s in word)


def _search(
    problem: Problem,
    effort: SearchEffort,
    seconds: float,
    starts: Sequence[Start] = (),
    followed: int = 3,
) -> SearchResult:
    """Search for one person whose sets can all be priced."""
    watch, kicks, seed, progress = effort
    seconds = min(seconds, watch.left)
    until = watch.seconds + seconds
    expected = expected_of(problem)
    if isinstance(expected, ChargedRounds) and not starts:
        squared = problem.replace(risk=SquaredError(), loss=ClosedForm())
        # A quarter of the time goes to a search under squared error, whose prices are exact.
        quietly = effort._replace(progress=None)
        starts = [_search(squared, quietly, 0.25 * seconds).start]
    if kicks is None:
        kicks = 10**9 if problem.learns_by_showings else OWN_KICKS
    within = ScheduleSearch.of(
        problem, [expected], seed, lambda: watch.interrupted or watch.seconds >= until
    )
    return within.find(
        kicks,
        starts,
        followed=followed,
        improved=lambda value: report(progress, "search", value=value),
    )


def expected_of(problem: Problem) -> Expected:
    """The expectation that prices changes of a schedule for the person of a problem."""
    exact = isinstance(problem.risk, SquaredError) and isinstance(problem.loss, ClosedForm)
    if exact or problem.is_binary or not problem.learns_by_showings:
        (expected,) = expectations(problem)
        return expected
    if problem.replace(risk=SquaredError()).oracle.forms() is None:
        # Too many tests for tables of all sets; squared error serves as a proxy.
        return problem.learner.expectation(problem.world, problem.sets, problem.start)
    return ChargedRounds(problem)


def settled_policy(problem: Problem, found: SearchResult) -> Policy:
    """The schedule found as a policy; for learners who do not forget, it ends with one set.

    That is the best one of a repeated word.
    """
    if not problem.learns_by_showings:
        return policy_of(problem, found)
    path, tail = found.schedule, found.tail
    if len(tail) <= 1:
        return as_policy(problem, path, *tail)
    path = np.concatenate([path, np.resize(np.array(tail, dtype=np.int64), path.size)])
    ends = [as_policy(problem, path, last) for last in sorted(set(tail))]
    return min(ends, key=lambda policy: evaluate(problem, policy))


def plan_among_candidates(
    problem: Problem,
    plan_within: Callable[..., Plan],
    watch: Watch,
    progress: Progress | None,
) -> Plan:
    """Plan with candidate sets, add sets that may improve the plan, and repeat.

    `plan_within` solves a problem with listed sets within some seconds, starting from a policy if
    one is given. The bound covers all sets.
    """
    # First, since its time is known in advance; the search takes the time that is left.
    with watch.proving():
        floor = floor_over_all_sets(problem, watch.share(_FLOOR_SHARE))
        if problem.learns_by_showings and not shape_of(problem).too_many_sets:
            floor = max(floor, instant_bound(problem, watch))
    candidates = first_candidates(problem, watch.until(CLIMB_SHARE))

    # Others join the candidates a few times; planning for a crowd takes too long to be repeated.
    turns = 1 if isinstance(problem.learner, Crowd) else 12
    best: Plan | None = None

    def planned(seconds: float, *kicks: int) -> Plan:
        small = with_sets(problem, candidates)
        known = None if best is None else best.policy
        return plan_within(small, max(seconds, _LEAST_SECONDS), known, *kicks)

    for turn in range(turns):
        # Some time is kept for evaluation and for finding other sets. Until no others help, a
        # schedule is not kicked out of its local optimum.
        share, before = _USED * watch.left / (turns - turn), watch.seconds
        plan = planned(share) if turn == turns - 1 else planned(share, 0)
        took, known = watch.seconds - before, np.inf if best is None else best.value
        best = plan if best is None else _better(best, plan)
        report(progress, "widening", done=(turn + 1) / turns, value=best.value)
        # Half a search is worth little.
        if best.status is Status.INTERRUPTED or watch.interrupted or watch.left < 0.5 * took:
            break
        used, until = set(best.policy.used_sets()), watch.until(CLIMB_SHARE)
        if problem.learns_by_showings and not shape_of(problem).too_many_sets:
            new = candidates | cheapest_sets(problem, best.policy, until)
        else:
            near = candidates | neighbours(problem, used)
            new = used | most_promising(problem, near, 3 * KEPT, until)
        if new <= candidates or best.value >= known * (1 - 1e-6):
            if np.isfinite(watch.left):  # none of them helps; a longer search may
                best = _better(best, planned(_USED * watch.left))
            break
        candidates = new
    assert best is not None
    return replace(
        _over_all_sets(problem, best, len(candidates), floor),
        seconds=watch.seconds,
        proved=watch.proved,
    )


def cheapest_sets(problem: Problem, policy: Policy, stop: Stop) -> set[TestSet]:
    """Of all sets, those with the lowest prices in some rounds of a plan, the first ones densely.

    The plan is the best at each of these rounds if it shows the cheapest set.
    """
    rounds = searched_rounds(problem)
    schedule, tail = fitted(*_start_from(problem, policy), rounds, problem.horizon is None)
    walk = problem.learner.expectation(problem.world, problem.sets, problem.start).walk(
        rounds, problem.discount
    )
    walk.forward(schedule, tail)
    every, found = np.arange(len(problem.sets)), set()
    # Backward, as adjoints are; twenty sets of each of forty rounds are about 3 KEPT.
    for t in np.unique(np.geomspace(1, rounds, 40).astype(np.int64))[::-1] - 1:
        if stop():
            break
        few = np.argpartition(walk.prices(int(t), every), 20)[:20]
        found |= {problem.sets[int(i)] for i in few}
    return found


def _better(best: Plan, plan: Plan) -> Plan:
    """The cheaper of two plans, with the status of the later one."""
    return plan if plan.value < best.value else replace(best, status=plan.status)


def _over_all_sets(problem: Problem, plan: Plan, candidates: int, floor: float) -> Plan:
    """The same policy for the whole problem, with a bound that holds for every set."""
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
    """Raise `InvalidInput` for bad values of the options that all searches share."""
    faults = []
    if max_kicks is not None and not is_count(max_kicks, least=0):
        faults.append(f"max_kicks: {max_kicks!r}, must be a whole number of at least 0, or None")
    if max_kicks is None and time_limit is None:
        faults.append("time_limit: None needs max_kicks, or the search would never end")
    InvalidInput.raise_if(faults + count_faults(0, seed=seed))


def why_not_search(problem: Problem) -> str:
    """Why a problem cannot be searched; empty if it can."""
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
