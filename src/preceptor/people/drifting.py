"""People who learn by showings and drift back to their first beliefs.

The other way to forget: not exposure fades (`forgetful.py`) but the weight of a hidden test goes
back to where it began, by a share of the way. Errors stay affine in what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Share, Vector
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.sets import Shown
from preceptor.model.world import World
from preceptor.people.coordinatewise import Coordinatewise, Kept
from preceptor.people.curved import Curved, SteadyCurves
from preceptor.people.curves import Curve
from preceptor.people.person import RATE, Imputation, Parameter, share_faults, weights_or_none


@dataclass(frozen=True, eq=False, repr=False)
class Drifting(Coordinatewise, Curved):
    """Somebody whose weights of hidden tests go back to the first beliefs, by a share each round.

    Shown weights move toward the truth as those of `Learner` do.

    Parameters
    ----------
    initial
        Weights that the person starts with, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one for each, on which every showing leaves the same
        share of the error: `Geometric` without a floor.
    drift
        Share of the way back to the first belief that the weight of a hidden test goes in a round,
        from 0 to 1.
    imputation
        How the person fills in tests that are not shown, as for `Learner`.
    home
        Weights that the person drifts back to, shape (n,); left out, those at the start. Somebody
        met in the middle has moved away from there.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

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
        Parameter("drift", "share of the way back to the first belief that a hidden weight goes "
                  "in a round", 0.0, 1.0, (0.0, 0.0, 0.13)),
    )  # fmt: skip

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    curves: SteadyCurves
    drift: Annotated[
        Share, "Share of the way back to the first belief that a hidden weight goes in a round."
    ] = 0.02
    imputation: Imputation = 0.0
    home: Annotated[
        Vector | None, "Weights that the person drifts back to. Left out: those at first."
    ] = None

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        drift: float = 0.02,
        imputation: float | npt.ArrayLike = 0.0,
        home: npt.ArrayLike | None = None,
    ) -> None:
        faults = self.fill_in(initial, imputation) + self.fill_in_steady_curves(curves)
        faults += share_faults("drift", drift, "the way back to the first belief")
        back = weights_or_none(self, "home", home, faults)
        InvalidProblem.raise_if(faults)
        object.__setattr__(self, "drift", float(drift))
        object.__setattr__(self, "home", back)

    @property
    def drifts_to(self) -> FloatArray:
        """Weights (n,) that hidden tests go back to."""
        return self.initial if self.home is None else self.home

    def start_faults(self, start: Sequence[int] | None) -> list[str]:
        """None: showings before have moved the weights, and they have not drifted since."""
        return []

    def fresh(
        self, world: World, people: tuple[int, ...], start: Sequence[int] | None
    ) -> FloatArray:
        """The weights (..., n) after the showings so far."""
        counts = np.zeros(self.size) if start is None else np.array(start, dtype=np.float64)
        left = self.ratios**counts
        weights = left * self.initial + (1.0 - left) * world.coefficients
        return np.broadcast_to(weights, (*people, self.size)).copy()

    def kept(self, world: World, shown: Shown) -> Kept:
        """What the curve leaves if shown; a share of the first error comes back if hidden."""
        first = world.coefficients - self.drifts_to
        keep = np.where(shown, self.ratios, 1.0 - self.drift)
        return Kept(keep, np.where(shown, 0.0, self.drift * first))

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Drifting:
        """With these weights, and the way back to where the first ones were."""
        return replace(self, initial=weights, home=self.drifts_to)

    def learning_in_words(self) -> str:
        """How fast weights drift back, and the curve."""
        back = f"hidden weights go {100 * self.drift:.3g}% of the way back per round"
        return f"{back}; {self.curves_in_words()}"
