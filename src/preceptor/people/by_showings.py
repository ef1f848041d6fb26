"""People who learn by showings: the paper's learner.

Every showing of a test moves its weight along a curve toward the truth, whatever the outcome was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Vector
from preceptor._base.values import FloatArray, plain
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.people.curved import Curves
from preceptor.people.curves import Curve
from preceptor.people.exposed import Exposed
from preceptor.people.person import BY_SHOWINGS, RATE, Imputation, Parameter

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


@dataclass(frozen=True, eq=False, repr=False)
class Learner(Exposed):
    """The paper's person: first beliefs, learning curves, and a way to fill in what is hidden.

    Every showing of a test moves its weight along the curve, from the first belief toward the
    truth.

    Parameters
    ----------
    initial
        Weights that the person starts with, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one for each.
    imputation
        How the person fills in tests that are not shown. A number κ from 0 to 1 means from the
        covariance (1-κ)Σ + κ diag Σ. At 0 they know exactly how tests go together (this paper's
        human); at 1 they ignore correlation and take every hidden test to be average (the human of
        the earlier work on independent features). Or a covariance (n, n) from which they fill in.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> Learner([0.2, 1.3], Geometric(1.1)).size
    2
    >>> Learner([0.0], Geometric(2.0)).beliefs(World([1.0], [[1.0]]), [2])
    array([0.75])
    """

    kind: ClassVar[str] = BY_SHOWINGS
    parameters: ClassVar[tuple[Parameter, ...]] = (
        RATE,
        Parameter("floor", "share of the error that stays, however often a test is shown",
                  0.0, 1.0, (0.12, 0.40, 1.0)),
    )  # fmt: skip

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    curves: Curves
    imputation: Imputation = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        imputation: float | npt.ArrayLike = 0.0,
    ) -> None:
        faults = self.fill_in(initial, imputation)
        InvalidProblem.raise_if(faults + self.fill_in_curves(curves))

    def retention_table(self, start: Sequence[int], showings: int) -> FloatArray:
        """Share of each test's error that is left, showing by showing.

        Parameters
        ----------
        start
            Showings of each test before, n of them.
        showings
            How many more to tabulate.

        Returns
        -------
        array of shape (n, showings + 1)
            Entry (i, m): what is left of test i's error after m showings beyond `start[i]`.
        """
        steps = np.arange(showings + 1)
        rows = [c.retention(s + steps) for c, s in zip(self.curve_of, start, strict=True)]
        return np.ascontiguousarray(rows, dtype=np.float64)

    def faster(self, factor: float) -> Learner:
        """The same person, who learns faster.

        Parameters
        ----------
        factor
            How much faster, above 0; below 1 is slower.

        Returns
        -------
        Learner
            With the same beliefs and imputation.
        """
        if isinstance(self.curves, Curve):
            return Learner(self.initial, self.curves.faster(factor), self.imputation)
        curves = [curve.faster(factor) for curve in self.curves]
        return Learner(self.initial, curves, self.imputation)

    def learning_in_words(self) -> str:
        """The curve, or how many different ones there are."""
        return self.curves_in_words()

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """One more showing of what was shown."""
        return state + shown

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.exposures import by_showings

        return by_showings(self, world, sets, start)

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Learner:
        """With these weights, each on the rest of its curve."""
        rest = self.curves_after(state)
        return Learner(weights, rest, self.imputation)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; one curve is written once."""
        data: dict[str, Any] = {"initial": plain(self.initial), "curves": plain(self.curves)}
        if isinstance(self.imputation, np.ndarray) or self.imputation != 0.0:
            data["imputation"] = plain(self.imputation)
        return data
