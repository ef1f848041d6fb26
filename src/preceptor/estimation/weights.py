"""Weights that mislead: signs that are not those of the plain correlation with the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray

if TYPE_CHECKING:
    from preceptor.estimation.encoding import Design

# Weaker correlations, and weights below this share of the outcome's spread, hardly have a sign.
_CORRELATED, _WEIGHED = 0.1, 0.05
# Standard errors that a correlation must be away from 0.
_SURE = 3.0


class SignDisagreement(NamedTuple):
    """A column whose estimated weight points the other way than its correlation."""

    name: str
    weight: float
    correlation: float


def correlations_with_outcome(design: Design, means: FloatArray, scales: FloatArray) -> FloatArray:
    """Plain correlation (n,) of each column with the outcome, over the cases that know it."""
    standard = (design.values - means) / scales
    known = ~np.isnan(standard)
    mask = known.astype(np.float64)
    standard[~known] = 0.0
    cases = mask.sum(axis=0)
    spread = float(design.outcome.std())
    outcome = (design.outcome - design.outcome.mean()) / spread
    mean, outcome_mean = standard.sum(axis=0) / cases, mask.T @ outcome / cases
    products = standard.T @ outcome / cases - mean * outcome_mean
    squares = (standard**2).sum(axis=0) / cases - mean**2
    outcome_squares = mask.T @ outcome**2 / cases - outcome_mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.nan_to_num(products / np.sqrt(squares * outcome_squares))
    return found


def signs_that_disagree(
    names: tuple[str, ...],
    weights: FloatArray,
    correlations: FloatArray,
    rows: int,
    spread: float,
) -> tuple[SignDisagreement, ...]:
    """Columns whose weight has the other sign than their correlation, neither of them near 0.

    `rows` cases say so, and `spread` is the standard deviation of what weights add up to.
    """
    sure = max(_CORRELATED, _SURE / np.sqrt(rows))
    matters = np.abs(weights) >= _WEIGHED * spread
    disagree = (weights * correlations < 0.0) & (np.abs(correlations) >= sure) & matters
    found = [
        SignDisagreement(names[i], float(weights[i]), float(correlations[i]))
        for i in np.flatnonzero(disagree)
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.correlation)))


def in_words(found: tuple[SignDisagreement, ...], outcome: str, most: int = 3) -> str:
    """A doubt about such weights, in a sentence."""
    listed = ", ".join(
        f"{each.name} (weight {each.weight:.3g}, correlation {each.correlation:+.2f})"
        for each in found[:most]
    )
    more = f" and {len(found) - most} more" if len(found) > most else ""
    weight = "has an estimated weight" if len(found) == 1 else "have estimated weights"
    return (
        f"{listed}{more} {weight} of the opposite sign to the plain correlation with {outcome}: "
        "beside tests that say nearly the same, a weight alone means little."
    )
