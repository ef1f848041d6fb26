"""What rounds cost in the long run, and when two sets tie there.

Under a fixed policy let R be the tests shown infinitely often. Their errors tend to the limit of
their curves, the others stay where their last showing left them. So the loss of a set tends to
its loss at these limiting errors: the *tail loss*. If the tail losses of the subsets of R have
one smallest member, every optimal policy ends by showing it for ever (the eventually-stationary
theorem); if they tie, it may change sets for ever. Ties have probability zero when coefficients
are drawn from a density, but symmetric examples have them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from preceptor._value import FloatArray, IntArray
from preceptor.evaluation import counts_after, running_counts

if TYPE_CHECKING:
    from preceptor.policies import Policy, TestSet
    from preceptor.problem.problem import Problem

# Two tail losses closer than this share of their size count as equal.
TIE_TOLERANCE = 1e-10

# Sets compared with the commit set when a plan is checked for ties.
_MAX_COMPARED = 50_000


def limiting_errors(problem: Problem, recurrent: Iterable[int], counts: IntArray) -> FloatArray:
    """Errors (n,) in the long run: `recurrent` tests at their limit, others frozen at `counts`."""
    errors = problem.learner.errors(problem.world, counts)
    first = problem.world.coefficients - problem.learner.initial
    for i in recurrent:
        errors[i] = first[i] * np.sqrt(problem.learner.curve_of[i].limit)
    return errors


def tail_losses(
    problem: Problem, recurrent: Iterable[int], counts: IntArray
) -> dict[TestSet, float]:
    """Tail loss of every allowed set within `recurrent`, the others frozen at `counts`."""
    members = frozenset(recurrent)
    errors = limiting_errors(problem, members, counts)[None, :]
    return {
        shown: float(problem.oracle.loss_of(errors, shown)[0])
        for shown in problem.sets
        if members.issuperset(shown)
    }


def tail_minimisers(losses: dict[TestSet, float]) -> list[TestSet]:
    """All sets whose tail loss is the smallest, up to rounding."""
    least = min(losses.values())
    slack = TIE_TOLERANCE * max(abs(least), 1e-300)
    return [shown for shown, loss in losses.items() if loss - least <= slack]


def tied_sets(problem: Problem, policy: Policy) -> list[TestSet]:
    """Sets that would cost exactly as much as the commit set once their own tests are learned.

    For each allowed set the tests of both sets are taken as recurrent, the rest frozen where the
    policy leaves them. An empty list means that nothing ties.
    """
    commit, length = policy.commit, policy.exploration_length
    if commit is None or length is None or len(problem.sets) > _MAX_COMPARED:
        return []
    counts = counts_after(problem, policy.schedule(length))
    frozen = problem.learner.errors(problem.world, counts)
    limits = limiting_errors(problem, range(problem.size), counts)
    membership = problem.sets.membership()
    both = membership.copy()
    both[:, list(commit)] = True
    errors = np.where(both, limits, frozen)
    ties = []
    of_commit = problem.oracle.loss_of(errors, commit)
    for position, shown in enumerate(problem.sets):
        if shown == commit:
            continue
        other = float(problem.oracle.loss_of(errors[position][None, :], shown)[0])
        if abs(other - of_commit[position]) <= TIE_TOLERANCE * max(abs(other), 1e-300):
            ties.append(shown)
    return ties


def recurrent_tests(policy: Policy) -> frozenset[int]:
    """Tests that a policy shows infinitely often."""
    if policy.commit is not None:
        return frozenset(policy.commit)
    return frozenset(i for shown in policy.used_sets() for i in shown)


def frozen_counts(problem: Problem, policy: Policy, rounds: int) -> IntArray:
    """Counts (n,) after `rounds` rounds; for tests that are not recurrent these stay."""
    return running_counts(problem, policy.schedule(rounds))[-1]
