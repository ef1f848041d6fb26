"""People who learn from outcomes as Bayesian regression does: the surer, the less they move.

They regress outcomes on all tests, hidden ones as filled in. What is expected of them has no
closed form; `bayesian_expectation.py` has an approximation. Where the outcome is yes or no they do
a probit regression, one case at a time (`answering.py`), and copies of them play what is
expected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.fields import InFiles, Limits, Matrix, NonNegative, Positive, Vector
from preceptor._base.values import FloatArray, frozen_array
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.people.answering import as_normal, heard
from preceptor.people.person import Affine, Imputation, Parameter, Person

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


# Of a covariance, as a share of its largest entry.
_ROUNDING = 1e-9


class Posterior(NamedTuple):
    """A normal distribution of weights: mean (..., n) and covariance (..., n, n)."""

    mean: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Bayesian(Person):
    """Recursive Bayesian linear regression (recursive least squares with a prior).

    They learn about hidden tests too, by what they filled in. After any number of cases the state
    is the exact posterior of y = weights · filled + noise.

    Parameters
    ----------
    initial
        Weights that the person starts with, shape (n,), in the world's units.
    prior_variance
        How unsure they are of each weight at the start, one number or one for each test (n,), or
        the covariance (n, n) of what they believe. A weight with 0 never moves.
    noise_variance
        How far outcomes scatter, they think, around the sum of the tests as they filled them in.
        That includes what hidden tests add, so more than the world's own noise. Where the outcome
        is yes or no, how far the score of a case scatters that is compared with 0.
    imputation
        How the person fills in tests that are not shown, as for `Learner`.
    drift
        Variance by which each true weight wanders from round to round, they think: they stay
        unsure, and go on learning (a Kalman filter). 0 for people who take weights to be fixed.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> person = Bayesian([0.0], prior_variance=1.0, noise_variance=1.0)
    >>> acting = person.acting(World([1.0], [[1.0]]))
    >>> acting.feedback((0,), np.array([1.0]), 3.0)   # halfway between belief and outcome
    >>> acting.weights
    array([1.5])
    """

    kind: ClassVar[str] = "bayesian"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("prior_variance", "how unsure of each weight they are at first", 0.0, math.inf),
        Parameter("noise_variance", "how far outcomes scatter, they think", 0.0, math.inf),
        Parameter("drift", "variance by which weights wander in a round, they think",
                  0.0, math.inf),
    )  # fmt: skip

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    prior_variance: Annotated[
        FloatArray,
        InFiles(NonNegative | Annotated[Vector, Limits(at_least=0)] | Matrix),
        "How unsure they are of each weight at first: one variance for all tests, a list with "
        "one for each, or a covariance table.",
    ]
    noise_variance: Annotated[
        Positive, "How far outcomes scatter, they think, around the sum of all tests."
    ]
    imputation: Imputation = 0.0
    drift: Annotated[
        NonNegative, "Variance by which true weights wander in a round, they think."
    ] = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        prior_variance: float | npt.ArrayLike,
        noise_variance: float,
        imputation: float | npt.ArrayLike = 0.0,
        drift: float = 0.0,
    ) -> None:
        faults = self.fill_in(initial, imputation)
        unsure = _prior(prior_variance, self.size)
        if unsure is None:
            faults.append(
                f"prior_variance: {prior_variance!r}, must be a finite number of at least 0, "
                f"one for each of the {self.size} tests, or a covariance of them"
            )
        if not is_number(noise_variance) or noise_variance <= 0:
            faults.append(f"noise_variance: {noise_variance!r}, must be a positive number")
        if not is_number(drift) or drift < 0:
            faults.append(f"drift: {drift!r}, must be a finite variance of at least 0")
        InvalidProblem.raise_if(faults)
        object.__setattr__(self, "prior_variance", unsure)
        object.__setattr__(self, "drift", float(drift))
        object.__setattr__(self, "noise_variance", float(noise_variance))

    def fresh(
        self, world: World, people: tuple[int, ...], start: Sequence[int] | None
    ) -> Posterior:
        """The prior."""
        mean = np.broadcast_to(self.initial, (*people, self.size)).copy()
        prior = np.broadcast_to(self.prior_covariance, (*people, self.size, self.size))
        return Posterior(mean, prior.copy())

    @property
    def prior_covariance(self) -> FloatArray:
        """Covariance (n, n) of what they believe at the start."""
        unsure = self.prior_variance
        return np.diag(unsure) if unsure.ndim == 1 else unsure

    def weights_of(self, world: World, state: Posterior) -> FloatArray:
        """The posterior mean."""
        return state.mean

    def at_weights(self, state: Posterior, weights: FloatArray) -> Posterior:
        """Somebody with these weights who is as sure."""
        return state._replace(mean=weights)

    def learn(
        self, world: World, state: Posterior, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Posterior:
        """Condition on one case; then weights may have wandered.

        A yes or no leaves no normal posterior; the normal one with the same mean and covariance
        takes its place (assumed-density filtering).
        """
        mean, covariance = state
        towards, _, pull, surer = self._heard(world, state, filled, outcome)
        # towards towards' is symmetric to the last bit, so the covariance stays so too
        outer = towards[..., :, None] * towards[..., None, :]
        left = covariance - outer * surer[..., None, None]
        if self.drift:
            left = left + self.drift * np.eye(self.size)
        return Posterior(mean + towards * pull[..., None], left)

    def moves(
        self, world: World, state: Posterior, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """I - gain x filled'; the gain depends on what was seen before, not on the weights.

        Where the outcome is yes or no, the map touches `learn` at the weights in the state.
        """
        towards, added_up, pull, surer = self._heard(world, state, filled, outcome)
        gain = towards * surer[..., None]
        turn = np.eye(self.size) - gain[..., :, None] * filled[..., None, :]
        return Affine(turn, towards * pull[..., None] + gain * added_up[..., None])

    def _heard(
        self, world: World, state: Posterior, filled: FloatArray, outcome: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Covariance (..., n) of the weights with the outcome, what tests add up to, what it does.

        The mean moves by the covariance times the third; the posterior loses its square times the
        fourth.
        """
        # Not einsum, which adds up in another order for a crowd than for one person.
        towards = np.sum(state.covariance * filled[..., None, :], axis=-1)
        spread, added_up = np.sum(filled * towards, axis=-1), np.sum(state.mean * filled, axis=-1)
        if world.is_binary:
            spread = spread + as_normal(world, self.noise_variance)
            pull, surer, _ = heard(world.base_score + added_up, spread, outcome)
        else:
            spread = spread + self.noise_variance
            pull, surer = (np.asarray(outcome) - added_up) / spread, 1.0 / spread
        return towards, added_up, pull, surer

    def from_here(self, world: World, state: Posterior, weights: FloatArray) -> Bayesian:
        """As sure as they have become."""
        return replace(self, initial=weights, prior_variance=state.covariance)

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Approximate: what they make of a case depends on all cases before."""
        from preceptor.people.bayesian_expectation import BayesianExpectation

        return BayesianExpectation(self, world, sets, self.drift)

    def learning_in_words(self) -> str:
        """How unsure they are of the weights, and how far outcomes scatter."""
        unsure = np.sqrt(np.diag(self.prior_covariance))
        low, high = f"{unsure.min():.3g}", f"{unsure.max():.3g}"
        weights = low if low == high else f"{low} to {high}"
        return (
            f"by outcomes (Bayesian regression): unsure of weights by {weights} at first, and "
            f"expecting outcomes to scatter by {math.sqrt(self.noise_variance):.3g} "
            "(standard deviations)"
        ) + (
            f"; true weights wander by {math.sqrt(self.drift):.3g} a round, they think"
            if self.drift
            else ""
        )


def _prior(given: float | npt.ArrayLike, size: int) -> FloatArray | None:
    """One variance for each test, or a covariance; None if there is no sense in what was given."""
    try:
        array = np.asarray(given, dtype=np.float64)
        shape = (size, size) if array.ndim == 2 else (size,)
        spread = frozen_array(np.broadcast_to(array, shape))
    except (TypeError, ValueError):
        return None
    if (array.ndim == 2 and array.shape != shape) or not np.all(np.isfinite(spread)):
        return None
    if spread.ndim == 1:
        return spread if np.all(spread >= 0) else None
    # Somebody who has become sure of a direction has next to nothing left there, give or take
    # rounding; what they started from says what is next to nothing.
    slack = _ROUNDING * float(np.abs(spread).max(initial=0.0))
    if np.abs(spread - spread.T).max(initial=0.0) > slack:
        return None
    spread = frozen_array((spread + spread.T) / 2.0)
    return spread if np.linalg.eigvalsh(spread)[0] >= -slack else None
