"""One round of the record: what was shown, answered and true, and when the truth was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray, Value
from preceptor.errors import InvalidInput
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.tutoring.cases import outcome_read, results_read, tests_shown, yes_no_fault

# Numbers further off than so many standard deviations are slips of the keyboard, or in other units.
_FARTHEST = 1e6


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
