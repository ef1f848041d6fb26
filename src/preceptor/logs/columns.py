"""Columns of a log as arrays: what is given is read exactly, and what is left out is filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.logs.cells import FIRST_DAY, LAST_DAY, as_moment, as_yes_no

MOMENT = np.dtype("datetime64[us]")
# May be left out of a file and are then left out when it is written again.
OPTIONAL = ("feedback", "when")
FIELDS = ("participant", "rounds", "shown", "values", "prediction", "outcome", *OPTIONAL)

_KINDS: dict[str, tuple[Any, str]] = {
    "rounds": (np.int64, "whole numbers, one for each row"),
    "shown": (np.bool_, "true or false for each row and test"),
    "values": (np.float64, "numbers"),
    "prediction": (np.float64, "numbers"),
    "outcome": (np.float64, "numbers"),
}


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
