"""A plan round by round: what is shown, what that costs, and where the person stands by then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.discounting import rounds_until
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import expectations_along, people_of, weights_of
from preceptor.evaluation.value import losses_along, running_counts
from preceptor.model.sets import TestSet
from preceptor.people.expected import Expected, TellsErrors
from preceptor.policies import Policy, as_sets, check_sets
from preceptor.problem import Problem

# Without an end, rounds are told until all that come after weigh this share of the whole.
_UNTOLD = 0.01
_MOST_ROUNDS = 10_000


def losses(
    problem: Problem, shown: Policy | Sequence[Sequence[int]], rounds: int | None = None
) -> FloatArray:
    """Expected loss of each round, not discounted.

    Parameters
    ----------
    problem
        World, person, budget, risk and time.
    shown
        A policy, or the sets of the first rounds in order.
    rounds
        How many rounds. If left out: all of them; for a policy without an end, until what comes
        after weighs one per cent of the whole.

    Returns
    -------
    array of shape (rounds,)
        In units of the risk, averaged over the people of a crowd. Over all rounds the discounted
        sum is what `evaluate` gives.

    Raises
    ------
    InvalidInput
        A number of rounds that makes no sense.
    InvalidPolicy
        The problem does not allow what is shown.

    Examples
    --------
    >>> import preceptor as pr
    >>> problem = pr.Problem(pr.World([1.0], [[1.0]], 0.5), pr.Learner([0.0], pr.Geometric(2.0)), 1)
    >>> pr.losses(problem, [(0,), (0,), ()]).tolist()
    [1.5, 0.75, 1.5]
    """
    return losses_along(problem, schedule_of(problem, shown, rounds))


def schedule_of(
    problem: Problem, shown: Policy | Sequence[Sequence[int]], rounds: int | None
) -> list[TestSet]:
    """The sets of the first rounds, checked against the problem."""
    if rounds is not None and not is_count(rounds, least=1):
        raise InvalidInput(f"rounds: {rounds!r}, must be a whole number of at least 1")
    longest = problem.horizon
    if not isinstance(shown, Policy):
        sets = as_sets(shown)
        longest = len(sets) if longest is None else min(len(sets), longest)
    if rounds is not None and longest is not None and rounds > longest:
        raise InvalidInput(f"rounds: {rounds}, there are only {longest} to tell of")
    if isinstance(shown, Policy):
        shown.check(problem)
        return shown.schedule(_rounds_told(problem) if rounds is None else rounds)
    check_sets(sets, problem)
    return sets[: longest if rounds is None else rounds]


def _rounds_told(problem: Problem) -> int:
    if problem.horizon is not None:
        return problem.horizon
    if problem.discount == 0.0:
        return 1
    return min(max(rounds_until(problem.discount, _UNTOLD), 1), _MOST_ROUNDS)


def course(problem: Problem, policy: Policy, rounds: int | None, by_person: bool) -> dict[str, Any]:
    """Columns of a table with a row a round (and person): see `Plan.to_frame`."""
    schedule = schedule_of(problem, policy, rounds)
    names = list(people_of(problem))
    losses_of, errors = people_along(problem, schedule)
    if not by_person:
        shares = weights_of(problem)
        names, losses_of = [""], [losses_along(problem, schedule)]
        errors = [np.tensordot(shares, np.array(errors), axes=1)]
    world = problem.world
    counts = running_counts(problem, schedule)[:-1]
    blocks, length = len(names), len(schedule)
    columns: dict[str, Any] = {}
    if by_person:
        columns["person"] = np.repeat(np.array(names, dtype=object), length)
    columns["round"] = np.tile(np.arange(length), blocks)
    shown = [" + ".join(world.name_of(tests)) or "nothing" for tests in schedule]
    columns["shown"] = shown * blocks
    columns["loss"] = np.concatenate(losses_of)
    for name, block in zip(world.tests, world.blocks, strict=True):
        columns[f"count:{name}"] = np.tile(counts[:, block[0]], blocks)
    for i, name in enumerate(world.labels):
        columns[f"belief:{name}"] = np.concatenate(
            [world.coefficients[i] - e[:, i] for e in errors]
        )
    return columns


def people_along(
    problem: Problem, schedule: list[TestSet]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """For each person the losses (rounds,) and expected errors (rounds, n) before each round."""
    if problem.learns_by_showings:
        counts = running_counts(problem, schedule)[:-1]
        errors = problem.by_showings.errors(problem.world, counts)
        return [losses_along(problem, schedule)], [errors]
    path, everybody = expectations_along(problem, schedule)
    return [each.losses(path) for each in everybody], [
        _errors_of(each, path, problem.size) for each in everybody
    ]


def _errors_of(person: Expected, path: list[int], size: int) -> FloatArray:
    """Expected errors, NaN for somebody of whom only answers are known."""
    if isinstance(person, TellsErrors):
        return person.expected_errors(path)
    return np.full((len(path), size), np.nan)
