"""What sets cost each person if always shown: a first estimate, from which searches begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.evaluation.expectations import expectations, fixed_costs
from preceptor.people.expected import Expected
from preceptor.problem import Problem

# Rounds after which a fixed set's loss is taken to stay as it is, for a first estimate.
_SETTLED, _SETTLED_MANY = 64, 16
# With more sets than this each is played for a shorter time.
_MANY_SETS = 400
# Rounds that stand for endless ones in an estimate, and sets that are worked out exactly.
_ESTIMATED_ROUNDS, _WORKED_OUT = 400, 20


class FixedSets(NamedTuple):
    """About what each set costs each person if always shown, and its loss then after a while.

    Both have the shape (sets, people); only their order should be trusted.
    """

    costs: FloatArray
    late: FloatArray


def fixed_sets(
    people: Sequence[Expected],
    sets: int,
    rounds: int,
    discount: float,
    infinite: bool,
    ids: IntArray | None = None,
) -> FixedSets:
    """Play each set alone for some rounds, and take the last loss to stay.

    Parameters
    ----------
    people
        Whose losses.
    sets
        How many sets there are.
    rounds
        How many rounds there are.
    discount
        What a round weighs against the one before.
    infinite
        Whether it goes on forever.
    ids
        Positions of the sets to play; all if left out. The others are infinitely bad.

    Returns
    -------
    FixedSets
        Estimates.
    """
    costs = np.full((sets, len(people)), np.inf)
    late = np.full((sets, len(people)), np.inf)
    played = range(sets) if ids is None else ids.tolist()
    for i, person in enumerate(people):
        settled = _SETTLED if sets <= _MANY_SETS else _SETTLED_MANY
        known = min(rounds, 8 if getattr(person, "slow", False) else settled)
        weights = discount ** np.arange(known, dtype=np.float64)
        if infinite:
            weights[-1] += discount**known / (1.0 - discount)
        else:
            weights[-1] += np.sum(discount ** np.arange(known, rounds, dtype=np.float64))
        for s in played:
            losses = person.losses(np.full(known, s, dtype=np.int64))
            costs[s, i], late[s, i] = weights @ losses, losses[-1]
    return FixedSets(as_numbers(costs), as_numbers(late))


def best_fixed(
    problem: Problem,
    judge: Callable[[FloatArray], FloatArray],
    estimates: FloatArray | None = None,
) -> int:
    """Position of the best set to show throughout, as `judge` says of costs (sets, people).

    All are estimated, unless that was done before; those that come out best are worked out exactly.
    """
    everybody, horizon = expectations(problem), problem.horizon
    sets, discount = len(problem.sets), problem.discount
    if estimates is None:
        rounds = _ESTIMATED_ROUNDS if horizon is None else horizon
        estimates = fixed_sets(everybody, sets, rounds, discount, infinite=horizon is None).costs
    few = np.argsort(judge(estimates), kind="stable")[:_WORKED_OUT]
    exact = fixed_costs(problem, few.tolist()).T
    return int(few[int(np.argmin(judge(as_numbers(exact))))])


def as_numbers(values: FloatArray) -> FloatArray:
    """What cannot be computed is as bad as can be."""
    return np.where(np.isnan(values), np.inf, values)
