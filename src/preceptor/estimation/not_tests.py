"""Numbers that are hardly test results: names of cases, codes for missing, single mistakes."""

from __future__ import annotations

import re
from shlex import quote

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted
from preceptor.estimation.findings import FEW_CASES, Findings, place
from preceptor.estimation.missing_codes import suspected

# Standard deviations of all other values beyond which one looks like a mistake.
_FAR_OUT = 8.0
# Fewer cases cannot show that a number is never repeated.
_ENOUGH = 20
# Ties that would be expected among so many numbers from that range, if they measured something.
_EXPECTED_TIES = 5.0
# Whole numbers of so many digits, all different but of one length, are given, not measured.
_DIGITS = 6
_NAMES = re.compile(
    r"(^|[\W_])(id|ids|nr|no|mrn|pid|uid|key|index|(case|patient|subject|record|row|study|hospital)"
    r"([\W_]*(id|nr|no|number|num|code|key))?)$|(?<=[a-z])(ID|Id|Nr|No)$",
)


def names_cases(name: str, values: FloatArray) -> bool:
    """Whether a column is called an identifier, and is one: whole numbers, never the same twice."""
    called = _NAMES.search(name) or _NAMES.search(name.casefold())
    return bool(called) and _all_different(values)


def doubt_number(name: str, values: FloatArray, rows: IntArray, found: Findings) -> None:
    """Say what is odd about a column (cases,) of numbers; `rows` are their places in the table."""
    known = np.flatnonzero(~np.isnan(values))
    numbers = values[known]
    lowest, highest = numbers.min(), numbers.max()
    inside = (numbers > lowest) & (numbers < highest)
    if not inside.any():
        _doubt_two(name, numbers, found)
        return
    codes = suspected(values)
    for value, times in codes:
        code = quote(f"{name}={value:g}")
        found.doubt(
            f"{name} is {value:g} in {times:,} of {known.size:,} cases, far from the rest; if that "
            f"stands for a missing value, `missing` {code} leaves it empty."
        )
    if not codes:
        _doubt_farthest(name, numbers, rows[known], found)
    _doubt_identifier(name, values, found)


def _doubt_two(name: str, values: FloatArray, found: Findings) -> None:
    """A column of two values has no outliers, but one of the two may be too rare to weigh."""
    highest = int(np.sum(values == values.max()))
    often = min(highest, values.size - highest)
    if often < FEW_CASES:
        rarer = values.max() if highest == often else values.min()
        found.doubt(f"{name} is {rarer:g} in {counted(often, 'case')} only, too few to weigh.")


def _doubt_farthest(name: str, values: FloatArray, rows: IntArray, found: Findings) -> None:
    """One value far from all the others."""
    farthest = int(np.argmax(np.abs(values - values.mean())))
    others = np.delete(values, farthest)
    # Measured by the other cases: a single value among few can never be far by its own measure.
    away, deviation = abs(values[farthest] - others.mean()), float(others.std())
    if away > _FAR_OUT * deviation:
        how = "the only one that differs"
        if deviation > 0.0:
            how = f"{away / deviation:.0f} standard deviations from the average of the others"
        found.doubt(
            f"{name}: one value is {how}; if that is a mistake, correct it.",
            placed=f"{place(name, int(rows[farthest]))}: {values[farthest]:g} is {how}; if that is "
            "a mistake, correct it.",
        )


def _doubt_identifier(name: str, values: FloatArray, found: Findings) -> None:
    if values.size > _ENOUGH and np.all(np.diff(values) == 1.0):
        found.doubt(f"{name} counts the rows; if it is no test, `drop` {quote(name)}.")
        return
    if not _all_different(values):
        return
    known = values[~np.isnan(values)]
    span = float(np.ptp(known)) + 1.0
    steps = np.diff(known)
    is_sorted = bool(np.all(steps > 0.0) or np.all(steps < 0.0))
    lengths = np.floor(np.log10(np.maximum(np.abs(known), 1.0)))
    is_long = bool(known.min() >= 10.0 ** (_DIGITS - 1) and np.ptp(lengths) == 0.0)
    if is_sorted or is_long or known.size**2 / (2.0 * span) > _EXPECTED_TIES:
        found.doubt(
            f"{name} is a whole number that no two cases share, so it may name cases instead of "
            f"measuring them; if so, `drop` {quote(name)}."
        )


def _all_different(values: FloatArray) -> bool:
    """Whether there are many whole numbers, none of them twice."""
    known = values[~np.isnan(values)]
    if known.size <= _ENOUGH or np.abs(known).max() > 2.0**53:
        return False
    return bool(np.all(known == np.floor(known))) and np.unique(known).size == known.size
