"""Coefficients, covariance and noise from a matrix of cases, whichever estimators are used.

Where values are missing and nobody imputes them, every correlation is taken over the cases in
which both columns are known. Estimators want cases, not moments, so the covariance estimator is
handed Gaussian cases that have exactly these correlations, as many as carry the same information.
The regression is handed the real cases, each gap filled with what that covariance expects from
the rest of the case, just as the person of the model fills in tests that are hidden.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidData, InvalidInput
from preceptor.estimation.binary_ridge import BinaryRidge
from preceptor.estimation.defaults import LedoitWolf, Ridge
from preceptor.estimation.findings import FEW_CASES
from preceptor.model.links import LOGISTIC, link_of
from preceptor.model.matrices import correlations_of

# Pairwise correlations may contradict each other; eigenvalues below this are raised to it.
_LEAST_EIGENVALUE = 1e-4
# Numbers of the small systems that are solved together.
_AT_ONCE = 2_000_000
# Values of a table that are estimated from again and again, in folds and by the bootstrap; of more
# cases a random part is taken, which says nearly as much in a fraction of the time.
_MOST_VALUES = 600_000


@dataclass(frozen=True)
class Recipe:
    """Which estimators to use, and what to do about missing values ("pairwise" or an imputer).

    `link` is that of a yes-or-no outcome, None where the outcome is a number; `regression` then
    is a classifier.
    """

    covariance: Any = field(default_factory=LedoitWolf)
    regression: Any = field(default_factory=Ridge)
    missing: Any = "pairwise"
    seed: int = 0
    link: str | None = None


@dataclass(frozen=True, eq=False)
class Moments:
    """What a recipe makes of some cases; `fitted_...` are the estimators, after fitting.

    `information` is how many complete cases the estimate is worth; `adjusted` the most by which
    a pairwise correlation had to give way to make them agree, 0 if none had to; `hidden` the share
    of the residuals that is put down to gaps in the cases instead of noise; `blurred` the
    covariance (n, n) that gaps leave unknown, summed over cases.
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
    """Averages and standard deviations (n,) of columns, over the cases that know them."""
    return np.nanmean(values, axis=0), np.nanstd(values, axis=0)


def enough_cases(rows: int, columns: int) -> int:
    """How many cases of a table to take for estimates that are made again and again."""
    return min(rows, max(_MOST_VALUES // columns, 10 * columns))


def complete(values: FloatArray, recipe: Recipe) -> FloatArray:
    """Cases (rows, n) with missing values imputed, or as they are if moments are pairwise."""
    if isinstance(recipe.missing, str) or not np.isnan(values).any():
        return values
    filled = np.asarray(copy.deepcopy(recipe.missing).fit_transform(values), dtype=np.float64)
    if filled.shape != values.shape or not np.all(np.isfinite(filled)):
        raise InvalidData(
            f"missing: {recipe.missing!r} made a table of shape {filled.shape} from one of shape "
            f"{values.shape}, or left gaps; it must fill every value and keep every column"
        )
    return filled


def estimate(values: FloatArray, outcome: FloatArray, recipe: Recipe) -> Moments:
    """Moments of cases (rows, n) in any units and their outcomes (rows,); yes is 1, no is 0.

    The noise variance is the sum of squared residuals over rows minus degrees of freedom: unbiased
    for least squares, nearly so for ridge (whose degrees are the trace of its hat matrix) and the
    lasso (where they are the coefficients that are not 0). With gaps, what they hide is taken from
    the squares by plain pairwise moments; shrunken ones would find too much there. The estimate
    is then rough, rather too large than too small. Where the outcome is yes or no, weights are
    those of the score and its link says what the noise is.
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
        # Part of the residuals is what the gaps hide, which is no noise of the world. A twentieth
        # is kept in any case: no gap accounts for everything.
        gaps = min(float(coefficients @ blurred @ coefficients), 0.95 * squares)
        noise = (squares - gaps) / max(len(outcome) - degrees, 1.0)
        hidden = gaps / squares if squares > 0.0 else 0.0
    else:
        link = link_of(recipe.link)
        if not isinstance(by_regression, BinaryRidge):
            coefficients = coefficients * link.unit / link_of(LOGISTIC).unit
        more, noise = float(coefficients @ blurred @ coefficients) / len(outcome), link.variance
        hidden = more / (more + noise)
    return Moments(
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
    """Cases (rows, n) with gaps filled by their conditional mean, and what that leaves unknown.

    The second is the conditional covariance (n, n) of the gaps, summed over all cases.
    """
    missing = np.isnan(values)
    gaps = missing.sum(axis=1)
    if not gaps.any():
        return values, np.zeros_like(covariance)
    # By the precision matrix P: given the rest, gaps g have covariance inv(P[g, g]), so each case
    # asks for a system as small as its gaps are few.
    size = len(mean)
    precision = np.linalg.inv(covariance)
    filled = np.where(missing, mean, values)
    unknown = np.zeros(size * size)
    for number in np.unique(gaps[gaps > 0]).tolist():
        step = max(_AT_ONCE // (number * number + size), 1)
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
    """Correlations (n, n) of columns over the cases that know both, and how many those are."""
    known = ~np.isnan(values)
    mask = known.astype(np.float64)
    # Centred first, since differences of large sums would lose the digits that matter.
    filled = np.where(known, values - np.nanmean(values, axis=0), 0.0)
    shared = mask.T @ mask
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = filled.T @ mask / shared  # entry (i, j): mean of column i where j is known as well
        squares = (filled**2).T @ mask / shared - sums**2
        products = filled.T @ filled / shared - sums * sums.T
        correlation = products / np.sqrt(squares * squares.T)
    return correlation, np.rint(shared).astype(np.int64)


def nearest_correlation(matrix: FloatArray) -> FloatArray:
    """A correlation matrix without eigenvalues near or below 0, close to the given one.

    Eigenvalues that are no larger than the contradiction itself, the size of the most negative
    one, are as much chance as that one, so all of them are raised to it.
    """
    eigenvalues, vectors = np.linalg.eigh(matrix)
    if eigenvalues[0] >= _LEAST_EIGENVALUE:
        return matrix
    least = max(_LEAST_EIGENVALUE, -float(eigenvalues[0]))
    return correlations_of((vectors * np.maximum(eigenvalues, least)) @ vectors.T)


def _stand_ins(values: FloatArray, seed: int) -> tuple[FloatArray, float, FloatArray]:
    """Complete Gaussian cases with the pairwise moments of incomplete ones.

    With them, by how much correlations had to give way, and the covariance (n, n) that results.
    """
    correlation, shared = pairwise_correlation(values)
    if shared.min() < FEW_CASES or not np.all(np.isfinite(correlation)):
        trouble = np.where(np.isfinite(correlation), shared, 0)
        i, j = (int(v) for v in np.unravel_index(int(trouble.argmin()), shared.shape))
        raise TooFewShared(i, j, int(shared[i, j]))
    consistent = nearest_correlation(correlation)
    # The variance of a correlation falls with 1/cases, so cases are averaged harmonically.
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
    means, scales = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    cases = orthogonal @ np.linalg.cholesky(consistent).T * scales + means
    plain = consistent * np.outer(scales, scales)
    return cases, float(np.abs(consistent - correlation).max()), plain


class TooFewShared(InvalidData):
    """Two columns are hardly ever known together; `columns` says which."""

    def __init__(self, first: int, second: int, shared: int) -> None:
        self.columns = (first, second)
        self.shared = shared
        super().__init__(f"columns {first} and {second} are both known in {shared} cases only")


def _fitted(argument: str, estimator: Any, *data: FloatArray) -> Any:
    """A fitted copy; the estimator that was given stays as it is."""
    try:
        return copy.deepcopy(estimator).fit(*data)
    except TypeError as error:
        raise InvalidInput(f"{argument}: {estimator!r} cannot be fitted ({error})") from error


def _result(argument: str, fitted: Any, name: str, shape: tuple[int, ...]) -> FloatArray:
    """What an estimator found, in the shape that the model needs."""
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
