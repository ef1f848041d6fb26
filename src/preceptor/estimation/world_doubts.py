"""What is doubtful about an estimated world as a whole: too few cases, copies, odd weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.words import first_few

if TYPE_CHECKING:
    from preceptor.estimation.world_estimate import WorldEstimate

# Shares of explained variance that make one wonder, and areas under the ROC curve.
_EXPLAINED, _AREAS = (0.02, 0.999), (0.55, 0.9995)
# With fewer cases a column, or fewer of the rarer outcome, weights are hardly determined (Peduzzi
# and others 1996 have the second).
_CASES, _EVENTS = 5, 10
# A correlation above this makes it hard to say which of two tests matters.
_NEARLY_COPIES = 0.98
# Weaker correlations, and weights below this share of the outcome's spread, hardly have a sign.
_CORRELATED, _WEIGHED = 0.1, 0.05
# Standard errors that something must be away from what is expected to be worth a word.
_SURE = 3.0
# Calibration slopes, and differences between predicted and actual prevalence, that are acceptable.
_SLOPES, _OFF = (0.8, 1.25), 0.02
# If gaps account for more than this share of the residuals, what is left of them is doubtful.
_HIDDEN = 0.25


class SignDisagreement(NamedTuple):
    """A column whose estimated weight points the other way than its correlation."""

    name: str
    weight: float
    correlation: float


def signs_that_disagree(estimate: WorldEstimate) -> tuple[SignDisagreement, ...]:
    """Columns whose weight has the other sign than their correlation, neither of them near 0."""
    weights, correlations = estimate.world.coefficients, estimate.outcome_correlations
    least = max(_CORRELATED, _SURE / np.sqrt(estimate.rows))
    matters = np.abs(weights) >= _WEIGHED * estimate.spread
    disagree = (weights * correlations < 0.0) & (np.abs(correlations) >= least) & matters
    found = [
        SignDisagreement(estimate.world.labels[i], float(weights[i]), float(correlations[i]))
        for i in np.flatnonzero(disagree)
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.correlation)))


def doubts_about(estimate: WorldEstimate) -> Iterator[str]:
    """A sentence for each reason not to take the estimate at its word."""
    information, size = estimate.moments.information, estimate.world.size
    if information < _CASES * size:
        yield (
            f"{information:,} cases for {size} columns are few; expect other weights from other "
            "cases (see the bootstrap)."
        )
    off = np.abs(estimate.correlation - np.eye(size))
    if size > 1 and off.max() > _NEARLY_COPIES:
        i, j = (int(v) for v in np.unravel_index(int(off.argmax()), off.shape))
        one, other = estimate.world.labels[i], estimate.world.labels[j]
        yield (
            f"{one} and {other} are nearly copies (correlation {estimate.correlation[i, j]:.3f}); "
            "which of them carries the weight is hardly determined."
        )
    if estimate.signs_that_disagree:
        yield _about_signs(estimate)
    if estimate.world.is_binary:
        yield from _about_yes_and_no(estimate)
    elif estimate.explained < _EXPLAINED[0]:
        yield "The tests explain next to nothing of the outcome in these cases."
    elif estimate.explained > _EXPLAINED[1]:
        yield "The tests explain the outcome almost perfectly; is one of them the outcome itself?"
    if estimate.moments.hidden > _HIDDEN:
        yield (
            f"{estimate.moments.hidden:.0%} of what the tests leave open is put down to missing "
            "values instead of chance, so weights and noise are rough estimates."
        )
    if estimate.moments.adjusted > 0.0:
        yield (
            "Pairwise correlations contradicted each other; they were changed by up to "
            f"{estimate.moments.adjusted:.2f} to agree. An imputer may serve better."
        )


def _about_signs(estimate: WorldEstimate) -> str:
    found = estimate.signs_that_disagree
    columns = [
        f"{each.name} (weight {each.weight:.3g}, correlation {each.correlation:+.2f})"
        for each in found
    ]
    weight = "has an estimated weight" if len(found) == 1 else "have estimated weights"
    return (
        f"{first_few(columns, 3)} {weight} of the opposite sign to the plain correlation with "
        f"{estimate.design.outcome_name}: beside tests that say nearly the same, a weight alone "
        "means little."
    )


def _about_yes_and_no(estimate: WorldEstimate) -> Iterator[str]:
    """Too few events, tests that say too little or too much, probabilities that mislead."""
    found, rows = estimate.held_out, estimate.rows
    yes = int(estimate.design.outcome.sum())
    events, columns = min(yes, rows - yes), estimate.world.size
    if events < _EVENTS * columns:
        yield (
            f"{events:,} cases with {'yes' if 2 * yes <= rows else 'no'} for {columns} columns are "
            "few (ten a column would do); expect other weights from other cases (see the "
            "bootstrap)."
        )
    if found.auc < _AREAS[0]:
        yield "The tests hardly tell yes from no in cases kept from the estimate."
    elif found.auc > _AREAS[1]:
        yield "The tests tell yes from no almost perfectly; is one of them the outcome itself?"
    chance = float(np.mean(found.probabilities * (1.0 - found.probabilities)))
    error = np.sqrt(chance / found.scores.size)
    if abs(found.foretold_prevalence - found.prevalence) > max(_OFF, _SURE * error):
        yield (
            f"On average {found.foretold_prevalence:.1%} is foretold where {found.prevalence:.1%} "
            "end with yes: the base score is worked out as if tests were Gaussian, and these are "
            "not. Look at skewed tests (logarithms may help)."
        )
    _, slope = found.calibration
    if not _SLOPES[0] <= slope <= _SLOPES[1]:
        too = "too extreme" if slope < 1.0 else "too timid"
        yield (
            f"Probabilities are {too} in cases kept from the estimate (calibration slope "
            f"{slope:.2f}, where 1 is right)."
        )
