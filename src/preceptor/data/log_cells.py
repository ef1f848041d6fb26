"""Convert one cell of a log to a name, number, date or list; ValueError if that is impossible.

Where the outcome is yes or no, participants answer with a probability (".7", "70%") or with a
decision ("yes", "malignant", "1"). Outcomes are written as a level of the table, as yes or no, or
as 1 or 0. Internally yes is 1 and no is 0. Categories are written as the level that a participant
saw, and become the 0/1 columns that encode it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from textwrap import shorten
from typing import Any

import numpy as np

from preceptor._base import checks
from preceptor._base.values import FloatArray
from preceptor._base.words import first_few, nearest
from preceptor.errors import InvalidInput
from preceptor.model.world import World


def is_missing(cell: Any) -> bool:
    """Whether a cell is missing: empty text, a word for missing, None, NaN or pandas' NA."""
    if isinstance(cell, str) and (text := cell.strip().casefold()):
        return text in checks.ALWAYS_MISSING or text in checks.MISSING_AMONG_NUMBERS
    return checks.is_empty(cell)


def as_number(cell: Any, decimal: str = ".") -> float:
    """Convert to a number, NaN if missing; `decimal` is the decimal mark in text.

    >>> as_number(" 3.5 "), as_number("1.234,5", decimal=",")
    (3.5, 1234.5)
    """
    if is_missing(cell):
        return float("nan")
    if isinstance(cell, (bool, np.bool_, list, tuple, np.ndarray)):
        raise ValueError(f"{cell!r} is not a number")
    try:
        return checks.parse_number(cell, decimal) if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError, OverflowError) as error:
        why = error if isinstance(cell, str) else "is not a number"
        raise ValueError(f"{shorten(repr(cell), 80)} {why}") from None


def as_round(cell: Any) -> int:
    """Convert to a whole number."""
    number = as_number(cell)
    if not np.isfinite(number) or number != round(number) or abs(number) >= 2**53:
        found = "missing" if is_missing(cell) else repr(cell)
        raise ValueError(f"{found}, must be a whole number")
    return int(number)


def as_name(cell: Any) -> str:
    """Convert to text; 7.0 and 7 are the same name."""
    if not isinstance(cell, str) and is_missing(cell):  # "NA" may be a participant's name
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def as_list(cell: Any) -> list[Any]:
    """Convert to a list: lists as they are, text split at semicolons.

    >>> as_list("bmi; bp"), as_list(""), as_list([3.1])
    (['bmi', 'bp'], [], [3.1])
    """
    if isinstance(cell, (list, tuple, np.ndarray)):
        return list(cell)
    if isinstance(cell, str):
        # "NA" between semicolons is a missing value; empty text is an empty list.
        return [part.strip() for part in cell.split(";")] if cell.strip() else []
    if is_missing(cell):
        return []
    if isinstance(cell, (int, float, np.number)):
        return [cell]
    raise ValueError(f"{cell!r} is not a list")


def as_yes_no(cell: Any) -> bool | None:
    """Convert to a truth value, None if missing.

    >>> as_yes_no("Yes"), as_yes_no(0), as_yes_no("")
    (True, False, None)
    """
    if is_missing(cell):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    found = checks.parse_yes_no(as_name(cell))
    if found is None:
        raise ValueError(f"{cell!r} is neither yes nor no (write yes, no, true, false, 1 or 0)")
    return found


def as_moment(cell: Any) -> np.datetime64:
    """Convert to a date or time, to the microsecond; NaT if missing.

    Times with a UTC offset are converted to UTC, others are kept.

    >>> as_moment("2024-03-01"), as_moment("2024-03-01T10:30+02:00").item().hour
    (np.datetime64('2024-03-01T00:00:00.000000'), 8)
    """
    if is_missing(cell):
        return np.datetime64("NaT", "us")
    moment = cell.astype("datetime64[us]").item() if isinstance(cell, np.datetime64) else cell
    try:
        if isinstance(moment, str):
            moment = datetime.fromisoformat(moment.strip())
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        if isinstance(moment, date):  # NumPy returns numbers beyond the years 1 to 9999
            return np.datetime64(moment, "us")
    except (OverflowError, ValueError):
        pass
    raise ValueError(
        f"{cell!r} is not a date (write 2024-03-31, or with a time 2024-03-31T14:05; years 1 to "
        "9999)"
    )


def in_iso(moment: np.datetime64) -> str:
    """Format as ISO 8601, which `as_moment` reads back exactly; midnight as the date alone.

    >>> in_iso(np.datetime64("2024-03-01T00:00")), in_iso(np.datetime64("2024-03-01T08:30"))
    ('2024-03-01', '2024-03-01T08:30:00')
    """
    text: str = moment.astype("datetime64[us]").item().isoformat()
    return text.removesuffix("T00:00:00")


# Either yes and no, or probabilities.
_EITHER = ("0", "1")
# Answers of 0% and 100% have no finite score; they are moved inward by SUREST, which is the
# rounding of whole percents, or by the finest distance among the other answers, at least FINEST.
SUREST, FINEST = 0.005, 1e-12


@dataclass(frozen=True)
class YesNoReader:
    """Reads answers and outcomes; `levels` are the table's words for no and for yes.

    >>> reader = YesNoReader(("benign", "malignant"))
    >>> reader.answer("70 %"), reader.answer("Malignant"), reader.outcome("no")
    (0.7, 1.0, 0.0)
    """

    levels: tuple[str, str] | None = None
    # Whether 0 and 1 mean levels of the table if its levels are numbers.
    by_level: bool = True

    @classmethod
    def of(cls, world: World) -> YesNoReader | None:
        """The reader for a world; None if its outcome is a number."""
        if not world.is_binary:
            return None
        return cls(None if world.units is None else world.units.outcome_levels)

    def among(self, cells: Iterable[Any]) -> YesNoReader:
        """The reader for one column.

        If the table's levels are numbers such as 1 and 2, a 1 could be either that level or yes. A
        column of nothing but 0 and 1 is read as no and yes.
        """
        only_0_and_1 = all(_folded_cell(cell) in _EITHER for cell in cells if not is_missing(cell))
        return YesNoReader(self.levels, by_level=not only_0_and_1)

    def is_word(self, cell: Any) -> bool:
        """Whether a cell is a decision in words rather than a probability."""
        return isinstance(cell, (bool, np.bool_)) or self._word(cell) is not None

    def outcome(self, cell: Any) -> float:
        """Return 1, 0, or NaN if missing; ValueError for anything else."""
        if is_missing(cell) and self._word(cell) is None:
            return float("nan")
        found = self._decision(cell)
        if found is None:
            raise ValueError(f"{_quoted(cell)} is neither yes nor no (write {self._words})")
        return found

    def answer(self, cell: Any, decimal: str = ".") -> float:
        """Return a probability, or a decision as 1 or 0; ValueError for anything else."""
        if is_missing(cell) and self._word(cell) is None:
            return float("nan")
        found = self._decision(cell)
        return self._probability(cell, decimal) if found is None else found

    def _decision(self, cell: Any) -> float | None:
        found = self._word(cell)
        if found is None and (yes := checks.parse_yes_no(_folded_cell(cell))) is not None:
            return float(yes)
        return found

    def _word(self, cell: Any) -> float | None:
        """Return 1 or 0 for a level or a word; None for everything else, including 0 and 1."""
        text, own = _folded_cell(cell), None
        if self.levels is not None and self.by_level:
            own = (_folded_cell(self.levels[0]), _folded_cell(self.levels[1]))
        yes = checks.parse_yes_no(text, own)
        is_number = text in _EITHER and (own is None or text not in own)
        return None if yes is None or is_number else float(yes)

    def _probability(self, cell: Any, decimal: str) -> float:
        try:
            found = checks.parse_share(cell, decimal) if isinstance(cell, str) else as_number(cell)
        except ValueError:
            raise ValueError(
                f"{_quoted(cell)} is neither a probability nor a decision (write 0.7 or 70%, or "
                f"{self._words})"
            ) from None
        if not 0.0 <= found <= 1.0:
            is_percent = isinstance(cell, str) and cell.rstrip().endswith("%")
            hint = f"; did you mean {found:g}%?" if not is_percent and 1.0 < found <= 100.0 else ""
            raise ValueError(
                f"{_quoted(cell)} is not a probability; write 0 to 1, or 0% to 100%{hint}"
            )
        return found

    @property
    def _words(self) -> str:
        own = "" if self.levels is None else f"{self.levels[1]}, {self.levels[0]}, "
        return f"{own}yes, no, 1 or 0"


def are_decisions(answers: FloatArray) -> bool:
    """Whether all answers are 0 or 1."""
    return bool(np.all((answers == 0.0) | (answers == 1.0)))


def score_of(world: World, probabilities: FloatArray) -> FloatArray:
    """Convert probabilities (...) to scores without the base score.

    0% and 100% are moved inward by `SUREST`, or by the smallest distance of the other answers.
    """
    assert world.outcome is not None
    given = np.asarray(probabilities, dtype=np.float64)
    off = np.minimum(given, 1.0 - given)
    limit = max(float(np.min(off, where=off > 0.0, initial=SUREST)), FINEST)
    inside = np.clip(given, limit, 1.0 - limit)
    return world.outcome.from_score.score(inside) - world.base_score


def _folded_cell(cell: Any) -> str:
    """Return a cell as text for comparison: lower case, and 1.0 as 1."""
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell)).casefold()
    text = as_name(cell).casefold()
    return text[:-2] if text in ("0.0", "1.0") else text


def _quoted(cell: Any) -> str:
    return repr(cell if isinstance(cell, (str, int, float)) else str(cell))


# The column number of the reference level, for which all columns are 0.
_REFERENCE = -1


@dataclass(frozen=True, eq=False)
class CategoryColumns:
    """A categorical test: its columns in the log, and for each level the one that is 1.

    `shared` names columns that stand for several merged levels, such as "other".
    """

    test: str
    columns: tuple[int, ...]
    levels: Mapping[str, int]
    shared: Mapping[str, int]

    def values_of(self, cell: Any) -> dict[int, float]:
        """Return 0 or 1 for each column; ValueError for an unknown level."""
        column = self._column_of(cell)
        return {each: float(each == column) for each in self.columns}

    def level_of(self, values: FloatArray) -> str | None:
        """Return the level of a row (n,) of the log; None if no level matches."""
        own = [float(values[each]) for each in self.columns]
        if sorted(own)[:-1] != [0.0] * (len(own) - 1) or max(own) not in (0.0, 1.0):
            return None
        column = self.columns[own.index(1.0)] if 1.0 in own else _REFERENCE
        alike = [level for level, each in self.levels.items() if each == column]
        if len(alike) > 1:  # which of the merged levels was seen is unknown: prefer their name
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
        if not alike and (number := _number(text)) is not None:
            alike = {known[level] for level in known if _number(level) == number}
        if len(alike) == 1:
            return alike.pop()
        levels = first_few([*map(repr, self.levels)])
        wrong = "could be several" if alike else "is not known"
        # One or two letters resemble everything.
        near = nearest(text, known) if not alike and len(text) > 2 else None
        hint = "" if near is None else f"did you mean {near!r}? "
        raise ValueError(f"level {text!r} of {self.test} {wrong}; {hint}known are {levels}")


@dataclass(frozen=True)
class LogTests:
    """The tests of a log: names of the value columns, and which of them encode categories.

    `outcome` reads answers and outcomes that are yes or no; None if they are numbers.
    """

    names: tuple[str, ...]
    categories: tuple[CategoryColumns, ...] = ()
    outcome: YesNoReader | None = None

    @classmethod
    def of(cls, names: Sequence[str] | World) -> LogTests:
        """Tests by name, or those of a world, which knows levels."""
        if isinstance(names, World):
            return cls(names.labels, categories_of(names), YesNoReader.of(names))
        if isinstance(names, str):
            raise InvalidInput(f"names: {names!r}, must be a list of names of tests, or a World")
        return cls(tuple(str(name) for name in names))


def categories_of(world: World) -> tuple[CategoryColumns, ...]:
    """Tests of a world whose levels are known."""
    if world.units is None or world.units.levels is None:
        return ()
    position = {label: i for i, label in enumerate(world.labels)}
    blocks = dict(zip(world.tests, world.blocks, strict=True))
    found = []
    for test, levels in world.units.levels.items():
        own = {level: position.get(column, _REFERENCE) for level, column in levels.items()}
        shared = {
            world.labels[i].removeprefix(f"{test}="): i
            for i in blocks[test]
            if world.labels[i].startswith(f"{test}=")
        }
        new = {level: i for level, i in shared.items() if level not in own}
        found.append(CategoryColumns(test, tuple(blocks[test]), own, new))
    return tuple(found)


def levels_by_row(
    shown: Any, values: FloatArray, category: CategoryColumns
) -> list[str | None] | None:
    """The level in each row, None where the test was hidden; None if a row matches no level."""
    levels: list[str | None] = []
    for row_shown, row in zip(shown, values, strict=True):
        seen = [bool(row_shown[each]) for each in category.columns]
        level = category.level_of(row) if all(seen) else None
        if any(seen) and level is None:
            return None
        levels.append(level)
    return levels


def cells_of(shown: Sequence[int], values: FloatArray, tests: LogTests) -> dict[str, float | str]:
    """What a participant saw in one round, by name: a number, or the level of a category.

    Parameters
    ----------
    shown
        Columns that were shown, in ascending order.
    values
        Results of all columns, shape (n,); hidden ones are ignored.
    tests
        Names of the columns, and which of them encode categories.

    Returns
    -------
    dict
        In the order of the columns. A category that matches no level is given by its columns.

    Examples
    --------
    >>> import numpy as np
    >>> grade = CategoryColumns("grade", (0,), {"I": -1, "II": 0}, {})
    >>> cells_of((0, 1), np.array([0.0, 50.0]), LogTests(("grade=II", "age"), (grade,)))
    {'grade': 'I', 'age': 50.0}
    """
    levels = {
        column: (category.test, level)
        for category in tests.categories
        if set(category.columns) <= set(shown) and (level := category.level_of(values)) is not None
        for column in category.columns
    }
    return dict(
        levels.get(column, (tests.names[column], float(values[column]))) for column in shown
    )


def _folded(text: str) -> str:
    return text.strip().casefold()


def _number(text: str) -> float | None:
    found = checks.parse_spelling(text)
    return found.value if found is not None and found.is_alone else None
