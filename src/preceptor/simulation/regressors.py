"""People who learn from outcomes as textbook regressions do, unlike the paper's learner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray, frozen_array
from preceptor.model.world import World
from preceptor.simulation.readers import Reader


class LeastMeanSquares(Reader[FloatArray]):
    """The delta rule of Widrow and Hoff: weights move by rate x surprise x result of the test.

    Rates above 2 / (3 x the sum of the shown tests' variances) may diverge.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    beliefs
        Weights at the start, shape (n,), in the world's units.
    rate
        Size of a step, at least 0.
    imputation
        How they fill in, as for `Learner`.
    learns_from_imputed
        Whether weights of hidden tests move too, by what was filled in.
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome.

    Examples
    --------
    >>> person = LeastMeanSquares(World([1.0], [[1.0]]), [0.0], rate=0.1)
    >>> person.feedback((0,), np.array([2.0]), 3.0)   # surprise 3, so 0.1 x 3 x 2
    >>> person.weights.round(6)
    array([0.6])
    """

    def __init__(
        self,
        world: World,
        beliefs: npt.ArrayLike,
        rate: float,
        imputation: float | npt.ArrayLike = 0.0,
        learns_from_imputed: bool = False,
        response_noise: float = 0.0,
    ) -> None:
        self.rate = rate
        self.learns_from_imputed = learns_from_imputed
        super().__init__(world, beliefs, imputation, response_noise)

    def _own_faults(self) -> list[str]:
        if not is_number(self.rate) or self.rate < 0:
            return [f"rate: {self.rate!r}, must be a finite number of at least 0"]
        return []

    def fresh(self, people: tuple[int, ...]) -> FloatArray:
        """The weights themselves are the state."""
        return np.broadcast_to(self.beliefs, (*people, self.beliefs.size)).copy()

    def weights_of(self, state: FloatArray) -> FloatArray:
        """The state."""
        return state

    def learn(
        self,
        state: FloatArray,
        filled: FloatArray,
        shown: npt.NDArray[np.bool_],
        outcome: FloatArray,
    ) -> FloatArray:
        """One step down the gradient of the squared surprise."""
        surprise = outcome - np.sum(state * filled, axis=-1)
        moves = filled if self.learns_from_imputed else filled * shown
        moved: FloatArray = state + self.rate * surprise[..., None] * moves
        return moved


class Posterior(NamedTuple):
    """A normal distribution of weights: mean (..., n) and covariance (..., n, n)."""

    mean: FloatArray
    covariance: FloatArray


class BayesianRegressor(Reader[Posterior]):
    """Recursive Bayesian linear regression (recursive least squares with a prior).

    They learn about hidden tests too, by what they filled in. After any number of cases the state
    is the exact posterior of y = weights · filled + noise.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    beliefs
        Weights at the start, shape (n,), in the world's units.
    prior_variance
        How unsure they are of each weight at the start, one number or one for each test (n,).
    noise_variance
        How far outcomes scatter, they think, around the sum of the tests as they filled them in.
        That includes what hidden tests add, so more than the world's own noise.
    imputation
        How they fill in, as for `Learner`.
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome.

    Examples
    --------
    >>> person = BayesianRegressor(World([1.0], [[1.0]]), [0.0], 1.0, noise_variance=1.0)
    >>> person.feedback((0,), np.array([1.0]), 3.0)   # halfway between belief and outcome
    >>> person.weights
    array([1.5])
    """

    def __init__(
        self,
        world: World,
        beliefs: npt.ArrayLike,
        prior_variance: float | npt.ArrayLike,
        noise_variance: float,
        imputation: float | npt.ArrayLike = 0.0,
        response_noise: float = 0.0,
    ) -> None:
        self.noise_variance = noise_variance
        try:
            given = np.asarray(prior_variance, dtype=np.float64)
            self.prior_variance = frozen_array(np.broadcast_to(given, (world.size,)))
        except (TypeError, ValueError):
            self.prior_variance = np.full(world.size, np.nan)  # reported with all other faults
        super().__init__(world, beliefs, imputation, response_noise)

    def _own_faults(self) -> list[str]:
        faults = []
        if not is_number(self.noise_variance) or self.noise_variance <= 0:
            faults.append(f"noise_variance: {self.noise_variance!r}, must be a positive number")
        prior = self.prior_variance
        if not np.all(np.isfinite(prior)) or prior.min() < 0:
            faults.append(
                f"prior_variance: {prior.tolist()}, must be a finite number of at least 0, "
                f"or one for each of the {prior.size} tests"
            )
        return faults

    def fresh(self, people: tuple[int, ...]) -> Posterior:
        """The prior."""
        size = self.beliefs.size
        mean = np.broadcast_to(self.beliefs, (*people, size)).copy()
        prior = np.diag(self.prior_variance)
        return Posterior(mean, np.broadcast_to(prior, (*people, size, size)).copy())

    def weights_of(self, state: Posterior) -> FloatArray:
        """The posterior mean."""
        return state.mean

    def learn(
        self,
        state: Posterior,
        filled: FloatArray,
        shown: npt.NDArray[np.bool_],
        outcome: FloatArray,
    ) -> Posterior:
        """Condition on one case."""
        mean, covariance = state
        towards = np.einsum("...ij,...j->...i", covariance, filled)
        spread = self.noise_variance + np.sum(filled * towards, axis=-1)
        surprise = outcome - np.sum(mean * filled, axis=-1)
        moved = mean + towards * (surprise / spread)[..., None]
        # towards towards' is symmetric to the last bit, so the covariance stays so too
        outer = towards[..., :, None] * towards[..., None, :]
        return Posterior(moved, covariance - outer / spread[..., None, None])
