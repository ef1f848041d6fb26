"""What a tracker is made of, checked: counts, spreads, states and a round that is still open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidFile
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.exposed import Exposed
from preceptor.people.person import Person
from preceptor.tutoring.cases import tests_shown
from preceptor.tutoring.states import state_from_plain, state_to_plain


class OpenRound(NamedTuple):
    """A case that was answered and whose truth has not been told yet, in the world's units."""

    shown: TestSet
    values: tuple[float, ...]


def number_faults(**given: float | None) -> list[str]:
    """Which of these are neither finite numbers nor left out."""
    return [
        f"{name}: {number!r}, must be a finite number, or None"
        for name, number in given.items()
        if number is not None and not is_number(number)
    ]


def state_of(learner: Person, world: World, counts: IntArray, given: Any, faults: list[str]) -> Any:
    """The state that was given, or that of somebody who has had so many showings."""
    if given is not None:
        return state_from_plain(learner, world, state_to_plain(given))
    if learner.start_faults(counts.tolist()):
        faults.append(
            f"counts: {counts.tolist()}, but {type(learner).__name__} does not go by showings; "
            "give their `state` as well"
        )
        return learner.fresh(world, (), None)
    return learner.fresh(world, (), counts.tolist())


def left_of_a_belief(learner: Person, world: World, counts: IntArray) -> FloatArray:
    """What so many showings leave of a difference (n,) in first beliefs."""
    if not counts.any():
        return np.ones(world.size)
    start = counts.tolist()
    if isinstance(learner, Exposed):
        now, later = (learner.retention(learner.fresh(world, (), each)) for each in (None, start))
        return np.divide(later, now, out=np.zeros_like(later), where=now > 0.0)
    higher = replace(learner, initial=learner.initial + 1.0)  # type: ignore[call-arg]
    weights = [each.weights_of(world, each.fresh(world, (), start)) for each in (learner, higher)]
    return weights[1] - weights[0]


def open_round_of(world: World, given: OpenRound | Mapping[str, Any] | None) -> OpenRound | None:
    """The case that waits for its truth, from plain data too."""
    if given is None or isinstance(given, OpenRound):
        return given
    if not isinstance(given, Mapping) or set(given) != {"shown", "values"}:
        raise InvalidFile(f"open_round: {given!r}, must be a table with 'shown' and 'values'")
    seen = tests_shown(world, given["shown"])
    values = tuple(float(value) for value in given["values"])
    if len(values) != len(seen):
        raise InvalidFile(f"open_round: {len(values)} values for {len(seen)} tests shown")
    return OpenRound(seen, values)


def counts_of(given: npt.ArrayLike | None, size: int, faults: list[str]) -> IntArray:
    """Showings of each test (n,), none if nothing was given."""
    if given is None:
        return np.zeros(size, dtype=np.int64)
    counts = np.asarray(given)
    whole = counts.shape == (size,) and np.issubdtype(counts.dtype, np.integer)
    if not whole or counts.min() < 0:
        faults.append(f"counts: {counts.tolist()}, must be one whole number for each test")
        return np.zeros(size, dtype=np.int64)
    return counts.astype(np.int64)


def array_of(
    name: str, given: npt.ArrayLike, shape: tuple[int, ...], faults: list[str]
) -> FloatArray:
    """Finite numbers of that shape."""
    array = np.asarray(given, dtype=np.float64)
    if array.shape != shape or not np.all(np.isfinite(array)):
        faults.append(f"{name}: shape {array.shape}, must be finite numbers of shape {shape}")
        return np.zeros(shape)
    return array


def spread_of(world: World, given: npt.ArrayLike | None, faults: list[str]) -> FloatArray:
    """Standard deviations (n,) of first weights."""
    if given is None:
        typical = float(np.sqrt(np.mean(world.coefficients**2)))
        return np.full(world.size, typical if typical > 0.0 else 1.0)
    spread = np.asarray(given, dtype=np.float64)
    if spread.shape not in ((), (world.size,)) or not np.all(spread >= 0.0):
        faults.append(f"spread: {given!r}, must be one number of at least 0, or one for each test")
        return np.zeros(world.size)
    return np.broadcast_to(spread, (world.size,)).astype(np.float64)
