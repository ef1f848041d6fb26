"""What can be proven, in little time, about a plan for a crowd: person by person.

Regrets compare a plan with the best one *found* for each person. How far that is from the best
possible one is a matter of proof: a dual bound for people who learn by showings, the best fixed set
for people who do not learn at all, and for everybody the floor of every case.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from preceptor.evaluation.expectations import expected_costs, fixed_costs, people_of
from preceptor.people.person import BY_SHOWINGS, Person
from preceptor.plan import Plan
from preceptor.planning.bounds import instant_bound
from preceptor.planning.certified import solve_certified
from preceptor.planning.shape import shape_of
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.regrets import Regrets

# A bound is kept where it is at least this share better than the one that is there.
_BETTER = 1e-9
# Families larger than this are not looked through whole.
_MOST_SETS = 3_000

DUAL = "dual bound"
FIRST_CASES = "fastest learning possible"
STANDS_STILL = "nothing is learned, so the best fixed set is best"


def proofs_to_come(problem: Problem) -> int:
    """How many people of a crowd there are for whom a proof takes time."""
    return sum(shape_of(problem.replace(learner=each)).has_dual for each in _by_showings(problem))


def with_proofs(plan: Plan, seconds: float, seed: int = 0) -> Plan:
    """The plan with better bounds for its people, where they are to be had.

    Parameters
    ----------
    plan
        For a crowd, with regrets.
    seconds
        For each person with a dual bound.
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
        alone = _alone(plan.problem, person)
        if alone is None:
            continue
        own: Policy | None = None
        if person.kind == BY_SHOWINGS and shape_of(alone).has_dual and seconds > 0:
            found = solve_certified(alone, time_limit=seconds, seed=seed)
            bound, kind, own = found.lower_bound, DUAL, found.policy
        elif person.kind == BY_SHOWINGS:
            bound, kind = instant_bound(alone), FIRST_CASES
        else:
            bound, kind = float(fixed_costs(alone).min()), STANDS_STILL
        regrets = _raised(plan.problem, regrets, i, bound, kind, own)
    return replace(plan, regrets=regrets)


def _by_showings(problem: Problem) -> list[Person]:
    return [each for each in people_of(problem).values() if each.kind == BY_SHOWINGS]


def _alone(problem: Problem, person: Person) -> Problem | None:
    """The problem of one person of whom more can be proven; None for all others."""
    if problem.budget.count(problem.size) > _MOST_SETS:
        return None
    if person.kind in (BY_SHOWINGS, "no-learning"):
        return problem.replace(learner=person)
    return None


def _raised(
    problem: Problem, regrets: Regrets, i: int, bound: float, kind: str, own: Policy | None
) -> Regrets:
    """Regrets with a better bound for person i, and a better plan of their own if there is one."""
    costs, best = np.array(regrets.costs), np.array(regrets.best)
    row = f"plan for {regrets.people[i]}"
    if own is not None and row in regrets.policies:
        found = expected_costs(problem, own)
        if found[i] < best[i] * (1.0 - _BETTER):
            costs[regrets.policies.index(row)] = found
            best = np.minimum(best, found)
    bounds, kinds = np.array(regrets.bounds), list(regrets.bound_kinds)
    if bound > bounds[i] * (1.0 + _BETTER):
        bounds[i], kinds[i] = bound, kind
    return replace(
        regrets,
        costs=costs,
        best=best,
        bounds=np.minimum(bounds, best),
        bound_kinds=tuple(kinds),
    )
