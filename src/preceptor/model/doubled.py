"""A root of a covariance in doubled precision, so that near copies keep their difference.

Tests with a correlation of 1 - 1e-12 differ by a variance of 2e-12, of which 1 - ρ² in doubles
keeps four digits. Here every number is the sum of two doubles while it is decomposed; the root is
rounded to doubles at the end, and then small pivots are as exact as large ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray

# Splits a double into two halves whose products are exact (Dekker).
_SPLITTER = 2.0**27 + 1.0


class Doubled(NamedTuple):
    """The sum of two arrays, the second less than half a unit in the last place of the first."""

    high: FloatArray
    low: FloatArray

    def minus(self, other: Doubled) -> Doubled:
        """The difference."""
        total, rest = _two_sum(self.high, -other.high)
        return _settled(total, rest + (self.low - other.low))

    def times(self, other: Doubled) -> Doubled:
        """The product."""
        product, rest = _two_product(self.high, other.high)
        return _settled(product, rest + (self.high * other.low + self.low * other.high))

    def over(self, other: Doubled) -> Doubled:
        """The quotient."""
        first = self.high / other.high
        left = self.minus(other.times(Doubled(first, np.zeros_like(first))))
        return _settled(first, left.high / other.high)


def covariance_root(covariance: FloatArray) -> FloatArray:
    """Upper triangular R (n, n) with R'R = Σ, each entry right to almost its last digit.

    Raises
    ------
    numpy.linalg.LinAlgError
        Σ is not positive definite.

    Examples
    --------
    >>> covariance_root(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    n = len(covariance)
    left = Doubled(np.array(covariance, dtype=np.float64), np.zeros((n, n)))
    root = np.zeros((n, n))
    for i in range(n):
        pivot = Doubled(left.high[:1, :1], left.low[:1, :1])
        if not pivot.high[0, 0] > 0.0:
            raise np.linalg.LinAlgError("the covariance is not positive definite")
        row = Doubled(left.high[:1], left.low[:1])
        root[i, i:] = row.high[0] / np.sqrt(pivot.high[0, 0])
        known = Doubled(row.high.T, row.low.T).times(row.over(pivot))
        rest = left.minus(known)
        left = Doubled(rest.high[1:, 1:], rest.low[1:, 1:])
    return root


def _settled(high: FloatArray, low: FloatArray) -> Doubled:
    total = high + low
    return Doubled(total, low - (total - high))


def _two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rounded sum and exactly what rounding took away."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rounded product and exactly what rounding took away."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, rest


def _halves(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
