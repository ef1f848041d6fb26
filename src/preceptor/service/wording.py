"""Between what callers say and what a world knows: tests, results, answers and truths.

The one place where answers and outcomes are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.words import unknown_names
from preceptor.errors import InvalidInput
from preceptor.logs.levels import Tests, cells_of
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.problem import Problem
from preceptor.tutoring.rounds import Round as Followed
from preceptor.tutoring.rounds import check_size


class Seen(NamedTuple):
    """What somebody saw: columns by name, in the order of the world, and their results."""

    labels: list[str]
    values: list[float]


class Wording:
    """The words of one problem.

    Parameters
    ----------
    problem
        Whose tests and outcome are meant.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.labels = problem.world.labels
        self._tests = Tests.of(problem.world)
        self._categories = {each.test: each for each in self._tests.categories}
        self._position = {label: i for i, label in enumerate(self.labels)}
        self._names: dict[tuple[str, ...], list[str]] = {}

    def columns(self, names: Sequence[str], what: str) -> TestSet:
        """Columns of tests by name; `what` begins the sentence if one is not known."""
        world = self.problem.world
        InvalidInput.raise_if(unknown_names(what, names, world.tests))
        if len(set(names)) != len(names):
            raise InvalidInput(f"{what}: {', '.join(names)}; name each test once")
        return world.columns_of(names)

    def labels_of(self, columns: Sequence[int]) -> list[str]:
        """Columns by name."""
        return [self.labels[i] for i in columns]

    def indices(self, labels: Sequence[str]) -> TestSet:
        """Columns by index, in the order given."""
        return tuple(self._position[label] for label in labels)

    def tests(self, labels: Sequence[str]) -> list[str]:
        """Columns as the tests that they make."""
        key = tuple(labels)
        if key not in self._names:
            self._names[key] = list(self.problem.world.name_of(self.indices(labels)))
        return self._names[key]

    def counted(self, labels: Sequence[str]) -> list[int]:
        """1 for each column that is among these, (n,)."""
        shown = set(labels)
        return [int(label in shown) for label in self.labels]

    def counts(self, by_test: Mapping[str, int] | None, what: str) -> list[int]:
        """Showings of each column, from those of tests by name."""
        given = dict(by_test or {})
        self.columns(list(given), what)
        counts = [0] * len(self.labels)
        for name, count in given.items():
            for column in self.problem.world.columns_of([name]):
                counts[column] = count
        return counts

    def by_test(self, counts: Sequence[int]) -> dict[str, int]:
        """Showings of each test by name."""
        world = self.problem.world
        blocks = zip(world.tests, world.blocks, strict=True)
        return {name: counts[block[0]] for name, block in blocks}

    def seen(self, names: Sequence[str], values: Mapping[str, float | str]) -> Seen:
        """What somebody saw of these tests, checked."""
        columns = self.columns(names, "tests")
        faults = [f"values: {name!r} was shown, but has no result" for name in names]
        faults = [fault for fault, name in zip(faults, names, strict=True) if name not in values]
        extra = [name for name in values if name not in names]
        faults += [f"values: {name!r} has a result, but was not shown" for name in extra]
        InvalidInput.raise_if(faults)
        read = self.results(values)
        labels, numbers = self.labels_of(columns), [read[i] for i in columns]
        Followed.checked(self.problem.world, columns, numbers, None)
        return Seen(labels, numbers)

    def results(self, values: Mapping[str, float | str]) -> dict[int, float]:
        """Results by column; a test that is a category by its level."""
        read: dict[int, float] = {}
        faults = []
        for name, value in values.items():
            category = self._categories.get(name)
            columns = self.columns([name], "values")
            if category is not None:
                try:
                    read |= category.values_of(value)
                except ValueError as error:
                    faults.append(f"values: {error}")
            elif isinstance(value, str) or not is_number(value):
                faults.append(f"values: {name!r} is {value!r}, must be a finite number")
            elif len(columns) > 1:
                faults.append(f"values: {name!r} has several columns, and no level names them")
            else:
                read[columns[0]] = float(value)
        InvalidInput.raise_if(faults)
        return read

    def spoken(self, labels: Sequence[str], values: Sequence[float]) -> dict[str, float | str]:
        """Results by test, as people see them."""
        columns = self.indices(labels)
        whole = np.full(len(self.labels), np.nan)
        whole[list(columns)] = values
        return cells_of(sorted(columns), whole, self._tests)

    def answer(self, given: float) -> float:
        """What a person said, checked: yes and no are 1 and 0 where decisions are charged."""
        risk = self.problem.risk
        if isinstance(risk, YesNoRisk) and risk.decides:
            return self._yes_or_no("prediction", given)
        return self._number("prediction", given)

    def outcome(self, given: float) -> float:
        """What was true, checked."""
        if self.problem.is_binary:
            return self._yes_or_no("outcome", given)
        return self._number("outcome", given)

    def _yes_or_no(self, name: str, given: float) -> float:
        if given not in (0, 1):
            raise InvalidInput(f"{name}: {given!r}, must be 1 for yes or 0 for no")
        return float(given)

    def _number(self, name: str, given: float) -> float:
        if not is_number(given):
            raise InvalidInput(f"{name}: {given!r}, must be a finite number")
        check_size(self.problem.world, name, given)
        return float(given)
