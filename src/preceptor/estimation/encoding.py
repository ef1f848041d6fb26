"""From a table to a matrix: categories become columns, columns that say nothing are left out.

A category of L levels becomes L - 1 columns, one a level but the most common, which is what is
left when all of them are 0. (With all L columns the last would follow from the others, and no
covariance of them is positive definite.) They stay together as one test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from preceptor._base.values import FloatArray
from preceptor._base.words import counted
from preceptor.errors import InvalidData
from preceptor.estimation.categories import (
    JUDGED,
    Category,
    left_over,
    predicts,
    sorted_out,
)
from preceptor.estimation.columns import LARGEST, Column
from preceptor.estimation.findings import Findings, Said, place
from preceptor.estimation.not_tests import doubt_number, names_cases
from preceptor.estimation.outcome import ROUNDING
from preceptor.estimation.table import Table

# A column whose variance the columns before it explain up to this share says nothing new.
_NOTHING_NEW = 1e-9


@dataclass(frozen=True, eq=False)
class Design:
    """Numbers (rows, n), NaN where missing, and outcomes (rows,) of the cases that are used.

    `tests` has the name of the test that each column belongs to, `dropped` what was left out,
    with the reason. `levels` has,
    for each test that is a category, the column that is 1 for each level as people write it; ""
    where all its columns are 0. `outcome_levels` are the two values of an outcome that has no more,
    as they were written, the one that counts as 1 last; `is_binary` says that it is yes or no.
    """

    values: FloatArray
    outcome: FloatArray
    names: tuple[str, ...]
    tests: tuple[str, ...]
    outcome_name: str
    dropped: tuple[tuple[str, str], ...]
    notes: tuple[Said, ...]
    doubts: tuple[Said, ...]
    levels: dict[str, dict[str, str]] = field(default_factory=dict)
    outcome_levels: tuple[str, str] | None = None
    is_binary: bool = False

    @property
    def groups(self) -> dict[str, list[int]]:
        """Tests that are categories, with their columns."""
        found: dict[str, list[int]] = {}
        for i, (name, test) in enumerate(zip(self.names, self.tests, strict=True)):
            if name != test:
                found.setdefault(test, []).append(i)
        return found


@dataclass
class _Parts:
    """What is collected column by column."""

    found: Findings
    names: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    levels: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, name: str, test: str, values: FloatArray) -> None:
        self.names.append(name)
        self.tests.append(test)
        self.values.append(values)


def encode(table: Table) -> Design:
    """Make the matrix, or say why no world can be estimated from it."""
    used = ~np.isnan(table.outcome.values)
    found = Findings(
        notes=list(table.notes), doubts=list(table.doubts), dropped=list(table.dropped)
    )
    parts = _Parts(found)
    without = int(np.sum(~used))
    if without:
        were = "was" if without == 1 else "were"
        said = f"{counted(without, 'row')} without an outcome {were} left out"
        first = place(table.outcome.name, int(np.flatnonzero(~used)[0]))
        found.note(f"{said}.", placed=f"{said} (first: {first}).")
    outcome, numbered = table.outcome.values[used], np.flatnonzero(used)
    for column, category in _worth_having(table, used, outcome, found):
        if category is None:
            parts.add(column.name, column.name, column.values)
        else:
            _add_levels(parts, category)
    _check_size(parts, outcome.size)
    values = np.column_stack(parts.values)
    kept = _without_repetition(parts, values)
    for i in kept:
        if parts.names[i] == parts.tests[i]:
            doubt_number(parts.names[i], values[:, i], numbered, found)
    if table.outcome.levels is None:
        doubt_number(table.outcome.name, outcome, numbered, found)
    for name, reason in found.dropped:
        found.note(f"{name} was left out: {reason}.")
    names, tests = (tuple(of[i] for i in kept) for of in (parts.names, parts.tests))
    return Design(
        values=values if len(kept) == values.shape[1] else values[:, kept],
        outcome=outcome,
        names=names,
        tests=tests,
        outcome_name=table.outcome.name,
        dropped=tuple(found.dropped),
        notes=tuple(found.notes),
        doubts=tuple(found.doubts),
        levels=_levels_of(parts, names, tests),
        outcome_levels=table.outcome.levels,
        is_binary=table.outcome.is_binary,
    )


def _worth_having(
    table: Table, used: FloatArray, outcome: FloatArray, found: Findings
) -> list[tuple[Column, Category | None]]:
    """Columns of the cases that are used, without those that cannot say anything, in order."""
    kept: list[tuple[Column, Category | None]] = []
    for whole in table.columns:
        column = Column(whole.name, whole.values[used], whole.levels)
        reason = _says_nothing(column)
        if reason:
            found.drop(column.name, reason)
        elif column.levels is None:
            kept.append((column, None))
        else:
            category = sorted_out(column, column.values, found)
            if category is not None:
                kept.append((column, category))
    numbers = [column.values for column, category in kept if category is None]
    rest: FloatArray | None = None
    for pair in list(kept):
        category = pair[1]
        if category is None or len(category.levels) < JUDGED or predicts(category, outcome):
            continue
        if rest is None:
            rest = left_over(numbers, outcome)
        if not predicts(category, rest):
            kept.remove(pair)
            found.drop(
                category.name,
                f"its {len(category.became):,} levels do not predict {table.outcome.name} in cases "
                "that were kept apart",
            )
    return kept


def _says_nothing(column: Column) -> str:
    """Why a column cannot be a test, or "" if it can."""
    known = column.values[~np.isnan(column.values)]
    if known.size == 0:
        return "it has no values"
    spread = float(np.ptp(known))
    if spread == 0.0:
        what = repr(column.levels[int(known[0])]) if column.levels else f"{known[0]:g}"
        return f"it is {what} in every case"
    if column.levels is not None:
        return ""
    if spread <= ROUNDING * np.abs(known).max():
        return f"it is {known[0]:g} in every case, up to rounding"
    if spread < 1.0 / LARGEST:
        return f"its values differ by {spread:g} at most, too little to reckon with"
    if names_cases(column.name, column.values):
        return "it is a whole number that no two cases share, so it names them"
    return ""


def _add_levels(parts: _Parts, category: Category) -> None:
    parts.found.take(category.remarks)
    missing = category.codes < 0
    for code in category.coded:
        level = (category.codes == code).astype(np.float64)
        level[missing] = np.nan
        parts.add(category.column_of(category.levels[code]), category.name, level)
    reference = category.levels[category.reference]
    parts.levels[category.name] = {
        written: "" if level == reference else category.column_of(level)
        for written, level in category.became.items()
    }
    columns = "one column" if len(category.coded) == 1 else f"{len(category.coded)} columns"
    parts.found.note(
        f"{category.name} is a category of {len(category.levels)} levels: shown and counted as one "
        f"test, {columns} against {reference!r}, its most common level.",
        is_detail=True,
    )


def _levels_of(
    parts: _Parts, names: tuple[str, ...], tests: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """Levels of the tests that are there; a column that was left out is one of 0s."""
    return {
        test: {level: column if column in names else "" for level, column in levels.items()}
        for test, levels in parts.levels.items()
        if test in tests
    }


def _check_size(parts: _Parts, rows: int) -> None:
    columns = len(parts.names)
    if not columns:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in parts.found.dropped)
        raise InvalidData(f"X: no column is left to learn from ({reasons})")
    twice = sorted({name for name in parts.names if parts.names.count(name) > 1})
    if twice:
        raise InvalidData(
            f"column {twice[0]!r}: is a column and also a level of a category; rename one of them"
        )
    if rows < columns + 2:
        raise InvalidData(
            f"rows: {rows} with an outcome for {columns} columns of tests, must be at least "
            f"{columns + 2}; give more cases or fewer tests"
        )


def _without_repetition(parts: _Parts, values: FloatArray) -> list[int]:
    """Columns that are not the same as, or a weighted sum of, those before them.

    One row of a Cholesky factor at a time: what is left of a column's variance after the columns
    kept so far decides. With gaps only the complete cases can show that, if there are enough.
    """
    complete = ~np.isnan(values).any(axis=1)
    whole = values if complete.all() else values[complete]
    size = values.shape[1]
    if whole.shape[0] < 2 * size + 2 or np.any(
        np.ptp(whole, axis=0) <= ROUNDING * np.abs(whole).max(axis=0)
    ):
        return list(range(size))
    standard = (whole - whole.mean(axis=0)) / whole.std(axis=0)
    correlation = standard.T @ standard / whole.shape[0]
    kept: list[int] = []
    factor = np.zeros((size, size))
    for j in range(size):
        m = len(kept)
        row: FloatArray = np.zeros(0)
        if m:
            row = solve_triangular(factor[:m, :m], correlation[kept, j], lower=True)
        left = float(correlation[j, j] - np.dot(row, row))
        if left > _NOTHING_NEW:
            factor[m, :m], factor[m, m] = row, np.sqrt(left)
            kept.append(j)
            continue
        weights = solve_triangular(factor[:m, :m].T, row)
        sources = [parts.names[kept[i]] for i in np.flatnonzero(np.abs(weights) > 1e-4)]
        if len(sources) == 1:
            reason = f"it says the same as {sources[0]}"
        else:
            reason = f"it follows exactly from {', '.join(sources[:-1])} and {sources[-1]}"
        parts.found.drop(parts.names[j], reason)
    return kept
