"""Plans for any person, and for a crowd of whom one does not know which: search by prices.

One search serves everybody (`price_search.py`), because a person only has to say what a change of
one round is worth. For a crowd each person's own best plan is found first, and then one plan for
all of them, measured against those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from preceptor._base.progress import Progress, Status, report
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import percent
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.evaluation.expectations import (
    expectations,
    people_of,
    weights_of,
)
from preceptor.evaluation.value import evaluate
from preceptor.people.crowd import Crowd
from preceptor.people.expected import Expected, Tail
from preceptor.people.no_learning import NoLearning
from preceptor.plan import Plan
from preceptor.planning.anytime import Watch
from preceptor.planning.bounds import instant_bound
from preceptor.planning.crowd_plans import (
    CrowdPlan,
    OwnPlans,
    Search,
    continued,
    own_plans,
    plan_for_crowd,
    positive_costs,
)
from preceptor.planning.fixed_sets import best_fixed
from preceptor.planning.notes import accuracy_notes
from preceptor.planning.price_search import Found
from preceptor.planning.restricted import (
    CLIMB_SHARE,
    FLOOR_SHARE,
    first_candidates,
    floor_over_all_sets,
    listed,
)
from preceptor.planning.searched_rounds import SearchedRounds
from preceptor.policies import ExploreThenCommit, ExploreThenRepeat, Policy, Stationary
from preceptor.problem import Problem
from preceptor.regrets import CONTRADICTED, OBJECTIVES, Regrets

# Families larger than this are not looked through whole.
_MOST_SETS = 3_000
# Words to repeat that are tried for each person who forgets.
_WORDS = 3
# With more sets than this, and less time, a second search for a start would take too long.
_FEW_SETS, _AMPLE_SECONDS = 60, 20.0
# Costs above this are those of somebody whose errors explode.
_LARGEST = 1e100
# Kicks of each person's own search, and of the common one, where no number is given.
_OWN_KICKS, _KICKS = 5, 10
# What own plans that were cut short get of it after the common plan.
_LONGER_SHARE = 0.1
# Shares of the time after which own plans and the common plan end.
_OWN_SHARE, _COMMON_SHARE = 0.5, 0.87
# Own plans that turn out worse than the common one are looked at again, since regrets against them
# would be too small, until so much of the time is over.
_REPAIR_SHARE = 0.95

STANDS_STILL = "nothing is learned, so the best fixed set is best"
PLAN, PREDICTIVE, FIXED = "this plan", "most predictive", "best fixed set"


def solve_for_people(
    problem: Problem,
    watch: Watch,
    *,
    max_kicks: int | None,
    seed: int,
    objective: str | None,
    progress: Progress | None,
) -> Plan:
    """The best schedule found for one person, or the best common one for a crowd."""
    check_objective(problem, objective)
    # Whoever diverges makes infinities on the way; they are never chosen if anything else can be.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _solve_some(problem, watch, max_kicks, seed, objective, progress)


def _solve_some(
    problem: Problem,
    watch: Watch,
    max_kicks: int | None,
    seed: int,
    objective: str | None,
    progress: Progress | None,
) -> Plan:
    """With all sets, or with the promising ones where there are too many."""
    if problem.budget.count(problem.size) <= _MOST_SETS:
        return _solve_listed(problem, watch, max_kicks, seed, objective, progress)
    with watch.proving():
        floor = floor_over_all_sets(problem, watch.share(FLOOR_SHARE))
    candidates = first_candidates(problem, watch.until(CLIMB_SHARE))
    small = problem.replace(budget=listed(problem, candidates))
    plan = _solve_listed(small, watch, max_kicks, seed, objective, progress)
    note = (
        f"Planned with {len(candidates):,} promising sets out of "
        f"{problem.budget.count(problem.size):,}; the lower bound is that of each case by itself."
    )
    value = evaluate(problem, plan.policy)
    ended = Status.BOUNDED if plan.status is Status.OPTIMAL else plan.status
    whole = replace(plan, problem=problem, value=value, lower_bound=floor, status=ended)
    return replace(whole, notes=(*plan.notes, note)).settled()


def check_objective(problem: Problem, objective: str | None) -> None:
    """Raise `InvalidInput` for an objective that does not exist, or without a crowd."""
    if objective is None:
        return
    if objective not in OBJECTIVES:
        raise InvalidInput(f"objective: {objective!r}, must be one of {', '.join(OBJECTIVES)}")
    if not isinstance(problem.learner, Crowd):
        raise InvalidInput(
            "objective: compares the people of a crowd, but the plan is for one person; leave it "
            "out, or plan for a crowd"
        )


def _solve_listed(
    problem: Problem,
    watch: Watch,
    max_kicks: int | None,
    seed: int,
    objective: str | None,
    progress: Progress | None,
) -> Plan:
    everybody = expectations(problem)
    schedule = SearchedRounds.of(problem)
    tails = _words_to_repeat(everybody, problem.discount) if schedule.infinite else ()
    until = _until(watch)
    search = Search(
        everybody,
        schedule.rounds,
        problem.discount,
        schedule.infinite,
        len(problem.sets),
        tails,
        seed,
        until(_OWN_SHARE) if len(everybody) > 1 else until(1.0),
    )
    report(progress, "searching each person's own plan" if len(everybody) > 1 else "searching")
    kicks = _OWN_KICKS if max_kicks is None else max_kicks
    people = len(everybody)
    stops = [until(_OWN_SHARE * (i + 1) / people) for i in range(people)] if people > 1 else None
    own = own_plans(search, kicks, stops, lambda fixed: _say_fixed(problem, fixed.costs, progress))
    _refuse_divergence(problem, own)
    notes = accuracy_notes(problem)
    if problem.horizon is not None and problem.horizon > schedule.rounds:
        notes += (
            f"Only the first {schedule.rounds:,} of {problem.horizon:,} cases were searched; what "
            "is shown last goes on to the end.",
        )
    if not isinstance(problem.learner, Crowd):
        (found,) = own.plans
        policy = policy_of(problem, found)
        return _plan(problem, policy, watch, found, seed, notes)
    report(progress, "searching a plan for everybody")
    common = plan_for_crowd(
        replace(search, stop=until(_COMMON_SHARE)),
        weights=weights_of(problem),
        objective=objective or "regret",
        own=own,
        max_kicks=_KICKS if max_kicks is None else max_kicks,
        repair_stop=until(_REPAIR_SHARE),
        thorough=len(problem.sets) <= _FEW_SETS or watch.left > _AMPLE_SECONDS,
        improved=lambda value: report(progress, "searching a plan for everybody", value=value),
    )
    stops = [until(_COMMON_SHARE + _LONGER_SHARE * (i + 1) / people) for i in range(people)]
    common = replace(common, own=continued(search, common.own, kicks, stops))
    plan = _plan(problem, policy_of(problem, common.plan), watch, common.plan, seed, notes)
    regrets = regrets_of(problem, search, common, objective or "regret", watch)
    if CONTRADICTED in regrets.bound_kinds:
        pairs = zip(regrets.people, regrets.bound_kinds, strict=True)
        who = ", ".join(name for name, kind in pairs if kind == CONTRADICTED)
        note = f"Lower bounds of {who} came out above what this plan costs, and were dropped."
        plan = replace(plan, notes=(*plan.notes, note))
    bound = max(float(regrets.weights @ regrets.bounds), plan.lower_bound)
    return replace(plan, regrets=regrets, lower_bound=bound, seconds=watch.seconds).settled()


def _refuse_divergence(problem: Problem, own: OwnPlans) -> None:
    """Raise for people whose errors grow without end whatever they are shown."""
    lost = [
        name
        for name, best in zip(people_of(problem), own.best.tolist(), strict=True)
        if not np.isfinite(best) or best > _LARGEST
    ]
    InvalidProblem.raise_if(
        f"learner: {name}: whatever is shown, errors grow without end; the rate is too large for "
        "what is shown at once, use a smaller one"
        for name in lost
    )


def _say_fixed(problem: Problem, costs: FloatArray, progress: Progress | None) -> None:
    """A first useful answer: the fixed set that suits everybody best, of (sets, people) costs."""
    if costs.shape[1] < 2:
        return
    least = costs.min(axis=0)
    known = np.isfinite(least) & (least > 0.0)
    if not known.any():
        return
    worst = np.max(costs[:, known] / least[known], axis=1) - 1.0
    best = int(np.argmin(worst))
    names = " + ".join(problem.world.name_of(problem.sets[best])) or "nothing"
    said = (
        f"At once: always show {names}; against the fixed set that suits them best, nobody loses "
        f"more than about {percent(max(float(worst[best]), 0.001))}; searching for better"
    )
    report(progress, "searching each person's own plan", sentence=said)


def _words_to_repeat(everybody: tuple[Expected, ...], discount: float) -> tuple[Tail, ...]:
    """What those who forget should be shown over and over: the best words for each of them."""
    from preceptor.people.exposures import Exposures
    from preceptor.planning.maintenance import maintenance_words

    forgetful = [each for each in everybody if isinstance(each, Exposures) and each.forgetting]

    words = [word for each in forgetful for word in maintenance_words(each, discount)[:_WORDS]]
    return tuple(dict.fromkeys(words))


def _until(watch: Watch) -> Callable[[float], Callable[[], bool]]:
    """Stops when the watch does, or when a share of the time that was left at first is used."""
    began, left = watch.seconds, watch.left

    def share(of: float) -> Callable[[], bool]:
        return lambda: watch.interrupted or watch.seconds >= began + of * left

    return share


def policy_of(problem: Problem, found: Found) -> Policy:
    """What was found as a policy."""
    sets = [problem.sets[int(s)] for s in found.schedule]
    word = [problem.sets[int(s)] for s in found.tail] or [sets[-1]]
    if len(set(word)) > 1:
        return ExploreThenRepeat(tuple(sets), tuple(word), problem.start)
    policy = ExploreThenCommit(sets, word[0], problem.start)
    return Stationary(word[0]) if not policy.prefix else policy


def _plan(
    problem: Problem,
    policy: Policy,
    watch: Watch,
    found: Found,
    seed: int,
    notes: tuple[str, ...],
) -> Plan:
    value, bound = evaluate(problem, policy), 0.0
    if len(problem.sets) == 1:  # nobody can do better
        bound = value
    elif not isinstance(problem.learner, Crowd):  # whose people are bounded one by one
        bound = instant_bound(problem, watch)
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=bound,
        status=watch.status(finished=found.finished),
        method="search",
        seconds=watch.seconds,
        proved=watch.proved,
        notes=notes,
        options={"seed": seed, "kicks": found.kicks},
    ).settled()


def regrets_of(
    problem: Problem,
    search: Search,
    found: CrowdPlan,
    objective: str,
    watch: Watch | None = None,
) -> Regrets:
    """What the plan and its rivals cost each person beside their own best plan."""
    everybody, names = search.people, tuple(people_of(problem))
    predictive = int(np.argmin(problem.oracle.floors()))
    fixed = best_fixed(
        problem, lambda costs: np.max(costs / found.own.best, axis=1), found.own.fixed
    )
    rivals: dict[str, tuple[IntArray, Tail]] = {
        PLAN: (found.plan.schedule, found.plan.tail),
        PREDICTIVE: search.always(predictive),
        FIXED: search.always(fixed),
    }
    for name, own in zip(names, found.own.plans, strict=True):
        rivals[f"plan for {name}"] = (own.schedule, own.tail)
    weigh = _beyond(problem, search)
    costs = np.array([weigh(*rival) for rival in rivals.values()])
    # What own plans cost when they were searched leaves out the end of a long horizon.
    whole = problem.horizon is None or problem.horizon <= search.rounds
    known = np.minimum(found.own.best, costs.min(axis=0)) if whole else costs.min(axis=0)
    best = positive_costs(known)
    bounds, kinds = bounds_of(problem, watch)
    return Regrets(
        people=names,
        weights=weights_of(problem),
        policies=tuple(rivals),
        costs=costs,
        best=best,
        bounds=bounds,
        bound_kinds=kinds,
        exact=tuple(each.exact for each in everybody),
        accuracy=tuple(dict.fromkeys(each.accuracy for each in everybody if each.accuracy)),
        objective=objective,
    )


def _beyond(problem: Problem, search: Search) -> Callable[[IntArray, Tail], FloatArray]:
    """What a schedule costs each person, its last set repeated to the end of a long horizon."""
    horizon = problem.horizon
    if horizon is None or horizon <= search.rounds:
        return search.costs

    def costs(schedule: IntArray, _tail: Tail) -> FloatArray:
        rest = np.full(horizon - schedule.size, schedule[-1], dtype=np.int64)
        return search.costs(np.concatenate([schedule, rest]), ())

    return costs


def bounds_of(problem: Problem, watch: Watch | None = None) -> tuple[FloatArray, tuple[str, ...]]:
    """What nobody's plan can go below (people,), and how that is known."""
    bounds, kinds = [], []
    for person in people_of(problem).values():
        alone = problem.replace(learner=person)
        bounds.append(instant_bound(alone, watch))
        kinds.append(_bound_kind(alone))
    return np.array(bounds), tuple(kinds)


def _bound_kind(alone: Problem) -> str:
    """How `instant_bound` knows what it says about one person."""
    if alone.learner.kind == NoLearning.kind:
        return STANDS_STILL
    return "instant bound" if alone.learns_by_showings else "floor of every case"
