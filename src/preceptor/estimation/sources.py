"""A world from whatever holds the cases: a file, a built-in table, a frame, or a world already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from preceptor._base.words import matches
from preceptor.datasets import DataSet
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.estimation.world import fit_world
from preceptor.estimation.world_estimate import WorldEstimate
from preceptor.model.links import PROBIT
from preceptor.tables import Reading, read_sheet

# Faults of these arguments begin with them, so that the command line can name its options.
_ARGUMENTS = ("missing:", "positive:", "drop:", "link:")


def fit_source(
    source: Any,
    outcome: str | None = None,
    *,
    unit: str | None = None,
    drop: Iterable[str] = (),
    reading: Reading | None = None,
    seed: int = 0,
    link: str = PROBIT,
    as_number: bool = False,
) -> WorldEstimate:
    """Estimate a world from a file of cases, a built-in table, or anything `fit_world` takes.

    Parameters
    ----------
    source
        The path of a file with a row per case: text (.csv, .txt, .tsv), a workbook (.xlsx, .xlsm,
        .xls, .ods), .jsonl or .parquet; a `DataSet`; or a frame, mapping or array as for
        `fit_world`.
    outcome
        The column that is to be predicted; a `DataSet` knows its own.
    unit
        The unit of the outcome, for reports.
    drop
        Columns to ignore.
    reading
        How the table is written and what its values mean, where guessing would go wrong.
    seed
        Seed of everything random in the estimate.
    link
        How a score becomes a probability where the outcome is yes or no.
    as_number
        Read an outcome of two values as a number.
    """
    notes: tuple[str, ...] = ()
    table, target = source, outcome
    if isinstance(source, DataSet):
        if outcome is not None and not matches(outcome, [source.outcome]):
            raise InvalidInput(f"outcome: that of {source.name} is {source.outcome!r}")
        table, target = dict(source.columns), source.outcome
    elif isinstance(source, (str, Path)):
        sheet = read_sheet(Path(source), reading)
        table, notes = sheet.frame, sheet.notes
        reading = with_points(reading or Reading())
        target = _as_in_the_table(outcome, table.columns)
    if target is None:
        if isinstance(source, (str, Path)):
            names = ", ".join(map(str, table.columns))
            fault = f"outcome: say which column of {source} it is: {names}"
            raise InvalidInput(fault).beside(notes)
        raise InvalidInput("outcome: missing; name the column that is to be predicted")
    label = f"{target}, {unit}" if unit else target
    if isinstance(source, DataSet):
        label = source.outcome_label
    try:
        return fit_world(
            table,
            target,
            outcome=label,
            drop=drop,
            reading=reading,
            notes=notes,
            seed=seed,
            link=link,
            as_number=as_number,
        )
    except InvalidInput as error:
        if not isinstance(source, (str, Path)):
            raise
        raise InvalidFile(
            [f if f.startswith(_ARGUMENTS) else f"{source}: {f}" for f in error.faults]
        ).beside(notes) from None


def with_points(reading: Reading) -> Reading:
    """How a sheet is read on: whatever stood before decimals in its file, now it is a point."""
    return replace(reading, decimal=None)


def _as_in_the_table(outcome: str | None, columns: Iterable[str]) -> str | None:
    """The name of the outcome's column, capitals and blanks aside; as it is if that is unclear."""
    alike = [] if outcome is None else matches(outcome, map(str, columns))
    return alike[0] if len(alike) == 1 else outcome


def name_of_source(source: Any) -> str:
    """Where the cases came from, in a word or two, for reports."""
    if isinstance(source, DataSet):
        return source.title
    return Path(source).name if isinstance(source, (str, Path)) else f"a {type(source).__name__}"
