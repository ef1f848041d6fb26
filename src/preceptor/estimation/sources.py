"""A world from whatever holds the cases: a file, a built-in table, a frame, or a world already."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from preceptor._base.files import read_text
from preceptor.datasets import DataSet
from preceptor.errors import InvalidFile, InvalidInput, MissingExtra
from preceptor.estimation.world import fit_world
from preceptor.estimation.world_estimate import WorldEstimate
from preceptor.tables import Reading

CASE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def fit_source(
    source: Any,
    outcome: str | None = None,
    *,
    unit: str | None = None,
    drop: Iterable[str] = (),
    reading: Reading | None = None,
    seed: int = 0,
) -> WorldEstimate:
    """Estimate a world from a file of cases, a built-in table, or anything `fit_world` takes.

    Parameters
    ----------
    source
        The path of a .csv, .tsv, .jsonl or .parquet file with a row per case; a `DataSet`; or a
        frame, mapping or array as for `fit_world`.
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
    """
    if isinstance(source, DataSet):
        if outcome is not None and outcome != source.outcome:
            raise InvalidInput(f"outcome: that of {source.name} is {source.outcome!r}")
        columns, label = dict(source.columns), source.outcome_label
        return fit_world(columns, source.outcome, outcome=label, drop=drop, seed=seed)
    if not isinstance(source, (str, Path)):
        if outcome is None:
            raise InvalidInput("outcome: missing; name the column that is to be predicted")
        label = f"{outcome}, {unit}" if unit else outcome
        return fit_world(source, outcome, outcome=label, drop=drop, seed=seed)
    frame = read_cases(Path(source))
    if outcome is None:
        names = ", ".join(map(str, frame.columns))
        raise InvalidInput(f"outcome: say which column of {source} it is: {names}")
    try:
        return fit_source(frame, outcome, unit=unit, drop=drop, seed=seed)
    except InvalidInput as error:
        raise InvalidFile([f"{source}: {fault}" for fault in error.faults]) from None


def name_of_source(source: Any) -> str:
    """Where the cases came from, in a word or two, for reports."""
    if isinstance(source, DataSet):
        return source.title
    return Path(source).name if isinstance(source, (str, Path)) else f"a {type(source).__name__}"


def read_cases(path: Path) -> Any:
    """A table of cases as a pandas frame, by the ending of its file."""
    suffix = path.suffix.lower()
    if suffix not in CASE_SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in {', '.join(CASE_SUFFIXES)}")
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("pandas", "data", "Reading a table") from error
    if suffix == ".parquet":
        if not path.is_file():
            raise InvalidFile(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}")
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise InvalidFile(f"{path}: not a Parquet file ({error})") from None
    text = read_text(path).removeprefix("\ufeff").rstrip("\r\n")
    if not text.strip():
        raise InvalidFile(f"{path}: is empty; it needs a header and a row for each case")
    separator = "\t" if suffix == ".tsv" else ","
    if suffix != ".jsonl":
        _check_rows(path, text, separator)
    try:
        if suffix == ".jsonl":
            return pd.read_json(io.StringIO(text), lines=True)
        # Blank lines become rows without an outcome, so that rows and lines count alike.
        return pd.read_csv(
            io.StringIO(text), sep=separator, skipinitialspace=True, skip_blank_lines=False
        )
    except ValueError as error:
        raise InvalidFile(f"{path}: cannot be read as a table ({error})") from None


def _check_rows(path: Path, text: str, separator: str) -> None:
    """Every row has as many cells as the header; pandas would shift or fill them silently."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    header = [name.strip() for name in next(reader)]
    repeated = sorted({name for name in header if header.count(name) > 1})
    faults = [f"{path}, line 1: column {name!r} is there twice; rename one" for name in repeated]
    for cells in reader:
        if cells and len(cells) != len(header):
            faults.append(
                f"{path}, line {reader.line_num}: {len(cells)} cells, but the header has "
                f"{len(header)} columns"
            )
    InvalidFile.raise_if(faults[:5])
