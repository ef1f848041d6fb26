"""What a policy costs people who do not learn by showings, one by one or as a crowd.

Each kind of person says what is expected of them (`people/expected.py`); here a policy becomes
the schedule that they are asked about, and a crowd the average of its people.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from preceptor._base.discounting import discounted_sum, negligible_after, weight_after
from preceptor._base.values import FloatArray, remembered
from preceptor.model.sets import SetFamily, TestSet
from preceptor.people.crowd import Crowd
from preceptor.people.expected import Expected
from preceptor.people.person import Person
from preceptor.policies import Policy
from preceptor.problem import Problem


def people_of(problem: Problem) -> dict[str, Person]:
    """The people of a problem by name: those of its crowd, or the one there is."""
    if isinstance(problem.learner, Crowd):
        return problem.learner.people
    return {problem.learner.kind: problem.learner}


def is_anybody(problem: Problem) -> bool:
    """Whether nothing is known about how the person learns: they may be any of the usual kinds.

    Parameters
    ----------
    problem
        With any person.

    Returns
    -------
    bool
        False for people of a learner file, and for crowds that somebody made.
    """
    learner = problem.learner
    if not isinstance(learner, Crowd):
        return False
    return set(learner.names) <= set(Crowd.default(problem.world).names)


def weights_of(problem: Problem) -> FloatArray:
    """How likely each of these people is, adding up to 1."""
    return problem.learner.weights if isinstance(problem.learner, Crowd) else np.ones(1)


def expectations(problem: Problem) -> tuple[Expected, ...]:
    """What is expected of each person, with all sets that may be shown."""
    return remembered(problem, "expectations", lambda: _expectations(problem, problem.sets))


def expected_costs(problem: Problem, policy: Policy) -> FloatArray:
    """What a policy costs each person (people,): expected discounted loss."""
    used = policy.used_sets()
    everybody = _expectations(problem, family_of(problem, used))
    where = {shown: position for position, shown in enumerate(used)}
    horizon = problem.horizon
    settles = None if horizon is not None else policy.settles()
    if settles is not None:
        first, repeated = ([where[shown] for shown in part] for part in settles)
        return np.array(
            [each.total(first, problem.discount, tuple(repeated)) for each in everybody]
        )
    rounds = horizon if horizon is not None else negligible_after(problem.discount)
    schedule = [where[shown] for shown in policy.schedule(rounds)]
    totals = []
    for each in everybody:
        losses = each.losses(schedule)
        total = discounted_sum(losses, problem.discount)
        if horizon is None:
            total += weight_after(problem.discount, rounds) * float(losses[-1])
        totals.append(total)
    return np.array(totals)


def expected_cost(problem: Problem, policy: Policy) -> float:
    """What a policy costs on average over the people of a problem."""
    return float(weights_of(problem) @ expected_costs(problem, policy))


def fixed_costs(problem: Problem, positions: Iterable[int] | None = None) -> FloatArray:
    """What sets cost each person when shown throughout (people, sets): all, or some of them."""
    horizon, discount = problem.horizon, problem.discount
    listed = list(range(len(problem.sets)) if positions is None else positions)
    return np.array(
        [
            [
                each.total([], discount, (position,))
                if horizon is None
                else each.total([position] * horizon, discount, ())
                for position in listed
            ]
            for each in expectations(problem)
        ]
    )


def expected_losses(problem: Problem, schedule: list[TestSet]) -> FloatArray:
    """Loss of each round (rounds,) along a schedule, on average over people."""
    path, everybody = expectations_along(problem, schedule)
    mean: FloatArray = weights_of(problem) @ np.array([each.losses(path) for each in everybody])
    return mean


def expectations_along(
    problem: Problem, schedule: list[TestSet]
) -> tuple[list[int], tuple[Expected, ...]]:
    """A schedule as positions, and what is expected of each person with the sets that occur."""
    used = list(dict.fromkeys(schedule))
    where = {shown: position for position, shown in enumerate(used)}
    path = [where[shown] for shown in schedule]
    return path, _expectations(problem, family_of(problem, used))


def family_of(problem: Problem, sets: list[TestSet]) -> SetFamily:
    """Some sets as a family, at the problem's prices, in the order given."""
    widest = max((len(shown) for shown in sets), default=0)
    members = np.full((len(sets), max(widest, 1)), -1, dtype=np.int64)
    for row, shown in enumerate(sets):
        members[row, : len(shown)] = shown
    sizes = np.array([len(shown) for shown in sets], dtype=np.int64)
    each = problem.budget.prices(problem.size)
    prices = np.array([float(each[list(shown)].sum()) for shown in sets])
    return SetFamily(members, sizes, prices, problem.size)


def _expectations(problem: Problem, sets: SetFamily) -> tuple[Expected, ...]:
    return tuple(
        person.expectation(problem.world, sets, problem.start, problem.risk)
        for person in people_of(problem).values()
    )
