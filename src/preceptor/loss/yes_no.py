"""Losses of yes-or-no answers: closed forms for Gaussian tests.

As in `gaussian.py`, a person who is shown S reads it with weights that are d off the best ones, in
coordinates where lengths are variances. Let A be the length of the best weights, and let them lie
along the first axis. Then the person's score has

    c = A² - A d_0,     vp = A² - 2A d_0 + |d|²

as its covariance with the true score and its variance. These two numbers decide what answers cost
(`model/score_pairs.py`). Charges are read off a surface (`model/surfaces.py`), here as in kernels.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.loss.gaussian import GaussianOracle
from preceptor.loss.oracle import DeviationForms, SetForm, Setting
from preceptor.model.readings import Readings
from preceptor.model.score_pairs import ScorePair
from preceptor.model.sets import TestSet
from preceptor.model.surfaces import Surface, believed_base, best_charges, surface_of
from preceptor.model.yes_no_risks import Brier, Decision, YesNoRisk

# The steepest density of a standard normal, and its mean distance from 0.
_DENSITY, _DISTANCE = 1.0 / math.sqrt(2.0 * math.pi), math.sqrt(2.0 / math.pi)


class YesNoOracle(GaussianOracle):
    """Losses of all sets, or of one, where the outcome is yes or no."""

    def __init__(self, setting: Setting) -> None:
        assert isinstance(setting.risk, YesNoRisk)
        self._yes_no = setting.risk
        self._first_errors = np.abs(setting.world.coefficients - setting.learner.initial)
        self._see(setting)

    @cached_property
    def accuracy(self) -> float:  # type: ignore[override]
        """Error of the table that is used, while errors are no larger than at first."""
        table = self._surface
        if not table.grows:
            return table.error
        steepest = max(self._largest_score(self._first_errors, shown) for shown in self.sets)
        return table.error * (1.0 + steepest) ** 2

    @cached_property
    def _surface(self) -> Surface:
        return surface_of(self._world, self._yes_no)

    def _turned(self, readings: Readings) -> Readings:
        """Along the best weights."""
        return readings.aligned() if readings.best.size else readings

    @property
    def tree(self) -> None:
        """Aligned rows are not those of the sets that a set grows from."""
        return None

    def losses(self, errors: FloatArray) -> FloatArray:
        """All sets at once."""
        errors = np.ascontiguousarray(np.atleast_2d(errors), dtype=np.float64)
        return self._packed_losses(errors, self.sets.prices, self._surface.compiled)

    def loss_of(self, errors: FloatArray, shown: TestSet) -> FloatArray:
        """One set for many states; the set need not be listed."""
        from preceptor.loss._loss_kernels import yes_no_charges

        errors = np.ascontiguousarray(np.atleast_2d(errors), dtype=np.float64)
        form = self._form_of(shown)
        deviation = form.shift + errors @ form.reading.T
        first = np.ascontiguousarray(deviation[:, 0]) if shown else np.zeros(errors.shape[0])
        out, x, y = np.empty((3, errors.shape[0]))
        risk = self._surface.compiled
        square = np.sum(deviation * deviation, axis=1)
        yes_no_charges(risk.numbers, risk.surface, form.floor, first, square, x, y, out)
        return out + form.price

    def pair_of(self, errors: FloatArray, shown: TestSet) -> ScorePair:
        """The true score and that of somebody with these errors (states, n), when S is shown."""
        world, outcome = self._world, self._world.outcome
        assert outcome is not None
        errors = np.atleast_2d(errors)
        form = self._form_of(shown)
        explained = max(world.outcome_variance - form.floor, 0.0)
        deviation = form.shift + errors @ form.reading.T
        first = deviation[:, 0] if shown else np.zeros(errors.shape[0])
        shared = explained - math.sqrt(explained) * first
        own = explained - 2.0 * math.sqrt(explained) * first + np.sum(deviation**2, axis=1)
        return ScorePair(
            outcome.from_score,
            world.base_score,
            world.score_variance,
            np.asarray(believed_base(world, self._yes_no)),
            shared,
            np.maximum(own, 0.0),
        )

    def best_pairs(self, sets: list[TestSet] | None = None) -> ScorePair:
        """The best reader of each set, or of those named."""
        world, outcome = self._world, self._world.outcome
        assert outcome is not None
        if sets is None:
            floors = self._readings.floor
        else:
            floors = np.array([self._form_of(shown).floor for shown in sets])
        known = np.clip(world.outcome_variance - floors, 0.0, world.score_variance)
        return ScorePair.best_reader(
            outcome.from_score, world.base_score, world.score_variance, known
        )

    def floors(self) -> FloatArray:
        """What the best use of each set costs."""
        best = best_charges(self._world, self._yes_no, self._readings.floor)
        return best + self.sets.prices

    def ceiling_of(self, sizes: FloatArray, shown: TestSet) -> float:
        """Always wrong; for the log loss, as wrong as the steepest score within reach can be."""
        price = self._form_of(shown).price
        risk = self._yes_no
        if isinstance(risk, Decision):
            assert self._world.outcome is not None
            yes = self._world.outcome.prevalence
            return risk.miss * yes + risk.false_alarm * (1.0 - yes) + price
        if math.isfinite(risk.largest):
            return risk.largest + price
        # -log of the link of -s is at most log 2 + |s| + s²/2 for both links.
        mean_square = self._largest_score(sizes, shown) ** 2
        return math.log(2.0) + math.sqrt(mean_square) + 0.5 * mean_square + price

    def _largest_score(self, sizes: FloatArray, shown: TestSet) -> float:
        """Root mean square of the person's score at most, while errors are within `sizes`."""
        form = self._form_of(shown)
        explained = max(self._world.outcome_variance - form.floor, 0.0)
        off = np.linalg.norm(form.shift) + np.linalg.norm(form.reading, axis=0) @ sizes
        base = believed_base(self._world, self._yes_no)
        return math.hypot(base, math.sqrt(explained) + float(off))

    def sensitivity_of(self, sizes: FloatArray, shown: TestSet) -> FloatArray:
        """An error moves scores by a normal amount; charges move by their slope times that.

        For decisions, by how likely it is that a score crosses its limit; infinite where the limit
        is at the score's own mean, because a score that hardly varies may cross it at any time.
        """
        lengths: FloatArray = np.linalg.norm(self._form_of(shown).reading, axis=0)
        risk = self._yes_no
        if not np.any(lengths):
            return lengths
        if isinstance(risk, Brier):
            return lengths * (2.0 * _DENSITY * _DISTANCE)
        if not isinstance(risk, Decision):
            return lengths * (1.0 + self._largest_score(sizes, shown))
        theta = abs(float(self._surface.compiled.numbers[1]))
        if theta == 0.0:
            return np.where(lengths > 0.0, math.inf, 0.0)
        # u density(u) (E|z| + u) for u = theta / sd of the score is at most 0.47, near u = 1.3.
        return lengths * (0.47 * risk.largest / theta)

    def squared_form_of(self, shown: TestSet) -> SetForm | None:
        """There is none: a decision is not a square."""
        return None

    def forms(self) -> DeviationForms | None:
        """Dense forms along the best readings, where they fit in memory."""
        return self._dense_forms(self._surface.compiled)
