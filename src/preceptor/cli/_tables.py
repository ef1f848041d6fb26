"""Input tables: small files of weights, costs and counts by name, and the cases of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.checks import is_number, parse_number
from preceptor._base.files import read_json
from preceptor._base.values import FloatArray, IntArray
from preceptor.cli._console import note_all, say
from preceptor.data.log import Log
from preceptor.data.log_cells import as_name, is_missing
from preceptor.data.opening import Reading
from preceptor.data.sheet import read_cells
from preceptor.data.world_fitting import fit_source, name_of_source
from preceptor.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from preceptor import Problem
    from preceptor.data.datasets import DataSet
    from preceptor.data.world_estimate import WorldEstimate
    from preceptor.learners.case_choice import CasePool
    from preceptor.learners.tutor import Tutor
    from preceptor.learners.tutor_record import TutorRound
    from preceptor.model.world import World


def logged(path: Path, world: World, columns: list[str] | None, reading: Reading) -> Log:
    """The log in a file; what was guessed is printed. `columns` are OURS=THEIRS."""
    renamed = dict(each.split("=") for each in columns or ())
    found = Log.read(path, world, columns=renamed, reading=reading)
    note_all(*found.notes)
    return found


def source_of(table: Path | None) -> Path | DataSet:
    """The named table, or the built-in example, announced on stderr."""
    if table is not None:
        return table
    from preceptor.data.datasets import load_diabetes

    found = load_diabetes()
    say(f"Example: {found.title} ({found.rows} cases, outcome {found.outcome})")
    return found


def read_named_numbers(path: Path, columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """`{column: {name: number}}` from a table with a column `name`, or from a JSON object.

    In JSON, `{"bmi": 2.0}` sets the first column; `{"bmi": {"cost": 2.0, "price": 0.1}}` sets
    several. Names must be unique.
    """
    if path.suffix.lower() == ".json":
        rows, decimal = _json_rows(path, columns), "."
    else:
        rows, decimal = _table_rows(path, columns)
    faults: list[str] = []
    found: dict[str, dict[str, float]] = {column: {} for column in columns}
    seen: set[str] = set()
    for place, name, cells in rows:
        if name in seen:
            faults.append(f"{path}, {place}: test {name!r} appears twice; keep one of them")
        seen.add(name)
        for column, cell in cells.items():
            try:
                found[column][name] = _number(cell, decimal)
            except ValueError as error:
                faults.append(f"{path}, {place}, column {column!r}: {cell!r} {error}; correct it")
    InvalidFile.raise_if(faults)
    return found


def read_counts(path: Path) -> dict[str, int]:
    """Read exposure counts from a file with the columns name and count."""
    found = read_named_numbers(path, ("count",))["count"]
    wrong = [n for n, count in found.items() if count != int(count) or not 0 <= count <= 1e9]
    InvalidFile.raise_if(
        f"{path}, {name!r}: {found[name]:g}, must be a whole number of at least 0"
        + (" and at most 1,000,000,000" if found[name] > 0 else "")
        for name in wrong
    )
    return {name: int(count) for name, count in found.items()}


def _number(cell: Any, decimal: str) -> float:
    if isinstance(cell, str):
        return parse_number(cell, decimal)
    if not is_number(cell):
        raise ValueError("is not a number")
    return float(cell)


def _table_rows(
    path: Path, columns: Sequence[str]
) -> tuple[list[tuple[str, str, dict[str, Any]]], str]:
    """Location, name and cells of each row, and the decimal mark."""
    table = read_cells(path)
    for note in table.notes:
        # No option applies to these small files, so the remedy in the note is dropped.
        say(f"Note: {note.split(';')[0]}")
    names = {name.casefold(): name for name in reversed(list(table.columns))}
    given = [column for column in columns if column in names]
    if "name" not in names or not given:
        there = ", ".join(table.columns) or "none"
        raise InvalidFile(f"{path}: has columns {there}, must have name and {' or '.join(columns)}")
    rows = []
    for i, place in enumerate(table.places):
        cells = {column: table.columns[names[column]][i] for column in given}
        known = {column: cell for column, cell in cells.items() if not is_missing(cell)}
        rows.append((place, as_name(table.columns[names["name"]][i]), known))
    return rows, table.decimal


def _json_rows(path: Path, columns: Sequence[str]) -> list[tuple[str, str, dict[str, Any]]]:
    data = read_json(path)
    faults, rows = [], []
    for name, value in data.items():
        cells = value if isinstance(value, dict) else {columns[0]: value}
        unknown = sorted(set(cells) - set(columns))
        if unknown:
            faults.append(f"{path}, {name!r}: {unknown[0]!r} is not one of {', '.join(columns)}")
        rows.append((repr(name), name, cells))
    InvalidFile.raise_if(faults)
    return rows


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases with a known outcome, both encoded for the world and as written in the table.

    `values` (rows, n) has NaN where a result is missing.
    """

    source: str
    estimate: WorldEstimate
    units: Mapping[str, str]

    @classmethod
    def read(
        cls,
        table: Path | None,
        outcome: str | None,
        drop: Iterable[str] | None,
        reading: Reading,
        *,
        seed: int,
        as_number: bool = False,
    ) -> Cases:
        """The cases of a table and their world; what to know about it is printed."""
        source = source_of(table)
        estimate = fit_source(
            source, outcome, drop=drop or (), reading=reading, seed=seed, as_number=as_number
        )
        note_all(*estimate.warnings)
        units = {} if isinstance(source, Path) else source.units
        return cls(name_of_source(source), estimate, units)

    def problem(self, given: Mapping[str, Any], **more: Any) -> Problem:
        """The problem for the table and the person that options describe; `more` as given."""
        from preceptor.advice.options import PersonOptions, budget_for, problem_for, time_from

        world = self.estimate.world
        person = PersonOptions(given["person"], half_life=given["half_life"])
        budget = budget_for(world, tests=given["tests"])
        return problem_for(world, budget, time_from(given.get("cases")), person, **more)

    @property
    def values(self) -> FloatArray:
        """Results (rows, n) in the units of the table."""
        return self.estimate.design.values

    @property
    def outcome(self) -> FloatArray:
        """True outcomes (rows,)."""
        return self.estimate.design.outcome

    @property
    def name(self) -> str:
        """Name of the outcome, with its unit if known."""
        return self.estimate.design.outcome_name

    def order(self, problem: Problem, seed: int, turn: int) -> IntArray:
        """Random order of the rows for one pass through the table.

        A row is usable if all results of at least one allowed set are known.
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
                f"{self.source}: every case lacks a result of every set that may be shown; "
                "fill in more of the table"
            )
        order: IntArray = np.random.default_rng([seed, turn]).permutation(rows)
        return order

    def available(self, row: int) -> list[int]:
        """Columns of the world whose results are known for a case."""
        found: list[int] = np.flatnonzero(~np.isnan(self.values[row])).tolist()
        return found

    def results(self, row: int, shown: tuple[int, ...]) -> list[float]:
        """Results of the shown tests, as recorded in the log."""
        found: list[float] = self.values[row, list(shown)].tolist()
        return found

    def in_words(self, row: int, shown: tuple[int, ...]) -> list[str]:
        """One line per test: name, result with unit, and the average."""
        world, units = self.estimate.world, self.estimate.world.units
        assert units is not None
        names = world.name_of(shown)
        width = max((len(name) for name in names), default=0)
        lines = []
        for name in names:
            column = self.estimate.design.columns[name]
            value = float(column.values[row])
            if column.levels is not None:
                lines.append(f"{name:<{width}}  {column.levels[int(value)]}")
                continue
            average = float(units.means[world.labels.index(name)])
            unit = self.units.get(name, "")
            # A unit of several words is an explanation and goes into the parentheses.
            is_short = " " not in unit
            after, aside = (f" {unit}".rstrip(), "") if is_short else ("", f"{unit}; ")
            lines.append(f"{name:<{width}}  {value:g}{after} ({aside}average {average:.4g})")
        return lines


@dataclass(frozen=True, eq=False)
class Deck:
    """The usable cases of a table in random order, and which of them a record has used.

    A log does not say which row of the table a round was about. So a round is about the least used
    case with the same results and outcome: a session that is resumed knows what one that never
    stopped knows.
    """

    cases: Cases
    problem: Problem
    seed: int

    @cached_property
    def rows(self) -> IntArray:
        """Rows of the table; their positions here are the positions in the pool."""
        return self.cases.order(self.problem, self.seed, 0)

    @cached_property
    def pool(self) -> CasePool:
        """What a tutor chooses from."""
        from preceptor.learners.case_choice import CasePool

        return CasePool(self.cases.values[self.rows], self.cases.outcome[self.rows])

    def uses(self, record: Iterable[TutorRound]) -> IntArray:
        """How often each case was used, (cases,)."""
        played = [entry.case for entry in record if entry.case is not None]
        return np.bincount(np.array(played, dtype=np.int64), minlength=self.rows.size)

    def position(self, entry: TutorRound, uses: IntArray) -> int | None:
        """The least used case with the results and the outcome of a round; None if there is none.

        Parameters
        ----------
        entry
            A round, told.
        uses
            How often each case was used before, (cases,).
        """
        same = self.pool.outcomes == entry.outcome
        same &= np.all(self.pool.values[:, list(entry.shown)] == entry.values, axis=1)
        found = np.flatnonzero(same)
        return int(found[np.argmin(uses[found])]) if found.size else None

    def located(self, tutor: Tutor) -> Tutor:
        """The tutor with the case of each round of its record."""
        record: list[TutorRound] = []
        for entry in tutor.record:
            case = self.position(entry, self.uses(record))
            record.append(replace(entry, case=case))
        return replace(tutor, record=tuple(record)) if record else tutor

    def next_in_line(self, record: Sequence[TutorRound]) -> int:
        """Position of the next case as they come: none comes again before all have come."""
        uses = self.uses(record)
        turn = int(uses.min())
        order = self.cases.order(self.problem, self.seed, turn)
        place = {row: i for i, row in enumerate(self.rows.tolist())}
        return next(place[row] for row in order.tolist() if uses[place[row]] == turn)
