"""One round of a tutor's record: what was shown, answered and true, and when the truth was told.

Tests are given by name or index; results, answers and outcomes in the units that people read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.values import FloatArray, Value
from preceptor.errors import InvalidInput
from preceptor.learners.filter_bank import FilterBank
from preceptor.model.sets import TestSet
from preceptor.model.world import World

# Numbers more standard deviations away than this are typing errors, or in other units.
_FARTHEST = 1e6


def tests_shown(world: World, shown: Sequence[int | str]) -> TestSet:
    """Return tests by index, in the order given.

    Parameters
    ----------
    world
        The world of the tests.
    shown
        Names or indices.

    Returns
    -------
    tuple of int
        One index for each.

    Raises
    ------
    InvalidInput
        An unknown test, or the same test twice.
    """
    labels = world.labels
    found, unknown = [], []
    for test in [shown] if isinstance(shown, str) else shown:
        if isinstance(test, str) and test in labels:
            found.append(labels.index(test))
        elif is_count(test, least=0) and int(test) < world.size:
            found.append(int(test))
        else:
            unknown.append(repr(test))
    if unknown:
        raise InvalidInput(
            f"shown: {', '.join(unknown)} not known; tests are {', '.join(labels)}, "
            f"or indices 0 to {world.size - 1}"
        )
    if len(set(found)) != len(found):
        raise InvalidInput(f"shown: {list(shown)}, a test can be shown once in a round")
    return tuple(found)


def results_in_world_units(world: World, shown: TestSet, values: npt.ArrayLike) -> FloatArray:
    """Convert results of the shown tests (shown,), in the same order, to the world's units.

    Raises
    ------
    InvalidInput
        Not one finite number for each test.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (len(shown),) or not np.all(np.isfinite(given)):
        raise InvalidInput(
            f"values: {given.tolist()}, must be one finite number for each test shown"
        )
    if world.units is None or not shown:
        return given
    rows = list(shown)
    read: FloatArray = (given - world.units.means[rows]) / world.units.scales[rows]
    return read


def results_in_reading_units(world: World, shown: TestSet, values: FloatArray) -> FloatArray:
    """Convert results (shown,) from the world's units to those that people read."""
    if world.units is None:
        return values
    rows = list(shown)
    read: FloatArray = values * world.units.scales[rows] + world.units.means[rows]
    return read


def outcome_in_reading_units(world: World, outcome: float) -> float:
    """Convert an answer or an outcome from the world's units to those that people read."""
    return float(outcome if world.units is None else world.units.uncentre(outcome))


def outcome_in_world_units(world: World, outcome: float) -> float:
    """Convert an answer or an outcome to the world's units, with mean 0 in the population."""
    return float(outcome if world.units is None else world.units.centre(outcome))


def check_plausible(world: World, name: str, number: float) -> None:
    """Reject answers and outcomes that cannot be meant: filters would follow them."""
    if world.is_binary:
        decided = name == "outcome"
        if not (number in (0.0, 1.0) if decided else 0.0 <= number <= 1.0):
            wanted = "1 (yes) or 0 (no)" if decided else "a probability from 0 to 1"
            raise InvalidInput(f"{name}: {number:g}, must be {wanted}")
        return
    unit = float(np.sqrt(world.outcome_variance)) or 1.0
    if abs(outcome_in_world_units(world, number)) > _FARTHEST * unit:
        raise InvalidInput(
            f"{name}: {number:g}, is more than {_FARTHEST:,.0f} standard deviations of the outcome "
            "from its average; check units"
        )


@dataclass(frozen=True, eq=False)
class TutorRound(Value):
    """A round, in the units that the person reads.

    Parameters
    ----------
    shown
        Tests by index, in ascending order.
    values
        Their results, in the same order.
    answer
        The person's answer; None if there was none.
    outcome
        What was true; None if the person has not been told.
    heard
        The number of rounds played when the person was told.
    case
        Position of the case in the pool it was chosen from, if it was.
    """

    shown: TestSet
    values: tuple[float, ...]
    answer: float | None = None
    outcome: float | None = None
    heard: int | None = None
    case: int | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        fields = dict(data)
        for name in ("shown", "values"):
            if isinstance(fields.get(name), list):
                fields[name] = tuple(fields[name])
        return super().from_dict(fields)

    @classmethod
    def checked(
        cls,
        world: World,
        shown: Sequence[int | str],
        values: npt.ArrayLike,
        answer: float | None,
    ) -> TutorRound:
        """Make a round without an outcome from user input.

        Parameters
        ----------
        world
            The world of the tests.
        shown
            Tests by name or index.
        values
            Their results, in the same order.
        answer
            The person's answer, if any.

        Returns
        -------
        TutorRound
            With tests in ascending order.

        Raises
        ------
        InvalidInput
            An unknown test, the same test twice, or a number that is not finite.
        """
        tests = tests_shown(world, shown)
        given = results_in_world_units(world, tests, values)
        if answer is not None:
            if not is_number(answer):
                raise InvalidInput(f"answer: {answer!r}, must be a finite number, or None")
            check_plausible(world, "answer", answer)
        far = np.abs(given) > _FARTHEST * np.sqrt(np.diag(world.covariance))[list(tests)]
        if np.any(far):
            worst = int(np.argmax(far))
            raise InvalidInput(
                f"values: {world.labels[tests[worst]]} {np.asarray(values).ravel()[worst]:g} is "
                f"more than {_FARTHEST:,.0f} standard deviations from the average; check units"
            )
        results = np.asarray(values, dtype=np.float64)
        order = np.argsort(tests, kind="stable").tolist()
        return cls(
            tuple(tests[i] for i in order),
            tuple(float(results[i]) for i in order),
            None if answer is None else float(answer),
        )

    def results(self, world: World) -> FloatArray:
        """Results (shown,) in the world's units."""
        return results_in_world_units(world, self.shown, self.values)


def round_faults(entry: TutorRound, index: int, rounds: int, size: int) -> Iterator[str]:
    """Yield what is impossible about a round, given its index (from 0) and the number of rounds."""
    shown, values = entry.shown, entry.values
    if (
        not isinstance(shown, (list, tuple))
        or not all(is_count(test, least=0) and test < size for test in shown)
        or any(later <= test for test, later in pairwise(shown))
    ):
        yield f"shown {shown!r}, must be tests in ascending order, each from 0 to {size - 1}"
    elif not isinstance(values, (list, tuple)) or len(values) != len(shown):
        yield f"values {values!r}, must be as many numbers as tests were shown ({len(shown)})"
    if isinstance(values, (list, tuple)) and not all(map(is_number, values)):
        yield f"values {values!r}, must be finite numbers"
    for name in ("answer", "outcome"):
        given = getattr(entry, name)
        if given is not None and not is_number(given):
            yield f"{name} {given!r}, must be a finite number, or nothing"
    if entry.outcome is None:
        if entry.heard is not None:
            yield f"heard {entry.heard!r}, but there is no outcome; give both or neither"
    elif not is_count(entry.heard, least=index + 1) or int(entry.heard or 0) > rounds:
        yield f"heard {entry.heard!r}, must be a whole number from {index + 1} to {rounds}"


def round_by_round(bank: FilterBank, record: Sequence[TutorRound]) -> Iterator[FilterBank]:
    """Yield the filters after each round, with outcomes when the person was told."""
    heard: dict[int, list[TutorRound]] = {}
    for entry in record:
        if entry.heard is not None:
            heard.setdefault(entry.heard, []).append(entry)
    for played, entry in enumerate(record, start=1):
        bank = after_answer(bank, entry)
        for known in heard.get(played, ()):
            bank = after_outcome(bank, known)
        yield bank


def after_answer(bank: FilterBank, entry: TutorRound) -> FilterBank:
    """Return the filters after the answer of a round, if there was one."""
    if entry.answer is None:
        return bank
    answer = outcome_in_world_units(bank.world, entry.answer)
    return bank.answered(entry.shown, entry.results(bank.world), answer)


def after_outcome(bank: FilterBank, entry: TutorRound) -> FilterBank:
    """Return the filters after the outcome of a round was told."""
    world = bank.world
    assert entry.outcome is not None, "only rounds whose outcome was told get here"
    answer = None if entry.answer is None else outcome_in_world_units(world, entry.answer)
    outcome = outcome_in_world_units(world, entry.outcome)
    return bank.told(entry.shown, entry.results(world), outcome, answer)
