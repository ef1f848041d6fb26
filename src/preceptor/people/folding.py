"""People who learn by showings, but fold information of hidden tests into shown weights.

Interpolates between two theories: at 0 a shown weight moves toward its true value, whatever is
hidden (`by_showings.py`); at 1 toward its slope in a regression of outcomes on the shown tests,
which is the limit of learning from outcomes (`outcome_learners.py`), without its noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.schema import Share, Vector
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Expected
from preceptor.model.person import RATE, Affine, Imputation, Parameter, ShownBefore
from preceptor.model.sets import SetFamily, Shown, TestSet, map_over_sets
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.coordinatewise import WeightState
from preceptor.people.curved import Curved, SteadyCurves
from preceptor.people.curves import Curve
from preceptor.people.yes_no_expectation import DeterministicAnswers, StateMoves


@dataclass(frozen=True, eq=False, repr=False)
class Folding(WeightState, Curved):
    """A person whose shown weights absorb, in part, the errors of hidden tests.

    A shown weight moves toward its true value plus `folding` times the projection on it of the
    errors of hidden tests, as imputed. It depends on which tests are shown, not on results.

    Parameters
    ----------
    initial
        Initial weights, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one per test, on which every showing leaves the same
        share of the error: `Geometric` without a floor.
    folding
        How far shown weights absorb hidden tests, from 0 (not at all: `Learner`) to 1 (as a
        regression on the shown tests does).
    imputation
        How the person imputes hidden tests, as for `Learner`.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

    Examples
    --------
    >>> from preceptor.people.curves import OneShot
    >>> world = World.equicorrelated([1.0, 1.0], 0.5)
    >>> acting = Folding([0.0, 0.0], OneShot(), folding=1.0).acting(world)
    >>> acting.feedback((0,), np.array([3.0]), 3.1)   # the slope of outcomes on the first test
    >>> acting.weights
    array([1.5, 0. ])
    """

    kind: ClassVar[str] = "folding"
    learns_from_outcomes: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        RATE,
        Parameter("folding", "how far shown weights absorb hidden tests", 0.0, 1.0),
    )

    initial: Annotated[Vector, "Initial weight of each test."]
    curves: SteadyCurves
    folding: Annotated[Share, "How far shown weights absorb hidden tests."]
    imputation: Imputation = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        folding: float,
        imputation: float | npt.ArrayLike = 0.0,
    ) -> None:
        faults = self.fill_in(initial, imputation, folding=folding)
        InvalidProblem.raise_if(faults + self.fill_in_curves(curves, steady=True))

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """Move the shown weights toward the target of this set."""
        turn, push = self.moves(world, state, filled, shown, outcome)
        return np.asarray(np.einsum("...ij,...j->...i", turn, state) + push)

    def moves(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """Return the map of this set, which does not depend on results."""
        omega = self.imputing_covariance(world)
        maps = map_over_sets(shown, lambda one: self._map(world, omega, one))
        return Affine(maps[..., :-1], maps[..., -1])

    def _map(self, world: World, omega: FloatArray, shown: TestSet) -> FloatArray:
        """Turn, with push as the last column: (n, n + 1)."""
        rows, truth, sigma = list(shown), world.coefficients, world.covariance
        whole = np.eye(self.size, self.size + 1)
        # The best weights of these tests, and how the person imputes the others from them.
        slopes = np.linalg.solve(sigma[np.ix_(rows, rows)], sigma[rows] @ truth)
        fill = np.linalg.solve(omega[np.ix_(rows, rows)], omega[rows])
        fill[:, rows] = np.eye(len(rows))
        # A step is (1 - ratio) x ((1 - folding)(truth - h) + folding (slopes - fill h)).
        step = (1.0 - self.ratios[rows])[:, None]
        whole[rows, :-1] -= step * (
            (1.0 - self.folding) * np.eye(self.size)[rows] + self.folding * fill
        )
        whole[rows, -1] = step[:, 0] * ((1.0 - self.folding) * truth[rows] + self.folding * slopes)
        return whole

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return the exact expectation: weights depend only on what was shown."""
        from preceptor.people.moments import folding_moments

        return folding_moments(self, world, sets)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: ShownBefore = None
    ) -> Expected:
        """Return the exact expectation: weights depend only on what was shown."""
        omega = self.imputing_covariance(world)
        count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
        keep, push = np.ones((count, self.size)), np.zeros((count, self.size))
        rows = np.zeros((count, widest, self.size))
        for s, shown in enumerate(sets):
            whole = self._map(world, omega, shown)[list(shown)]
            keep[s, list(shown)], push[s, list(shown)] = 0.0, whole[:, -1]
            rows[s, : len(shown)] = whole[:, :-1]
        moved = StateMoves.by_weights(self.initial, keep, push, rows)
        return DeterministicAnswers(world, sets, omega, risk, moved)

    def learning_in_words(self) -> str:
        """Describe the folding and the curve."""
        taken = f"shown weights absorb {100 * self.folding:.3g}% of hidden tests"
        return f"{taken}; {super().learning_in_words()}"
