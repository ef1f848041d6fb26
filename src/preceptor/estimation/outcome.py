"""The outcome of a table: numbers that differ, or one of two values, which is yes or no.

Whatever takes two values only is a yes-or-no outcome, 1 and 0, unless somebody wants it as a
number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.typed import NO, YES, yes_no_in
from preceptor._base.values import FloatArray
from preceptor.estimation.cells import plain_number
from preceptor.estimation.columns import Column, read_column
from preceptor.estimation.findings import Findings, few, place
from preceptor.estimation.missing_codes import Codes

# Fewer cases of one kind, and hardly anything can be learned about what makes them so.
_FEW = 10
# Outcomes that are rarer than this share of cases are hard to learn about from any table.
_RARE = 0.05
# Losses are in squared units of the outcome, which must stay numbers.
_SMALLEST, _LARGEST = 1e-40, 1e40
# What differs by less than this share of its size differs by rounding.
ROUNDING = 1e-12

# What happened, or was found, counts as 1.
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
    """Outcomes (rows,), NaN where missing; with two values, how they are written, 1 the second.

    `is_binary`: the outcome is yes or no, and its values are 1 and 0.
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
    """The outcome, or None and a fault; `as_number` takes two values for any two numbers."""
    dropped = len(found.dropped)
    column = read_column(name, raw, found, codes, decimal)
    if len(found.dropped) > dropped:
        del found.dropped[dropped:]
        found.faults.append(f"outcome {name!r}: holds dates or times, must be numbers or two texts")
    if column is None:
        return None
    known = column.values[~np.isnan(column.values)]
    if known.size == 0:
        found.faults.append(f"outcome {name!r}: no row has a value; nothing can be learned from it")
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
    column: Column, distinct: FloatArray, positive: str | None, found: Findings
) -> Outcome | None:
    """An outcome of numbers; it has no value that could count as 1."""
    name, faults = column.name, len(found.faults)
    if positive is not None:
        found.faults.append(
            f"positive: {positive!r}, but outcome {name!r} takes {distinct.size:,} values and not "
            "two; leave it out, or name those to be left empty in `missing`"
        )
    if column.levels is not None:
        row = int(np.flatnonzero(~np.isnan(column.values))[0])
        level = column.levels[int(column.values[row])]
        found.faults.append(
            f"outcome, {place(name, row)}: {level!r} is not a number; the outcome must be numeric, "
            f"or two texts such as yes and no, but there are {len(column.levels):,} "
            f"({few(column.levels, 3)}); `missing` leaves some empty"
        )
    else:
        spread, size = float(np.ptp(distinct)), float(np.abs(distinct).max())
        if size > _LARGEST or spread < _SMALLEST:
            found.faults.append(
                f"outcome {name!r}: runs from {distinct[0]:g} to {distinct[-1]:g}, where squares "
                f"cannot be reckoned with (must differ by {_SMALLEST:g} to {_LARGEST:g}); write it "
                "in another unit"
            )
    return Outcome(name, column.values) if len(found.faults) == faults else None


def _of_two(
    column: Column,
    known: FloatArray,
    distinct: FloatArray,
    positive: str | None,
    found: Findings,
    as_number: bool,
) -> Outcome | None:
    """An outcome of two values, which become 0 and 1; numbers that are to stay numbers do not."""
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
    if column.is_truth and positive is None:
        found.note(f"{name}: true counts as 1, false as 0; `positive` says otherwise.")
    elif not numeric or positive is not None or not (as_number or written == ["0", "1"]):
        remedy = "" if positive is not None else "; `positive` says otherwise"
        found.note(f"{name}: {written[one]!r} counts as 1, {written[1 - one]!r} as 0{remedy}.")
    if as_number:
        found.doubt(
            f"{name} takes only two values and is read as a number: a prediction is a probability "
            "and the loss its squared error (Brier score), but the model is linear and may leave "
            "their range, and what nobody can do better than holds for linear readers only."
        )
    else:
        _doubt_rare(name, often, one, found)
    if min(often) < _FEW:
        fewest = int(np.argmin(often))
        kind = "positive" if fewest == one else "negative"
        are = f"1 {kind} is" if often[fewest] == 1 else f"{often[fewest]} {kind}s are"
        has = "has" if often[fewest] == 1 else "have"
        found.doubt(
            f"{name}: {are} too few to learn from ({often[fewest]} of {known.size:,} cases {has} "
            f"{written[fewest]})."
        )
    elif as_number and (max(np.abs(distinct)) > _LARGEST or np.ptp(distinct) < _SMALLEST):
        return _of_many(column, distinct, None, found)
    return Outcome(name, values, (written[1 - one], written[one]), not as_number)


def _doubt_rare(name: str, often: list[int], one: int, found: Findings) -> None:
    """Say when nearly all cases end alike."""
    share = often[one] / sum(often)
    if min(share, 1.0 - share) < _RARE:
        rare = "yes" if share < _RARE else "no"
        found.doubt(
            f"{name} is {rare} in {min(share, 1.0 - share):.1%} of cases only: always saying "
            f"{'no' if rare == 'yes' else 'yes'} is nearly always right, and whatever is said "
            f"about the few with {rare} rests on {min(often):,} of them."
        )


def _same(wanted: str, written: str, numeric: bool) -> bool:
    if wanted.strip().casefold() == written.casefold():
        return True
    if not numeric:
        return False
    said = yes_no_in(wanted)
    return plain_number(written) == (plain_number(wanted) if said is None else float(said))


def _guess(written: list[str], often: list[int]) -> int:
    """Which of two words counts as 1: what happened or was found, else what is rarer."""
    words = [word.casefold() for word in written]
    pair = _PAIRS.get(frozenset(words))
    if pair is not None:
        return words.index(pair)
    for listed, answer in ((_POSITIVE, 1), (_NEGATIVE, 0)):
        there = [word in listed for word in words]
        if sum(there) == 1:
            return there.index(True) if answer else there.index(False)
    return 0 if often[0] < often[1] else 1
