"""What can be proven, in little time, about a plan for a crowd: person by person.

Regrets compare a plan with the best one *found* for each person. How far that is from the best
possible one is a matter of proof: an exact method or a dual bound for people who learn by showings,
the best fixed set for people who do not learn at all, a semidefinite program for people whose
errors move linearly, and for everybody else the floor of every case.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from preceptor._base.progress import Status
from preceptor.errors import MissingExtra
from preceptor.evaluation.expectations import (
    expectations,
    expected_costs,
    fixed_costs,
    people_of,
)
from preceptor.people.person import Person
from preceptor.plan import FIXED_SCHEDULES, Plan
from preceptor.planning import SOLVERS, solve
from preceptor.planning.candidate_sets import has_many_sets
from preceptor.planning.crowd_plans import STANDS_STILL
from preceptor.planning.price_descent import GAIN
from preceptor.planning.semidefinite import MOST_SETS, MOST_TESTS, semidefinite_bound
from preceptor.planning.shape import shape_of
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.regrets import Regrets

# States x sets that an exact method gets through in no time.
_EXACT_WORK = 10**7

EXACT, DUAL, SEMIDEFINITE = "exact method", "dual bound", "semidefinite program"


def proofs_to_come(problem: Problem) -> int:
    """How many people of a crowd there are for whom a proof takes time."""
    everybody = (problem.replace(learner=each) for each in people_of(problem).values())
    return sum(_takes_time(alone) for alone in everybody)


def with_proofs(plan: Plan, seconds: float, seed: int = 0) -> Plan:
    """The plan with better bounds for its people, where they are to be had.

    Parameters
    ----------
    plan
        For a crowd, with regrets.
    seconds
        For each person whose proof takes time.
    seed
        Seed of the search that goes with it.

    Returns
    -------
    Plan
        With raised `regrets.bounds`, and own plans that are at least as good.
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
    """A bound, how it is known, and the plan that came with it."""
    alone = problem.replace(learner=person)
    if person.kind == "no-learning" and not has_many_sets(problem):
        return float(fixed_costs(alone).min()), STANDS_STILL, None
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
    """Whether there is something to prove about one person that has to be worked out."""
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
    """Regrets with a better bound for person i, and a better plan of their own if there is one."""
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
    return replace(
        regrets,
        costs=costs,
        best=best,
        bounds=bounds,
        bound_kinds=tuple(kinds),
    )
