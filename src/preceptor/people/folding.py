"""People who learn by showings, but fold what hidden tests tell into the weights of shown ones.

A dial between two theories: at 0 a shown weight moves toward its true value, whatever is hidden
(`by_showings.py`); at 1 toward the slope that a regression of outcomes on the shown tests has,
which is where learning from outcomes leads (`delta_rule.py`), without its noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Share, Vector
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily, Shown, TestSet, for_each_set
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.coordinatewise import Weighted
from preceptor.people.curved import Curved, SteadyCurves
from preceptor.people.curves import Curve
from preceptor.people.person import RATE, Affine, Imputation, Parameter, share_faults

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


@dataclass(frozen=True, eq=False, repr=False)
class Folding(Weighted, Curved):
    """Somebody whose shown weights take up, in part, the errors of hidden tests.

    A shown weight moves toward its true value plus `folding` times what the errors of hidden tests,
    as the person fills them in, project on it. It depends on which tests are shown, not on
    results.

    Parameters
    ----------
    initial
        Weights that the person starts with, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one for each, on which every showing leaves the same
        share of the error: `Geometric` without a floor.
    folding
        How far shown weights take up what is hidden, from 0 (not at all: `Learner`) to 1 (as a
        regression on the shown tests does).
    imputation
        How the person fills in tests that are not shown, as for `Learner`.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

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
    parameters: ClassVar[tuple[Parameter, ...]] = (
        RATE,
        Parameter("folding", "how far shown weights take up what is hidden", 0.0, 1.0),
    )  # fmt: skip

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    curves: SteadyCurves
    folding: Annotated[Share, "How far shown weights take up what is hidden."]
    imputation: Imputation = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        folding: float,
        imputation: float | npt.ArrayLike = 0.0,
    ) -> None:
        faults = self.fill_in(initial, imputation) + self.fill_in_steady_curves(curves)
        InvalidProblem.raise_if(faults + share_faults("folding", folding, "what is hidden"))
        object.__setattr__(self, "folding", float(folding))

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """Shown weights go toward where this set leads them."""
        turn, push = self.moves(world, state, filled, shown, outcome)
        moved: FloatArray = np.einsum("...ij,...j->...i", turn, state) + push
        return moved

    def moves(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """The same map whenever the same set is shown, whatever the results."""
        omega = self.imputing_covariance(world)
        maps = for_each_set(shown, lambda one: self._map(world, omega, one))
        return Affine(maps[..., :-1], maps[..., -1])

    def _map(self, world: World, omega: FloatArray, shown: TestSet) -> FloatArray:
        """Turn and, as the last column, push: (n, n + 1)."""
        rows, truth, sigma = list(shown), world.coefficients, world.covariance
        whole = np.eye(self.size, self.size + 1)
        # What a perfect reader of these tests would weigh them with, and how the person fills in.
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

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.moments import folding_moments

        return folding_moments(self, world, sets)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.certain_answers import CertainAnswers, Moved

        omega = self.imputing_covariance(world)
        count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
        keep, push = np.ones((count, self.size)), np.zeros((count, self.size))
        rows = np.zeros((count, widest, self.size))
        for s, shown in enumerate(sets):
            whole = self._map(world, omega, shown)[list(shown)]
            keep[s, list(shown)], push[s, list(shown)] = 0.0, whole[:, -1]
            rows[s, : len(shown)] = whole[:, :-1]
        moved = Moved.by_weights(self.initial, keep, push, rows)
        return CertainAnswers(world, sets, omega, risk, moved)

    def learning_in_words(self) -> str:
        """How far hidden tests are taken up, and the curve."""
        taken = f"shown weights take up {100 * self.folding:.3g}% of what is hidden"
        return f"{taken}; {self.curves_in_words()}"
