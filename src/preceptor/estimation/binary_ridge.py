"""Probit and logistic regression by maximum likelihood, with shrunk weights.

The strength of the penalty is the one whose predictions are likeliest when each case in turn is
left out. Leaving a case out of a fit that is found by Newton's method is one more step of it, in
closed form, so a path of strengths costs one fit each ("approximate leave-one-out", Rad and Maleki
2020). The penalty keeps weights finite where the tests tell yes from no without a mistake.
scikit-learn has the logistic half of this, and no probit.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidData
from preceptor.model.links import PROBIT, Link, link_of

# From nearly nothing left to next to no shrinkage, for tests in standard deviations.
STRENGTHS: FloatArray = np.logspace(4, -3, 22)
_STEPS, _ENOUGH = 50, 1e-9
# So many strengths in a row that do worse than the best one end the search.
_PATIENCE = 4
# Scores beyond this are as good as certain.
_FARTHEST = 30.0
# Smaller curvatures are those of cases that are as good as certain, and say nothing.
_FLATTEST = 1e-12


class Curvature(NamedTuple):
    """Log likelihood of each outcome (rows,) at some scores: its slope, and minus its curvature."""

    value: FloatArray
    slope: FloatArray
    bend: FloatArray


def curvature(link: Link, scores: FloatArray, outcome: FloatArray) -> Curvature:
    """How likely outcomes 0 and 1 are at scores (rows,), with derivatives by the score."""
    sign = 2.0 * outcome - 1.0
    at = np.clip(sign * scores, -_FARTHEST, _FARTHEST)
    value = link.log_probability(at)
    if link.name == PROBIT:
        ratio = np.exp(-0.5 * at**2 - 0.5 * np.log(2.0 * np.pi) - value)
        return Curvature(value, sign * ratio, np.maximum(ratio * (ratio + at), _FLATTEST))
    wrong = link.probability(-at)
    return Curvature(value, sign * wrong, np.maximum(wrong * (1.0 - wrong), _FLATTEST))


class BinaryRidge:
    """Weights of a score for an outcome of 0 and 1, with an intercept that is not shrunk.

    The log likelihood minus `strength` / 2 times the sum of squared weights is maximised. With no
    strength given, it is the one of `STRENGTHS` that predicts best when each case is left out.

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
    degrees_: float  # of freedom, the intercept's included

    def __init__(self, link: str = PROBIT, strength: float | None = None) -> None:
        self.link = link
        self.strength = strength

    def __repr__(self) -> str:
        return f"BinaryRidge({self.link!r})"

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Estimate from cases (rows, n), best standardised, and outcomes 0 and 1 (rows,)."""
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
            # Beyond the top, ever weaker penalties do ever worse.
            worse += 1
            if worse == _PATIENCE:
                break
        return self


def climb(
    link: Link, design: FloatArray, y: FloatArray, strength: float, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The likeliest weights (p,), the first one not shrunk, and minus the curvature there (p, p).

    Newton's method, halving steps that lead down; the likelihood has one top.
    """
    penalty = np.full(design.shape[1], strength)
    penalty[0] = 1e-9
    weights = start
    here = curvature(link, design @ weights, y)
    value = float(here.value.sum() - 0.5 * penalty @ weights**2)
    bends = np.empty((penalty.size, penalty.size))
    for _ in range(_STEPS):
        bends = (design * here.bend[:, None]).T @ design + np.diag(penalty)
        pull = design.T @ here.slope - penalty * weights
        step = np.linalg.solve(bends, pull)
        gain = float(pull @ step)
        if gain <= _ENOUGH:
            break
        for _ in range(30):
            there = curvature(link, design @ (weights + step), y)
            moved = float(there.value.sum() - 0.5 * penalty @ (weights + step) ** 2)
            if moved >= value:
                break
            step = 0.5 * step
        weights, here, value = weights + step, there, moved
    return weights, bends


def _left_out(
    link: Link,
    design: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    bends: FloatArray,
) -> tuple[float, float]:
    """Log likelihood of all cases, each predicted by the others, and the degrees of freedom."""
    scores = design @ weights
    here = curvature(link, scores, y)
    reach = np.einsum("ij,ij->i", design @ np.linalg.inv(bends), design)
    leverage = np.minimum(here.bend * reach, 1.0 - 1e-6)
    without = scores - here.slope * reach / (1.0 - leverage)
    return float(curvature(link, without, y).value.sum()), float(leverage.sum())
