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
        rows, size = X.shape
        centred = X - X.mean(axis=0)
        squares = centred**2
        empirical = centred.T @ centred / rows
        average = float(np.trace(empirical)) / size
        # How far the empirical covariance is from the target, and how much of that is chance.
        distance = float(np.sum(empirical**2)) - size * average**2
        chance = (float(np.sum(squares.T @ squares)) / rows - float(np.sum(empirical**2))) / rows
        share = min(chance, distance) / distance if chance > 0.0 and distance > 0.0 else 0.0
        self.shrinkage_ = share
        self.covariance_ = (1.0 - share) * empirical + share * average * np.eye(size)
        return self


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
        left, singular, right = np.linalg.svd(X - mean, full_matrices=False)
        kept = singular > singular[0] * 1e-12
        left, singular, right = left[:, kept], singular[kept], right[kept]
        projected = left.T @ (y - outcome_mean)
        shrunk = singular**2 / (singular**2 + ALPHAS[:, None])  # (alphas, n)
        residuals = (y - outcome_mean)[:, None] - left @ (shrunk * projected).T  # (rows, alphas)
        leverage = 1.0 / rows + left**2 @ shrunk.T
        # A case that determines its own fit says nothing about prediction; it must not divide by 0.
        left_out = residuals / np.maximum(1.0 - leverage, 1e-9)
        best = int(np.argmin(np.mean(left_out**2, axis=0)))
        self.alpha_ = float(ALPHAS[best])
        self.coef_ = right.T @ (shrunk[best] * projected / singular)
        self.intercept_ = outcome_mean - float(mean @ self.coef_)
        self.degrees_ = 1.0 + float(shrunk[best].sum())
        return self
