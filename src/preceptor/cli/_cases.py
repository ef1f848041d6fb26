"""The cases of a table, one after the other, as a person who is being taught reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput
from preceptor.estimation.table import read_table
from preceptor.estimation.world import fit_source, name_of_source, with_points
from preceptor.tables import Reading, read_sheet

if TYPE_CHECKING:
    from preceptor import Problem
    from preceptor.datasets import DataSet
    from preceptor.estimation import WorldEstimate
    from preceptor.estimation.columns import Column


@dataclass(frozen=True, eq=False)
class Cases:
    """A table's cases with an outcome: encoded as the world has them, and as they were written.

    `values` (rows, n) has NaN where a result is missing; `columns` are those of the table, rows
    without an outcome left out.
    """

    source: str
    estimate: WorldEstimate
    columns: Mapping[str, Column]
    units: Mapping[str, str]

    @classmethod
    def read(
        cls,
        source: Path | DataSet,
        outcome: str | None,
        *,
        drop: Iterable[str],
        reading: Reading,
        seed: int,
        read_as: Mapping[str, Any] | None = None,
    ) -> Cases:
        """Estimate the world of a table, and keep its cases; arguments are those of `advise`.

        `read_as` says how an outcome of two values is read.
        """
        unwanted = tuple(drop)
        estimate = fit_source(
            source, outcome, drop=unwanted, reading=reading, seed=seed,
            **(read_as or {}),
        )  # fmt: skip
        if isinstance(source, Path):
            frame, units = read_sheet(source, reading).frame, {}
            table = read_table(frame, outcome, drop=unwanted, reading=with_points(reading))
        else:
            cases = dict(source.columns)
            table = read_table(cases, source.outcome, drop=unwanted, reading=reading)
            units = dict(source.units)
        used = ~np.isnan(table.outcome.values)
        columns = {each.name: replace(each, values=each.values[used]) for each in table.columns}
        return cls(name_of_source(source), estimate, columns, units)

    @property
    def values(self) -> FloatArray:
        """Results (rows, n) in the units of the table."""
        return self.estimate.design.values

    @property
    def outcome(self) -> FloatArray:
        """What was true, (rows,)."""
        return self.estimate.design.outcome

    @property
    def name(self) -> str:
        """What is predicted, with its unit if that is known."""
        return self.estimate.design.outcome_name

    def order(self, problem: Problem, seed: int, turn: int) -> IntArray:
        """Rows in the order of one turn through the table; those with too many gaps are left out.

        A row can be used if something that the budget allows is known about it.
        """
        gaps = np.isnan(self.values)
        patterns, which = np.unique(gaps, axis=0, return_inverse=True)
        allowed = [set(shown) for shown in problem.sets if shown]
        usable = [
            any(shown.isdisjoint(missing) for shown in allowed)
            for missing in (set(np.flatnonzero(pattern).tolist()) for pattern in patterns)
        ]
        rows = np.flatnonzero(np.array(usable)[which.ravel()])
        if rows.size == 0:
            raise InvalidInput(
                f"{self.source}: no case knows the results of any set of tests that may be shown; "
                "fill in more of the table"
            )
        order: IntArray = np.random.default_rng([seed, turn]).permutation(rows)
        return order

    def row_of(self, problem: Problem, seed: int, played: int) -> tuple[int, int]:
        """The row of the next case, and how many times all rows have been used up before."""
        first = self.order(problem, seed, 0)
        turn, place = divmod(played, first.size)
        order = first if turn == 0 else self.order(problem, seed, turn)
        return int(order[place]), turn

    def available(self, row: int) -> list[int]:
        """Tests of a case that are known, as columns of the world."""
        found: list[int] = np.flatnonzero(~np.isnan(self.values[row])).tolist()
        return found

    def results(self, row: int, shown: tuple[int, ...]) -> list[float]:
        """Results of the tests that are shown, as the log has them."""
        found: list[float] = self.values[row, list(shown)].tolist()
        return found

    def in_words(self, row: int, shown: tuple[int, ...]) -> list[str]:
        """A line for each test: its name, its result and unit, and what is average."""
        world, units = self.estimate.world, self.estimate.world.units
        assert units is not None
        names = world.name_of(shown)
        width = max((len(name) for name in names), default=0)
        lines = []
        for name in names:
            column = self.columns[name]
            value = float(column.values[row])
            if column.levels is not None:
                lines.append(f"{name:<{width}}  {column.levels[int(value)]}")
                continue
            average = float(units.means[world.labels.index(name)])
            unit = self.units.get(name, "")
            # A unit that is rather an explanation stands where explanations stand.
            is_short = " " not in unit
            after, aside = (f" {unit}".rstrip(), "") if is_short else ("", f"{unit}; ")
            lines.append(f"{name:<{width}}  {value:g}{after} ({aside}average {average:.4g})")
        return lines
