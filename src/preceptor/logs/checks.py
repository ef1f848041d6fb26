"""Columns of a log as arrays, and what is wrong with them, row by row.

What is given is read exactly, and what is left out is filled in. Each fault is one sentence with
its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor._base.words import repeated
from preceptor.logs.cells import FIRST_DAY, LAST_DAY, as_moment, as_yes_no, in_iso
from preceptor.tables.columns import first_faults

MOMENT = np.dtype("datetime64[us]")
# May be left out of a file and are then left out when it is written again.
OPTIONAL = ("feedback", "when")
DECIDED = "decided"
FIELD_COLUMNS = (
    *("participant", "round", "shown", "values", "prediction", "outcome"),
    *(*OPTIONAL, DECIDED),
)
FIELDS = ("participant", "rounds", "shown", "values", "prediction", "outcome", *OPTIONAL)

_KINDS: dict[str, tuple[Any, str]] = {
    "rounds": (np.int64, "whole numbers, one for each row"),
    "shown": (np.bool_, "true or false for each row and test"),
    "values": (np.float64, "numbers"),
    "prediction": (np.float64, "numbers"),
    "outcome": (np.float64, "numbers"),
}


def array_faults(names: Sequence[str], arrays: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    """Whether there is anything in the log, and whether the arrays fit together."""
    faults = []
    if not names:
        faults.append("names: no tests; name at least one")
    twice = repeated(names)
    if twice:
        faults.append(f"names: {', '.join(map(repr, twice))} repeated; each test needs its own")
    rows = arrays["participant"].size
    for field, array in arrays.items():
        wanted = (rows, len(names)) if field in ("shown", "values") else (rows,)
        if array.shape != wanted and not (rows == 0 and array.size == 0):
            faults.append(f"{field}: shape {array.shape}, must be {wanted}")
    if rows == 0:
        faults.append("the log is empty; it needs at least one row, one for each round")
    return faults


def row_faults(
    names: Sequence[str],
    arrays: Mapping[str, npt.NDArray[Any]],
    place: Callable[[int], str],
    column: Callable[[str], str] = lambda field: field,
    *,
    decided: bool | None = None,
) -> list[str]:
    """Faults within rows; `place` names a row and `column` a field as the reader knows them.

    `decided` says that answers are decisions, which are 0 or 1.
    """
    faults = list(_row_faults(names, arrays, place, column))
    if decided:
        answers = arrays["prediction"]
        faults += [
            f"{place(row)}, column '{column('prediction')}': {answers[row]:g} is no decision, must "
            "be 1 (yes) or 0 (no)"
            for row in _where(~np.isin(answers, (0.0, 1.0)) & np.isfinite(answers))
        ]
    return first_faults(faults)


def _row_faults(
    names: Sequence[str],
    arrays: Mapping[str, npt.NDArray[Any]],
    place: Callable[[int], str],
    column: Callable[[str], str],
) -> Iterator[str]:
    shown, values = arrays["shown"], arrays["values"]
    for row in _where(np.char.str_len(arrays["participant"]) == 0):
        yield f"{place(row)}, column '{column('participant')}': empty; say who answered"
    yield from _repeated_rounds(arrays, place)
    for row in _where(~np.isfinite(arrays["prediction"])):
        given = arrays["prediction"][row]
        yield (
            f"{place(row)}, column '{column('prediction')}': {_in_words(given)}, must be a finite "
            "number; leave out rounds without an answer"
        )
    for row in _where(np.isinf(arrays["outcome"])):
        yield (
            f"{place(row)}, column '{column('outcome')}': infinite, must be a finite number, or "
            "empty where it is not known"
        )
    for row in _where(arrays["feedback"] & np.isnan(arrays["outcome"])):
        yield (
            f"{place(row)}, column '{column('feedback')}': told, but the outcome is missing; "
            f"fill in '{column('outcome')}', or say no"
        )
    yield from _backward_dates(arrays, place, column)
    for row, test in np.argwhere(shown & ~np.isfinite(values)):
        yield (
            f"{place(row)}, test '{column(names[test])}': shown, but its value is "
            f"{_in_words(values[row, test])}; must be a finite number"
        )
    for row, test in np.argwhere(~shown & ~np.isnan(values)):
        yield (
            f"{place(row)}, test '{column(names[test])}': hidden, but has the value "
            f"{values[row, test]:g}; must be NaN, or mark the test as shown"
        )


def _repeated_rounds(
    arrays: Mapping[str, npt.NDArray[Any]], place: Callable[[int], str]
) -> Iterator[str]:
    first: dict[tuple[str, int], int] = {}
    keys = zip(arrays["participant"].tolist(), arrays["rounds"].tolist(), strict=True)
    for row, key in enumerate(keys):
        if key in first:
            yield (
                f"{place(row)}: a second row for participant {key[0]!r}, round {key[1]} (the first "
                f"is {place(first[key])}); keep one, or number the rounds differently"
            )
        else:
            first[key] = row


def _backward_dates(
    arrays: Mapping[str, npt.NDArray[Any]],
    place: Callable[[int], str],
    column: Callable[[str], str],
) -> Iterator[str]:
    dated = np.flatnonzero(~np.isnat(arrays["when"]))
    _, person = np.unique(arrays["participant"][dated], return_inverse=True)
    rows = dated[np.lexsort((arrays["rounds"][dated], person))]
    who, when = arrays["participant"][rows], arrays["when"][rows]
    for i in _where((who[1:] == who[:-1]) & (when[1:] < when[:-1])):
        earlier, row = int(rows[i]), int(rows[i + 1])
        yield (
            f"{place(row)}, column '{column('when')}': {in_iso(when[i + 1])} in round "
            f"{arrays['rounds'][row]} is before {in_iso(when[i])} in round "
            f"{arrays['rounds'][earlier]} ({place(earlier)}); correct one of the dates, or number "
            "the rounds as they were played"
        )


def _where(condition: npt.NDArray[np.bool_]) -> list[int]:
    found: list[int] = np.flatnonzero(condition).tolist()
    return found


def _in_words(number: float) -> str:
    return "missing" if np.isnan(number) else "infinite"


def given_columns(given: Mapping[str, Any]) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
    """All columns as arrays, and what is wrong with those that cannot be read."""
    faults: list[str] = []
    arrays: dict[str, Any] = {"participant": np.asarray(given["participant"], dtype=np.str_)}
    nobody = np.full(np.shape(given["prediction"]), np.nan)
    for field, (kind, in_words) in _KINDS.items():
        column = given[field]
        try:
            arrays[field] = _exact(nobody if column is None else column, kind)
        except (TypeError, ValueError, OverflowError):
            faults.append(f"{field}: cannot be read as {in_words}")
    for field in OPTIONAL:
        if np.ndim(given[field]) == 0 and given[field] is not None:
            faults.append(f"{field}: {given[field]!r}, must be a list with a cell for each row")
    if not faults:
        arrays["feedback"] = feedback_of(given["feedback"], arrays["outcome"], faults)
        arrays["when"] = moments_of(given["when"], arrays["outcome"].shape, faults)
    return arrays, faults


def feedback_of(given: Any, outcome: FloatArray, faults: list[str]) -> npt.NDArray[np.bool_]:
    """Whether the person was told; where nothing is said, whoever has an outcome was."""
    if given is None:
        return ~np.isnan(outcome)
    if isinstance(given, np.ndarray) and given.dtype == np.bool_:
        return given
    cells = _read(given, "feedback", as_yes_no, None, faults)
    if len(cells) != outcome.size:  # its shape is a fault that others report
        return np.zeros(len(cells), dtype=np.bool_)
    known = ~np.isnan(outcome)
    told = [known[row] if cell is None else cell for row, cell in enumerate(cells)]
    return np.array(told, dtype=np.bool_)


def moments_of(given: Any, shape: tuple[int, ...], faults: list[str]) -> npt.NDArray[Any]:
    """Dates and times without a zone, in UTC where one was given; NaT where there is nothing."""
    nothing = np.datetime64("NaT")
    if given is None:
        return np.full(shape, nothing, dtype=MOMENT)
    if isinstance(given, np.ndarray) and given.dtype.kind == "M":
        days = given.ravel().astype("datetime64[D]")
        for row in np.flatnonzero((days < FIRST_DAY) | (days > LAST_DAY))[:1]:
            faults.append(f"row {row}, column 'when': {days[row]}, years go from 1 to 9999")
        return given.astype(MOMENT)
    cells = _read(given, "when", as_moment, nothing, faults)
    return np.array(cells, dtype=MOMENT)


def _read(given: Any, field: str, convert: Any, instead: Any, faults: list[str]) -> list[Any]:
    found = []
    for row, cell in enumerate(given):
        try:
            found.append(convert(cell))
        except ValueError as error:
            faults.append(f"row {row}, column '{field}': {error}")
            found.append(instead)
    return found


def _exact(given: npt.ArrayLike, kind: Any) -> npt.NDArray[Any]:
    """The array in this type, refused when conversion would change a value."""
    array = np.asarray(given)
    converted = array.astype(kind)
    if kind is not np.float64 and not np.array_equal(converted, array):
        raise ValueError
    return converted
