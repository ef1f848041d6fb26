"""Axes: which numbers are written beside a picture, and where a number lies on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

_ROUND = (1.0, 2.0, 5.0, 10.0)
# Steps beyond these are written as powers of ten.
_LARGEST, _SMALLEST = 1e6, 1e-5


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers with round ticks on it.

    Attributes
    ----------
    low, high
        Where the axis begins and ends.
    ticks
        Round numbers from low to high, rising.
    """

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def covering(cls, values: Iterable[float], most: int = 8) -> Self:
        """From a tick at or below all values to one at or above; what is not finite is left out.

        >>> Axis.covering([0.3, 4.1]).ticks
        (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
        """
        finite = [float(value) for value in values if math.isfinite(value)]
        ticks = _ticks(min(finite, default=0.0), max(finite, default=0.0), most)
        return cls(ticks[0], ticks[-1], ticks)

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
        largest = max((abs(tick) for tick in self.ticks), default=0.0)
        step = min((b - a for a, b in pairwise(self.ticks)), default=1.0)
        if largest >= _LARGEST or step < _SMALLEST:
            return tuple(_power(tick) for tick in self.ticks)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return tuple(f"{tick:,.{decimals}f}".replace("-", "−") for tick in self.ticks)

    def place(self, value: float, start: float, end: float) -> float:
        """Where a value lies if `low` is drawn at `start` and `high` at `end`.

        >>> Axis.covering([0.0, 10.0]).place(2.5, 100.0, 200.0)
        125.0
        """
        return start + (end - start) * (value - self.low) / (self.high - self.low)

    def within(self, value: float) -> float:
        """The value, or the end of the axis that it is beyond."""
        return min(max(value, self.low), self.high)


def _step(length: float, most: int) -> float:
    """The smallest round number that goes into the length fewer than `most` times."""
    rough = length / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in _ROUND if factor * power >= rough * (1 - 1e-9))


def _ticks(low: float, high: float, most: int) -> tuple[float, ...]:
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


def _power(tick: float) -> str:
    """A multiple of a power of ten."""
    if tick == 0.0:
        return "0"
    digits, power = f"{tick:.6e}".split("e")
    return f"{float(digits):g}e{int(power)}".replace("-", "−")
