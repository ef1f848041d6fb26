"""People whose weights are a function of exposure to each test.

Exposure starts at the initial exposure counts. How it grows and fades depends on the kind; the
learning curve at the current exposure gives the weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.schema import Vector
from preceptor._base.values import FloatArray, plain
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Expected
from preceptor.model.person import BY_SHOWINGS, RATE, Affine, Imputation, Parameter, ShownBefore
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.curved import Curved, Curves
from preceptor.people.curves import Curve
from preceptor.people.exposures import Exposures
from preceptor.people.second_moments import Coordinates
from preceptor.people.yes_no_expectation import DeterministicAnswers, StateMoves


@dataclass(frozen=True, eq=False, repr=False)
class Exposed(Curved):
    """Base of people whose weights move along a curve from the initial toward the true weight."""

    learns_from_outcomes: ClassVar[bool] = False

    @property
    def exposure_kept(self) -> float:
        """Share of the exposure to a hidden test that remains after a round: all of it."""
        return 1.0

    def retention(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the share of each initial error that remains.

        Parameters
        ----------
        counts
            Exposure to each test, shape (..., n).

        Returns
        -------
        array of shape (..., n)
            1 without exposure; absolute values never rise.
        """
        array = np.asarray(counts, dtype=np.float64)
        if isinstance(self.curves, Curve):
            return self.curves.retention(array)
        columns = [curve.retention(array[..., i]) for i, curve in enumerate(self.curves)]
        return np.stack(columns, axis=-1)

    def errors(self, world: World, counts: npt.ArrayLike) -> FloatArray:
        """Return true minus current weights at these exposure counts.

        Parameters
        ----------
        world
            The truth.
        counts
            Exposure to each test, shape (..., n).

        Returns
        -------
        array of shape (..., n)
            Errors of the weights, in the world's units.
        """
        return np.asarray((world.coefficients - self.initial) * self.retention(counts))

    def beliefs(self, world: World, counts: npt.ArrayLike) -> FloatArray:
        """Return the weights at these exposure counts; only a `Branch` overshoots the truth.

        Parameters
        ----------
        world
            The truth.
        counts
            Exposure to each test, shape (..., n).

        Returns
        -------
        array of shape (..., n)
            Weights in the world's units.
        """
        return world.coefficients - self.errors(world, counts)

    def start_faults(self, start: ShownBefore) -> list[str]:
        """Return no faults: this kind uses exposure counts."""
        return []

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> FloatArray:
        """Return the initial exposure (..., n) to each test."""
        exposure = np.zeros(self.size) if start is None else np.array(start, dtype=np.float64)
        return np.broadcast_to(exposure, (*people, self.size)).copy()

    def weights_of(self, world: World, state: FloatArray) -> FloatArray:
        """Return the weights at this exposure."""
        return self.beliefs(world, state)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: ShownBefore = None
    ) -> Expected:
        """Return the exact expectation: weights depend only on what was shown."""
        exposure = self.fresh(world, (), start)
        moved = StateMoves.by_exposure(
            exposure,
            lambda states: self.beliefs(world, states),
            self.exposure_kept,
            sets.membership,
        )
        return DeterministicAnswers(world, sets, self.imputing_covariance(world), risk, moved)

    def moves(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """Return the ratio of retentions; it exceeds 1 where exposure fades."""
        now = self.retention(state)
        later = self.retention(self.learn(world, state, filled, shown, outcome))
        kept = np.divide(later, now, out=np.zeros_like(later), where=now != 0)
        # Where no error is left there is no ratio; the curve alone gives the weight.
        anew = world.coefficients - (world.coefficients - self.initial) * later
        push = np.where(now != 0, world.coefficients * (1.0 - kept), anew)
        return Affine(kept[..., None] * np.eye(self.size), push)


@dataclass(frozen=True, eq=False, repr=False)
class Learner(Exposed):
    """The paper's person: initial weights, learning curves, and imputation of hidden tests.

    Every showing of a test moves its weight along the curve, from the initial toward the true
    weight.

    Parameters
    ----------
    initial
        Initial weights, shape (n,), in the world's units.
    curves
        One learning curve for all tests, or one per test.
    imputation
        How the person imputes hidden tests. A number κ from 0 to 1 means from the covariance
        (1-κ)Σ + κ diag Σ. At 0 they know the correlations exactly (this paper's human); at 1 they
        ignore them and take every hidden test to be average (the human of the earlier work on
        independent features). Or the covariance (n, n) from which they impute.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

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
        Parameter("floor", "share of the error that is never learned", 0.0, 1.0, (0.12, 0.40, 1.0)),
    )

    initial: Annotated[Vector, "Initial weight of each test."]
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
        """Tabulate the share of each initial error that remains, showing by showing.

        Parameters
        ----------
        start
            Initial exposure counts, n of them.
        showings
            Number of further showings to tabulate.

        Returns
        -------
        array of shape (n, showings + 1)
            Entry (i, m): share of test i's error after m showings beyond `start[i]`.
        """
        steps = np.arange(showings + 1)
        rows = [c.retention(s + steps) for c, s in zip(self.curve_of, start, strict=True)]
        return np.ascontiguousarray(rows, dtype=np.float64)

    def faster(self, factor: float) -> Learner:
        """Return the same person with a faster learning curve.

        Parameters
        ----------
        factor
            How much faster, above 0; below 1 is slower.

        Returns
        -------
        Learner
            With the same initial weights and imputation.
        """
        if isinstance(self.curves, Curve):
            return Learner(self.initial, self.curves.faster(factor), self.imputation)
        curves = [curve.faster(factor) for curve in self.curves]
        return Learner(self.initial, curves, self.imputation)

    def learn(
        self, world: World, state: FloatArray, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> FloatArray:
        """Add one to the exposure counts of the shown tests."""
        return state + shown

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return the exact expectation, by coordinates where curves have a constant ratio."""
        ratios = [curve.ratio for curve in self.curve_of]
        if None in ratios:
            return Exposures(self, world, sets, start)
        errors = self.errors(world, np.zeros(world.size) if start is None else start)
        keep = np.where(sets.membership, np.array(ratios, dtype=np.float64), 1.0)
        covariance = self.imputing_covariance(world)
        return Coordinates(world, sets, errors, keep, np.zeros(keep.shape), covariance)

    def from_here(self, world: World, state: FloatArray, weights: FloatArray) -> Learner:
        """Start from these weights, each on the rest of its curve."""
        return Learner(weights, self.curves_after(state), self.imputation)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a shared curve is written once."""
        data: dict[str, Any] = {"initial": plain(self.initial), "curves": plain(self.curves)}
        if isinstance(self.imputation, np.ndarray) or self.imputation != 0.0:
            data["imputation"] = plain(self.imputation)
        return data
