"""People who learn by showings, also about hidden tests that the shown ones tell something of.

A dial between learning only what is shown (0) and learning of a hidden test as much as the shown
ones tell of it (1). Hidden weights go toward the truth; nothing is folded into shown ones
(`folding.py` is the other reading).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Share, Vector
from preceptor._base.values import FloatArray, remembered
from preceptor.errors import InvalidProblem
from preceptor.model.sets import Shown, TestSet, for_each_set
from preceptor.model.world import World
from preceptor.people.coordinatewise import Coordinatewise, Kept
from preceptor.people.curved import Curved, SteadyCurves
from preceptor.people.curves import Curve
from preceptor.people.person import RATE, Imputation, Parameter, share_faults

# Shares of a test's variance below this are rounding: somebody who learns a weight in one showing
# would otherwise learn it from tests that tell nothing.
_TOLD_NOTHING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Indirect(Coordinatewise, Curved):
    """Somebody who also learns weights of hidden tests, as far as shown tests tell of them.

    A hidden test counts as so much of a showing: `indirect` times the share of its variance that
    the shown tests explain. Shown weights move as those of `Learner` do.

    Parameters
    ----------
    initial
        Weights that the person starts with, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one for each, on which every showing leaves the same
        share of the error: `Geometric` without a floor.
    indirect
        How much of a showing it is that a hidden test is fully told by shown ones, from 0 (nothing:
        `Learner`) to 1.
    imputation
        How the person fills in tests that are not shown, as for `Learner`.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

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
        Parameter("indirect", "how much of a showing it is that a hidden test is told by shown "
                  "ones", 0.0, 1.0),
    )  # fmt: skip

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    curves: SteadyCurves
    indirect: Annotated[
        Share, "How much of a showing it is that a hidden test is fully told by shown ones."
    ]
    imputation: Imputation = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        indirect: float,
        imputation: float | npt.ArrayLike = 0.0,
    ) -> None:
        faults = self.fill_in(initial, imputation) + self.fill_in_steady_curves(curves)
        InvalidProblem.raise_if(faults + share_faults("indirect", indirect, "a showing"))
        object.__setattr__(self, "indirect", float(indirect))

    def kept(self, world: World, shown: Shown) -> Kept:
        """What the curve leaves after a showing, or after the part of one that was told."""
        known: dict[TestSet, FloatArray] = remembered(world, "shares told", dict)
        told = for_each_set(shown, lambda one: _share_told(world, one, known))
        showings = np.where(shown, 1.0, self.indirect * told)
        return Kept(self.ratios**showings, np.zeros(shown.shape))

    def learning_in_words(self) -> str:
        """What is learned of hidden tests, and the curve."""
        told = f"hidden weights learn {100 * self.indirect:.3g}% of what shown tests tell of them"
        return f"{told}; {self.curves_in_words()}"


def _share_told(world: World, shown: TestSet, known: dict[TestSet, FloatArray]) -> FloatArray:
    """Share of each test's variance (n,) that the shown tests explain; `known` is kept."""
    if shown in known:
        return known[shown]
    rows, sigma = list(shown), world.covariance
    weights = np.linalg.solve(sigma[np.ix_(rows, rows)], sigma[rows])
    told = np.sum(sigma[rows] * weights, axis=0) / np.diag(sigma)
    known[shown] = np.where(told < _TOLD_NOTHING, 0.0, np.minimum(told, 1.0))
    return known[shown]
