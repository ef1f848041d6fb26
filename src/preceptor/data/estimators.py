"""The default estimators of a world: covariance, linear, probit and logistic regression.

Ledoit and Wolf's shrunk covariance, and ridge regression with its penalty chosen by leave-one-out,
are closed forms of a few lines that agree with scikit-learn's `LedoitWolf` and `RidgeCV`. But
scikit-learn takes longer to import than most plans take to compute, and validates every array again
in each of the hundreds of fits of a bootstrap.

Probit and logistic regression are fitted by penalised maximum likelihood. The ridge penalty is the
one whose predictions of left-out cases are likeliest. Leaving one case out of a Newton fit is one
more Newton step, in closed form, so each penalty on the path costs one fit ("approximate
leave-one-out", Rad and Maleki 2020). The penalty keeps weights finite where the tests separate yes
from no perfectly. scikit-learn has the logistic half of this, but no probit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidData
from preceptor.model.outcomes import PROBIT, Link, link_of

# From almost no shrinkage to almost complete, for standardised tests.
ALPHAS: FloatArray = np.logspace(-3, 5, 33)
# Cases per block; residuals are held for every penalty at once.
_BLOCK = 4_096


class LedoitWolf:
    """Covariance shrunk toward a multiple of the identity by the share of least expected loss.

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
        squared_norms = np.einsum("ij,ij->i", centred, centred)
        empirical = centred.T @ centred / rows
        average = float(np.trace(empirical)) / size
        # Squared distance of the empirical covariance from the target, and the part due to chance.
        squares = float(np.sum(empirical**2))
        distance = squares - size * average**2
        chance = (float(squared_norms @ squared_norms) / rows - squares) / rows
        share = min(chance, distance) / distance if chance > 0.0 and distance > 0.0 else 0.0
        self.covariance_ = (1.0 - share) * empirical + share * average * np.eye(size)
        self.shrinkage_ = share
        return self


class Ridge:
    """Linear regression with an intercept and shrunk coefficients.

    The penalty is the one of `ALPHAS` with the least leave-one-out error.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> Ridge().fit(X, X @ [2.0, -1.0] + 0.1 * rng.standard_normal(200)).coef_.round(1)
    array([ 2., -1.])
    """

    alpha_: float
    coef_: FloatArray
    intercept_: float
    degrees_: float  # degrees of freedom, including the intercept

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Estimate from cases (rows, n) and outcomes (rows,)."""
        rows = X.shape[0]
        mean, outcome_mean = X.mean(axis=0), float(y.mean())
        centred, deviations = X - mean, y - outcome_mean
        # Squaring halves the digits, but even the weakest penalty is far above that loss.
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
            # A case that determines its own fit must not lead to a division by 0.
            left_out = residuals / np.maximum(1.0 - leverage, 1e-9)
            errors += np.einsum("ij,ij->j", left_out, left_out)
        best = int(np.argmin(errors))
        self.alpha_ = float(ALPHAS[best])
        self.coef_ = right.T @ (shrunk[best] * along / powers)
        self.intercept_ = outcome_mean - float(mean @ self.coef_)
        self.degrees_ = 1.0 + float(shrunk[best].sum())
        return self


# From almost complete shrinkage to almost none, for standardised tests.
STRENGTHS: FloatArray = np.logspace(4, -3, 22)
_STEPS, _ENOUGH = 60, 1e-9
# The search ends after this many penalties in a row that do worse than the best.
_PATIENCE = 4
# Scores beyond this are as good as certain.
_FARTHEST = 30.0
# Smaller curvatures belong to cases that are as good as certain, and carry no information.
_FLATTEST = 1e-12


class Curvature(NamedTuple):
    """Log likelihood of each outcome (rows,), its slope, and minus its curvature by the score."""

    value: FloatArray
    slope: FloatArray
    bend: FloatArray


def curvature(link: Link, scores: FloatArray, outcome: FloatArray) -> Curvature:
    """Log likelihood of outcomes 0 and 1 at scores (rows,), with derivatives by the score."""
    sign = 2.0 * outcome - 1.0
    at = np.clip(sign * scores, -_FARTHEST, _FARTHEST)
    value = link.log_probability(at)
    if link.name == PROBIT:
        ratio = np.exp(-0.5 * at**2 - 0.5 * np.log(2.0 * np.pi) - value)
        return Curvature(value, sign * ratio, np.maximum(ratio * (ratio + at), _FLATTEST))
    wrong = link.probability(-at)
    return Curvature(value, sign * wrong, np.maximum(wrong * (1.0 - wrong), _FLATTEST))


class BinaryRidge:
    """Ridge-penalised score weights for an outcome of 0 and 1, with an unpenalised intercept.

    Maximises the log likelihood minus `strength` / 2 times the sum of squared weights. By default
    the strength is the one of `STRENGTHS` that best predicts left-out cases.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4_000, 2))
    >>> y = (X @ [1.0, -0.5] + 0.3 + rng.standard_normal(4_000) > 0).astype(float)
    >>> fitted = BinaryRidge().fit(X, y)
    >>> fitted.coef_.round(1), round(fitted.intercept_, 1)
    (array([ 1. , -0.5]), 0.3)
    """

    alpha_: float
    coef_: FloatArray
    intercept_: float
    degrees_: float  # degrees of freedom, including the intercept

    def __init__(self, link: str = PROBIT, strength: float | None = None) -> None:
        self.link = link
        self.strength = strength

    def __repr__(self) -> str:
        return f"BinaryRidge({self.link!r})"

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Estimate from cases (rows, n), preferably standardised, and outcomes 0 and 1 (rows,)."""
        yes = float(y.mean())
        if not 0.0 < yes < 1.0:
            raise InvalidData(
                f"outcome: is {'yes' if yes else 'no'} in every case; there is nothing to predict"
            )
        link, design = link_of(self.link), np.column_stack([np.ones(X.shape[0]), X])
        weights = np.zeros(design.shape[1])
        weights[0] = float(link.score(yes))
        best, worse = -np.inf, 0
        for strength in [self.strength] if self.strength is not None else STRENGTHS.tolist():
            weights, bends = climb(link, design, y, strength, weights)
            value, degrees = _left_out(link, design, y, weights, bends)
            if value > best:
                best, worse = value, 0
                self.alpha_, self.degrees_ = strength, degrees
                self.coef_, self.intercept_ = weights[1:].copy(), float(weights[0])
                continue
            # Beyond the optimum, weaker penalties only do worse.
            worse += 1
            if worse == _PATIENCE:
                break
        return self


def climb(
    link: Link, design: FloatArray, y: FloatArray, strength: float, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Likeliest weights (p,), the first unpenalised, and minus the Hessian there (p, p)."""
    penalty = np.full(design.shape[1], strength)
    penalty[0] = 1e-9

    def evaluate(weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        here = curvature(link, design @ weights, y)
        value = float(here.value.sum() - 0.5 * penalty @ weights**2)
        bends = (design * here.bend[:, None]).T @ design + np.diag(penalty)
        return value, design.T @ here.slope - penalty * weights, bends

    return newton(evaluate, start)


def newton(
    evaluate: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]], start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Maximise a concave function by Newton's method, halving steps that do not climb.

    `evaluate` returns the value, the gradient (p,) and minus the Hessian (p, p). Returns the
    maximiser (p,) and minus the Hessian there.
    """
    at = start
    value, gradient, bends = evaluate(at)
    for _ in range(_STEPS):
        step = np.linalg.solve(bends, gradient)
        if float(gradient @ step) <= _ENOUGH:
            break
        for _ in range(_STEPS):
            there = evaluate(at + step)
            if there[0] >= value:
                break
            step = 0.5 * step
        else:
            break
        at = at + step
        value, gradient, bends = there
    return at, bends


def _left_out(
    link: Link, design: FloatArray, y: FloatArray, weights: FloatArray, bends: FloatArray
) -> tuple[float, float]:
    """Leave-one-out log likelihood of all cases, and the degrees of freedom."""
    scores = design @ weights
    here = curvature(link, scores, y)
    reach = np.einsum("ij,ij->i", design @ np.linalg.inv(bends), design)
    leverage = np.minimum(here.bend * reach, 1.0 - 1e-6)
    without = scores - here.slope * reach / (1.0 - leverage)
    return float(curvature(link, without, y).value.sum()), float(leverage.sum())
