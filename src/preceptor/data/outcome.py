"""The outcome of a table: a number, or yes or no.

An outcome with exactly two values is yes or no, coded 1 and 0, unless it is requested as a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.checks import NO, YES, parse_yes_no
from preceptor._base.values import FloatArray
from preceptor._base.words import counted
from preceptor.data.columns import TableColumn, read_column
from preceptor.data.findings import ENOUGH_CASES, Findings, few, place
from preceptor.data.odd_values import Codes, plain_number

# Outcomes rarer than this share of cases are hard to learn from any table.
_RARE = 0.05
# Losses are in squared units of the outcome, which must not overflow or, of its inverse, underflow.
_LARGEST = 1e40
# Relative differences below this are rounding.
ROUNDING = 1e-12

# Words for what happened or was found, which counts as 1, and for its absence.
_HAPPENED = """
    positive pos + case cases dead died deceased death malignant present abnormal ill sick diseased
    disease event relapse relapsed recurrence failure failed tested_positive verstorben tot krank
    positiv bösartig
"""
_DID_NOT = """
    negative neg - control controls alive living survived benign absent normal healthy censored none
    success tested_negative lebend gesund negativ gutartig
"""
_POSITIVE, _NEGATIVE = YES.union(_HAPPENED.split()), NO.union(_DID_NOT.split())
_PAIRS = {frozenset("mb"): "m", frozenset("tf"): "t"}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcomes (rows,), NaN where missing; `levels` are the two values as written, 1 second.

    `is_binary`: the outcome is yes or no, coded 1 and 0.
    """

    name: str
    values: FloatArray
    levels: tuple[str, str] | None = None
    is_binary: bool = False


def read_outcome(
    name: str,
    raw: Any,
    found: Findings,
    codes: Codes,
    *,
    positive: str | None = None,
    decimal: str | None = None,
    as_number: bool = False,
) -> Outcome | None:
    """Read the outcome; None after a fault. `as_number` keeps an outcome of two values numeric."""
    dropped = len(found.dropped)
    column = read_column(name, raw, found, codes, decimal)
    if len(found.dropped) > dropped:
        del found.dropped[dropped:]
        found.faults.append(f"outcome {name!r}: holds dates or times, must be numbers or two texts")
    if column is None:
        return None
    known = column.values[~np.isnan(column.values)]
    if known.size == 0:
        found.faults.append(f"outcome {name!r}: no row has a value")
        return None
    distinct = np.unique(known)
    if column.levels is None and np.ptp(distinct) <= ROUNDING * np.abs(distinct).max():
        distinct = distinct[:1]
    if distinct.size == 1:
        value = column.levels[int(distinct[0])] if column.levels else f"{distinct[0]:g}"
        found.faults.append(
            f"outcome {name!r}: is {value} in every row; there is nothing to predict"
        )
        return None
    if distinct.size > 2:
        return _of_many(column, distinct, positive, found)
    return _of_two(column, known, distinct, positive, found, as_number)


def _of_many(
    column: TableColumn, distinct: FloatArray, positive: str | None, found: Findings
) -> Outcome | None:
    """An outcome with more than two values, which must be numbers."""
    name, faults = column.name, len(found.faults)
    if positive is not None:
        found.faults.append(
            f"positive: {positive!r}, but outcome {name!r} takes {distinct.size:,} values, not "
            "two; leave it out, or name codes for missing in `missing`"
        )
    if column.levels is not None:
        row = int(np.flatnonzero(~np.isnan(column.values))[0])
        level = column.levels[int(column.values[row])]
        found.faults.append(
            f"outcome, {place(name, row)}: {level!r} is not a number; the outcome must be numeric, "
            f"or two texts such as yes and no, but there are {len(column.levels):,} "
            f"({few(column.levels, 3)}); codes for missing go into `missing`"
        )
    else:
        spread, size = float(np.ptp(distinct)), float(np.abs(distinct).max())
        if size > _LARGEST or spread < 1.0 / _LARGEST:
            found.faults.append(
                f"outcome {name!r}: runs from {distinct[0]:g} to {distinct[-1]:g}, so squares "
                f"overflow (must differ by {1.0 / _LARGEST:g} to {_LARGEST:g}); use another unit"
            )
    return Outcome(name, column.values) if len(found.faults) == faults else None


def _of_two(
    column: TableColumn,
    known: FloatArray,
    distinct: FloatArray,
    positive: str | None,
    found: Findings,
    as_number: bool,
) -> Outcome | None:
    """An outcome of two values, which become 0 and 1 unless it stays a number."""
    name, numeric = column.name, column.levels is None
    written = [f"{v:g}" if column.levels is None else column.levels[int(v)] for v in distinct]
    often = [int(np.sum(known == v)) for v in distinct]
    if positive is not None:
        chosen = [i for i in (0, 1) if _same(positive, written[i], numeric)]
        if len(chosen) != 1:
            found.faults.append(
                f"positive: {positive!r}, but outcome {name!r} is either {written[0]!r} or "
                f"{written[1]!r}; give one of them"
            )
            return None
        one = chosen[0]
    else:
        one = 1 if numeric else _guess(written, often)
    values = column.values
    if not (as_number and numeric and positive is None):
        values = np.where(np.isnan(values), np.nan, (values == distinct[one]).astype(np.float64))
    if column.is_boolean and positive is None:
        found.note(f"{name}: true counts as 1, false as 0; `positive` says otherwise.")
    elif not numeric or positive is not None or not (as_number or written == ["0", "1"]):
        remedy = "" if positive is not None else "; `positive` says otherwise"
        found.note(f"{name}: {written[one]!r} counts as 1, {written[1 - one]!r} as 0{remedy}.")
    if as_number:
        found.doubt(
            f"{name} takes only two values and is read as a number: a prediction is a probability "
            "and the loss its squared error (Brier score), but predictions of the linear model may "
            "leave the range, and bounds hold for linear readers only."
        )
    else:
        _doubt_rare(name, often, one, found)
    if min(often) < ENOUGH_CASES:
        fewest = int(np.argmin(often))
        kind = "positive" if fewest == one else "negative"
        found.doubt(
            f"{name}: {counted(often[fewest], kind)} ({written[fewest]}) among {known.size:,} "
            "cases, too few to learn from."
        )
    elif as_number and (max(np.abs(distinct)) > _LARGEST or np.ptp(distinct) < 1.0 / _LARGEST):
        return _of_many(column, distinct, None, found)
    return Outcome(name, values, (written[1 - one], written[one]), not as_number)


def _doubt_rare(name: str, often: list[int], one: int, found: Findings) -> None:
    """Record that nearly all cases have the same outcome."""
    share = often[one] / sum(often)
    if min(share, 1.0 - share) < _RARE:
        rare = "yes" if share < _RARE else "no"
        found.doubt(
            f"{name} is {rare} in only {min(share, 1.0 - share):.1%} of cases: always saying "
            f"{'no' if rare == 'yes' else 'yes'} is nearly always right, and anything said about "
            f"{rare} rests on {counted(min(often), 'case')}."
        )


def _same(wanted: str, written: str, numeric: bool) -> bool:
    if wanted.strip().casefold() == written.casefold():
        return True
    if not numeric:
        return False
    said = parse_yes_no(wanted)
    return plain_number(written) == (plain_number(wanted) if said is None else float(said))


def _guess(written: list[str], often: list[int]) -> int:
    """Which of two words counts as 1: what happened or was found, else the rarer one."""
    words = [word.casefold() for word in written]
    pair = _PAIRS.get(frozenset(words))
    if pair is not None:
        return words.index(pair)
    for listed, answer in ((_POSITIVE, 1), (_NEGATIVE, 0)):
        there = [word in listed for word in words]
        if sum(there) == 1:
            return there.index(True) if answer else there.index(False)
    return 0 if often[0] < often[1] else 1
