"""Cells and numbers that are unlikely to be test results.

These are dates, codes for missing values (those that the user named, and those that look like one),
identifiers, and single mistakes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import parse_spelling
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted, matches, nearest
from preceptor.data.findings import FEW_CASES, Findings, place

_ZONE = r"(?:[AaPp]\.?[Mm]\.?|Z|[+-]\d{2}:?\d{2}|Uhr)?"
_TIME = rf"(?:[T ]+\d{{1,2}}[:.]\d{{2}}(?:[:.]\d{{2}}(?:[.,]\d+)?)?\s*{_ZONE})?"
_MONTHS = r"(?:jan|feb|m[a\u00e4]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[^\W\d_]*\.?"
_DATES = (
    re.compile(rf"(?P<y>\d{{4}})([-/.])(?P<a>\d{{1,2}})\2(?P<b>\d{{1,2}}){_TIME}"),
    re.compile(rf"(?P<a>\d{{1,2}})([-/.])(?P<b>\d{{1,2}})\2(?:\d{{4}}|\d{{2}}){_TIME}"),
    re.compile(rf"(?P<a>\d{{1,2}})\.?[ -]{_MONTHS}[ -](?:\d{{4}}|\d{{2}}){_TIME}", re.IGNORECASE),
    re.compile(rf"{_MONTHS} (?P<a>\d{{1,2}}),? \d{{4}}{_TIME}", re.IGNORECASE),
    re.compile(r"(?P<hour>[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?\s*(?:[AaPp][Mm])?"),
)


def text_of(value: Any) -> str:
    """Return a cell as text, without surrounding blanks."""
    try:
        return str(value).strip()
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"a number of about {round(abs(value).bit_length() * math.log10(2)):,} digits"


def plain_number(value: Any) -> float:
    """Return the number that a cell is or plainly spells, else NaN; infinite if too large."""
    if isinstance(value, str):
        found = parse_spelling(value)
        return found.value if found and found.is_alone and not found.has_groups else math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def is_date(text: str) -> bool:
    """Whether a text has the form of a date, a time of day, or both."""
    if not 3 < len(text) <= 40:
        return False
    for form in _DATES:
        found = form.fullmatch(text)
        if found is not None:
            parts = [int(number) for key, number in found.groupdict().items() if key in "ab"]
            # Day and month may come in either order.
            in_range = all(1 <= part <= 31 for part in parts)
            return in_range and (len(parts) < 2 or min(parts) <= 12)
    return False


# Codes that questionnaires and exports use. Other values must lie farther out to be suspected.
_USUAL = frozenset({7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998})
_NINES = frozenset({9999, 99999, 999999, 9999999, 99.9, 999.9, 99.99, 999.99, 9999.9, 9.99})
# Distinct values that make a scale; with fewer, an odd value may be just one more step, and texts
# identify no case.
SCALE = 10
# A code occurs at least this often; a single odd value is a different doubt.
_REPEATED = 3
# A usual code lies beyond the other values by at least this share of their range, 0 below them by
# this share of their median.
_NEAR = 0.1
# The gap above 0 must exceed this many steps between the smallest values.
_STEPS = 4.0


@dataclass
class Codes:
    """The codes in `Reading.missing`, for all columns or for one; counts where each was found."""

    everywhere: tuple[str, ...] = ()
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    found: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Iterable[str], names: Sequence[str], faults: list[str]) -> Codes:
        """Separate codes for one column from codes for all; an unknown column is a fault."""
        everywhere: list[str] = []
        only: dict[str, tuple[str, ...]] = {}
        for code in given:
            cuts = [i for i, letter in enumerate(code) if letter == "="]
            # Names may contain "=" themselves: the last cut behind a known name counts.
            known = [(name, cut) for cut in cuts for name in matches(code[:cut], names)[:1]]
            if known:
                name, cut = known[-1]
                only[name] = (*only.get(name, ()), code[cut + 1 :].strip())
            elif cuts and code[: cuts[0]].strip():
                wanted = code[: cuts[0]].strip()
                near = nearest(wanted, names)
                hint = f" (did you mean {near!r}?)" if near else ""
                faults.append(f"missing: {code!r}, there is no column {wanted!r}{hint}")
            else:
                everywhere.append(code.strip())
        return cls(tuple(everywhere), only)

    def for_column(self, name: str) -> tuple[str, ...]:
        """Codes that apply to a column."""
        return (*self.everywhere, *self.only.get(name, ()))

    def among_numbers(self, name: str, values: FloatArray) -> npt.NDArray[np.bool_]:
        """Which of these numbers (rows,) are codes for missing."""
        hit = np.zeros(values.shape, dtype=np.bool_)
        for code in self.for_column(name):
            number = plain_number(code)
            if not np.isnan(number):
                these = values == number
                self.count(name, code, int(these.sum()))
                hit |= these
        return hit

    def among_texts(self, name: str, texts: Sequence[str], times: Sequence[int]) -> list[bool]:
        """Which of these distinct texts, each occurring `times`, are codes for missing."""
        hit = [False] * len(texts)
        for code in self.for_column(name):
            wanted, number = code.casefold(), plain_number(code)
            for i, text in enumerate(texts):
                if text.casefold() == wanted or plain_number(text) == number:
                    hit[i] = True
                    self.count(name, code, int(times[i]))
        return hit

    def count(self, name: str, code: str, times: int) -> None:
        """Add to the number of times that a code was found."""
        if times:
            self.found[name, code] = self.found.get((name, code), 0) + times

    def sentences(self) -> list[str]:
        """Which codes were read as missing, and which were not found."""
        said = []
        if self.found:
            listed = ", ".join(f"{name} {code} ({n:,})" for (name, code), n in self.found.items())
            said.append(f"Read as missing, as requested: {listed}.")
        met = {code for _, code in self.found}
        absent = [code for code in self.everywhere if code not in met]
        absent += [
            f"{name}={code}"
            for name, codes in self.only.items()
            for code in codes
            if (name, code) not in self.found
        ]
        if absent:
            said.append(f"`missing` {', '.join(absent)}: not found, so nothing was changed.")
        return said


def suspected(values: FloatArray) -> list[tuple[float, int]]:
    """Values of a column (rows,) that look like codes for missing, and how often each occurs."""
    distinct, times = np.unique(values[~np.isnan(values)], return_counts=True)
    found: list[tuple[float, int]] = []
    for sign, order in ((1.0, slice(None)), (-1.0, slice(None, None, -1))):
        above, often = sign * distinct[order], times[order]
        first = above.size - _codes_on_top(above, often, sign)
        found += [
            (sign * float(value), int(n))
            for value, n in zip(above[first:], often[first:], strict=True)
        ]
    codes = [value for value, _ in found]
    kept = ~np.isin(distinct, codes)
    return found + _zeros(distinct[kept], times[kept])


def _codes_on_top(distinct: FloatArray, times: IntArray, sign: float) -> int:
    """Return how many of the largest values are codes; `sign` is -1 if values were negated."""
    for size in range(1, min(3, distinct.size - 3) + 1):
        rest, block, often = distinct[:-size], distinct[-size:], times[-size:]
        spread, gap = float(rest[-1] - rest[0]), float(block[0] - rest[-1])
        usual = all(float(v) in _USUAL or float(v) in _NINES for v in block)
        is_scale = rest.size >= SCALE
        is_repeated = (usual and often.sum() > 1) or (is_scale and often.min() >= _REPEATED)
        if gap > spread and is_repeated:
            return size
        # Closer in, a code occurs far more often than its neighbours.
        stands_out = often.min() >= _REPEATED * max(1, int(times[:-size][-3:].max()))
        if usual and is_scale and gap > _NEAR * spread and stands_out:
            return size
        # A negative code where nothing else is negative.
        negative = sign < 0.0 and block[0] > 0.0 and rest[-1] <= 0.0 and rest[0] <= -SCALE
        if negative and is_scale and often.min() >= 2 and (usual or list(block) == [1.0]):
            return size
    return 0


def _zeros(distinct: FloatArray, times: IntArray) -> list[tuple[float, int]]:
    """Return zeros separated from many positive values by a gap far wider than their steps."""
    others = distinct[1:]
    if distinct.size <= SCALE or distinct[0] != 0.0 or times[0] < 2:
        return []
    lowest = others[: max(others.size // 4, 4)]
    step = float(lowest[-1] - lowest[0]) / (lowest.size - 1)
    median = float(others[np.searchsorted(np.cumsum(times[1:]), times[1:].sum() / 2)])
    gap = float(others[0])
    return [(0.0, int(times[0]))] if gap > _STEPS * step and gap > _NEAR * median else []


# A value this many standard deviations from all others looks like a mistake.
_FAR_OUT = 8.0
# With fewer cases, distinct values prove nothing.
_ENOUGH = 20
# Expected ties among that many measurements from that range; fewer is suspicious.
_EXPECTED_TIES = 5.0
# Distinct whole numbers of at least this many digits, all equally long, are assigned.
_DIGITS = 6
_NAMES = re.compile(
    r"(^|[\W_])(id|ids|nr|no|mrn|pid|uid|key|index|(case|patient|subject|record|row|study|hospital)"
    r"([\W_]*(id|nr|no|number|num|code|key))?)$|(?<=[a-z])(ID|Id|Nr|No)$"
)


def is_identifier(name: str, values: FloatArray) -> bool:
    """Whether a column is named like an identifier and holds distinct whole numbers."""
    called = _NAMES.search(name) or _NAMES.search(name.casefold())
    return bool(called) and _all_different(values)


def doubt_number(name: str, values: FloatArray, rows: IntArray, found: Findings) -> None:
    """Record what is odd about a column (cases,) of numbers; `rows` are their table rows."""
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
            f"means missing, use `missing` {code}."
        )
    if not codes:
        _doubt_farthest(name, numbers, rows[known], found)
    _doubt_identifier(name, values, found)


def _doubt_two(name: str, values: FloatArray, found: Findings) -> None:
    """A column of two values has no outliers, but one of the two may be too rare."""
    highest = int(np.sum(values == values.max()))
    often = min(highest, values.size - highest)
    if often < FEW_CASES:
        rarer = values.max() if highest == often else values.min()
        found.doubt(f"{name} is {rarer:g} in only {counted(often, 'case')}, too few for a weight.")


def _doubt_farthest(name: str, values: FloatArray, rows: IntArray, found: Findings) -> None:
    """Record a single value far from all others."""
    farthest = int(np.argmax(np.abs(values - values.mean())))
    others = np.delete(values, farthest)
    # In units of the other cases: an outlier among few inflates its own standard deviation.
    away, deviation = abs(values[farthest] - others.mean()), float(others.std())
    if away > _FAR_OUT * deviation:
        how = "the only one that differs"
        if deviation > 0.0:
            how = f"{away / deviation:.0f} standard deviations from the average of the others"
        where, remedy = place(name, int(rows[farthest])), "; if that is a mistake, correct it."
        found.doubt(
            f"{name}: one value is {how}{remedy}",
            with_place=f"{where}: {values[farthest]:g} is {how}{remedy}",
        )


def _doubt_identifier(name: str, values: FloatArray, found: Findings) -> None:
    if values.size > _ENOUGH and np.all(np.diff(values) == 1.0):
        found.doubt(f"{name} counts the rows; if it is not a test, `drop` {quote(name)}.")
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
            f"{name} is a whole number that no two cases share, so it may be an identifier; if so, "
            f"`drop` {quote(name)}."
        )


def _all_different(values: FloatArray) -> bool:
    """Whether these are many whole numbers, all distinct."""
    known = values[~np.isnan(values)]
    if known.size <= _ENOUGH or np.abs(known).max() > 2.0**53:
        return False
    return bool(np.all(known == np.floor(known))) and np.unique(known).size == known.size
