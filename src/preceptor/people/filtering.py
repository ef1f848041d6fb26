"""Kalman filter of one person's weights, given their record.

Given what was shown and the outcome, weights move by a known affine map (`Person.moves`), and an
answer is linear in them. So a normal prior stays normal: a Kalman filter without approximation,
equal after every round to Bayesian regression on all rounds so far. Means and covariances may have
leading axes, one filter for each candidate variance of answers.

Where outcomes are yes/no, answers are scores (without the base score), and all of this holds for
probabilities and people who learn by showings. Two things are approximate. The posterior given a
decision is not normal; the normal distribution with the same mean and covariance replaces it
(assumed-density filtering, exact moments for one answer). And people who learn from outcomes do not
move by an affine map; it is linearised at the mean (an extended Kalman filter).

The state may hold further coefficients after the n weights: a constant bias of answers, or a
dependence on the last surprise. `extra` holds their regressors. They never move, but for one: the
level of people who learn it (`with_level.py`) takes the place of the bias, first among them, and
moves with the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.person import Person, ShownBefore
from preceptor.model.sets import Shown, TestSet
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.answering import probit_update

_NOTHING_EXTRA: FloatArray = np.zeros(0)
_ONLY_A_LEVEL: FloatArray = np.ones(1)


class PredictedAnswer(NamedTuple):
    """Mean (...) of the next answer, and its variance (...) without response noise."""

    mean: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class WeightFilter:
    """Filter state of one person of a known kind.

    Parameters
    ----------
    person
        Kind and parameters.
    world
        Model of tests and outcomes.
    state
        State of the kind besides weights (exposure, posterior covariance, rounds so far).
    mean
        Mean of the current weights and the further coefficients, shape (..., n + m).
    covariance
        Their covariance, shape (..., n + m, n + m).
    imputer
        Imputes hidden tests as the person does.
    """

    person: Person
    world: World
    state: Any
    mean: FloatArray
    covariance: FloatArray
    imputer: Imputer

    @classmethod
    def begin(
        cls,
        world: World,
        person: Person,
        spread: npt.ArrayLike = 0.0,
        *,
        start: ShownBefore = None,
        extra_spread: npt.ArrayLike = (),
        filters: tuple[int, ...] = (),
    ) -> WeightFilter:
        """Return the filter before the first round.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        person
            The person; `initial` is the prior mean.
        spread
            Prior standard deviation of the weights, one number or one per test (n,), or their
            covariance (n, n).
        start
            Exposure counts before the first round, for kinds that use them.
        extra_spread
            Prior standard deviations (m,) of the further coefficients, around 0; the first is that
            of the level, around the person's own, for people who have one.
        filters
            Shape of the filters that run in parallel.

        Returns
        -------
        Followed
            With the prior as its state.
        """
        n, behind = world.size, np.asarray(extra_spread, dtype=np.float64)
        if person.has_level and not behind.size:
            behind = np.zeros(1)
        state = person.fresh(world, (), start)
        wide = np.asarray(spread, dtype=np.float64)
        size = n + behind.size
        mean, covariance = np.zeros(size), np.zeros((size, size))
        mean[:n] = person.weights_of(world, state)
        if person.has_level:
            mean[n] = person.level_of(world, state)
        covariance[:n, :n] = (
            wide if wide.ndim == 2 else np.diag(np.broadcast_to(wide, (n,)).astype(np.float64) ** 2)
        )
        covariance[n:, n:] = np.diag(behind**2)
        return cls(
            person,
            world,
            state,
            np.broadcast_to(mean, (*filters, size)).copy(),
            np.broadcast_to(covariance, (*filters, size, size)).copy(),
            Imputer(person.imputing_covariance(world)),
        )

    @property
    def weights(self) -> FloatArray:
        """Means of the current weights (..., n)."""
        return self.mean[..., : self.world.size]

    @property
    def weights_covariance(self) -> FloatArray:
        """Covariances of the current weights (..., n, n)."""
        return self.covariance[..., : self.world.size, : self.world.size]

    @property
    def moving(self) -> int:
        """How many coefficients move: the weights, and the level of people who have one."""
        return self.world.size + self.person.has_level

    def filled(self, shown: TestSet, values: FloatArray) -> FloatArray:
        """Return all results (n,) of a case, hidden ones imputed."""
        return self.imputer.one(shown, values)

    def predicted_answer(
        self, filled: FloatArray, extra: FloatArray = _NOTHING_EXTRA
    ) -> PredictedAnswer:
        """Return the predicted answer to a case."""
        predicted, _ = self._predicted(filled, extra)
        return predicted

    def _predicted(
        self, filled: FloatArray, extra: FloatArray
    ) -> tuple[PredictedAnswer, FloatArray]:
        """The predicted answer, and its covariance (..., n + m) with the state."""
        if self.person.has_level and not extra.size:
            extra = _ONLY_A_LEVEL
        regressors = np.concatenate([filled, extra])
        towards = self.covariance @ regressors
        return PredictedAnswer(self.mean @ regressors, towards @ regressors), towards

    def answered(
        self,
        filled: FloatArray,
        answer: float,
        scatter: npt.ArrayLike,
        extra: FloatArray = _NOTHING_EXTRA,
    ) -> tuple[WeightFilter, FloatArray]:
        """Update on an answer; return the new filter and the log density of the answer.

        Parameters
        ----------
        filled
            All results of the case with hidden ones imputed, shape (n,).
        answer
            The answer, in the world's units.
        scatter
            Variance of the response noise, one or one per filter (...).
        extra
            Regressors of the further coefficients, shape (m,).

        Returns
        -------
        tuple of Followed and array of shape (...)
            The posterior, and the log predictive density of the answer.
        """
        predicted, towards = self._predicted(filled, extra)
        variance = predicted.variance + np.asarray(scatter, dtype=np.float64)
        surprise = answer - predicted.mean
        gain = towards / variance[..., None]
        mean = self.mean + gain * surprise[..., None]
        covariance = self.covariance - gain[..., :, None] * towards[..., None, :]
        density = -0.5 * (np.log(2.0 * np.pi * variance) + surprise**2 / variance)
        return replace(self, mean=mean, covariance=covariance), density

    def decided(
        self,
        filled: FloatArray,
        yes: bool,
        scatter: npt.ArrayLike,
        above: float = 0.0,
        extra: FloatArray = _NOTHING_EXTRA,
    ) -> tuple[WeightFilter, FloatArray]:
        """Update on a yes or no; return the new filter and the log probability of that answer.

        Parameters
        ----------
        filled
            All results of the case with hidden ones imputed, shape (n,).
        yes
            The answer.
        scatter
            Variance of the response noise of scores, one or one per filter (...).
        above
            The score, base included, above which the person says yes.
        extra
            Regressors of the further coefficients, shape (m,).

        Returns
        -------
        tuple of Followed and array of shape (...)
            The normal distribution with the moments of the posterior, and the log probability of
            the answer.
        """
        predicted, towards = self._predicted(filled, extra)
        spread = predicted.variance + np.asarray(scatter, dtype=np.float64)
        score = self.world.base_score - above + predicted.mean
        pull, shrink, chance = probit_update(score, spread, yes)
        mean = self.mean + towards * pull[..., None]
        lost = shrink[..., None, None] * towards[..., :, None] * towards[..., None, :]
        return replace(self, mean=mean, covariance=self.covariance - lost), chance

    def told(self, filled: FloatArray, shown: Shown, outcome: float) -> WeightFilter:
        """Advance the filter by one round in which the person learned the outcome.

        Parameters
        ----------
        filled
            All results of the case with hidden ones imputed, shape (n,).
        shown
            Which tests were shown, shape (n,).
        outcome
            The outcome, in the world's units.

        Returns
        -------
        Followed
            With the weights after learning.
        """
        person, world, truth = self.person, self.world, np.asarray(outcome, dtype=np.float64)
        here = before = self.state
        n, mean, covariance = self.moving, self.mean.copy(), self.covariance.copy()
        now = self.mean[..., :n]
        if world.is_binary:
            # Each filter moves by the map at its own weights. The rest of the state is the same
            # for all filters.
            here = person.at_weights(self.state, now)
            before = person.at_weights(self.state, now.reshape(-1, n).mean(axis=0))
        turn, push = person.moves(world, here, filled, shown, truth)
        mean[..., :n] = np.squeeze(turn @ now[..., None], -1) + push
        covariance[..., :n, :] = turn @ covariance[..., :n, :]
        covariance[..., :, :n] = covariance[..., :, :n] @ np.swapaxes(turn, -1, -2)
        state = person.learn(world, before, filled, shown, truth)
        return replace(self, state=state, mean=mean, covariance=covariance)

    def with_drift(self, drift: FloatArray | float) -> WeightFilter:
        """Add a random drift of the weights with this standard deviation."""
        covariance, n = self.covariance.copy(), self.world.size
        covariance[..., range(n), range(n)] += drift**2
        return replace(self, covariance=covariance)

    def now(self, weights: FloatArray | None = None) -> Person:
        """Return a person who continues from here; with the mean weights if none are given."""
        at = self.mean[..., : self.moving] if weights is None else weights
        return self.person.from_here(self.world, self.state, at)
