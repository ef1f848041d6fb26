"""From a table to a matrix: categories become columns, columns that say nothing are left out.

A category of L levels becomes L - 1 columns, one a level but the most common, which is what is
left when all of them are 0. (With all L columns the last would follow from the others, and no
covariance of them is positive definite.) They stay together as one test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidData
from preceptor.estimation.columns import Column, place
from preceptor.estimation.table import Table

# A column whose variance the columns before it explain up to this share says nothing new.
_NOTHING_NEW = 1e-9
# Standard deviations of all other values beyond which one looks like a mistake.
_FAR_OUT = 8.0
# Levels of a category with fewer cases are hardly estimated.
_RARE = 5


@dataclass(frozen=True, eq=False)
class Design:
    """Numbers (rows, n), NaN where missing, and outcomes (rows,) of the cases that are used.

    `tests` has the name of the test that each column belongs to, `dropped` what was left out,
    with the reason.
    """

    values: FloatArray
    outcome: FloatArray
    names: tuple[str, ...]
    tests: tuple[str, ...]
    outcome_name: str
    rows_without_outcome: int
    dropped: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]

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

    names: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def add(self, name: str, test: str, values: FloatArray) -> None:
        self.names.append(name)
        self.tests.append(test)
        self.values.append(values)


def encode(table: Table) -> Design:
    """Make the matrix, or say why no world can be estimated from it."""
    used = ~np.isnan(table.outcome.values)
    parts = _Parts(notes=list(table.notes), doubts=list(table.doubts))
    without = int(np.sum(~used))
    if without:
        first = place(table.outcome.name, int(np.flatnonzero(~used)[0]))
        parts.notes.append(
            f"{_rows(without)} without an outcome {'was' if without == 1 else 'were'} left out "
            f"(first: {first})."
        )
    for column in table.columns:
        _add_column(parts, column, column.values[used])
    rows, columns = int(used.sum()), len(parts.names)
    if not columns:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in parts.dropped)
        raise InvalidData(f"X: no column is left to learn from ({reasons})")
    if rows < columns + 2:
        raise InvalidData(
            f"rows: {rows} with an outcome for {columns} columns of tests, must be at least "
            f"{columns + 2}; give more cases or fewer tests"
        )
    values = np.column_stack(parts.values)
    kept = _without_repetition(parts, values)
    outcome, numbered = table.outcome.values[used], np.flatnonzero(used)
    for i in kept:
        if parts.names[i] == parts.tests[i]:
            parts.doubts += _doubts_about(parts.names[i], values[:, i], numbered)
    parts.doubts += _doubts_about(table.outcome.name, outcome, numbered)
    parts.notes += [f"{name} was left out: {reason}." for name, reason in parts.dropped]
    return Design(
        values=values[:, kept],
        outcome=outcome,
        names=tuple(parts.names[i] for i in kept),
        tests=tuple(parts.tests[i] for i in kept),
        outcome_name=table.outcome.name,
        rows_without_outcome=without,
        dropped=tuple(parts.dropped),
        notes=tuple(parts.notes),
        doubts=tuple(parts.doubts),
    )


def _add_column(parts: _Parts, column: Column, values: FloatArray) -> None:
    known = values[~np.isnan(values)]
    if known.size == 0:
        parts.dropped.append((column.name, "it has no values"))
    elif np.ptp(known) == 0.0:
        what = repr(column.levels[int(known[0])]) if column.levels else f"{known[0]:g}"
        parts.dropped.append((column.name, f"it is {what} in every case"))
    elif column.levels is None:
        parts.add(column.name, column.name, values)
    else:
        _add_levels(parts, column.name, column.levels, values)


def _add_levels(parts: _Parts, name: str, levels: tuple[str, ...], values: FloatArray) -> None:
    counts = np.array([int(np.sum(values == code)) for code in range(len(levels))])
    reference = int(counts.argmax())
    missing = np.isnan(values)
    coded = [code for code in range(len(levels)) if counts[code] and code != reference]
    for code in coded:
        level = np.where(missing, np.nan, (values == code).astype(np.float64))
        parts.add(f"{name}={levels[code]}", name, level)
    columns = "one column" if len(coded) == 1 else f"{len(coded)} columns"
    parts.notes.append(
        f"{name} is a category of {len(coded) + 1} levels: shown and counted as one test, "
        f"{columns} against {levels[reference]!r}, its most common level."
    )
    rare = [levels[code] for code in coded if counts[code] < _RARE]
    if rare:
        parts.doubts.append(
            f"{name}: {', '.join(map(repr, rare))} in fewer than {_RARE} cases each, too few to "
            "weigh; consider merging rare levels."
        )


def _doubts_about(name: str, values: FloatArray, rows: IntArray) -> list[str]:
    doubts = []
    farthest = int(np.nanargmax(np.abs(values - np.nanmean(values))))
    others = np.delete(values, farthest)
    away, deviation = abs(values[farthest] - np.nanmean(others)), float(np.nanstd(others))
    # Measured by the other cases: a single value among few can never be far by its own measure.
    if away > _FAR_OUT * deviation:
        how = "the only one that differs"
        if deviation > 0.0:
            how = f"{away / deviation:.0f} standard deviations from the average of the others"
        doubts.append(
            f"{place(name, int(rows[farthest]))}: {values[farthest]:g} is {how}; if that is a "
            "mistake, correct it."
        )
    if values.size > 20 and np.all(np.diff(values) == 1.0):
        doubts.append(f"{name} counts the rows; if it is no test, drop it.")
    return doubts


def _without_repetition(parts: _Parts, values: FloatArray) -> list[int]:
    """Columns that are not the same as, or a weighted sum of, those before them.

    One row of a Cholesky factor at a time: what is left of a column's variance after the columns
    kept so far decides. With gaps only the complete cases can show that, if there are enough.
    """
    whole = values[~np.isnan(values).any(axis=1)]
    size = values.shape[1]
    if whole.shape[0] < 2 * size + 2 or np.any(np.ptp(whole, axis=0) == 0.0):
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
        parts.dropped.append((parts.names[j], reason))
    return kept


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"
