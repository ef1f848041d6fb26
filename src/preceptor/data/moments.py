"""Coefficients, covariance and noise from a matrix of cases, with any estimators.

Where values are missing and are not imputed, each correlation is computed over the cases in which
both columns are known. Estimators take cases, not moments, so the covariance estimator is given
Gaussian cases with exactly these correlations, as many as carry the same information. The
regression is given the real cases, with each gap filled by its conditional mean under that
covariance, just as the person of the model fills in hidden tests.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.data.estimators import BinaryRidge, LedoitWolf, Ridge
from preceptor.data.findings import FEW_CASES
from preceptor.errors import InvalidData, InvalidInput
from preceptor.model.matrices import correlations_of
from preceptor.model.outcomes import LOGISTIC, link_of

# Pairwise correlations may be inconsistent; eigenvalues below this are raised to it.
_LEAST_EIGENVALUE = 1e-4
# Repeated estimates (cross-validation, bootstrap) of tables with more values than this use a random
# subset of the cases, which is nearly as informative. Small linear systems are solved together as
# long as they have no more entries.
_MOST_VALUES = 600_000


@dataclass(frozen=True)
class Recipe:
    """Which estimators to use, and how to treat missing values ("pairwise" or an imputer).

    `link` is set for a yes-or-no outcome, and `regression` is then a classifier; None for a
    numeric outcome.
    """

    covariance: Any = field(default_factory=LedoitWolf)
    regression: Any = field(default_factory=Ridge)
    missing: Any = "pairwise"
    seed: int = 0
    link: str | None = None


@dataclass(frozen=True, eq=False)
class WorldMoments:
    """Estimates from some cases; `fitted_...` are the estimators after fitting.

    `information` is the equivalent number of complete cases; `adjusted` the largest change of a
    pairwise correlation that was needed to make all consistent; `hidden` the share of residual
    variance attributed to gaps instead of noise; `blurred` the conditional covariance (n, n) of the
    gaps, summed over cases.
    """

    coefficients: FloatArray
    covariance: FloatArray
    noise_variance: float
    degrees: float
    information: int
    adjusted: float
    hidden: float
    blurred: FloatArray
    fitted_covariance: Any
    fitted_regression: Any


def location(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations (n,) of columns, over the known values."""
    return np.nanmean(values, axis=0), np.nanstd(values, axis=0)


def enough_cases(rows: int, columns: int) -> int:
    """Number of cases to use in repeated estimates."""
    return min(rows, max(_MOST_VALUES // columns, 10 * columns))


def complete(values: FloatArray, recipe: Recipe) -> FloatArray:
    """Impute missing values of cases (rows, n); unchanged if moments are pairwise."""
    if isinstance(recipe.missing, str) or not np.isnan(values).any():
        return values
    filled = np.asarray(copy.deepcopy(recipe.missing).fit_transform(values), dtype=np.float64)
    if filled.shape != values.shape or not np.all(np.isfinite(filled)):
        raise InvalidData(
            f"missing: {recipe.missing!r} made a table of shape {filled.shape} from one of shape "
            f"{values.shape}, or left gaps; it must fill every value and keep every column"
        )
    return filled


def estimate(values: FloatArray, outcome: FloatArray, recipe: Recipe) -> WorldMoments:
    """Estimate from cases (rows, n) in any units and outcomes (rows,); yes is 1, no is 0.

    The noise variance is the sum of squared residuals over rows minus degrees of freedom: unbiased
    for least squares, nearly so for ridge (degrees: trace of the hat matrix) and the lasso
    (degrees: nonzero coefficients). With gaps, the variance that they hide is subtracted, by
    unshrunken pairwise moments since shrunken ones would subtract too much; the estimate is then
    rough, and too large rather than too small. For a yes-or-no outcome, weights are those of the
    score, and the link determines the noise.
    """
    cases, adjusted, plain = values, 0.0, None
    if np.isnan(values).any():
        cases, adjusted, plain = _stand_ins(values, recipe.seed)
    by_covariance = _fitted("covariance", recipe.covariance, cases)
    size = values.shape[1]
    covariance = _result("covariance", by_covariance, "covariance_", (size, size))
    means = np.nanmean(values, axis=0)
    filled, blurred = values, np.zeros((size, size))
    if plain is not None:
        filled, _ = fill_in(values, means, covariance)
        _, blurred = fill_in(values, means, plain)
    by_regression = _fitted("regression", recipe.regression, filled, outcome)
    coefficients = _result("regression", by_regression, "coef_", (size,))
    degrees = _degrees_of_freedom(by_regression, coefficients, filled)
    if recipe.link is None:
        residuals = (outcome - outcome.mean()) - (filled - filled.mean(axis=0)) @ coefficients
        squares = float(residuals @ residuals)
        # Variance hidden by gaps is not noise of the world. At least a twentieth of the residuals
        # stays noise: gaps never account for everything.
        gaps = min(float(coefficients @ blurred @ coefficients), 0.95 * squares)
        noise = (squares - gaps) / max(len(outcome) - degrees, 1.0)
        hidden = gaps / squares if squares > 0.0 else 0.0
    else:
        link = link_of(recipe.link)
        if not isinstance(by_regression, BinaryRidge):
            coefficients = coefficients * link.unit / link_of(LOGISTIC).unit
        more, noise = float(coefficients @ blurred @ coefficients) / len(outcome), link.variance
        hidden = more / (more + noise)
    return WorldMoments(
        coefficients=coefficients,
        covariance=covariance,
        noise_variance=noise,
        degrees=degrees,
        information=cases.shape[0],
        adjusted=adjusted,
        hidden=hidden,
        blurred=blurred,
        fitted_covariance=by_covariance,
        fitted_regression=by_regression,
    )


def fill_in(
    values: FloatArray, mean: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fill gaps of cases (rows, n) with their conditional means.

    Returns also the conditional covariance (n, n) of the gaps, summed over all cases.
    """
    missing = np.isnan(values)
    gaps = missing.sum(axis=1)
    if not gaps.any():
        return values, np.zeros_like(covariance)
    # With the precision matrix P, gaps g given the rest have covariance inv(P[g, g]), so the system
    # for each case is as small as its number of gaps.
    size = len(mean)
    precision = np.linalg.inv(covariance)
    filled = np.where(missing, mean, values)
    unknown = np.zeros(size * size)
    for number in np.unique(gaps[gaps > 0]).tolist():
        step = max(_MOST_VALUES // (number * number + size), 1)
        alike = np.flatnonzero(gaps == number)
        for first in range(0, alike.size, step):
            rows = alike[first : first + step]
            where = np.nonzero(missing[rows])[1].reshape(-1, number)
            pull = np.take_along_axis((filled[rows] - mean) @ precision, where, axis=1)
            entries = where[:, :, None] * size + where[:, None, :]
            left = np.linalg.inv(precision.ravel()[entries])
            filled[rows[:, None], where] -= np.einsum("rij,rj->ri", left, pull)
            unknown += np.bincount(entries.ravel(), left.ravel(), size * size)
    return filled, unknown.reshape(size, size)


def pairwise_correlation(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Correlations (n, n) over the cases in which both columns are known, and their numbers."""
    known = ~np.isnan(values)
    mask = known.astype(np.float64)
    # Centred first, to avoid cancellation between large sums.
    filled = np.where(known, values - np.nanmean(values, axis=0), 0.0)
    shared = mask.T @ mask
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = filled.T @ mask / shared  # entry (i, j): mean of column i where j is known too
        squares = (filled**2).T @ mask / shared - sums**2
        products = filled.T @ filled / shared - sums * sums.T
        correlation = products / np.sqrt(squares * squares.T)
    return correlation, np.rint(shared).astype(np.int64)


def nearest_correlation(matrix: FloatArray) -> FloatArray:
    """A positive definite correlation matrix close to the given one.

    Eigenvalues no larger in size than the most negative one are as much due to chance as that one,
    so all of them are raised to it.
    """
    eigenvalues, vectors = np.linalg.eigh(matrix)
    if eigenvalues[0] >= _LEAST_EIGENVALUE:
        return matrix
    least = max(_LEAST_EIGENVALUE, -float(eigenvalues[0]))
    return correlations_of((vectors * np.maximum(eigenvalues, least)) @ vectors.T)


def _stand_ins(values: FloatArray, seed: int) -> tuple[FloatArray, float, FloatArray]:
    """Complete Gaussian cases with the pairwise moments of incomplete ones.

    Returns also the largest change of a correlation, and the resulting covariance (n, n).
    """
    correlation, shared = pairwise_correlation(values)
    if shared.min() < FEW_CASES or not np.all(np.isfinite(correlation)):
        trouble = np.where(np.isfinite(correlation), shared, 0)
        i, j = (int(v) for v in np.unravel_index(int(trouble.argmin()), shared.shape))
        raise TooFewShared(i, j, int(shared[i, j]))
    consistent = nearest_correlation(correlation)
    # The variance of a correlation is proportional to 1 / cases, hence the harmonic mean.
    information = round(float(1.0 / np.mean(1.0 / shared)))
    size = values.shape[1]
    if information < size + 2:
        raise InvalidData(
            f"rows: after missing values the table is worth {information} complete cases, must be "
            f"at least {size + 2}; drop tests that are often missing "
            "(in Python: or impute, missing=SimpleImputer())"
        )
    draws = np.random.default_rng(seed).standard_normal((information, size))
    orthogonal = np.linalg.qr(draws - draws.mean(axis=0))[0] * np.sqrt(information)
    means, scales = location(values)
    cases = orthogonal @ np.linalg.cholesky(consistent).T * scales + means
    plain = consistent * np.outer(scales, scales)
    return cases, float(np.abs(consistent - correlation).max()), plain


class TooFewShared(InvalidData):
    """Two columns, given by `columns`, are hardly ever known together."""

    def __init__(self, first: int, second: int, shared: int) -> None:
        self.columns = (first, second)
        self.shared = shared
        super().__init__(f"columns {first} and {second} are both known in only {shared} cases")


def _fitted(argument: str, estimator: Any, *data: FloatArray) -> Any:
    """Return a fitted copy of the estimator."""
    try:
        return copy.deepcopy(estimator).fit(*data)
    except TypeError as error:
        raise InvalidInput(f"{argument}: {estimator!r} cannot be fitted ({error})") from error


def _result(argument: str, fitted: Any, name: str, shape: tuple[int, ...]) -> FloatArray:
    """An attribute of a fitted estimator, in the required shape."""
    found = getattr(fitted, name, None)
    if found is None or np.size(found) != int(np.prod(shape)):
        what = "has none" if found is None else f"it has shape {np.shape(found)}"
        raise InvalidInput(
            f"{argument}: {fitted!r} must have {name} of shape {shape} after fitting, but {what}"
        )
    return np.asarray(found, dtype=np.float64).reshape(shape)


def _degrees_of_freedom(fitted: Any, coefficients: FloatArray, values: FloatArray) -> float:
    if hasattr(fitted, "degrees_"):
        return float(fitted.degrees_)
    alpha: Any = getattr(fitted, "alpha_", getattr(fitted, "alpha", None))
    if type(fitted).__name__ in {"Ridge", "RidgeCV"} and alpha is not None and np.ndim(alpha) == 0:
        squares = np.linalg.svd(values - values.mean(axis=0), compute_uv=False) ** 2
        return 1.0 + float(np.sum(squares / (squares + float(alpha))))
    return 1.0 + float(np.count_nonzero(coefficients))
