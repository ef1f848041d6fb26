"""Units: what the standardised numbers of a world mean outside of it.

A world that was estimated from a table speaks in standard deviations of each test, and in
deviations of the outcome from its average. People read centimetres and milligrams: `Units`
translates both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.fields import Limits, Vector
from preceptor._base.values import FloatArray, Value, frozen_array
from preceptor.errors import InvalidProblem


@dataclass(frozen=True, eq=False)
class Units(Value):
    """Average and standard deviation of each test (n,), and the average of the outcome.

    `levels` has for each test that is a category its levels, and the column that is 1 then;
    `outcome_levels` are the words for no and yes of an outcome that has two.

    >>> units = Units([80.0], [8.0], outcome="body fat, %", outcome_mean=19.0)
    >>> units.standardise([[96.0]]), units.restore([[2.0]])
    (array([[2.]]), array([[96.]]))
    """

    means: Annotated[Vector, "Average of each test."]
    scales: Annotated[Vector, Limits(above=0), "Standard deviation of each test."]
    outcome: Annotated[str, "Name of the outcome."] = "outcome"
    outcome_mean: Annotated[float, "Average of the outcome."] = 0.0
    levels: Annotated[
        dict[str, dict[str, str]] | None,
        "Tests that are categories: each level as people write it, and the column that is 1 then, "
        "empty for the level where none is.",
    ] = None
    outcome_levels: Annotated[
        tuple[str, str] | None,
        "How no and yes are written, where the outcome is one of two texts.",
    ] = None

    def __init__(
        self,
        means: npt.ArrayLike,
        scales: npt.ArrayLike,
        outcome: str = "outcome",
        outcome_mean: float = 0.0,
        levels: Mapping[str, Mapping[str, str]] | None = None,
        outcome_levels: Sequence[str] | None = None,
    ) -> None:
        faults: list[str] = []
        arrays = [np.asarray(values, dtype=np.float64) for values in (means, scales)]
        for name, array in zip(("means", "scales"), arrays, strict=True):
            if array.ndim != 1 or not np.all(np.isfinite(array)):
                faults.append(f"units: {name} must be a list of finite numbers, one for each test")
        if not faults and arrays[0].shape != arrays[1].shape:
            faults.append(
                f"units: {arrays[0].size} means but {arrays[1].size} scales; lengths must agree"
            )
        if not faults and np.any(arrays[1] <= 0):
            first = int(np.argmin(arrays[1]))
            faults.append(f"units: scale of test {first} is {arrays[1][first]}, must be positive")
        if not is_number(outcome_mean):
            faults.append(f"units: outcome_mean is {outcome_mean!r}, must be a finite number")
        known = _levels(levels, faults)
        both = _both(outcome_levels, faults)
        InvalidProblem.raise_if(faults)
        set_field = object.__setattr__
        set_field(self, "means", frozen_array(arrays[0]))
        set_field(self, "scales", frozen_array(arrays[1]))
        set_field(self, "outcome", str(outcome))
        set_field(self, "outcome_mean", float(outcome_mean))
        set_field(self, "levels", known)
        set_field(self, "outcome_levels", both)

    def standardise(self, values: npt.ArrayLike) -> FloatArray:
        """Test results (..., n) as people read them, in the world's units; NaN stays NaN."""
        return (np.asarray(values, dtype=np.float64) - self.means) / self.scales

    def restore(self, values: npt.ArrayLike) -> FloatArray:
        """Test results (..., n) of the world as people read them; NaN stays NaN."""
        return np.asarray(values, dtype=np.float64) * self.scales + self.means

    def centre(self, outcomes: npt.ArrayLike) -> FloatArray:
        """Outcomes or predictions as deviations from the average outcome."""
        return np.asarray(outcomes, dtype=np.float64) - self.outcome_mean

    def uncentre(self, outcomes: npt.ArrayLike) -> FloatArray:
        """Deviations from the average outcome, as people read outcomes."""
        return np.asarray(outcomes, dtype=np.float64) + self.outcome_mean

    def level_faults(self, columns_of: Mapping[str, Sequence[str]]) -> list[str]:
        """What is wrong with the levels, given the names of each test's columns."""
        faults = []
        for test, levels in (self.levels or {}).items():
            if test not in columns_of:
                known = ", ".join(columns_of)
                faults.append(f"units: levels of {test!r}, which is no test; there are {known}")
                continue
            wrong = sorted({name for name in levels.values() if name} - {*columns_of[test]})
            faults += [
                f"units: levels of {test!r} name the column {name!r}; it has "
                f"{', '.join(map(repr, columns_of[test]))}"
                for name in wrong
            ]
        return faults


def _levels(given: Any, faults: list[str]) -> dict[str, dict[str, str]] | None:
    """A copy of the levels; what is no table of texts is a fault."""
    if given is None:
        return None
    tables = given.values() if isinstance(given, Mapping) else [given]
    if not isinstance(given, Mapping) or not all(
        isinstance(table, Mapping)
        and all(isinstance(text, str) for pair in table.items() for text in pair)
        for table in tables
    ):
        faults.append(
            f"units: levels are {given!r}, must be a table for each test, of levels and columns"
        )
        return None
    return {str(test): dict(table) for test, table in given.items()} or None


def _both(given: Any, faults: list[str]) -> tuple[str, str] | None:
    """The words for no and yes; what is not two different texts is a fault."""
    if given is None:
        return None
    words = [] if isinstance(given, str) else list(given)
    if len(words) != 2 or words[0] == words[1] or not all(isinstance(w, str) for w in words):
        faults.append(f"units: outcome_levels are {given!r}, must be two texts, no and yes")
        return None
    return words[0], words[1]
