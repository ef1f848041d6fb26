"""Covariance matrices: their faults in words, and roots that keep their digits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray

# Above this condition number of the correlation matrix doubles cannot tell the tests apart; below
# it every formula here keeps at least six digits.
MAX_CONDITION = 1e11


def equicorrelation(size: int, correlation: float) -> FloatArray:
    """The n x n matrix with a unit diagonal and `correlation` elsewhere."""
    matrix = np.full((size, size), float(correlation))
    np.fill_diagonal(matrix, 1.0)
    return matrix


def correlations_of(covariance: FloatArray) -> FloatArray:
    """The correlation matrix of a covariance."""
    deviations = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(deviations, deviations))


def average_correlation(correlation: FloatArray) -> float:
    """Mean absolute correlation over pairs of tests; 0 for a single test."""
    pairs = correlation[np.triu_indices_from(correlation, k=1)]
    return float(np.abs(pairs).mean()) if pairs.size else 0.0


def covariance_faults(name: str, matrix: FloatArray, size: int) -> list[str]:
    """Why this is not a covariance of `size` tests; empty if it is."""
    if matrix.shape[0] != matrix.shape[1]:
        return [f"{name}: shape {matrix.shape}, must be square"]
    if matrix.shape[0] != size:
        return [
            f"{name}: {matrix.shape[0]} x {matrix.shape[0]}, but there are {size} coefficients; "
            "their lengths must agree"
        ]
    scale = np.abs(matrix).max()
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > 1e-8 * scale:
        i, j = (int(v) for v in np.unravel_index(int(asymmetry.argmax()), asymmetry.shape))
        return [
            f"{name}: entry ({i}, {j}) is {matrix[i, j]:.6g} but ({j}, {i}) is "
            f"{matrix[j, i]:.6g}; must be symmetric"
        ]
    variances = np.diag(matrix)
    if variances.min() <= 0:
        i = int(variances.argmin())
        return [f"{name}: variance of test {i} is {variances[i]:.6g}, must be positive"]
    # The units of a test do not matter for how similar tests are, so use correlations.
    eigenvalues = np.linalg.eigvalsh(correlations_of(matrix))
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    if smallest <= largest * 1e-15:
        return [
            f"{name}: smallest eigenvalue of its correlation matrix is {smallest:.1e}, must be "
            "positive definite (drop a duplicated test, or add a little to the diagonal)"
        ]
    if largest / smallest > MAX_CONDITION:
        return [
            f"{name}: condition number {largest / smallest:.1e} is above {MAX_CONDITION:.0e}, too "
            "close to singular for exact answers (drop or merge tests that are nearly copies, "
            "or add a little to the diagonal)"
        ]
    return []


# Cholesky root of a covariance in doubled precision, for tests that are almost copies.
#
# Tests with a correlation of 1 - 1e-12 differ by a variance of 2e-12, of which 1 - ρ² in doubles
# keeps four digits. Here every number is a sum of two doubles during the decomposition. The root
# is rounded to doubles at the end, so that small pivots are as accurate as large ones.

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
    """Upper triangular R (n, n) with R'R = Σ, each entry accurate almost to its last digit.

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
    """The rounded sum and its exact rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rounded product and its exact rounding error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, rest


def _halves(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
