"""What is doubtful about an estimated world as a whole: too few cases, copies, odd weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor.estimation.findings import Said
from preceptor.estimation.weights import in_words
from preceptor.estimation.yes_no_words import yes_no_doubts

if TYPE_CHECKING:
    from preceptor.estimation.world_estimate import WorldEstimate

# Shares of explained variance that make one wonder.
_HARDLY_ANY, _TOO_GOOD = 0.02, 0.999
# A correlation above this makes it hard to say which of two tests matters.
_NEARLY_COPIES = 0.98
# If gaps account for more of the residuals than this, the noise that is left is doubtful.
_LARGE_SHARE = 0.25


def doubts_about(estimate: WorldEstimate) -> list[Said]:
    """A sentence for each reason not to take the estimate at its word."""
    found: list[Said] = []
    if estimate.moments.information < 5 * estimate.world.size:
        found.append(
            Said(
                f"{estimate.moments.information:,} cases for {estimate.world.size} columns are "
                "few; expect other weights from other cases (see the bootstrap)."
            )
        )
    off = np.abs(estimate.correlation - np.eye(estimate.world.size))
    if off.size > 1 and off.max() > _NEARLY_COPIES:
        i, j = (int(v) for v in np.unravel_index(int(off.argmax()), off.shape))
        one, other = estimate.world.labels[i], estimate.world.labels[j]
        found.append(
            Said(
                f"{one} and {other} are nearly copies (correlation "
                f"{estimate.correlation[i, j]:.3f}); which of them carries the weight is hardly "
                "determined."
            )
        )
    if estimate.signs_that_disagree:
        found.append(Said(in_words(estimate.signs_that_disagree, estimate.design.outcome_name)))
    if estimate.world.is_binary:
        return [*found, *map(Said, yes_no_doubts(estimate)), *_about_gaps(estimate)]
    if estimate.explained < _HARDLY_ANY:
        found.append(Said("The tests explain next to nothing of the outcome in these cases."))
    elif estimate.explained > _TOO_GOOD:
        found.append(
            Said(
                "The tests explain the outcome almost perfectly; is one of them the outcome itself?"
            )
        )
    return [*found, *_about_gaps(estimate)]


def _about_gaps(estimate: WorldEstimate) -> list[Said]:
    """What missing values make doubtful."""
    found: list[Said] = []
    if estimate.moments.hidden > _LARGE_SHARE and not estimate.world.is_binary:
        found.append(
            Said(
                f"{estimate.moments.hidden:.0%} of what the regression misses is put down to "
                "missing values instead of noise, so the noise is a rough estimate."
            )
        )
    if estimate.moments.adjusted > 0.0:
        found.append(
            Said(
                "Pairwise correlations contradicted each other; they were changed by up to "
                f"{estimate.moments.adjusted:.2f} to agree. An imputer may serve better."
            )
        )
    return found
