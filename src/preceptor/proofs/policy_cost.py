"""Cost of a policy for people who do not learn by showings, and how certain it is.

There are three methods; the most exact one that the person allows is used.

- Where weights depend only on what was shown, not on the cases, losses are added up round by round
  as for people who learn by showings. Several copies with different cases must agree.
- Delta rules move errors by a random linear map, so that second moments of the errors follow from
  those of the map (`case_maps.py`), and the expected loss of a round from them.
- All others are simulated (`simulated_cost.py`). A simulated mean has an error, and the expectation
  that solvers use is itself approximate. Such a value is compared with both: it must be what the
  person's own approximation gives, and that must be near the simulated cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.numerics import total_weight
from preceptor._base.values import FloatArray
from preceptor.model.expected import Expected
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.answering import as_believed
from preceptor.people.outcome_learners import DeltaRule
from preceptor.people.own_person import OwnPerson
from preceptor.proofs.case_maps import ROUNDING, CaseMaps, case_maps, same_moments
from preceptor.proofs.losses import MOST_NUMBERS, ReferenceLosses
from preceptor.proofs.simulated_cost import STANDARD_ERRORS, Played, played_value
from preceptor.proofs.slow_value import (
    MOST_ROUNDS,
    added_up,
    losses_along,
    rounds_that_count,
    slow_value,
)

# What rounding may leave of terms that cancel, and of the rest of an infinite sum, as a share.
_EPSILON = 1e-12
# Copies whose weights must agree for the weights to be certain.
_COPIES = 3
# Points per dimension for averages over cases: few are exact for polynomials, many for steps
# divided by the length of the results. The first of each pair is checked by the second.
_POINTS = ((3, 5), (101, 121))
# Most cases per set.
_MOST_CASES = 100_000


@dataclass(frozen=True)
class PolicyCost:
    """Cost of a policy for one person.

    Attributes
    ----------
    value
        As found here.
    error
        How far off that may be.
    stated
        What a plan should state: the same, or the approximation if the person has one.
    slack
        By how much a plan may deviate from `stated`.
    near
        Whether `stated` is close enough to `value` to count as an approximation of it.
    played
        The simulation, if the cost was not added up.
    """

    value: float
    error: float
    stated: float
    slack: float
    near: bool = True
    played: Played | None = None


def person_cost(problem: Problem, policy: Policy) -> PolicyCost:
    """Return the cost of a policy for the one person of a problem."""
    losses = None if problem.learns_by_showings else _exact_losses(problem, policy)
    if problem.learns_by_showings:
        value = slow_value(problem, policy)
    elif losses is not None:
        value = added_up(problem, losses)
    else:
        return _approximated(problem, policy, played_value(problem, policy))
    if not math.isfinite(value):
        return PolicyCost(value, 0.0, value, 0.0)
    slack = ROUNDING * abs(value) + rounding_of(problem, policy)
    exact = PolicyCost(value, slack, value, slack)
    if problem.learns_by_showings or _expected(problem, policy)[0].exact:
        return exact
    return _approximated(problem, policy, exact)


def _approximated(problem: Problem, policy: Policy, found: PolicyCost | Played) -> PolicyCost:
    """The cost as found, compared with the person's own approximation."""
    stated = _expected_cost(problem, policy)
    # Largest relative error of an approximate value. Four in five plans for Bayesian people, the
    # kind with the worst approximation, are within 15 %; those further off fail.
    allowed = found.error + 0.2 * abs(found.value)
    played = found if isinstance(found, Played) else None
    if played is not None and isinstance(problem.learner, OwnPerson):
        # Their expectation is itself a mean over copies.
        allowed += STANDARD_ERRORS * played.deviation / math.sqrt(problem.learner.copies)
    slack = ROUNDING * abs(stated) + rounding_of(problem, policy)
    near = bool(abs(stated - found.value) <= allowed + slack)
    return PolicyCost(found.value, found.error + slack, stated, slack, near, played)


def rounding_of(problem: Problem, policy: Policy) -> float:
    """Error of tables and of cancellation, summed over all rounds.

    Small losses are differences of much larger variances, and carry their rounding.
    """
    sizes = np.abs(problem.first_errors)
    oracle = problem.oracle
    largest = max(oracle.ceiling_of(sizes, shown) for shown in {(), *policy.used_sets()})
    weight = total_weight(problem.discount, problem.horizon)
    return (oracle.accuracy + _EPSILON * largest) * weight


def _exact_losses(problem: Problem, policy: Policy) -> FloatArray | None:
    """Expected loss of each round; None if it can only be simulated."""
    if isinstance(problem.learner, OwnPerson):
        return None
    schedule = policy.schedule(rounds_that_count(problem))
    errors = _certain_errors(problem, schedule)
    if errors is not None:
        return losses_along(
            problem, schedule, lambda own, which, first: errors[first : first + which.size]
        )
    return _losses_by_moments(problem, policy)


def _certain_errors(problem: Problem, schedule: list[TestSet]) -> FloatArray | None:
    """Errors (rounds, n) before each round; None if they depend on the cases."""
    person, world, n = problem.learner, problem.world, problem.size
    if isinstance(problem.risk, YesNoRisk):
        world = as_believed(world, problem.risk)
    rng = np.random.default_rng(0)
    state = person.fresh(world, (_COPIES,), problem.start)
    masks = {shown: np.isin(np.arange(n), shown) for shown in set(schedule)}
    outcomes = np.arange(_COPIES) % 2 if problem.is_binary else rng.standard_normal(_COPIES)
    errors = np.empty((len(schedule), n))
    for t, shown in enumerate(schedule):
        weights = person.weights_of(world, state)
        if np.any(weights != weights[0]):
            return None
        errors[t] = world.coefficients - weights[0]
        seen = np.broadcast_to(masks[shown], (_COPIES, n))
        filled = rng.standard_normal((_COPIES, n))
        state = person.learn(world, state, filled, seen, np.asarray(outcomes, dtype=np.float64))
    return errors


def _losses_by_moments(problem: Problem, policy: Policy) -> FloatArray | None:
    """Losses from second moments of the errors; None where these are not closed."""
    person, world = problem.learner, problem.world
    if not isinstance(person, DeltaRule) or person.cap is not None:
        return None
    if problem.is_binary or not world.is_gaussian:
        return None
    own = ReferenceLosses.of(problem, policy.used_sets())
    cases = 3 ** (own.reading.shape[1] + 1)
    if cases > _MOST_CASES or cases * len(own.sets) * (problem.size + 1) ** 2 > MOST_NUMBERS:
        return None
    points = [_points_for(problem, shown) for shown in own.sets]
    if None in points:
        return None
    maps = {
        shown: case_maps(person, world, shown, float(own.price[row]), None, points[row] or 0, 0)
        for row, shown in enumerate(own.sets)
    }
    small = (problem.size + 1) ** 4 * len(maps) <= MOST_NUMBERS
    turns = {shown: _moment_map(one) for shown, one in maps.items()} if small else {}
    g = np.append(problem.world.coefficients - person.initial, 1.0)
    moments, total, weight = np.outer(g, g), 0.0, 1.0
    losses: list[float] = []
    schedule = policy.schedule(rounds_that_count(problem))
    for t in range(MOST_ROUNDS):
        if t == len(schedule):
            # Squared errors may grow, if more slowly than the discount shrinks what they cost.
            left = weight * losses[-1] / (1.0 - problem.discount) if problem.horizon is None else 0
            if left <= _EPSILON * total or not math.isfinite(total):
                break
            schedule = policy.schedule(2 * len(schedule))
        shown = schedule[t]
        losses.append(float(np.sum(maps[shown].charge * moments)))
        total, weight = total + weight * losses[-1], weight * problem.discount
        if person.decay:
            row = own.sets.index(shown)
            older = replace(person, rounds=person.rounds + t)
            now = case_maps(older, world, shown, 0.0, None, points[row] or 0, 0)
            moments = now.forth(moments)
        elif not small:
            moments = maps[shown].forth(moments)
        else:
            moments = (turns[shown] @ moments.ravel()).reshape(moments.shape)
    return np.array(losses)


def _points_for(problem: Problem, shown: TestSet) -> int | None:
    """Points per dimension that average the person's maps of a case; None if too many."""
    for few, more in _POINTS:
        if 5 * more ** len(shown) > _MOST_CASES:
            return None
        one, other = (
            case_maps(problem.learner, problem.world, shown, 0.0, None, points, 0)
            for points in (few, more)
        )
        if same_moments(one, other):
            return few
    return None


def _moment_map(one: CaseMaps) -> FloatArray:
    """E[Φ ⊗ Φ] (N², N²), which maps second moments before a round to those after it."""
    size = one.charge.shape[0] ** 2
    weighed = one.weights[:, None, None] * one.maps
    both = np.tensordot(weighed, one.maps, axes=([0], [0]))  # i, k, j, l
    return np.asarray(both.transpose(0, 2, 1, 3).reshape(size, size))


def _expected(problem: Problem, policy: Policy) -> tuple[Expected, dict[TestSet, int]]:
    """The person's expectation, and the positions of the sets that the policy shows."""
    used, budget = list(policy.used_sets()), problem.budget
    if not any(used):  # a budget needs a set that is not empty
        used.append(next(shown for shown in budget.subsets(problem.size) if shown))
    sets = budget.listing(used).sets(problem.size)
    expected = problem.learner.expectation(problem.world, sets, problem.start, problem.risk)
    return expected, {shown: position for position, shown in enumerate(sets)}


def _expected_cost(problem: Problem, policy: Policy) -> float:
    """Cost of the policy by the person's own approximation."""
    expected, where = _expected(problem, policy)
    settles = None if problem.horizon is not None else policy.settles()
    if settles is not None:
        first, repeated = ([where[shown] for shown in part] for part in settles)
        return float(expected.total(first, problem.discount, tuple(repeated)))
    schedule = policy.schedule(rounds_that_count(problem))
    losses = expected.losses([where[shown] for shown in schedule])
    return added_up(problem, losses)
