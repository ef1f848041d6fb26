"""What a policy costs, added up round by round from dense textbook algebra."""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import TestSet
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.verification.slow_yes_no import slow_yes_no_loss

_MOST_ROUNDS = 200_000


def slow_value(problem: Problem, policy: Policy) -> float:
    """Discounted loss of a policy's schedule, one dense round after the other.

    An infinite horizon is followed until what is left weighs less than rounding; from there on
    the last round's loss stands for all of them.
    """
    rounds = problem.horizon or _rounds_that_count(problem.discount)
    counts = np.array(problem.start_counts, dtype=np.int64)
    curves = problem.by_showings.curve_of
    first = problem.world.coefficients - problem.learner.initial
    total, weight, loss = 0.0, 1.0, 0.0
    known: dict[tuple[bytes, TestSet], float] = {}
    for shown in policy.schedule(rounds):
        left = [float(c.sign(m)) * c.phi(m) ** 0.5 for c, m in zip(curves, counts, strict=True)]
        beliefs = problem.world.coefficients - first * np.array(left)
        # Late rounds, in which nothing is left to learn, are all alike.
        key = beliefs.tobytes(), shown
        if key not in known:
            known[key] = slow_loss(problem, beliefs, shown)
        loss = known[key]
        total += weight * loss
        weight *= problem.discount
        counts[list(shown)] += 1
    if problem.horizon is None:
        total += weight / (1.0 - problem.discount) * loss
    return total


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


def _rounds_that_count(discount: float) -> int:
    if discount == 0.0:
        return 1
    return min(math.ceil(math.log(1e-15 * (1.0 - discount)) / math.log(discount)), _MOST_ROUNDS)
