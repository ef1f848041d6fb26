"""What is wrong with a log, row by row; each fault is one sentence with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.words import repeated
from preceptor.logs.cells import in_iso

# A file with one mistake in every row is told about it a few times, not a thousand.
MOST_FAULTS = 10


def shorten(faults: Sequence[str]) -> list[str]:
    """The first few faults, and how many more there are."""
    if len(faults) <= MOST_FAULTS:
        return list(faults)
    return [*faults[:MOST_FAULTS], f"and {len(faults) - MOST_FAULTS} more like these"]


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
    return shorten(faults)


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
