"""People whose weights' errors change one by one, by what was shown alone: e' = keep x e + shift.

A kind only defines what is kept and what is added, given which tests were shown. Simulation,
planning and filtering follow from that.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.schema import Share, Vector
from preceptor._base.values import FloatArray, remembered
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Expected
from preceptor.model.person import RATE, Affine, Imputation, Parameter, Person, ShownBefore
from preceptor.model.sets import SetFamily, Shown, TestSet, map_over_sets
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.curved import Curved, SteadyCurves
from preceptor.people.curves import Curve
from preceptor.people.second_moments import Coordinates
from preceptor.people.yes_no_expectation import DeterministicAnswers, StateMoves


@dataclass(frozen=True, eq=False, repr=False)
class WeightState(Person):
    """Base of people whose state is just their weights (..., n)."""

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> FloatArray:
        """Return the initial weights."""
        return np.broadcast_to(self.initial, (*people, self.size)).copy()

    def weights_of(self, world: World, state: FloatArray) -> FloatArray:
        """Return the state."""
        return state

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Person:
        """Return the same person with these initial weights: the state holds nothing else."""
        changed: dict[str, Any] = {"initial": weights}
        return replace(self, **changed)


class Kept(NamedTuple):
    """A round turns errors e into `keep` x e + `shift`, test by test."""

    keep: FloatArray  # (..., n)
    shift: FloatArray  # (..., n)


@dataclass(frozen=True, eq=False, repr=False)
class Coordinatewise(WeightState):
    """Base of people defined by the share of each error that a round keeps."""

    learns_from_outcomes: ClassVar[bool] = False

    @abstractmethod
    def kept(self, world: World, shown: Shown) -> Kept:
        """Return the effect of a round on the errors.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        shown
            Which tests were seen, shape (..., n).

        Returns
        -------
        Kept
            For every test, shown or hidden.
        """

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """Apply `kept`, whatever the results and the outcome were."""
        keep, push = self._map(world, shown)
        return np.asarray(keep * state + push)

    def _map(self, world: World, shown: Shown) -> tuple[FloatArray, FloatArray]:
        """`kept` as a map of weights: keep x weight + push."""
        keep, shift = self.kept(world, shown)
        return keep, (1.0 - keep) * world.coefficients - shift

    def moves(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """Return the map of `kept`, which depends only on what was shown."""
        keep, push = self._map(world, shown)
        return Affine(keep[..., None] * np.eye(self.size), push)

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return the exact expectation: weights depend only on what was shown."""
        errors = world.coefficients - self.weights_of(world, self.fresh(world, (), start))
        keep, shift = self.kept(world, sets.membership)
        return Coordinates(world, sets, errors, keep, shift, self.imputing_covariance(world))

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: ShownBefore = None
    ) -> Expected:
        """Return the exact expectation: weights depend only on what was shown."""
        weights = self.weights_of(world, self.fresh(world, (), start))
        moved = StateMoves.by_weights(weights, *self._map(world, sets.membership))
        return DeterministicAnswers(world, sets, self.imputing_covariance(world), risk, moved)


@dataclass(frozen=True, eq=False, repr=False)
class NoLearning(Coordinatewise):
    """A person whose weights never change.

    Parameters
    ----------
    initial
        The person's weights, shape (n,), in the world's units.
    imputation
        How the person imputes hidden tests, as for `Learner`.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

    Examples
    --------
    >>> acting = NoLearning([0.5]).acting(World([1.0], [[1.0]]))
    >>> acting.feedback((0,), np.array([3.0]), 3.1)
    >>> acting.weights
    array([0.5])
    """

    kind: ClassVar[str] = "no-learning"

    initial: Annotated[Vector, "Weight of each test."]
    imputation: Imputation = 0.0

    def __init__(self, initial: npt.ArrayLike, imputation: float | npt.ArrayLike = 0.0) -> None:
        InvalidProblem.raise_if(self.fill_in(initial, imputation))

    def start_faults(self, start: ShownBefore) -> list[str]:
        """Return no faults: earlier showings have no effect."""
        return []

    def kept(self, world: World, shown: Shown) -> Kept:
        """Keep every error."""
        return Kept(np.ones(shown.shape), np.zeros(shown.shape))

    def learning_in_words(self) -> str:
        """Say that there is no learning."""
        return "not at all: weights stay as they are"


# People who learn by showings and drift back to their initial weights.
#
# An alternative to fading exposure (`forgetful.py`): the weight of a hidden test returns toward
# its initial value by a share of the distance. Errors stay affine in the errors before.


@dataclass(frozen=True, eq=False, repr=False)
class Drifting(Coordinatewise, Curved):
    """A person whose weights of hidden tests return to the initial ones, by a share each round.

    Weights of shown tests move toward the truth as those of `Learner` do.

    Parameters
    ----------
    initial
        Initial weights, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one per test, on which every showing leaves the same
        share of the error: `Geometric` without a floor.
    drift
        Share of the distance to the initial weight that a hidden test's weight returns per round,
        from 0 to 1.
    imputation
        How the person imputes hidden tests, as for `Learner`.
    home
        Weights to which they drift back, shape (n,); the initial weights if omitted. They differ
        for a person who has already learned.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> acting = Drifting([0.0], Geometric(2.0), drift=0.1).acting(World([1.0], [[1.0]]))
    >>> acting.feedback((0,), np.array([3.0]), 3.1)   # halfway to the truth
    >>> acting.feedback((), np.array([]), 3.1)        # and a tenth of it back
    >>> acting.weights
    array([0.45])
    """

    kind: ClassVar[str] = "drifting"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        RATE,
        Parameter("drift", "share of the distance to the initial weight that a hidden test's "
                  "weight returns per round", 0.0, 1.0, (0.0, 0.0, 0.13)),
    )  # fmt: skip

    initial: Annotated[Vector, "Initial weight of each test."]
    curves: SteadyCurves
    drift: Annotated[
        Share, "Share of the distance to its initial value that a hidden weight returns per round."
    ] = 0.02
    imputation: Imputation = 0.0
    home: Annotated[
        Vector | None, "Weights to which they drift back. If omitted, the initial weights."
    ] = None

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        drift: float = 0.02,
        imputation: float | npt.ArrayLike = 0.0,
        home: npt.ArrayLike | None = None,
    ) -> None:
        faults = self.fill_in(initial, imputation, drift=drift, home=home)
        InvalidProblem.raise_if(faults + self.fill_in_curves(curves, steady=True))

    @property
    def drifts_to(self) -> FloatArray:
        """Weights (n,) to which hidden tests' weights return."""
        return self.initial if self.home is None else self.home

    def start_faults(self, start: ShownBefore) -> list[str]:
        """Return no faults: earlier showings have moved the weights, without drift since."""
        return []

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> FloatArray:
        """Return the weights (..., n) after the earlier showings."""
        counts = np.zeros(self.size) if start is None else np.array(start, dtype=np.float64)
        left = self.ratios**counts
        weights = left * self.initial + (1.0 - left) * world.coefficients
        return np.broadcast_to(weights, (*people, self.size)).copy()

    def kept(self, world: World, shown: Shown) -> Kept:
        """Keep the curve's ratio if shown; return a share of the initial error if hidden."""
        first = world.coefficients - self.drifts_to
        keep = np.where(shown, self.ratios, 1.0 - self.drift)
        return Kept(keep, np.where(shown, 0.0, self.drift * first))

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Drifting:
        """Start from these weights, with the same drift target."""
        return replace(self, initial=weights, home=self.drifts_to)

    def learning_in_words(self) -> str:
        """Describe the drift and the curve."""
        back = f"hidden weights return {100 * self.drift:.3g}% of the way per round"
        return f"{back}; {super().learning_in_words()}"


# People who learn by showings, also about hidden tests that correlate with the shown ones.
#
# Interpolates between learning only shown tests (0) and learning a hidden test in proportion to
# the share of its variance that the shown ones explain (1). Hidden weights move toward the truth;
# nothing is folded into shown ones (`folding.py` is the alternative).


@dataclass(frozen=True, eq=False, repr=False)
class Indirect(Coordinatewise, Curved):
    """A person who also learns weights of hidden tests, as far as shown tests predict them.

    A hidden test counts as a fraction of a showing: `indirect` times the share of its variance that
    the shown tests explain. Shown weights move as those of `Learner` do.

    Parameters
    ----------
    initial
        Initial weights, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one per test, on which every showing leaves the same
        share of the error: `Geometric` without a floor.
    indirect
        Fraction of a showing that a hidden test counts when the shown ones explain all of its
        variance, from 0 (nothing: `Learner`) to 1.
    imputation
        How the person imputes hidden tests, as for `Learner`.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> world = World.equicorrelated([1.0, 1.0], 0.5)
    >>> acting = Indirect([0.0, 0.0], Geometric(16.0), indirect=1.0).acting(world)
    >>> acting.feedback((0,), np.array([3.0]), 3.1)   # tells a quarter of the other one
    >>> acting.weights
    array([0.9375, 0.5   ])
    """

    kind: ClassVar[str] = "indirect"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        RATE,
        Parameter("indirect", "fraction of a showing that a fully explained hidden test counts",
                  0.0, 1.0),
    )  # fmt: skip

    initial: Annotated[Vector, "Initial weight of each test."]
    curves: SteadyCurves
    indirect: Annotated[
        Share, "Fraction of a showing that a hidden test counts when shown ones fully explain it."
    ]
    imputation: Imputation = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        indirect: float,
        imputation: float | npt.ArrayLike = 0.0,
    ) -> None:
        faults = self.fill_in(initial, imputation, indirect=indirect)
        InvalidProblem.raise_if(faults + self.fill_in_curves(curves, steady=True))

    def kept(self, world: World, shown: Shown) -> Kept:
        """Keep the curve's ratio for a showing, or for the fraction of one if hidden."""
        known: dict[TestSet, FloatArray] = remembered(world, "shares told", dict)
        told = map_over_sets(shown, lambda one: _share_explained(world, one, known))
        showings = np.where(shown, 1.0, self.indirect * told)
        return Kept(self.ratios**showings, np.zeros(shown.shape))

    def learning_in_words(self) -> str:
        """Describe the indirect learning and the curve."""
        told = f"hidden tests count {100 * self.indirect:.3g}% of what shown ones explain of them"
        return f"{told}; {super().learning_in_words()}"


def _share_explained(world: World, shown: TestSet, known: dict[TestSet, FloatArray]) -> FloatArray:
    """Share of each test's variance (n,) that the shown tests explain; `known` is the cache."""
    if shown in known:
        return known[shown]
    rows, sigma = list(shown), world.covariance
    weights = np.linalg.solve(sigma[np.ix_(rows, rows)], sigma[rows])
    told = np.sum(sigma[rows] * weights, axis=0) / np.diag(sigma)
    # Rounding is set to 0, or one-shot learners would learn from uncorrelated tests.
    known[shown] = np.where(told < 1e-12, 0.0, np.minimum(told, 1.0))
    return known[shown]
