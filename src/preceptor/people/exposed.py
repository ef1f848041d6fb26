"""People whose weights are a function of exposure: how much of each test they have in mind.

Exposure begins with the showings so far. How it grows and fades is the business of the kind; the
weight is where the curve is at that exposure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.curved import Curved
from preceptor.people.curves import Curve
from preceptor.people.person import Affine

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


@dataclass(frozen=True, eq=False, repr=False)
class Exposed(Curved):
    """Base of people who go along a curve from the first belief toward the truth."""

    @property
    def exposure_kept(self) -> float:
        """Share of the exposure to a hidden test that a round leaves: all of it."""
        return 1.0

    def retention(self, counts: npt.ArrayLike) -> FloatArray:
        """Share of each first error that is left.

        Parameters
        ----------
        counts
            Showings of each test, or exposure to it, shape (..., n).

        Returns
        -------
        array of shape (..., n)
            1 before the first showing; its size never rises.
        """
        array = np.asarray(counts, dtype=np.float64)
        if isinstance(self.curves, Curve):
            return self.curves.retention(array)
        columns = [curve.retention(array[..., i]) for i, curve in enumerate(self.curves)]
        return np.stack(columns, axis=-1)

    def errors(self, world: World, counts: npt.ArrayLike) -> FloatArray:
        """Truth minus belief after so many showings.

        Parameters
        ----------
        world
            The truth.
        counts
            Showings of each test, shape (..., n).

        Returns
        -------
        array of shape (..., n)
            Errors of the weights, in the world's units.
        """
        left: FloatArray = (world.coefficients - self.initial) * self.retention(counts)
        return left

    def beliefs(self, world: World, counts: npt.ArrayLike) -> FloatArray:
        """The person's weights after so many showings; past the truth only on a `Branch`.

        Parameters
        ----------
        world
            The truth.
        counts
            Showings of each test, shape (..., n).

        Returns
        -------
        array of shape (..., n)
            Weights in the world's units.
        """
        return world.coefficients - self.errors(world, counts)

    def start_faults(self, start: Sequence[int] | None) -> list[str]:
        """None: showings are what this person counts."""
        return []

    def fresh(
        self, world: World, people: tuple[int, ...], start: Sequence[int] | None
    ) -> FloatArray:
        """Exposure (..., n) to each test so far."""
        exposure = np.zeros(self.size) if start is None else np.array(start, dtype=np.float64)
        return np.broadcast_to(exposure, (*people, self.size)).copy()

    def weights_of(self, world: World, state: FloatArray) -> FloatArray:
        """Where the curve is after this exposure."""
        return self.beliefs(world, state)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.certain_answers import CertainAnswers, Moved

        exposure = self.fresh(world, (), start)
        moved = Moved.by_exposure(
            exposure, lambda states: self.beliefs(world, states), self.exposure_kept
        )
        return CertainAnswers(world, sets, self.imputing_covariance(world), risk, moved)

    def moves(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """Errors keep the share that the curve leaves; it grows where exposure fades."""
        now = self.retention(state)
        later = self.retention(self.learn(world, state, filled, shown, outcome))
        kept = np.divide(later, now, out=np.zeros_like(later), where=now != 0)
        # From no error at all there is no share to keep; where the curve is says it alone.
        anew = world.coefficients - (world.coefficients - self.initial) * later
        push = np.where(now != 0, world.coefficients * (1.0 - kept), anew)
        return Affine(kept[..., None] * np.eye(self.size), push)
