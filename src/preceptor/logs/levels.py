"""Categories in logs: the level that a person saw, and the columns of 0 and 1 that stand for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from preceptor._base.typed import spelled
from preceptor._base.values import FloatArray
from preceptor._base.words import first_few, nearest
from preceptor.errors import InvalidInput
from preceptor.logs.cells import as_name
from preceptor.logs.yes_no import YesNo
from preceptor.model.world import World

# Where no column is 1.
_REFERENCE = -1
_MOST_LISTED = 24


@dataclass(frozen=True, eq=False)
class Category:
    """A test with levels: its columns among those of the log, and for each level the one that is 1.

    A level that several share has the name of its column as well, so "other" is one, too.
    """

    test: str
    columns: tuple[int, ...]
    levels: Mapping[str, int]
    shared: Mapping[str, int]

    def values_of(self, cell: Any) -> dict[int, float]:
        """0 or 1 for each column; ValueError for a level that nobody knows."""
        column = self._column_of(cell)
        return {each: float(each == column) for each in self.columns}

    def level_of(self, values: FloatArray) -> str | None:
        """How to write a row of all columns of the log; None where no level says it."""
        own = [float(values[each]) for each in self.columns]
        if sorted(own)[:-1] != [0.0] * (len(own) - 1) or max(own) not in (0.0, 1.0):
            return None
        column = self.columns[own.index(1.0)] if 1.0 in own else _REFERENCE
        alike = [level for level, each in self.levels.items() if each == column]
        if len(alike) > 1:  # none of them is what everybody saw, so the name they share is better
            alike = [level for level, each in self.shared.items() if each == column] + alike
        for level in alike:
            if level and level == as_name(level) and self._column_of(level) == column:
                return level
        return None

    @cached_property
    def _known(self) -> dict[str, int]:
        return {**self.shared, **self.levels}

    def _column_of(self, cell: Any) -> int:
        text, known = as_name(cell), self._known
        if text in known:
            return known[text]
        alike = {known[level] for level in known if _folded(level) == _folded(text)}
        if not alike:
            number = _number(text)
            same = [level for level in known if number is not None and _number(level) == number]
            alike = {known[level] for level in same}
        if len(alike) == 1:
            return alike.pop()
        levels = first_few([*map(repr, self.levels)], _MOST_LISTED)
        wrong = "could be several" if alike else "is not known"
        # One or two letters are near to everything.
        near = nearest(text, known) if not alike and len(text) > 2 else None
        meant = "" if near is None else f"did you mean {near!r}? "
        raise ValueError(f"level {text!r} of {self.test} {wrong}; {meant}known are {levels}")


@dataclass(frozen=True)
class Tests:
    """What a log is about: the columns of its values, and tests that are written as levels.

    `outcome` reads answers and outcomes where these are yes or no; None where they are numbers.
    """

    names: tuple[str, ...]
    categories: tuple[Category, ...] = ()
    outcome: YesNo | None = None

    @classmethod
    def of(cls, names: Sequence[str] | World) -> Tests:
        """The tests by their names, or those of a world, which knows levels."""
        if isinstance(names, World):
            return cls(names.labels, categories_of(names), YesNo.of(names))
        if isinstance(names, str):
            raise InvalidInput(
                f"names: {names!r}, must be a list of the names of tests, or a World"
            )
        return cls(tuple(str(name) for name in names))


def categories_of(world: World) -> tuple[Category, ...]:
    """Tests of a world whose levels are known."""
    if world.units is None or world.units.levels is None:
        return ()
    position = {label: i for i, label in enumerate(world.labels)}
    blocks = dict(zip(world.tests, world.blocks, strict=True))
    found = []
    for test, levels in world.units.levels.items():
        columns = blocks[test]
        shared = {
            world.labels[i].removeprefix(f"{test}="): i
            for i in columns
            if world.labels[i].startswith(f"{test}=")
        }
        own = {level: position.get(column, _REFERENCE) for level, column in levels.items()}
        new = {level: i for level, i in shared.items() if level not in own}
        found.append(Category(test, tuple(columns), own, new))
    return tuple(found)


def spoken(log_shown: Any, log_values: FloatArray, category: Category) -> list[str | None] | None:
    """The level in each row, None where the test was hidden; None if some row has no level."""
    levels: list[str | None] = []
    for shown, values in zip(log_shown, log_values, strict=True):
        seen = [bool(shown[each]) for each in category.columns]
        level = category.level_of(values) if all(seen) else None
        if any(seen) and level is None:
            return None
        levels.append(level)
    return levels


def cells_of(shown: Sequence[int], values: FloatArray, tests: Tests) -> dict[str, float | str]:
    """What one person saw, by name: a number for each column, a level for each category.

    Parameters
    ----------
    shown
        Columns that were shown, in ascending order.
    values
        Results of all columns, shape (n,); those that were hidden are not looked at.
    tests
        What the columns are called, and which of them make a category.

    Returns
    -------
    dict
        In the order of the columns. A category that no level says is given by its columns.

    Examples
    --------
    >>> import numpy as np
    >>> tests = Tests(("grade=II", "age"), (Category("grade", (0,), {"I": -1, "II": 0}, {}),))
    >>> cells_of((0, 1), np.array([0.0, 50.0]), tests)
    {'grade': 'I', 'age': 50.0}
    """
    levels = {
        column: (category.test, level)
        for category in tests.categories
        if set(category.columns) <= set(shown) and (level := category.level_of(values)) is not None
        for column in category.columns
    }
    cells: dict[str, float | str] = {}
    for column in shown:
        name, cell = levels.get(column, (tests.names[column], float(values[column])))
        cells[name] = cell
    return cells


def _folded(text: str) -> str:
    return text.strip().casefold()


def _number(text: str) -> float | None:
    found = spelled(text)
    return found.value if found is not None and found.is_alone else None
