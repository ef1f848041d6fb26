"""One round of the record: what was shown, answered and true, and when the truth was told.

Tests come by name or index, results, answers and outcomes in the units that people read.
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
from preceptor.model.sets import TestSet
from preceptor.model.world import World

# Numbers further off than so many standard deviations are slips of the keyboard, or in other units.
_FARTHEST = 1e6


def tests_shown(world: World, shown: Sequence[int | str]) -> TestSet:
    """Tests by index, in the order given.

    Parameters
    ----------
    world
        Whose tests they are.
    shown
        Names or indices.

    Returns
    -------
    tuple of int
        One index for each.

    Raises
    ------
    InvalidInput
        A test that is not known, or that comes twice.
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


def results_read(world: World, shown: TestSet, values: npt.ArrayLike) -> FloatArray:
    """Results of the shown tests in the world's units.

    Parameters
    ----------
    world
        Whose tests they are.
    shown
        Indices of the shown tests.
    values
        Their results in the same order, in the units that people read.

    Returns
    -------
    array of shape (len(shown),)
        With mean 0 in the population.

    Raises
    ------
    InvalidInput
        Not one finite number for each.
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


def outcome_read(world: World, outcome: float) -> float:
    """An answer or an outcome in the world's units.

    Parameters
    ----------
    world
        Whose outcome it is.
    outcome
        In the units that people read.

    Returns
    -------
    float
        With mean 0 in the population.
    """
    return float(outcome if world.units is None else world.units.centre(outcome))


def yes_no_fault(name: str, given: float | None, *, decided: bool = False) -> list[str]:
    """Whether a number can be an answer, or an outcome or decision, where these are yes or no."""
    if given is None or (given in (0.0, 1.0) if decided else 0.0 <= given <= 1.0):
        return []
    wanted = "1 (yes) or 0 (no)" if decided else "a probability from 0 to 1"
    return [f"{name}: {given:g}, must be {wanted}"]


def check_size(world: World, name: str, number: float) -> None:
    """Refuse answers and outcomes that nobody can have meant: filters would follow them."""
    if world.is_binary:
        InvalidInput.raise_if(yes_no_fault(name, number, decided=name == "outcome"))
        return
    unit = float(np.sqrt(world.outcome_variance)) or 1.0
    if abs(outcome_read(world, number)) > _FARTHEST * unit:
        raise InvalidInput(
            f"{name}: {number:g}, is more than {_FARTHEST:,.0f} standard deviations of the outcome "
            "from its average; check units"
        )


@dataclass(frozen=True, eq=False)
class Round(Value):
    """A round, in the units that the person reads.

    Parameters
    ----------
    shown
        Tests by index, in ascending order.
    values
        Their results, in the same order.
    answer
        What the person said; None if they did not answer.
    outcome
        What was true; None if they have not been told.
    heard
        How many rounds there had been when they were told.
    """

    shown: TestSet
    values: tuple[float, ...]
    answer: float | None = None
    outcome: float | None = None
    heard: int | None = None

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
    ) -> Round:
        """A round that has begun, from what a user gives.

        Parameters
        ----------
        world
            Whose tests they are.
        shown
            Tests by name or index.
        values
            Their results, in the same order.
        answer
            What the person said, if anything.

        Returns
        -------
        Round
            Tests in ascending order.

        Raises
        ------
        InvalidInput
            A test that is not known or is shown twice, or a number that is not finite.
        """
        tests = tests_shown(world, shown)
        given = results_read(world, tests, values)
        if answer is not None and not is_number(answer):
            raise InvalidInput(f"answer: {answer!r}, must be a finite number, or None")
        if answer is not None:
            check_size(world, "answer", answer)
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
        return results_read(world, self.shown, self.values)

    def answer_in(self, world: World) -> float:
        """The answer in the world's units."""
        assert self.answer is not None
        return outcome_read(world, self.answer)

    def outcome_in(self, world: World) -> float:
        """The outcome in the world's units."""
        assert self.outcome is not None
        return outcome_read(world, self.outcome)


def round_faults(entry: Round, index: int, rounds: int, size: int) -> Iterator[str]:
    """What cannot have happened in the round with this index, from 0, of so many."""
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
