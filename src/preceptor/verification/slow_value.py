"""What a policy costs, added up round by round from the checkers' own losses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import TestSet
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.verification.own_losses import AT_A_TIME, OwnLosses
from preceptor.verification.slow_yes_no import slow_yes_no_loss

MOST_ROUNDS = 2_000_000


def slow_value(problem: Problem, policy: Policy) -> float:
    """Discounted loss of a policy's schedule, one round after the other.

    An infinite horizon is followed until what is left weighs less than rounding; from there on
    the last round's loss stands for all of them.
    """
    schedule = policy.schedule(rounds_that_count(problem))
    return added_up(problem, losses_along(problem, schedule, _errors_by_showings(problem)))


def rounds_that_count(problem: Problem) -> int:
    """All rounds; without an end, so many that what is left weighs less than rounding."""
    if problem.horizon is not None:
        return problem.horizon
    if problem.discount == 0.0:
        return 1
    negligible = math.log(1e-15 * (1.0 - problem.discount))
    return min(math.ceil(negligible / math.log(problem.discount)), MOST_ROUNDS)


def added_up(problem: Problem, losses: FloatArray) -> float:
    """Discounted sum of the losses of all rounds; without an end, the last stands for the rest."""
    weights = problem.discount ** np.arange(losses.size, dtype=np.float64)
    total = math.fsum((losses * weights).tolist())
    if problem.horizon is None:
        total += problem.discount**losses.size / (1.0 - problem.discount) * float(losses[-1])
    return total


ErrorsOf = Callable[[OwnLosses, IntArray, int], FloatArray]


def losses_along(problem: Problem, schedule: list[TestSet], errors_of: ErrorsOf) -> FloatArray:
    """Loss of each round (rounds,) of somebody whose errors are known in every round.

    `errors_of` is asked for the errors before some rounds, in order: given which sets these rounds
    show, and the number of the first.
    """
    sets = list(dict.fromkeys(schedule))
    place = {shown: row for row, shown in enumerate(sets)}
    which = np.array([place[shown] for shown in schedule], dtype=np.int64)
    own = OwnLosses.of(problem, sets)
    losses = np.empty(which.size)
    known: dict[tuple[bytes, int], float] = {}
    batch = AT_A_TIME // problem.size
    for first in range(0, which.size, batch):
        part = which[first : first + batch]
        errors = errors_of(own, part, first)
        for row in np.unique(part):
            at = np.flatnonzero(part == row)
            if problem.is_binary:
                found = [_brute_force(problem, sets[row], int(row), e, known) for e in errors[at]]
                losses[first + at] = found
            else:
                losses[first + at] = own.losses(int(row), errors[at])
    return losses


def _errors_by_showings(problem: Problem) -> ErrorsOf:
    """Errors from how often each test was shown before a round."""
    counts = np.zeros(problem.size, dtype=np.int64)

    def errors_of(own: OwnLosses, which: IntArray, first: int) -> FloatArray:
        nonlocal counts
        shown = own.member_of[which].astype(np.int64)
        before = counts + np.cumsum(shown, axis=0) - shown
        counts = before[-1] + shown[-1]
        table = own.errors_after(range(first + which.size + 1))
        return np.asarray(table[np.arange(problem.size), before])

    return errors_of


def _brute_force(
    problem: Problem,
    shown: TestSet,
    row: int,
    errors: FloatArray,
    known: dict[tuple[bytes, int], float],
) -> float:
    """Yes or no: integrated anew. Late rounds, in which nothing is left to learn, are all alike."""
    key = errors.tobytes(), row
    if key not in known:
        known[key] = slow_loss(problem, problem.world.coefficients - errors, shown)
    return known[key]


def slow_loss(problem: Problem, beliefs: FloatArray, shown: TestSet) -> float:
    """One round from first principles: weights on the shown tests, then three moments.

    Losses that are averages over a sample have no other definition than that sample, so those
    are asked from the problem's own oracle.
    """
    if problem.loss.kind != "closed-form":
        errors = (problem.world.coefficients - beliefs)[None, :]
        return float(problem.oracle.loss_of(errors, shown)[0])
    prices = problem.budget.prices(problem.size)[list(shown)].sum()
    if problem.is_binary:
        return slow_yes_no_loss(problem, beliefs, shown) + float(prices)
    assert isinstance(problem.risk, NumberRisk)
    sigma, a = problem.world.covariance, problem.world.coefficients
    imputes = problem.learner.imputing_covariance(problem.world)
    s = list(shown)
    weights = np.linalg.solve(imputes[np.ix_(s, s)], imputes[s] @ beliefs) if s else np.zeros(0)
    variance = (
        problem.world.noise_variance
        + a @ sigma @ a
        - 2.0 * weights @ (sigma @ a)[s]
        + weights @ sigma[np.ix_(s, s)] @ weights
    )
    return float(problem.risk.expected(max(float(variance), 0.0))) + float(prices)
