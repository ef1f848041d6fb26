"""Axes: which numbers are written beside a picture, and where a number lies on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from preceptor.errors import InvalidInput

_ROUND = (1.0, 2.0, 5.0, 10.0)
# Steps beyond these are written as powers of ten.
_LARGEST, _SMALLEST = 1e6, 1e-5
# With at most this many powers of ten, 2 and 5 times each are ticks too.
_FEW_DECADES = 2


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers with round ticks on it.

    Attributes
    ----------
    low, high
        Where the axis begins and ends.
    ticks
        Round numbers from low to high, rising.
    is_log
        Whether equal distances are equal ratios.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    @classmethod
    def covering(cls, values: Iterable[float], most: int = 8, *, is_log: bool = False) -> Self:
        """From a tick at or below all values to one at or above; what is not finite is left out.

        >>> Axis.covering([0.3, 4.1]).ticks
        (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
        >>> Axis.covering([0.3, 4100.0], is_log=True).ticks
        (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
        """
        finite = [float(value) for value in values if math.isfinite(value)]
        if is_log:
            ticks = _log_ticks(min(finite, default=1.0), max(finite, default=1.0), most)
        else:
            ticks = _linear_ticks(min(finite, default=0.0), max(finite, default=0.0), most)
        return cls(ticks[0], ticks[-1], ticks, is_log)

    @classmethod
    def counting(cls, low: float, high: float, most: int = 8) -> Self:
        """Exactly from low to high, with ticks at round whole numbers in between.

        >>> Axis.counting(0.5, 60.5).ticks
        (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
        """
        step = max(_step(high - low, most), 1.0)
        first, last = math.ceil(low / step), math.floor(high / step)
        return cls(low, high, tuple(step * i for i in range(first, last + 1)))

    @property
    def labels(self) -> tuple[str, ...]:
        """The ticks in words, all with the same number of decimals."""
        if self.is_log:
            return tuple(_power(tick) for tick in self.ticks)
        return _labels(self.ticks)

    def place(self, value: float, start: float, end: float) -> float:
        """Where a value lies if `low` is drawn at `start` and `high` at `end`.

        >>> Axis.covering([0.0, 10.0]).place(2.5, 100.0, 200.0)
        125.0
        """
        low, high = self.low, self.high
        if self.is_log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return start + (end - start) * (value - low) / (high - low)


def _step(length: float, most: int) -> float:
    """The smallest round number that goes into the length fewer than `most` times."""
    rough = length / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in _ROUND if factor * power >= rough * (1 - 1e-9))


def _linear_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        # All values are the same, up to rounding: there is no step but one of their own size.
        low, high = (low - 0.5 * abs(low), high + 0.5 * abs(high)) if high else (0.0, 1.0)
    step = _step(high - low, most)
    while True:
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
        # Reaching out to round numbers at both ends can take one step too many.
        step = _step(1.01 * step, 2)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return tuple(round(step * i, digits) for i in range(first, last + 1))


def _log_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    if low <= 0.0:
        raise InvalidInput(f"values: {low:g}, must be above 0 on a logarithmic axis")
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if last - first > _FEW_DECADES:
        step = math.ceil((last - first) / (most - 1))
        last = first + step * math.ceil((last - first) / step)
        return tuple(10.0**power for power in range(first, last + 1, step))
    last = max(last, first + 1)
    ticks = [factor * 10.0**power for power in range(first, last) for factor in _ROUND[:-1]]
    ticks.append(10.0**last)
    begin = max((i for i, tick in enumerate(ticks) if tick <= low * (1 + 1e-9)), default=0)
    end = min(i for i, tick in enumerate(ticks) if tick >= high * (1 - 1e-9) and i > begin)
    return tuple(ticks[begin : end + 1])


def _labels(ticks: Sequence[float]) -> tuple[str, ...]:
    largest = max((abs(tick) for tick in ticks), default=0.0)
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    if largest >= _LARGEST or step < _SMALLEST:
        return tuple(_power(tick) for tick in ticks)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return tuple(f"{tick:,.{decimals}f}".replace("-", "−") for tick in ticks)


def _power(tick: float) -> str:
    """Plain while that is short, else as a multiple of a power of ten."""
    if tick == 0.0 or _SMALLEST <= abs(tick) < _LARGEST:
        return f"{tick:,.10g}".replace("-", "−")
    digits, power = f"{tick:.6e}".split("e")
    return f"{float(digits):g}e{int(power)}".replace("-", "−")
