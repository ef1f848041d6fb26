"""What arrays of numbers and covariance matrices must be, said in words when they are not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray

# Above this condition number of the correlation matrix a double has too few digits left to
# tell the tests apart; below it every formula here keeps at least six (tests/test_precision.py).
MAX_CONDITION = 1e11


def equicorrelation(size: int, correlation: float) -> FloatArray:
    """The n x n matrix with ones on the diagonal and `correlation` everywhere else."""
    matrix = np.full((size, size), float(correlation))
    np.fill_diagonal(matrix, 1.0)
    return matrix


def correlations_of(covariance: FloatArray) -> FloatArray:
    """The correlation matrix of a covariance."""
    deviations = np.sqrt(np.diag(covariance))
    matrix: FloatArray = covariance / np.outer(deviations, deviations)
    return matrix


def average_correlation(correlation: FloatArray) -> float:
    """Mean absolute correlation of pairs of different tests; 0 for a single test."""
    pairs = correlation[np.triu_indices_from(correlation, k=1)]
    return float(np.abs(pairs).mean()) if pairs.size else 0.0


def read_numbers(
    name: str, values: npt.ArrayLike, ndim: int, faults: list[str]
) -> FloatArray | None:
    """An array of that many dimensions, or None and what is wrong in `faults`."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        faults.append(f"{name}: cannot be read as numbers; give a list or array of numbers")
        return None
    if array.ndim != ndim or array.size == 0:
        wanted = "a list of n numbers" if ndim == 1 else "an n x n table of numbers"
        faults.append(f"{name}: shape {array.shape}, must be {wanted}")
        return None
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        spot = where[0] if ndim == 1 else where
        faults.append(
            f"{name}: {array[where]} at {spot}, must be finite "
            "(drop or impute missing cases before estimating)"
        )
        return None
    return array


def covariance_faults(name: str, matrix: FloatArray, size: int) -> list[str]:
    """Why this is no covariance of that many tests; empty if it is."""
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
    # The units of a test do not make it harder to tell from the others, so judge correlations.
    deviations = np.sqrt(variances)
    eigenvalues = np.linalg.eigvalsh(matrix / np.outer(deviations, deviations))
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
