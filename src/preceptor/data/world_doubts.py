"""Doubts about an estimated world: too few cases, near copies, odd weights, poor predictions.

How well a yes-or-no world predicts held-out cases has three parts. Discrimination: are cases with
yes ranked above cases with no (AUC)? Accuracy: how far are probabilities from outcomes (Brier
score), compared with always predicting the prevalence? Calibration: of cases given 30%, do 30% end
with yes? The base score is derived from the prevalence as if tests were Gaussian, so miscalibration
also reveals tests that are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import first_few
from preceptor.data.estimators import climb
from preceptor.data.findings import ENOUGH_CASES, FEW_CASES
from preceptor.model.outcomes import Link

if TYPE_CHECKING:
    from preceptor.data.world_estimate import WorldEstimate

# Keeps the slope finite where scores separate yes from no perfectly.
_STRENGTH = 1e-3


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of held-out cases, and their outcomes.

    Attributes
    ----------
    link
        Maps scores to probabilities.
    scores
        Predicted scores, shape (rows,).
    outcomes
        Outcomes, 1 or 0, shape (rows,).
    """

    link: Link
    scores: FloatArray
    outcomes: FloatArray

    @cached_property
    def probabilities(self) -> FloatArray:
        """Predicted probabilities of yes, shape (rows,)."""
        return self.link.probability(self.scores)

    @property
    def prevalence(self) -> float:
        """Share of cases with yes."""
        return float(self.outcomes.mean())

    @property
    def predicted_prevalence(self) -> float:
        """Mean predicted probability; equals the prevalence if calibrated."""
        return float(self.probabilities.mean())

    @property
    def auc_interval(self) -> tuple[float, float]:
        """95% interval of the AUC, by the standard error of Hanley and McNeil (1982)."""
        area, yes = self.auc, float(self.outcomes.sum())
        no = self.outcomes.size - yes
        both_yes, both_no = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
        variance = area * (1.0 - area)
        variance += (yes - 1.0) * (both_yes - area**2) + (no - 1.0) * (both_no - area**2)
        away = 1.96 * float(np.sqrt(max(variance, 0.0) / (yes * no)))
        return max(area - away, 0.0), min(area + away, 1.0)

    @cached_property
    def auc(self) -> float:
        """Area under the ROC curve: how often yes scores higher than no; ties count half."""
        from scipy.stats import rankdata

        yes = self.outcomes == 1.0
        positives, negatives = int(yes.sum()), int((~yes).sum())
        ranks = rankdata(self.scores)
        return float(
            (ranks[yes].sum() - positives * (positives + 1) / 2.0) / (positives * negatives)
        )

    @property
    def brier(self) -> float:
        """Brier score: mean squared difference of probability and outcome."""
        return float(np.mean((self.probabilities - self.outcomes) ** 2))

    @property
    def brier_of_prevalence(self) -> float:
        """Brier score of always predicting the prevalence."""
        return self.prevalence * (1.0 - self.prevalence)

    @property
    def r_squared(self) -> float:
        """Share of the outcome's variance that is predicted."""
        return 1.0 - self.brier / self.brier_of_prevalence

    @cached_property
    def calibration(self) -> tuple[float, float]:
        """Intercept and slope of the outcomes on the scores: 0 and 1 if calibrated.

        A slope below 1 means that probabilities are too extreme.
        """
        design = np.column_stack([np.ones(self.scores.size), self.scores])
        weights, _ = climb(self.link, design, self.outcomes, _STRENGTH, np.array([0.0, 1.0]))
        return float(weights[0]), float(weights[1])


# Explained variances, and areas under the ROC curve, that are implausibly low or high.
_EXPLAINED, _AREAS = (0.02, 0.999), (0.55, 0.9995)
# Above this correlation, which of two tests carries the weight is poorly determined.
_NEARLY_COPIES = 0.98
# Signs of weaker correlations, and of weights below this share of the spread, are ignored.
_CORRELATED, _WEIGHED = 0.1, 0.05
# Deviations of fewer standard errors than this are not reported.
_SURE = 3.0
# Acceptable calibration slopes, and differences between predicted and actual prevalence.
_SLOPES, _OFF = (0.8, 1.25), 0.02
# If gaps account for more than this share of the residuals, the noise estimate is doubtful.
_HIDDEN = 0.25


class SignDisagreement(NamedTuple):
    """A column whose estimated weight and correlation have opposite signs."""

    name: str
    weight: float
    correlation: float


def signs_that_disagree(estimate: WorldEstimate) -> tuple[SignDisagreement, ...]:
    """Columns whose weight and correlation with the outcome have opposite signs, neither near 0."""
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
    """Yield a sentence for each reason to distrust the estimate."""
    information, size = estimate.moments.information, estimate.world.size
    if information < FEW_CASES * size:
        yield (
            f"{information:,} cases for {size} columns are few; other cases would give other "
            "weights (see the bootstrap)."
        )
    off = np.abs(estimate.correlation - np.eye(size))
    if size > 1 and off.max() > _NEARLY_COPIES:
        i, j = (int(v) for v in np.unravel_index(int(off.argmax()), off.shape))
        one, other = estimate.world.labels[i], estimate.world.labels[j]
        yield (
            f"{one} and {other} are nearly copies (correlation {estimate.correlation[i, j]:.3f}); "
            "which of them carries the weight is poorly determined."
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
            f"{estimate.moments.hidden:.0%} of the unexplained variance is attributed to missing "
            "values instead of noise, so weights and noise are rough estimates."
        )
    if estimate.moments.adjusted > 0.0:
        yield (
            "Pairwise correlations were inconsistent and were changed by up to "
            f"{estimate.moments.adjusted:.2f}; an imputer may work better."
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
        f"{estimate.design.outcome_name}: next to tests that say nearly the same, a single weight "
        "means little."
    )


def _about_yes_and_no(estimate: WorldEstimate) -> Iterator[str]:
    """Doubts about a yes-or-no outcome: few events, implausible AUC, poor calibration."""
    found, rows = estimate.held_out, estimate.rows
    yes = int(estimate.design.outcome.sum())
    events, columns = min(yes, rows - yes), estimate.world.size
    if events < ENOUGH_CASES * columns:
        yield (
            f"{events:,} cases with {'yes' if 2 * yes <= rows else 'no'} for {columns} columns are "
            "few (ten per column are enough); other cases would give other weights (see the "
            "bootstrap)."
        )
    if found.auc < _AREAS[0]:
        yield "The tests hardly distinguish yes from no in held-out cases."
    elif found.auc > _AREAS[1]:
        yield "The tests separate yes from no almost perfectly; is one of them the outcome itself?"
    chance = float(np.mean(found.probabilities * (1.0 - found.probabilities)))
    error = np.sqrt(chance / found.scores.size)
    if abs(found.predicted_prevalence - found.prevalence) > max(_OFF, _SURE * error):
        yield (
            f"The average prediction is {found.predicted_prevalence:.1%}, but "
            f"{found.prevalence:.1%} end with yes: the base score assumes Gaussian tests, which "
            "these are not. Look at skewed tests (logarithms may help)."
        )
    _, slope = found.calibration
    if not _SLOPES[0] <= slope <= _SLOPES[1]:
        too = "too extreme" if slope < 1.0 else "too timid"
        yield (
            f"Probabilities are {too} in held-out cases (calibration slope {slope:.2f}, ideally 1)."
        )
