"""People who learn by showings and forget tests that they are not shown.

Exposure grows by one with each showing and fades otherwise. So nothing is learned for good, and
the long-run error depends on how often a test is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.schema import Limits, Share, Vector
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Expected
from preceptor.model.person import RATE, Imputation, Parameter, ShownBefore
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.people.by_showings import Exposed, Learner
from preceptor.people.curved import Curves
from preceptor.people.curves import Curve
from preceptor.people.exposures import Exposures


@dataclass(frozen=True, eq=False, repr=False)
class Forgetful(Exposed):
    """A person who learns by showings, like `Learner`, and forgets tests that are not shown.

    Exposure to a test that is hidden in a round is multiplied by 1 - `forgetting`: at 0.02 half of
    it is lost after 34 rounds without the test, and the error grows back along the curve. Exposure
    is then not an integer. Geometric curves and power laws are defined there; tables and one-shot
    learning are evaluated at the integer below.

    Parameters
    ----------
    initial
        Weights without any exposure, shape (n,), in the world's units: the initial ones, to which
        forgetting leads back.
    curves
        One learning curve for all tests, or one per test.
    forgetting
        Share of the exposure to a hidden test that is lost each round, from 0 to 1.
    imputation
        How the person imputes hidden tests, as for `Learner`.
    exposure
        Initial exposure to each test, shape (n,), at least 0; zero if omitted. It need not be an
        integer for a person who has already learned.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

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
        Parameter("forgetting", "share of the exposure to a hidden test that is lost per round",
                  0.0, 1.0, (0.0, 0.0, 0.13)),
    )  # fmt: skip

    initial: Annotated[Vector, "Initial weight of each test."]
    curves: Curves
    forgetting: Annotated[
        Share, "Share of the exposure to a hidden test that is lost each round."
    ] = 0.02
    imputation: Imputation = 0.0
    exposure: Annotated[
        Vector | None, Limits(at_least=0), "Initial exposure to each test. If omitted, zero."
    ] = None

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        forgetting: float = 0.02,
        imputation: float | npt.ArrayLike = 0.0,
        exposure: npt.ArrayLike | None = None,
    ) -> None:
        faults = self.fill_in(initial, imputation, forgetting=forgetting, exposure=exposure)
        faults += self.fill_in_curves(curves)
        # Signs are defined for integer exposure counts, and fading leaves fractions.
        turning = {} if faults else {curve: None for curve in self.curve_of if not curve.keeps_sign}
        faults += [
            f"curves: {curve!r} changes the sign of an error with the number of showings, but "
            "Forgetful has fractional exposure; use Learner, or the curve inside the Branch"
            for curve in turning
        ]
        InvalidProblem.raise_if(faults)

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> FloatArray:
        """Return the initial exposure (..., n) plus the earlier showings."""
        showings = super().fresh(world, people, start)
        return showings if self.exposure is None else showings + self.exposure

    @property
    def exposure_kept(self) -> float:
        """Share of the exposure to a hidden test that remains after a round."""
        return 1.0 - self.forgetting

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """Add one to the exposure of shown tests; fade the rest."""
        return np.where(shown, state + 1.0, state * self.exposure_kept)

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return the exact expectation: weights depend only on what was shown."""
        exposure = self.fresh(world, (), start)
        if self.forgetting == 0.0 and np.any(exposure % 1.0):
            # Fractional exposure that never fades is a shifted curve with integer counts.
            rest = self.curves_after(exposure)
            kept = Learner(self.weights_of(world, exposure), rest, self.imputation)
            return kept.expected(world, sets)
        return Exposures(self, world, sets, exposure, forgetting=self.forgetting)

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Forgetful:
        """Start at the current exposure, with initial weights that it maps to these weights."""
        left = self.retention(state)
        now = world.coefficients - weights
        # Where no error is left, the initial error cannot be recovered, so it stays as it was.
        known = left != 0.0
        first = np.divide(now, left, out=world.coefficients - self.initial, where=known)
        return replace(self, initial=world.coefficients - first, exposure=state)

    def learning_in_words(self) -> str:
        """Describe the forgetting and the curve."""
        fading = f"hidden tests fade by {100 * self.forgetting:.3g}% per round"
        return f"{fading}; {super().learning_in_words()}"
