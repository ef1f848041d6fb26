"""The estimators that a world is made with unless others are given.

Ledoit and Wolf's shrunk covariance, and ridge regression whose strength is chosen by leaving one
case out. Both are closed forms of a few lines; they give what scikit-learn's `LedoitWolf` and
`RidgeCV` give, but scikit-learn takes longer to import than most plans take to find, and checks
every array again in each of the hundreds of fits of a bootstrap.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from preceptor._base.values import FloatArray

# From next to no shrinkage to nearly nothing left, for tests in standard deviations.
ALPHAS: FloatArray = np.logspace(-3, 5, 33)
# Cases whose residuals are held at a time, one for each strength.
_BLOCK = 4_096


class LedoitWolf:
    """Covariance shrunk toward a multiple of the identity by the share that risks least.

    >>> rng = np.random.default_rng(0)
    >>> fitted = LedoitWolf().fit(rng.standard_normal((50, 3)))
    >>> fitted.covariance_.shape, 0.0 <= fitted.shrinkage_ <= 1.0
    ((3, 3), True)
    """

    covariance_: FloatArray
    shrinkage_: float

    def fit(self, X: FloatArray) -> Self:
        """Estimate from cases (rows, n)."""
        rows = X.shape[0]
        centred = X - X.mean(axis=0)
        lengths = np.einsum("ij,ij->i", centred, centred)
        empirical = centred.T @ centred / rows
        quartic = float(lengths @ lengths) / rows
        self.covariance_, self.shrinkage_ = shrunk_covariance(empirical, quartic, rows)
        return self


def shrunk_covariance(
    empirical: FloatArray, quartic: float, rows: float
) -> tuple[FloatArray, float]:
    """Ledoit and Wolf's covariance and shrinkage from moments.

    `empirical` (n, n) is about the averages, `quartic` the average over cases of the squared
    length, squared again.
    """
    size = empirical.shape[0]
    average = float(np.trace(empirical)) / size
    # How far the empirical covariance is from the target, and how much of that is chance.
    squares = float(np.sum(empirical**2))
    distance = squares - size * average**2
    chance = (quartic - squares) / rows
    share = min(chance, distance) / distance if chance > 0.0 and distance > 0.0 else 0.0
    return (1.0 - share) * empirical + share * average * np.eye(size), share


class Ridge:
    """Linear regression with an intercept and shrunk coefficients.

    The strength is the one of `ALPHAS` that predicts best when each case in turn is left out.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> Ridge().fit(X, X @ [2.0, -1.0] + 0.1 * rng.standard_normal(200)).coef_.round(1)
    array([ 2., -1.])
    """

    alpha_: float
    coef_: FloatArray
    intercept_: float
    degrees_: float  # of freedom, the intercept's included

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Estimate from cases (rows, n) and outcomes (rows,)."""
        rows = X.shape[0]
        mean, outcome_mean = X.mean(axis=0), float(y.mean())
        centred, deviations = X - mean, y - outcome_mean
        # Products of columns have half the digits of singular values, and even the weakest penalty
        # is far above what that loses.
        powers, vectors = np.linalg.eigh(centred.T @ centred)
        kept = powers > powers[-1] * 1e-13
        powers, right = powers[kept], vectors[:, kept].T
        along = right @ (centred.T @ deviations)
        shrunk = powers / (powers + ALPHAS[:, None])  # (alphas, n)
        errors = np.zeros(ALPHAS.size)
        for first in range(0, rows, _BLOCK):
            turned = centred[first : first + _BLOCK] @ right.T
            part = deviations[first : first + _BLOCK]
            residuals = part[:, None] - turned @ (shrunk * along / powers).T  # (block, alphas)
            leverage = 1.0 / rows + turned**2 @ (shrunk / powers).T
            # A case that determines its own fit says nothing about prediction; it must not divide
            # by 0.
            left_out = residuals / np.maximum(1.0 - leverage, 1e-9)
            errors += np.einsum("ij,ij->j", left_out, left_out)
        best = int(np.argmin(errors))
        self.alpha_ = float(ALPHAS[best])
        self.coef_ = right.T @ (shrunk[best] * along / powers)
        self.intercept_ = outcome_mean - float(mean @ self.coef_)
        self.degrees_ = 1.0 + float(shrunk[best].sum())
        return self
