"""One round of the record: what was shown, answered and true, and when the truth was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.values import FloatArray, Value
from preceptor.errors import InvalidInput
from preceptor.model.sets import TestSet
from preceptor.model.world import World


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
        tests = found_tests(world, shown)
        try:
            results = np.atleast_1d(np.asarray(values, dtype=np.float64))
        except (TypeError, ValueError):
            raise InvalidInput(f"values: {values!r}, must be numbers") from None
        if results.shape != (len(tests),) or not np.all(np.isfinite(results)):
            raise InvalidInput(
                f"values: {results.tolist()}, must be one finite number for each of the "
                f"{len(tests)} tests that were shown"
            )
        if answer is not None and not is_number(answer):
            raise InvalidInput(f"answer: {answer!r}, must be a finite number, or None")
        order = np.argsort(tests, kind="stable").tolist()
        return cls(
            tuple(tests[i] for i in order),
            tuple(float(results[i]) for i in order),
            None if answer is None else float(answer),
        )

    def results(self, world: World) -> FloatArray:
        """Results (shown,) in the world's units."""
        given = np.array(self.values)
        if world.units is None or not self.shown:
            return given
        whole = np.zeros(world.size)
        whole[list(self.shown)] = given
        return world.units.standardise(whole)[list(self.shown)]

    def answer_in(self, world: World) -> float:
        """The answer in the world's units."""
        assert self.answer is not None
        return self.answer if world.units is None else float(world.units.centre(self.answer))

    def outcome_in(self, world: World) -> float:
        """The outcome in the world's units."""
        assert self.outcome is not None
        return self.outcome if world.units is None else float(world.units.centre(self.outcome))


def found_tests(world: World, shown: Sequence[int | str]) -> list[int]:
    """Indices of tests that are given by name or index."""
    if isinstance(shown, str):
        raise InvalidInput(f"shown: {shown!r}, must be a list of tests, e.g. [{shown!r}]")
    labels = world.labels
    found, unknown = [], []
    for test in shown:
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
    return found
