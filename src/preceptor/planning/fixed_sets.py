"""What sets cost each person if always shown: a first estimate, from which searches begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Expected

# Rounds after which a fixed set's loss is taken to stay as it is, for a first estimate.
_SETTLED = 64


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
        known = min(rounds, 8 if getattr(person, "slow", False) else _SETTLED)
        weights = discount ** np.arange(known, dtype=np.float64)
        if infinite:
            weights[-1] += discount**known / (1.0 - discount)
        else:
            weights[-1] += np.sum(discount ** np.arange(known, rounds, dtype=np.float64))
        for s in played:
            losses = person.losses(np.full(known, s, dtype=np.int64))
            costs[s, i], late[s, i] = weights @ losses, losses[-1]
    return FixedSets(_numbers(costs), _numbers(late))


def _numbers(values: FloatArray) -> FloatArray:
    """What cannot be computed is as bad as can be."""
    return np.where(np.isnan(values), np.inf, values)
