"""A simulated person who remembers cases instead of weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.human import Seed


class ExemplarLearner:
    """A person who answers with the outcomes of similar cases seen before.

    The answer is the mean of all remembered outcomes, weighted by similarity: exp(-sensitivity x
    distance), where distance is the sum over the tests shown now of absolute differences in
    standard deviations. A test that was hidden when a case was remembered counts as average.
    Before the first case the answer is the average outcome. This is the generalised context model
    with equal attention to all tests. It has no weights, so no kind of a tutor describes it: use
    it to see whether a way of teaching harms people who are not of an assumed kind.

    Parameters
    ----------
    world
        Where the standard deviations of the tests come from.
    sensitivity
        How fast similarity falls with distance, above 0: with 0.7 many cases count, with 3 only
        the nearest ones.
    response_noise
        Standard deviation of the noise added to every answer, in units of the outcome.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.5)
    >>> person = ExemplarLearner(world, sensitivity=3.0)
    >>> person.reset()
    >>> person.feedback((0,), np.array([1.0]), 2.0)
    >>> person.feedback((0,), np.array([-1.0]), -1.0)
    >>> round(person.predict((0,), np.array([1.0])), 2)
    1.99
    """

    def __init__(self, world: World, sensitivity: float, response_noise: float = 0.0) -> None:
        faults = []
        if not is_number(sensitivity) or sensitivity <= 0.0:
            faults.append(f"sensitivity: {sensitivity!r}, must be a number above 0")
        if not is_number(response_noise) or response_noise < 0.0:
            faults.append(f"response_noise: {response_noise!r}, must be a number of at least 0")
        if world.is_binary:
            faults.append("world: its outcome is yes or no; remembered outcomes must be numbers")
        InvalidInput.raise_if(faults)
        self.sensitivity, self.response_noise = float(sensitivity), float(response_noise)
        self._scales = np.sqrt(np.diag(world.covariance))
        self.reset()

    def reset(self, rng: Seed = None) -> None:
        """Forget all cases.

        Parameters
        ----------
        rng
            Source of the response noise.
        """
        self._rng = np.random.default_rng(rng)
        self._results: list[FloatArray] = []  # (n,) each, in standard deviations
        self._outcomes: list[float] = []

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Return the similarity-weighted mean of the remembered outcomes.

        Parameters
        ----------
        shown
            Indices of the shown tests.
        values
            Their results in the same order, in the world's units.

        Returns
        -------
        float
            The answer, in the world's units.
        """
        answer = float(self.predict_cases(shown, np.asarray(values)[None, :])[0])
        return answer + self.response_noise * float(self._rng.standard_normal())

    def predict_cases(self, shown: TestSet, values: npt.ArrayLike) -> FloatArray:
        """Return the answers to several cases of which the same tests are shown, without noise.

        Parameters
        ----------
        shown
            Indices of the shown tests.
        values
            Their results, shape (cases, len(shown)), in the world's units.

        Returns
        -------
        array of shape (cases,)
            The answers, in the world's units.
        """
        rows = list(shown)
        results = np.asarray(values, dtype=np.float64) / self._scales[rows]
        if not self._outcomes:
            return np.zeros(results.shape[0])
        remembered = np.array(self._results)[:, rows]
        distance = np.abs(results[:, None, :] - remembered).sum(axis=-1)
        # Relative to the nearest case, so that no sum of similarities is 0.
        nearest = distance.min(axis=1, keepdims=True)
        similarity = np.exp(-self.sensitivity * (distance - nearest))
        answers: FloatArray = similarity @ np.array(self._outcomes) / similarity.sum(axis=1)
        return answers

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """Remember the case.

        Parameters
        ----------
        shown
            Indices of the shown tests.
        values
            Their results in the same order, in the world's units.
        outcome
            The outcome, in the world's units.
        """
        rows = list(shown)
        results = np.zeros(self._scales.size)
        results[rows] = np.asarray(values, dtype=np.float64) / self._scales[rows]
        self._results.append(results)
        self._outcomes.append(float(outcome))
