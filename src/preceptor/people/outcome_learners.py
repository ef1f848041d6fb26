"""People who learn from outcomes: by the delta rule, or by Bayesian regression.

By the delta rule of Widrow and Hoff, weights move by rate x surprise x result: cue competition,
folding of hidden tests into shown ones and omitted-variable bias all follow. The expected squared
error of any schedule is exact, by a recursion of second moments (`moments.py`), unless surprises
are capped.

Where outcomes are yes/no, the surprise is the outcome minus the probability of yes. That is one
step of stochastic gradient descent in logistic regression, and the same expression is used with the
probit link, where the gradient has a further factor of about 1.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.schema import (
    Index,
    InFiles,
    Limits,
    Matrix,
    NonNegative,
    Positive,
    Share,
    Vector,
)
from preceptor._base.values import FloatArray, frozen_array
from preceptor._base.words import counted
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Expected
from preceptor.model.person import (
    RATE,
    Affine,
    Imputation,
    Parameter,
    Person,
    ShownBefore,
    SurpriseStep,
)
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.answering import as_normal, foreseen, foreseen_slope, probit_update

# Larger rates overflow within a few rounds.
_LARGEST_RATE = 1e50


class DeltaState(NamedTuple):
    """Weights (..., n), and the number of rounds so far, on which a decaying rate depends."""

    weights: FloatArray
    rounds: int


@dataclass(frozen=True, eq=False, repr=False)
class DeltaRule(Person):
    """A person who learns from outcomes: weights move by rate x surprise x result of the test.

    Parameters
    ----------
    initial
        Initial weights, shape (n,), in the world's units.
    rate
        Learning rate. With one test of variance 1 shown, it is the share of the weight's expected
        error that one showing removes. Above 2 / (3 x the sum of the shown tests' variances)
        squared errors may diverge.
    imputation
        How the person imputes hidden tests, as for `Learner`.
    all_weights
        Whether weights of hidden tests move too, by their imputed results.
    decay
        The rate in round t (from 0) is rate / (1 + t) ** decay; 0 is a constant rate.
    cap
        If given, surprises are clipped at this size, in units of the outcome. Expected losses are
        then approximate.
    rounds
        Number of earlier rounds, on which a decaying rate depends.
    leak
        Share by which all weights, shown or not, return to `home` at the end of a round; from 0 to
        1.
    home
        Weights to which they leak back, shape (n,); the initial weights if omitted.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, DeltaRule([0.2, 1.3], rate=0.1), budget=1, horizon=50)
    >>> pr.solve(problem, "stationary").policy.commit
    (0,)
    """

    kind: ClassVar[str] = "delta-rule"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        RATE,
        Parameter("decay", "power of time by which steps shrink", 0.0, 1.0),
        Parameter("cap", "size at which surprises are clipped", 0.0, math.inf),
        Parameter("leak", "share by which weights return to their initial values per round",
                  0.0, 1.0),
    )  # fmt: skip

    initial: Annotated[Vector, "Initial weight of each test."]
    rate: Annotated[float, Limits(at_least=0, at_most=_LARGEST_RATE), "Size of a step."]
    imputation: Imputation = 0.0
    all_weights: Annotated[
        bool, "Whether weights of hidden tests move too, by what was filled in."
    ] = False
    decay: Annotated[NonNegative, "Power of time by which steps become smaller."] = 0.0
    cap: Annotated[
        Positive | None, "Size at which surprises are clipped. If omitted, they are not."
    ] = None
    rounds: Annotated[Index, "Number of earlier rounds, for a decaying rate."] = 0
    leak: Annotated[
        Share, "Share by which all weights return to their initial values per round."
    ] = 0.0
    home: Annotated[
        Vector | None, "Weights to which they leak back. If omitted, the initial weights."
    ] = None

    def __init__(
        self,
        initial: npt.ArrayLike,
        rate: float,
        imputation: float | npt.ArrayLike = 0.0,
        all_weights: bool = False,
        decay: float = 0.0,
        cap: float | None = None,
        rounds: int = 0,
        leak: float = 0.0,
        home: npt.ArrayLike | None = None,
    ) -> None:
        faults = self.fill_in(
            initial, imputation, rate=rate, all_weights=all_weights, decay=decay, cap=cap,
            rounds=rounds, leak=leak, home=home,
        )  # fmt: skip
        InvalidProblem.raise_if(faults)

    @property
    def leaks_to(self) -> FloatArray:
        """Weights (n,) to which all weights leak back."""
        return self.initial if self.home is None else self.home

    def step_sizes(self, first: int, rounds: int) -> FloatArray:
        """Return the rate in rounds first, first + 1, ... as a share of `rate`.

        Parameters
        ----------
        first
            The first round, counted from this person's start.
        rounds
            Number of rounds.

        Returns
        -------
        array of shape (rounds,)
            1 in the very first round, falling by `decay`.
        """
        since = 1.0 + self.rounds + first
        return np.asarray((since + np.arange(rounds)) ** -self.decay)

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> DeltaState:
        """Return the initial weights."""
        weights = np.broadcast_to(self.initial, (*people, self.size)).copy()
        return DeltaState(weights, self.rounds)

    def weights_of(self, world: World, state: DeltaState) -> FloatArray:
        """Return the weights in the state."""
        return state.weights

    def at_weights(self, state: DeltaState, weights: FloatArray) -> DeltaState:
        """Replace the weights, and keep the number of rounds."""
        return state._replace(weights=weights)

    def learn(
        self,
        world: World,
        state: DeltaState,
        filled: FloatArray,
        shown: Shown,
        outcome: FloatArray,
    ) -> DeltaState:
        """Take one gradient step on the squared error, or on the log loss where yes/no."""
        surprise = outcome - foreseen(world, np.sum(state.weights * filled, axis=-1))
        if self.cap is not None:
            surprise = np.clip(surprise, -self.cap, self.cap)
        rate, direction = self._step(state, filled, shown)
        moved = state.weights + rate * surprise[..., None] * direction
        if self.leak:
            moved = (1.0 - self.leak) * moved + self.leak * self.leaks_to
        return DeltaState(moved, state.rounds + 1)

    def moves(
        self,
        world: World,
        state: DeltaState,
        filled: FloatArray,
        shown: Shown,
        outcome: FloatArray,
    ) -> Affine:
        """Return I - step x filled' unless the surprise is clipped; then only the push remains.

        Where outcomes are yes/no, the probability of yes is linearised at the weights in the state.
        """
        rate, direction = self._step(state, filled, shown)
        step = rate * direction
        added_up = np.sum(state.weights * filled, axis=-1)
        surprise = outcome - foreseen(world, added_up)
        slope = foreseen_slope(world, added_up)
        if self.cap is not None:
            slope = np.where(np.abs(surprise) > self.cap, 0.0, slope)
            surprise = np.clip(surprise, -self.cap, self.cap)
        outer = step[..., :, None] * filled[..., None, :]
        turn = np.eye(self.size) - slope[..., None, None] * outer
        push = (surprise + slope * added_up)[..., None] * step
        if self.leak:
            turn, push = (1.0 - self.leak) * turn, (1.0 - self.leak) * push
            push = push + self.leak * self.leaks_to
        return Affine(turn, push)

    def surprise_step(self, world: World, state: DeltaState) -> SurpriseStep | None:
        """Return the current rate; None if surprises are clipped or weights leak back."""
        if self.cap is not None or self.leak:
            return None
        return SurpriseStep(self.rate / (1.0 + state.rounds) ** self.decay, self.all_weights)

    def _step(
        self, state: DeltaState, filled: FloatArray, shown: Shown
    ) -> tuple[float, FloatArray]:
        """Current rate, and the direction (..., n) in which a surprise moves the weights."""
        rate = self.rate / (1.0 + state.rounds) ** self.decay
        return rate, filled if self.all_weights else filled * shown

    def from_here(self, world: World, state: DeltaState, weights: FloatArray) -> DeltaRule:
        """Start from these weights; a decaying rate keeps its rounds, a leak its target."""
        return replace(
            self,
            initial=weights,
            rounds=state.rounds if self.decay else 0,
            home=self.leaks_to if self.leak else None,
        )

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return second moments: exact, or approximate with a cap."""
        from preceptor.people.moments import delta_rule_moments

        return delta_rule_moments(self, world, sets)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: ShownBefore = None
    ) -> Expected:
        """Return an approximation by mean and covariance; a capped rule is simulated."""
        if self.cap is not None:
            return super().expected_answers(world, sets, risk, start)
        from preceptor.people.yes_no_expectation import AveragedAnswers

        return AveragedAnswers(self, world, sets, risk)

    def learning_in_words(self) -> str:
        """Describe the rate and the options."""
        text = (
            "by outcomes (delta rule): after each case the weight of a shown test moves by "
            f"{100 * self.rate:.3g}% of the surprise times its result"
        )
        if self.all_weights:
            text += ", also for hidden tests as imputed"
        if self.decay:
            text += f", falling with round to the power -{self.decay:g}"
            if self.rounds:
                text += f" (after {counted(self.rounds, 'round')})"
        if self.cap is not None:
            text += f"; surprises are clipped at {self.cap:g}"
        if self.leak:
            text += f"; all weights return {100 * self.leak:.3g}% of the way per round"
        return text


# People who learn by Bayesian regression: the more certain they are, the less they move.
#
# They regress outcomes on all tests, hidden ones imputed. Their expected loss has no closed form;
# `bayesian_expectation.py` approximates it. Where outcomes are yes/no they do probit regression,
# one case at a time (`answering.py`), and their expected loss is simulated.


class Posterior(NamedTuple):
    """A normal belief about the weights: mean (..., n) and covariance (..., n, n)."""

    mean: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Bayesian(Person):
    """Recursive Bayesian linear regression (recursive least squares with a prior).

    They learn about hidden tests too, through the imputed results. After any number of cases the
    state is the exact posterior of y = weights · imputed results + noise.

    Parameters
    ----------
    initial
        Initial weights, shape (n,), in the world's units.
    prior_variance
        Prior variance of each weight, one number or one per test (n,), or the prior covariance
        (n, n). A weight with prior variance 0 never moves.
    noise_variance
        Noise variance they assume for outcomes around the weighted sum of the imputed results.
        It includes the contribution of hidden tests, so it exceeds the world's own noise. Where
        outcomes are yes/no, the assumed variance of the latent score.
    imputation
        How the person imputes hidden tests, as for `Learner`.
    drift
        Variance by which they assume each true weight drifts per round, so that they never stop
        learning (a Kalman filter). 0 for people who take weights to be fixed.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

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
        Parameter("prior_variance", "prior variance of each weight", 0.0, math.inf),
        Parameter("noise_variance", "assumed noise variance of outcomes", 0.0, math.inf),
        Parameter("drift", "assumed drift variance of weights per round", 0.0, math.inf),
    )

    initial: Annotated[Vector, "Initial weight of each test."]
    prior_variance: Annotated[
        FloatArray,
        InFiles(NonNegative | Annotated[Vector, Limits(at_least=0)] | Matrix),
        "Prior variance of the weights: one variance for all tests, a list with one per test, or "
        "a covariance table.",
    ]
    noise_variance: Annotated[Positive, "Assumed noise variance of outcomes."]
    imputation: Imputation = 0.0
    drift: Annotated[NonNegative, "Assumed drift variance of each true weight per round."] = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        prior_variance: float | npt.ArrayLike,
        noise_variance: float,
        imputation: float | npt.ArrayLike = 0.0,
        drift: float = 0.0,
    ) -> None:
        faults = self.fill_in(initial, imputation, noise_variance=noise_variance, drift=drift)
        unsure = _prior(prior_variance, self.size)
        if unsure is None:
            faults.append(
                f"prior_variance: {prior_variance!r}, must be a finite number of at least 0, "
                f"one for each of the {self.size} tests, or their covariance"
            )
        InvalidProblem.raise_if(faults)
        self.set_fields(prior_variance=unsure)

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> Posterior:
        """Return the prior."""
        mean = np.broadcast_to(self.initial, (*people, self.size)).copy()
        prior = np.broadcast_to(self.prior_covariance, (*people, self.size, self.size))
        return Posterior(mean, prior.copy())

    @property
    def prior_covariance(self) -> FloatArray:
        """Prior covariance (n, n) of the weights."""
        unsure = self.prior_variance
        return np.diag(unsure) if unsure.ndim == 1 else unsure

    def weights_of(self, world: World, state: Posterior) -> FloatArray:
        """The posterior mean."""
        return state.mean

    def at_weights(self, state: Posterior, weights: FloatArray) -> Posterior:
        """Replace the posterior mean, and keep the covariance."""
        return state._replace(mean=weights)

    def learn(
        self, world: World, state: Posterior, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Posterior:
        """Condition on one case, then add the assumed drift.

        The posterior given a yes or no is not normal; the normal distribution with the same mean
        and covariance replaces it (assumed-density filtering).
        """
        mean, covariance = state
        towards, _, pull, shrink = self._update(world, state, filled, outcome)
        # towards towards' is symmetric to the last bit, so the covariance stays so too
        outer = towards[..., :, None] * towards[..., None, :]
        left = covariance - outer * shrink[..., None, None]
        if self.drift:
            left = left + self.drift * np.eye(self.size)
        return Posterior(mean + towards * pull[..., None], left)

    def moves(
        self, world: World, state: Posterior, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """Return I - gain x filled'; the gain depends on earlier cases, not on the weights.

        Where outcomes are yes/no, this is `learn` linearised at the weights in the state.
        """
        towards, added_up, pull, shrink = self._update(world, state, filled, outcome)
        gain = towards * shrink[..., None]
        turn = np.eye(self.size) - gain[..., :, None] * filled[..., None, :]
        return Affine(turn, towards * pull[..., None] + gain * added_up[..., None])

    def surprise_step(self, world: World, state: Posterior) -> SurpriseStep | None:
        """Return the posterior covariance and the assumed noise; None where outcomes are yes/no."""
        if world.is_binary:
            return None
        return SurpriseStep(covariance=state.covariance, noise=self.noise_variance)

    def _update(
        self, world: World, state: Posterior, filled: FloatArray, outcome: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Covariance c (..., n) of weights and outcome, weighted sum of the tests, pull, shrink.

        The mean moves by c x pull; the covariance loses c c' x shrink.
        """
        # Not einsum, which sums in a different order for a crowd than for one person.
        towards = np.sum(state.covariance * filled[..., None, :], axis=-1)
        spread, added_up = np.sum(filled * towards, axis=-1), np.sum(state.mean * filled, axis=-1)
        if world.is_binary:
            spread = spread + as_normal(world, self.noise_variance)
            pull, shrink, _ = probit_update(world.base_score + added_up, spread, outcome)
        else:
            spread = spread + self.noise_variance
            pull, shrink = (np.asarray(outcome) - added_up) / spread, 1.0 / spread
        return towards, added_up, pull, shrink

    def from_here(self, world: World, state: Posterior, weights: FloatArray) -> Bayesian:
        """Start from these weights with the current posterior covariance."""
        return replace(self, initial=weights, prior_variance=state.covariance)

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return an approximation: the effect of a case depends on all earlier cases."""
        from preceptor.people.bayesian_expectation import BayesianExpectation

        return BayesianExpectation(self, world, sets)

    def learning_in_words(self) -> str:
        """Describe the prior, the assumed noise and the drift."""
        unsure = np.sqrt(np.diag(self.prior_covariance))
        low, high = f"{unsure.min():.3g}", f"{unsure.max():.3g}"
        weights = low if low == high else f"{low} to {high}"
        text = (
            f"by outcomes (Bayesian regression): prior standard deviation of weights {weights}, "
            f"assumed noise of outcomes {math.sqrt(self.noise_variance):.3g}"
        )
        drift = f", assumed drift of weights {math.sqrt(self.drift):.3g} per round"
        return text + drift if self.drift else text


def _prior(given: float | npt.ArrayLike, size: int) -> FloatArray | None:
    """One variance per test, or a covariance; None if the value given is neither."""
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
    # A posterior can have next to no variance in some direction, up to rounding.
    slack = 1e-9 * float(np.abs(spread).max(initial=0.0))
    if np.abs(spread - spread.T).max(initial=0.0) > slack:
        return None
    spread = frozen_array((spread + spread.T) / 2.0)
    return spread if np.linalg.eigvalsh(spread)[0] >= -slack else None
