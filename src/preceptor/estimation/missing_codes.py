"""Values that stand for a missing one: those that were named, and those that look like it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.estimation.cells import plain_number

# Codes that questionnaires and exports use. Others must lie farther out to be doubted.
_USUAL = frozenset({7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998})
_NINES = frozenset({9999, 99999, 999999, 9999999, 99.9, 999.9, 99.99, 999.99, 9999.9, 9.99})
# So many different values make a scale; on fewer an odd value may just be one more step.
_SCALE = 10
# A code stands so many times, or it is one odd value, which is another doubt.
_REPEATED = 3
# Share of the range of the rest that a usual code must lie beyond it.
_NEAR = 0.1
# Steps between the smallest values that the gap above 0 must exceed, and its share of the median.
_STEPS, _SHARE = 4.0, 0.1


@dataclass
class Codes:
    """What `Reading.missing` names: texts and numbers for all columns, or for one of them."""

    everywhere: tuple[str, ...] = ()
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    found: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Iterable[str], names: Sequence[str], faults: list[str]) -> Codes:
        """Sort out which codes are about one column; a column that is not there is a fault."""
        everywhere: list[str] = []
        only: dict[str, tuple[str, ...]] = {}
        folded = {name.strip().casefold(): name for name in names}
        for code in given:
            cuts = [i for i, letter in enumerate(code) if letter == "="]
            columns = [folded.get(code[:cut].strip().casefold()) for cut in cuts]
            known = [(name, cut) for name, cut in zip(columns, cuts, strict=True) if name]
            if known:
                name, cut = known[-1]
                only[name] = (*only.get(name, ()), code[cut + 1 :].strip())
            elif cuts and code[: cuts[0]].strip():
                wanted = code[: cuts[0]].strip()
                near = difflib.get_close_matches(wanted.casefold(), folded, n=1)
                hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
                faults.append(f"missing: {code!r}, there is no column {wanted!r}{hint}")
            else:
                everywhere.append(code.strip())
        return cls(tuple(everywhere), only)

    def for_column(self, name: str) -> tuple[str, ...]:
        """Codes that count in this column."""
        return (*self.everywhere, *self.only.get(name, ()))

    def among_numbers(self, name: str, values: FloatArray) -> npt.NDArray[np.bool_]:
        """Which of these numbers (rows,) stand for a missing one."""
        hit = np.zeros(values.shape, dtype=np.bool_)
        for code in self.for_column(name):
            number = plain_number(code)
            if not np.isnan(number):
                these = values == number
                self.count(name, code, int(these.sum()))
                hit |= these
        return hit

    def among_texts(self, name: str, texts: Sequence[str], times: Sequence[int]) -> list[bool]:
        """Which of these different texts, each so many times there, stand for a missing value."""
        hit = [False] * len(texts)
        for code in self.for_column(name):
            wanted, number = code.casefold(), plain_number(code)
            for i, text in enumerate(texts):
                if text.casefold() == wanted or plain_number(text) == number:
                    hit[i] = True
                    self.count(name, code, int(times[i]))
        return hit

    def count(self, name: str, code: str, times: int) -> None:
        """Remember how often a code was met."""
        if times:
            self.found[name, code] = self.found.get((name, code), 0) + times

    def sentences(self) -> list[str]:
        """What was made of the codes, and which of them were nowhere."""
        said = []
        if self.found:
            listed = ", ".join(f"{name} {code} ({n:,})" for (name, code), n in self.found.items())
            said.append(f"Read as missing, as asked: {listed}.")
        met = {code for _, code in self.found}
        nowhere = [code for code in self.everywhere if code not in met]
        nowhere += [
            f"{name}={code}"
            for name, codes in self.only.items()
            for code in codes
            if (name, code) not in self.found
        ]
        if nowhere:
            said.append(f"`missing` {', '.join(nowhere)}: found nowhere, so nothing was changed.")
        return said


def suspected(values: FloatArray) -> list[tuple[float, int]]:
    """Values of a column (rows,) that look like codes for missing, with how often each is there."""
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
    """How many of the largest values are codes; `sign` is -1 where signs were turned around."""
    for size in range(1, min(3, distinct.size - 3) + 1):
        rest, block, often = distinct[:-size], distinct[-size:], times[-size:]
        spread, gap = float(rest[-1] - rest[0]), float(block[0] - rest[-1])
        usual = all(float(v) in _USUAL or float(v) in _NINES for v in block)
        is_scale = rest.size >= _SCALE
        is_repeated = (usual and often.sum() > 1) or (is_scale and often.min() >= _REPEATED)
        if gap > spread and is_repeated:
            return size
        # Nearer by, a code betrays itself by standing far more often than its neighbours.
        stands_out = often.min() >= _REPEATED * max(1, int(times[:-size][-3:].max()))
        if usual and is_scale and gap > _NEAR * spread and stands_out:
            return size
        # A negative code where nothing else is negative.
        negative = sign < 0.0 and block[0] > 0.0 and rest[-1] <= 0.0 and rest[0] <= -_SCALE
        if negative and is_scale and often.min() >= 2 and (usual or list(block) == [1.0]):
            return size
    return 0


def _zeros(distinct: FloatArray, times: IntArray) -> list[tuple[float, int]]:
    """Zeros with a gap to the smallest of many positive values, far wider than their steps."""
    others = distinct[1:]
    if distinct.size <= _SCALE or distinct[0] != 0.0 or times[0] < 2:
        return []
    lowest = others[: max(others.size // 4, 4)]
    step = float(lowest[-1] - lowest[0]) / (lowest.size - 1)
    median = float(others[np.searchsorted(np.cumsum(times[1:]), times[1:].sum() / 2)])
    gap = float(others[0])
    return [(0.0, int(times[0]))] if gap > _STEPS * step and gap > _SHARE * median else []
