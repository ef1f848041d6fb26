"""A table of cases as people have it: frames of any make, arrays, text, gaps and mistakes.

`read_table` takes it apart into columns, which `columns.py` reads, and lists every fault at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.words import matches, nearest
from preceptor.errors import InvalidData, MissingExtra
from preceptor.estimation.columns import Column, read_column
from preceptor.estimation.findings import Findings, Said
from preceptor.estimation.missing_codes import Codes
from preceptor.estimation.outcome import Outcome, read_outcome
from preceptor.tables import Reading


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length and their outcomes (rows,); `notes` say how they were read.

    `dropped` are columns that are no tests, such as dates, with the reason.
    """

    columns: tuple[Column, ...]
    outcome: Outcome
    notes: tuple[Said, ...] = ()
    doubts: tuple[Said, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


def read_table(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    outcome: str | None = None,
    drop: Iterable[str] = (),
    notes: Iterable[str] = (),
    reading: Reading | None = None,
    as_number: bool = False,
) -> Table:
    """Read tests and outcomes; every fault is listed with its row and column.

    `notes` say how the file was read, and come first; `reading` says what its values mean;
    `as_number` reads an outcome of two values as a number instead of as yes or no.
    """
    how = reading or Reading()
    raw = _raw_columns(X, names)
    known = list(raw)
    raw_outcome, outcome_name = _raw_outcome(X, y, raw, outcome)
    _drop(raw, drop)
    if not raw:
        raise InvalidData("X: no columns of tests; give at least one beside the outcome")
    rows = len(raw_outcome)
    if rows == 0:
        raise InvalidData("X: the table has no rows; give at least one case a row")
    found = Findings(notes=[Said(note) for note in notes])
    # The outcome may be called by its column's name or by the one that reports use.
    column = next((name for name in known if name not in raw), outcome_name)
    codes = Codes.of(how.missing, [*known, column], found.faults)
    target = read_outcome(
        column,
        raw_outcome,
        found,
        codes,
        positive=how.positive,
        decimal=how.decimal,
        as_number=as_number,
    )
    columns = [read_column(name, values, found, codes, how.decimal) for name, values in raw.items()]
    for name, values in raw.items():
        if len(values) != rows:
            found.faults.append(
                f"column {name!r}: {len(values)} rows, but there are {rows} outcomes; "
                "lengths must agree"
            )
    for sentence in codes.sentences():
        found.note(sentence)
    InvalidData.raise_if(found.faults)
    assert target is not None
    return Table(
        columns=tuple(column for column in columns if column is not None),
        outcome=replace(target, name=outcome_name),
        notes=tuple(found.notes),
        doubts=tuple(found.doubts),
        dropped=tuple(found.dropped),
    )


def _raw_columns(X: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Name and values of each column, the values being an array or a narwhals series."""
    if isinstance(X, Mapping):
        columns = [
            (str(n), _array(v, f"column {n!r}", "one value per case", 1)) for n, v in X.items()
        ]
    elif isinstance(X, (np.ndarray, list, tuple)):
        array = _array(X, "X", "a table with a row per case and a column per test", 2)
        columns = [(f"x{i + 1}", array[:, i]) for i in range(array.shape[1])]
    else:
        frame = _narwhals(X, "X", series=False)
        columns = [(str(name), frame[name]) for name in frame.columns]
    if names is not None:
        if len(names) != len(columns):
            raise InvalidData(
                f"names: {len(names)} names for {len(columns)} columns; lengths must agree"
            )
        columns = [(str(name), values) for name, (_, values) in zip(names, columns, strict=True)]
    repeated = sorted({name for name, _ in columns if [n for n, _ in columns].count(name) > 1})
    if repeated:
        raise InvalidData(
            f"column {repeated[0]!r}: there are two of that name; rename or drop one of them"
        )
    return dict(columns)


def _array(values: Any, what: str, wanted: str, ndim: int) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidData(f"{what}: rows of different lengths, must be {wanted}") from None
    if array.ndim != ndim:
        raise InvalidData(f"{what}: shape {array.shape}, must be {wanted}")
    return array


def _narwhals(native: Any, what: str, *, series: bool) -> Any:
    try:
        import narwhals as nw
    except ImportError as error:
        raise MissingExtra("narwhals", "data", "Reading data frames") from error
    try:
        if series:
            return nw.from_native(native, series_only=True)
        return nw.from_native(native, eager_only=True)
    except TypeError:
        wanted = "a series, an array or the name of a column" if series else "a frame or an array"
        raise InvalidData(
            f"{what}: a {type(native).__name__}, must be {wanted} "
            "(pandas, polars and other frames; collect lazy ones first)"
        ) from None
    except (ValueError, nw.exceptions.NarwhalsError) as error:
        raise InvalidData(f"{what}: cannot be read as a table ({error})") from None


def _raw_outcome(X: Any, y: Any, raw: dict[str, Any], outcome: str | None) -> tuple[Any, str]:
    """Values and name of the outcome; a column of X that is the outcome is taken out of `raw`."""
    if isinstance(y, str):
        alike = matches(y, raw)
        if len(alike) != 1:
            raise InvalidData(f"outcome {y!r}: {_which(y, alike, raw)}")
        return raw.pop(alike[0]), outcome or alike[0]
    if isinstance(y, (np.ndarray, list, tuple)):
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        return _array(y, "y", "one outcome per case", 1), outcome or "outcome"
    if _labelled_differently(X, y):
        raise InvalidData(
            "y: its rows are labelled differently from those of X; align them, "
            "or give y.to_numpy() if the order is right"
        )
    series = _narwhals(y, "y", series=True)
    return series, outcome or str(series.name or "outcome")


def _labelled_differently(X: Any, y: Any) -> bool:
    """Pandas carries row labels; sorting one of the two would go unnoticed without them."""
    indices: list[Any] = [getattr(part, "index", None) for part in (X, y)]
    if not all(hasattr(index, "equals") for index in indices):
        return False
    return len(indices[0]) == len(indices[1]) and not indices[0].equals(indices[1])


def _drop(raw: dict[str, Any], drop: Iterable[str]) -> None:
    unwanted = [drop] if isinstance(drop, str) else list(drop)
    alike = {name: matches(name, raw) for name in unwanted}
    InvalidData.raise_if(
        f"drop: {name!r}, {_which(name, found, raw)}"
        for name, found in alike.items()
        if len(found) != 1
    )
    for found in alike.values():
        raw.pop(found[0], None)


def _which(name: str, alike: list[str], there: Iterable[str]) -> str:
    """Why a name does not say which column is meant."""
    if alike:
        return f"could be {' or '.join(map(repr, alike))}; write it as in the table"
    near = nearest(name, there)
    hint = f" (did you mean {near!r}?)" if near else ""
    return f"no such column{hint}; there are {', '.join(there)}"
