"""What is said, and what is doubted, about a world whose outcome is yes or no."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from preceptor.estimation.world_estimate import WorldEstimate

# With fewer cases of the rarer outcome a column, weights are hardly determined (Peduzzi 1996).
_EVENTS = 10
# Areas under the receiver operating curve that make one wonder.
_CHANCE, _TOO_GOOD = 0.55, 0.9995
# Slopes of the outcomes on the scores, and differences between foretold and actual prevalence,
# that are worth a word; and how many standard errors away from what is right they must be.
_SLOPES, _OFF, _SURE = (0.8, 1.25), 0.02, 3.0
# If gaps add more than this share to what chance does to a score, weights are doubtful.
_HIDDEN = 0.1


def in_words(estimate: WorldEstimate) -> list[str]:
    """Prevalence, and how well cases kept from the estimate are foretold."""
    units, found = estimate.world.units, estimate.held_out
    assert units is not None
    yes = "" if units.outcome_levels is None else f" ({units.outcome_levels[1]})"
    intercept, slope = found.calibration
    return [
        f"{units.outcome}: yes{yes} in {found.prevalence:.1%} of cases "
        f"({int(found.outcomes.sum()):,} of {estimate.rows:,}).",
        f"In cases kept from the estimate: AUC {found.auc:.3f}; Brier score {found.brier:.3f}, "
        f"where always saying the prevalence has {found.brier_of_prevalence:.3f}; calibration "
        f"slope {slope:.2f} (1 is right, less is too extreme) and intercept {intercept:+.2f} (0 is "
        "right).",
    ]


def yes_no_doubts(estimate: WorldEstimate) -> Iterator[str]:
    """Too few events, tests that say too little or too much, probabilities that mislead."""
    found = estimate.held_out
    yes = int(found.outcomes.sum())
    events, columns = min(yes, estimate.rows - yes), estimate.world.size
    if events < _EVENTS * columns:
        yield (
            f"{events:,} cases with {'yes' if 2 * yes <= estimate.rows else 'no'} for {columns} "
            f"columns are few (ten a column would do); expect other weights from other cases (see "
            "the bootstrap)."
        )
    if found.auc < _CHANCE:
        yield "The tests hardly tell yes from no in cases kept from the estimate."
    elif found.auc > _TOO_GOOD:
        yield ("The tests tell yes from no almost perfectly; is one of them the outcome itself?")
    yield from _about_calibration(estimate)
    if estimate.moments.hidden > _HIDDEN:
        yield (
            f"What missing values hide is {estimate.moments.hidden:.0%} of the chance in a score; "
            "weights are estimated from cases that were filled in, and are rather too small."
        )


def _about_calibration(estimate: WorldEstimate) -> Iterator[str]:
    found = estimate.held_out
    error = float(
        np.sqrt(np.mean(found.probabilities * (1.0 - found.probabilities)) / estimate.rows)
    )
    off = found.foretold_prevalence - found.prevalence
    if abs(off) > max(_OFF, _SURE * error):
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
