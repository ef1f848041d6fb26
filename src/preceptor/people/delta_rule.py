"""People who learn from outcomes by the delta rule of Widrow and Hoff.

Weights move by rate x surprise x result: cue competition, folding of hidden tests into shown ones
and omitted-variable bias all follow. The expected squared error of any schedule is exact, by a
recursion of second moments (`moments.py`), unless surprises are capped.

Where the outcome is yes or no, the surprise is counted from the chance of yes: rate x (outcome -
chance) x result. That is one step of stochastic gradient descent in logistic regression, and the
same expression is used with the probit link, where the gradient has a further factor of about 1.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.fields import Index, Limits, NonNegative, Positive, Share, Vector
from preceptor._base.values import FloatArray
from preceptor._base.words import counted
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.answering import foreseen, foreseen_slope
from preceptor.people.person import (
    RATE,
    Affine,
    Imputation,
    Parameter,
    Person,
    share_faults,
    weights_or_none,
)

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


# Steps beyond this overflow within a few rounds.
_LARGEST_RATE = 1e50


class Progressed(NamedTuple):
    """Weights (..., n), and rounds so far, on which a decaying rate depends."""

    weights: FloatArray
    rounds: int


@dataclass(frozen=True, eq=False, repr=False)
class DeltaRule(Person):
    """Somebody who learns from outcomes: weights move by rate x surprise x result of the test.

    Parameters
    ----------
    initial
        Weights that the person starts with, shape (n,), in the world's units.
    rate
        Size of a step. With one test of variance 1 shown, it is the share of the weight's expected
        error that one showing removes. Above 2 / (3 x the sum of the shown tests' variances)
        squared errors may grow without end.
    imputation
        How the person fills in tests that are not shown, as for `Learner`.
    all_weights
        Whether weights of hidden tests move too, by what was filled in.
    decay
        The rate in round t (from 0) is rate / (1 + t) ** decay; 0 is a constant rate.
    cap
        If given, a surprise moves the weights as if it were no larger than this, in units of the
        outcome. What is expected of such a person is then approximate.
    rounds
        Rounds that they have played before, on which a decaying rate depends.
    leak
        Share of the way back to the first beliefs that all weights go in a round, shown or not,
        after they have moved; from 0 to 1.
    home
        Weights that they leak back to, shape (n,); left out, those at the start.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

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
        Parameter("decay", "power of time by which steps become smaller", 0.0, 1.0),
        Parameter("cap", "largest surprise that is taken at its size", 0.0, math.inf),
        Parameter("leak", "share of the way back to the first beliefs that weights go in a round",
                  0.0, 1.0),
    )  # fmt: skip

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    rate: Annotated[float, Limits(at_least=0, at_most=_LARGEST_RATE), "Size of a step."]
    imputation: Imputation = 0.0
    all_weights: Annotated[
        bool, "Whether weights of hidden tests move too, by what was filled in."
    ] = False
    decay: Annotated[NonNegative, "Power of time by which steps become smaller."] = 0.0
    cap: Annotated[
        Positive | None, "Largest surprise that is taken at its size. Left out: all are."
    ] = None
    rounds: Annotated[Index, "Rounds played before; a decaying rate goes on from there."] = 0
    leak: Annotated[
        Share, "Share of the way back to the first beliefs that all weights go in a round."
    ] = 0.0
    home: Annotated[
        Vector | None, "Weights that the person leaks back to. Left out: those at first."
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
        faults = self.fill_in(initial, imputation)
        if not is_number(rate) or not 0 <= rate <= _LARGEST_RATE:
            faults.append(f"rate: {rate!r}, must be a number from 0 to {_LARGEST_RATE:g}")
        if not isinstance(all_weights, (bool, np.bool_)):
            faults.append(f"all_weights: {all_weights!r}, must be true or false")
        if not is_number(decay) or decay < 0:
            faults.append(f"decay: {decay!r}, must be a finite number of at least 0")
        if cap is not None and not (is_number(cap) and cap > 0):
            faults.append(f"cap: {cap!r}, must be a positive number, or left out")
        if not is_count(rounds, least=0):
            faults.append(f"rounds: {rounds!r}, must be a whole number of at least 0")
        faults += share_faults("leak", leak, "the way back to the first beliefs")
        back = weights_or_none(self, "home", home, faults)
        InvalidProblem.raise_if(faults)
        set_field = object.__setattr__
        set_field(self, "rate", float(rate))
        set_field(self, "all_weights", bool(all_weights))
        set_field(self, "decay", float(decay))
        set_field(self, "cap", None if cap is None else float(cap))
        set_field(self, "rounds", int(rounds))
        set_field(self, "leak", float(leak))
        set_field(self, "home", back)

    @property
    def leaks_to(self) -> FloatArray:
        """Weights (n,) that all tests go back to."""
        return self.initial if self.home is None else self.home

    def rates(self, rounds: int) -> FloatArray:
        """Rate in each of the coming rounds as a share of `rate`.

        Parameters
        ----------
        rounds
            How many.

        Returns
        -------
        array of shape (rounds,)
            1 in the very first round, falling by `decay`.
        """
        return np.asarray((1.0 + self.rounds + np.arange(rounds)) ** -self.decay)

    def fresh(
        self, world: World, people: tuple[int, ...], start: Sequence[int] | None
    ) -> Progressed:
        """The first weights."""
        weights = np.broadcast_to(self.initial, (*people, self.size)).copy()
        return Progressed(weights, self.rounds)

    def weights_of(self, world: World, state: Progressed) -> FloatArray:
        """The state."""
        return state.weights

    def at_weights(self, state: Progressed, weights: FloatArray) -> Progressed:
        """Somebody with these weights after as many rounds."""
        return state._replace(weights=weights)

    def learn(
        self, world: World, state: Progressed, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Progressed:
        """One step down the gradient of the squared surprise; of the log loss for yes or no."""
        surprise = outcome - foreseen(world, np.sum(state.weights * filled, axis=-1))
        if self.cap is not None:
            surprise = np.clip(surprise, -self.cap, self.cap)
        rate, direction = self._step(state, filled, shown)
        moved = state.weights + rate * surprise[..., None] * direction
        if self.leak:
            moved = (1.0 - self.leak) * moved + self.leak * self.leaks_to
        return Progressed(moved, state.rounds + 1)

    def moves(
        self, world: World, state: Progressed, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """I - step x filled', while the surprise is not capped; a capped one only pushes.

        Where the outcome is yes or no, the chance of it is taken to be a line through what it is
        at the weights in the state.
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

    def _step(
        self, state: Progressed, filled: FloatArray, shown: Shown
    ) -> tuple[float, FloatArray]:
        """The rate now, and which way (..., n) a surprise of 1 moves the weights."""
        rate = self.rate / (1.0 + state.rounds) ** self.decay
        return rate, filled if self.all_weights else filled * shown

    def from_here(self, world: World, state: Progressed, weights: FloatArray) -> DeltaRule:
        """With these weights; only a decaying rate asks for rounds, a leak for first beliefs."""
        return replace(
            self,
            initial=weights,
            rounds=state.rounds if self.decay else 0,
            home=self.leaks_to if self.leak else None,
        )

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact by second moments; with a cap, approximate."""
        from preceptor.people.moments import delta_rule_moments

        return delta_rule_moments(self, world, sets)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: Sequence[int] | None = None
    ) -> Expected:
        """Approximate: by the mean and the spread of weights; copies play capped surprises."""
        if self.cap is not None:
            return super().expected_answers(world, sets, risk, start)
        from preceptor.people.uncertain_answers import UncertainAnswers

        return UncertainAnswers(self, world, sets, risk)

    def learning_in_words(self) -> str:
        """Rate, and what is special about the steps."""
        text = (
            "by outcomes (delta rule): after each case the weight of a shown test moves by "
            f"{100 * self.rate:.3g}% of the surprise times its result"
        )
        if self.all_weights:
            text += ", also for hidden tests as filled in"
        if self.decay:
            text += f", falling with round to the power -{self.decay:g}"
            if self.rounds:
                text += f" (after {counted(self.rounds, 'round')})"
        if self.cap is not None:
            text += f"; surprises count as at most {self.cap:g}"
        if self.leak:
            text += f"; all weights go {100 * self.leak:.3g}% of the way back per round"
        return text
