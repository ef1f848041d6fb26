"""How long to plan, and what to prove: quickly for one person, a little longer for a crowd.

Regrets compare a plan with the best plan *found* for each person. How far that one is from optimal
is a matter of proof: an exact method or a dual bound for people who learn by showings, the best
fixed set for people who do not learn, a semidefinite program for people whose errors move linearly,
and the floor of every case for all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.progress import Deadline, Progress, Status, report
from preceptor._base.words import counted
from preceptor.errors import MissingExtra
from preceptor.model.evaluation import (
    expectations,
    expected_costs,
    fixed_costs,
    learner_is_unknown,
    people_of,
)
from preceptor.model.person import Person
from preceptor.model.plan import FIXED_SCHEDULES, Plan, Regrets
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.people.crowd import Crowd
from preceptor.planning.candidate_sets import has_many_sets, shape_of
from preceptor.planning.crowd_plans import NOTHING_LEARNED, check_objective
from preceptor.planning.price_search import GAIN
from preceptor.planning.semidefinite import MOST_SETS, MOST_TESTS, semidefinite_bound
from preceptor.planning.solvers import SOLVERS, solve

# States x sets up to which an exact method is instantaneous.
_EXACT_WORK = 10**7

EXACT, DUAL, SEMIDEFINITE = "exact method", "dual bound", "semidefinite program"


def proofs_to_come(problem: Problem) -> int:
    """Number of people in the crowd whose bound has to be computed."""
    return sum(_takes_time(problem.replace(learner=each)) for each in people_of(problem).values())


def with_proofs(plan: Plan, seconds: float, seed: int = 0) -> Plan:
    """Return the plan with better bounds for its people, where there are any.

    Parameters
    ----------
    plan
        For a crowd, with regrets.
    seconds
        Time limit per person.
    seed
        Seed of the searches.

    Returns
    -------
    Plan
        With raised `regrets.bounds`, and best plans for each person that are at least as good.
    """
    regrets = plan.regrets
    if regrets is None:
        return plan
    for i, person in enumerate(people_of(plan.problem).values()):
        found = _proof(plan.problem, person, seconds, seed)
        if found is not None:
            regrets = _raised(plan.problem, regrets, i, *found)
    return replace(plan, regrets=regrets)


def _proof(
    problem: Problem, person: Person, seconds: float, seed: int
) -> tuple[float, str, Policy | None] | None:
    """A lower bound, the method behind it, and the policy that came with it."""
    alone = problem.replace(learner=person)
    if person.kind == "no-learning" and not has_many_sets(problem):
        return float(fixed_costs(alone).min()), NOTHING_LEARNED, None
    if not _takes_time(alone) or seconds <= 0.0:
        return None
    if alone.learns_by_showings:
        own = solve(alone, "auto", time_limit=seconds, seed=seed)
        how = EXACT if own.status is Status.OPTIMAL and own.certificate is None else DUAL
        return own.lower_bound, how, own.policy
    (expected,) = expectations(alone)
    try:
        bound = semidefinite_bound(expected, problem.discount, problem.horizon, time_limit=seconds)
    except MissingExtra:
        return None
    if isinstance(bound, str):
        return None
    kind = SEMIDEFINITE if bound.adaptive else f"{SEMIDEFINITE}, for {FIXED_SCHEDULES}"
    return bound.bound, kind, None


def _takes_time(alone: Problem) -> bool:
    """Whether there is a bound for this person that takes time to compute."""
    sets = alone.budget.count(alone.size)
    if alone.learner.kind == "no-learning" or has_many_sets(alone):
        return False
    if not alone.learns_by_showings:
        return alone.size <= MOST_TESTS and sets <= MOST_SETS
    if shape_of(alone).has_dual:
        return True
    exact = SOLVERS["lattice" if alone.horizon is None else "finite"]
    if exact.why_not(alone) or exact.work is None:
        return False
    return exact.work(alone).states * sets <= _EXACT_WORK


def _raised(
    problem: Problem, regrets: Regrets, i: int, bound: float, kind: str, own: Policy | None
) -> Regrets:
    """Regrets with a better bound, and a better own plan, for person i."""
    costs, best = np.array(regrets.costs), np.array(regrets.best)
    row = f"plan for {regrets.people[i]}"
    if own is not None and row in regrets.policies:
        found = expected_costs(problem, own)
        if found[i] < best[i] * (1.0 - GAIN):
            costs[regrets.policies.index(row)] = found
            best = np.minimum(best, found)
    bounds, kinds = np.array(regrets.bounds), list(regrets.bound_kinds)
    if bound > bounds[i] * (1.0 + GAIN):
        bounds[i], kinds[i] = bound, kind
    return replace(regrets, costs=costs, best=best, bounds=bounds, bound_kinds=tuple(kinds))


# Enough for most tables, and for each proof about a crowd; where the proof leaves a wide gap, more
# is taken.
QUICK_SECONDS, MORE_SECONDS = 0.5, 10.0
_WIDE = 0.05
# For a crowd, for a person who does not learn by showings, and where sets are too many to list.
PEOPLE_SECONDS = 4.0
# The least that planning gets, however little time is left.
_LEAST_SECONDS = 0.05


@dataclass(frozen=True, eq=False)
class Effort:
    """How long to search, and which comparisons to make.

    Attributes
    ----------
    deadline
        When planning and comparing must end.
    limited
        Whether the user set the time limit; otherwise planning takes what the person needs.
    seed
        Seed of everything random.
    progress
        Called with updates.
    full_plan, verify, vary, looking
        As in `advise`.
    """

    deadline: Deadline
    limited: bool = False
    seed: int = 0
    progress: Progress | None = None
    full_plan: bool = False
    verify: bool = False
    vary: bool = True
    looking: bool = True


def plan_for(problem: Problem, objective: str | None, effort: Effort) -> Plan:
    """Return a plan in the time that fits the person.

    A person who learns by showings gets a quick plan first, and ten seconds more if that leaves
    much unproven. With a limit, planning takes half of what is left of it: few sets, cases drawn
    again and changed assumptions come after it.
    """
    seed, progress = effort.seed, effort.progress
    time_limit = max(effort.deadline.left / 2.0, _LEAST_SECONDS) if effort.limited else None
    check_objective(problem, objective)
    if isinstance(problem.learner, Crowd):
        return _plan_for_crowd(problem, objective, time_limit, seed, progress)
    if not problem.learns_by_showings:
        limit = PEOPLE_SECONDS if time_limit is None else time_limit
        return solve(problem, "auto", time_limit=limit, seed=seed, progress=progress)
    seconds = QUICK_SECONDS if time_limit is None else time_limit
    if has_many_sets(problem):
        # A dual over all sets would take minutes and gigabytes.
        limit = time_limit or PEOPLE_SECONDS
        return solve(problem, "search", time_limit=limit, seed=seed, progress=progress)
    plan = solve(problem, "auto", time_limit=seconds, seed=seed, progress=progress)
    if time_limit is None and plan.status is Status.TIME_LIMIT and plan.gap > _WIDE:
        said = (
            f"Up to {plan.gap:.0%} above the best possible after {QUICK_SECONDS} seconds; "
            f"taking {MORE_SECONDS:g} more (`time_limit` sets how many)"
        )
        report(progress, "planning further", sentence=said)
        longer = solve(problem, "auto", time_limit=MORE_SECONDS, seed=seed, progress=progress)
        plan = min(plan, longer, key=lambda each: (each.value, each.gap))
    return plan


def _plan_for_crowd(
    problem: Problem,
    objective: str | None,
    time_limit: float | None,
    seed: int,
    progress: Progress | None,
) -> Plan:
    """One plan for the whole crowd, and what can be proven about it in the time that is left."""
    many = counted(len(people_of(problem)), "kind")
    unknown = learner_is_unknown(problem)
    why = "how this person learns is not known" if unknown else "the person may be any of these"
    said = f"Planning for {many} of person at once, since {why}"
    report(progress, "preparing", sentence=said)
    proofs = proofs_to_come(problem)
    if time_limit is None:
        seconds, each = PEOPLE_SECONDS, QUICK_SECONDS
    else:
        each = min(QUICK_SECONDS, time_limit / (2 * proofs + 1))
        seconds = time_limit - proofs * each
    plan = solve(
        problem, "auto", time_limit=seconds, seed=seed, objective=objective, progress=progress
    )
    report(progress, "proving")
    return with_proofs(plan, each, seed)
