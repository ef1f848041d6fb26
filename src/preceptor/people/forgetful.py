"""People who learn by showings and forget tests that they are not shown.

Exposure grows by one with a showing and fades without. So nothing is learned for good, and what
matters in the long run is how often a test comes up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Limits, Share, Vector
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.people.curved import Curves
from preceptor.people.curves import Curve
from preceptor.people.exposed import Exposed
from preceptor.people.person import RATE, Imputation, Parameter, share_faults, weights_or_none

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


@dataclass(frozen=True, eq=False, repr=False)
class Forgetful(Exposed):
    """Somebody who learns by showings, like `Learner`, and forgets tests that are not shown.

    Exposure to a test that is not shown in a round is multiplied by 1 - `forgetting`: at 0.02 half
    of it is gone after 34 rounds without the test, and the error grows back along the curve.
    Exposure is then no whole number. Geometric curves and power laws are defined there; a table
    or one-shot learning is read at the whole number below.

    Parameters
    ----------
    initial
        Weights that the person has without any exposure, shape (n,), in the world's units:
        those at first, and those to which forgetting leads back.
    curves
        One learning curve for all tests, or one for each.
    forgetting
        Share of the exposure to a hidden test that is lost each round, from 0 to 1.
    imputation
        How the person fills in tests that are not shown, as for `Learner`.
    exposure
        To each test at the start, shape (n,), at least 0; none if left out. Somebody met in the
        middle has some, and it need not be a whole number.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> person = Forgetful([0.0], Geometric(4.0), forgetting=0.5)
    >>> acting = person.acting(World([1.0], [[1.0]]), start=[1])
    >>> acting.feedback((), np.array([]), 0.0)   # exposure falls to a half
    >>> acting.weights
    array([0.5])
    """

    kind: ClassVar[str] = "forgetful"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        RATE,
        Parameter("forgetting", "share of the exposure to a hidden test that a round takes away",
                  0.0, 1.0, (0.0, 0.0, 0.13)),
    )  # fmt: skip

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    curves: Curves
    forgetting: Annotated[
        Share, "Share of the exposure to a hidden test that is lost each round."
    ] = 0.02
    imputation: Imputation = 0.0
    exposure: Annotated[
        Vector | None, Limits(at_least=0), "Exposure to each test at the start. Left out: none."
    ] = None

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        forgetting: float = 0.02,
        imputation: float | npt.ArrayLike = 0.0,
        exposure: npt.ArrayLike | None = None,
    ) -> None:
        faults = self.fill_in(initial, imputation) + self.fill_in_curves(curves)
        faults += share_faults("forgetting", forgetting, "exposure, lost in a round")
        # A sign belongs to a whole number of showings, and fading leaves fractions.
        turning = {} if faults else {curve: None for curve in self.curve_of if not curve.keeps_sign}
        faults += [
            f"curves: {curve!r} changes the sign of an error with the number of showings, but "
            "Forgetful keeps fractions of them; use Learner, or the curve of sizes alone"
            for curve in turning
        ]
        before = weights_or_none(self, "exposure", exposure, faults)
        if before is not None and before.min() < 0:
            faults.append(f"exposure: {before.min():g}, must be numbers of at least 0")
        InvalidProblem.raise_if(faults)
        object.__setattr__(self, "forgetting", float(forgetting))
        object.__setattr__(self, "exposure", before)

    def fresh(
        self, world: World, people: tuple[int, ...], start: Sequence[int] | None
    ) -> FloatArray:
        """Exposure (..., n) at the start, and the showings so far on top of it."""
        showings = super().fresh(world, people, start)
        return showings if self.exposure is None else showings + self.exposure

    @property
    def exposure_kept(self) -> float:
        """Share of the exposure to a hidden test that a round leaves."""
        return 1.0 - self.forgetting

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """One more showing of what was shown; the rest fades."""
        return np.where(shown, state + 1.0, state * self.exposure_kept)

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.exposures import Exposures

        exposure = self.fresh(world, (), start)
        if self.forgetting == 0.0 and np.any(exposure % 1.0):
            # Whoever keeps a fraction of a showing goes along a shifted curve by whole ones.
            from preceptor.people.by_showings import Learner

            rest = self.curves_after(exposure)
            kept = Learner(self.weights_of(world, exposure), rest, self.imputation)
            return kept.expected(world, sets)
        return Exposures(self, world, sets, exposure, forgetting=self.forgetting)

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Forgetful:
        """With the exposure of now, and first beliefs from which it has led to these weights."""
        left = self.retention(state)
        now = world.coefficients - weights
        # From no error at all nobody can tell what the first one was, so it is as it was.
        known = left != 0.0
        first = np.divide(now, left, out=world.coefficients - self.initial, where=known)
        return replace(self, initial=world.coefficients - first, exposure=state)

    def learning_in_words(self) -> str:
        """How fast exposure fades, and the curve."""
        fading = f"hidden tests fade by {100 * self.forgetting:.3g}% per round"
        return f"{fading}; {self.curves_in_words()}"
