"""The exact value of a policy: expected discounted loss, over finitely many rounds or forever.

A policy that commits is a finite sum plus the cost of one set shown forever, which has a closed
form for squared error (`tails.py`). Everything else is summed until what is left weighs less
than rounding; the error that this can make is returned beside the value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from preceptor._base.discounting import discounted_sum, negligible_after, weight_after
from preceptor._base.values import FloatArray, IntArray
from preceptor.evaluation.expectations import expected_cost, expected_losses
from preceptor.evaluation.tails import closed_commit_value
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import TestSet
from preceptor.policies import Policy
from preceptor.problem import Problem

# Errors of so many rounds are held at a time.
_CHUNK = 65_536


@dataclass(frozen=True)
class Evaluation:
    """Value of a policy, and how far rounding and the cut tail can have moved it.

    Attributes
    ----------
    value
        Expected discounted loss.
    error
        The true value is no further away than this.
    """

    value: float
    error: float


def evaluate(problem: Problem, policy: Policy) -> float:
    """Expected discounted loss of a policy from the problem's start, exact up to rounding.

    Parameters
    ----------
    problem
        World, person, budget, risk and time.
    policy
        What is shown.

    Returns
    -------
    float
        In units of the risk; comparable with `Plan.value`.

    Raises
    ------
    InvalidPolicy
        The problem does not allow what the policy shows.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> learner = pr.Learner([0.2, 1.3], pr.Geometric(1.10))
    >>> round(pr.evaluate(pr.Problem(world, learner, 1), pr.Stationary((0,))), 2)
    36.26
    """
    return evaluate_with_error(problem, policy).value


def evaluate_with_error(problem: Problem, policy: Policy) -> Evaluation:
    """Like `evaluate`, with a bound on the numerical error.

    Parameters
    ----------
    problem
        World, person, budget, risk and time.
    policy
        What is shown.

    Returns
    -------
    Evaluation
        The value, and how far off it can be.

    Raises
    ------
    InvalidPolicy
        The problem does not allow what the policy shows.

    Examples
    --------
    >>> import preceptor as pr
    >>> problem = pr.Problem(pr.World([1.0], [[1.0]]), pr.Learner([0.0], pr.Geometric(1.1)))
    >>> evaluate_with_error(problem, pr.Stationary((0,))).error < 1e-9
    True
    """
    policy.check(problem)
    horizon = problem.horizon
    if not problem.learns_by_showings:
        value = expected_cost(problem, policy)
        return Evaluation(value, _rounding(value, horizon or negligible_after(problem.discount)))
    if horizon is not None:
        losses = losses_along(problem, policy.schedule(horizon))
        value = discounted_sum(losses, problem.discount)
        return Evaluation(value, _rounding(value, horizon))
    length, commit = policy.exploration_length, policy.commit
    if length is not None and commit is not None:
        prefix = policy.schedule(length)
        head = discounted_sum(losses_along(problem, prefix), problem.discount)
        tail = commit_value(problem, counts_after(problem, prefix), commit)
        weight = problem.discount**length
        value = head + weight * tail.value
        return Evaluation(value, _rounding(value, length) + weight * tail.error)
    rounds = negligible_after(problem.discount)
    losses = losses_along(problem, policy.schedule(rounds))
    left = weight_after(problem.discount, rounds)
    value = discounted_sum(losses, problem.discount) + left * float(losses[-1])
    error = _rounding(value, rounds) + left * worst_loss(problem, policy.used_sets())
    return Evaluation(value, error)


def losses_along(problem: Problem, schedule: list[TestSet]) -> FloatArray:
    """Loss of each round (rounds,) when these sets are shown from the start."""
    if not problem.learns_by_showings:
        return expected_losses(problem, schedule)
    counts = running_counts(problem, schedule)[:-1]
    losses = np.empty(len(schedule))
    for shown, rounds in _rounds_of(schedule).items():
        for start in range(0, len(rounds), _CHUNK):
            part = rounds[start : start + _CHUNK]
            errors = problem.by_showings.errors(problem.world, counts[part])
            losses[part] = problem.oracle.loss_of(errors, shown)
    return losses


def running_counts(problem: Problem, schedule: list[TestSet]) -> IntArray:
    """Counts before each round and after the last, shape (rounds + 1, n)."""
    shown = np.zeros((len(schedule) + 1, problem.size), dtype=np.int64)
    shown[0] = problem.start_counts
    for tests, rounds in _rounds_of(schedule).items():
        shown[np.array(rounds)[:, None] + 1, list(tests)] = 1
    counts: IntArray = np.cumsum(shown, axis=0, out=shown)
    return counts


def _rounds_of(schedule: list[TestSet]) -> dict[TestSet, list[int]]:
    """In which rounds each set is shown."""
    found: dict[TestSet, list[int]] = {}
    for t, shown in enumerate(schedule):
        found.setdefault(shown, []).append(t)
    return found


def counts_after(problem: Problem, schedule: list[TestSet]) -> IntArray:
    """Counts (n,) after the whole schedule."""
    counts = list(problem.start_counts)
    for shown in schedule:
        for i in shown:
            counts[i] += 1
    return np.array(counts, dtype=np.int64)


def commit_value(
    problem: Problem, counts: IntArray, shown: TestSet, rounds: int | None = None
) -> Evaluation:
    """Discounted loss of showing one set from `counts` on, for `rounds` rounds or forever.

    For people by showings.
    """
    closed = closed_commit_value(problem, counts, shown, rounds)
    if closed is not None:
        return Evaluation(closed, _rounding(closed, 1))
    length = rounds if rounds is not None else negligible_after(problem.discount)
    moves = np.zeros(problem.size, dtype=np.int64)
    moves[list(shown)] = 1
    total, last = 0.0, 0.0
    for start in range(0, length, _CHUNK):
        times = np.arange(start, min(start + _CHUNK, length))
        errors = problem.by_showings.errors(problem.world, counts + times[:, None] * moves)
        losses = problem.oracle.loss_of(errors, shown)
        total += problem.discount**start * discounted_sum(losses, problem.discount)
        last = float(losses[-1])
    if rounds is not None:
        return Evaluation(total, _rounding(total, length))
    left = weight_after(problem.discount, length)
    error = _rounding(total, length) + left * worst_loss(problem, [shown])
    return Evaluation(total + left * last, error)


def worst_loss(problem: Problem, sets: Iterable[TestSet]) -> float:
    """A loss that no round showing one of `sets` exceeds, whatever was shown before.

    Errors only shrink, so it is enough to bound the loss while every error is at most its
    initial size, whatever the signs do to each other.
    """
    sizes = np.abs(problem.initial_errors)
    return max(problem.oracle.ceiling_of(sizes, shown) for shown in sets)


def worst_loss_of_all(problem: Problem) -> float:
    """The same for every set that may be shown, all at once where their losses have a form."""
    forms, risk = problem.oracle.forms(), problem.risk
    if forms is None or not isinstance(risk, NumberRisk) or not risk.is_increasing:
        return worst_loss(problem, problem.sets)
    largest = np.abs(forms.shift) + np.abs(forms.reading) @ np.abs(problem.initial_errors)
    variance = forms.floor + np.sum(largest * largest, axis=1)
    return float(np.max(risk.expected(variance) + forms.prices))


def _rounding(value: float, terms: int) -> float:
    return abs(value) * 2.3e-16 * (8 + math.log2(terms + 1) * 4)
