"""How well a yes-or-no world foretells cases that were kept from its estimate.

Three questions. Are cases with yes ranked above cases with no (area under the receiver operating
curve)? How far are probabilities from what happened (Brier score), and how far would always saying
the prevalence be? And do they mean what they say: of cases given 30 %, do 30 % end with yes
(calibration)? A base score follows from the prevalence as if tests were Gaussian, so calibration
is also where tests that are far from it show.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.estimation.binary_ridge import climb
from preceptor.model.links import Link

# Keeps the slope finite where scores tell yes from no without a mistake.
_STRENGTH = 1e-3


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a world foretold of cases that it had not seen.

    Attributes
    ----------
    link
        From scores to probabilities.
    scores
        Foretold, shape (rows,).
    outcomes
        What happened, 1 or 0, shape (rows,).
    """

    link: Link
    scores: FloatArray
    outcomes: FloatArray

    @cached_property
    def probabilities(self) -> FloatArray:
        """Foretold probabilities of yes, shape (rows,)."""
        return self.link.probability(self.scores)

    @property
    def prevalence(self) -> float:
        """Share of cases that ended with yes."""
        return float(self.outcomes.mean())

    @property
    def foretold_prevalence(self) -> float:
        """Average of the foretold probabilities; the same as the prevalence if all is well."""
        return float(self.probabilities.mean())

    @cached_property
    def auc(self) -> float:
        """How often a case with yes scores higher than one with no; ties count half."""
        from scipy.stats import rankdata

        yes = self.outcomes == 1.0
        ill, well = int(yes.sum()), int((~yes).sum())
        ranks = rankdata(self.scores)
        return float((ranks[yes].sum() - ill * (ill + 1) / 2.0) / (ill * well))

    @property
    def brier(self) -> float:
        """Mean squared difference of probability and outcome."""
        return float(np.mean((self.probabilities - self.outcomes) ** 2))

    @property
    def brier_of_prevalence(self) -> float:
        """The same for somebody who always says the prevalence."""
        return self.prevalence * (1.0 - self.prevalence)

    @property
    def r_squared(self) -> float:
        """Share of the outcome's variance that is foretold."""
        return 1.0 - self.brier / self.brier_of_prevalence

    @cached_property
    def calibration(self) -> tuple[float, float]:
        """Intercept and slope of the outcomes on the scores: 0 and 1 if scores mean what they say.

        A slope below 1: probabilities are too extreme.
        """
        design = np.column_stack([np.ones(self.scores.size), self.scores])
        weights, _ = climb(self.link, design, self.outcomes, _STRENGTH, np.array([0.0, 1.0]))
        return float(weights[0]), float(weights[1])
