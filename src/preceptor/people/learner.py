"""The learner: what the person believes now, how they learn, and how they fill in the unseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.fields import Items, Matrix, Share, Vector
from preceptor._base.values import FloatArray, Value, frozen_array, plain
from preceptor._base.words import counted, labelled
from preceptor.errors import InvalidProblem
from preceptor.model.matrices import covariance_faults, read_numbers
from preceptor.model.world import World, weights_in_words
from preceptor.people.curves import Curve, check_curve


@dataclass(frozen=True, eq=False)
class Learner(Value):
    """The person: first beliefs, learning curves, and a way to fill in what is hidden.

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
    """

    initial: Annotated[Vector, "Weight that the person gives each test at first."]
    curves: Annotated[
        Curve | tuple[Curve, ...],
        Items(at_least=1),
        "How errors shrink with showings: one curve for all tests, or a list with one for each.",
    ]
    imputation: Annotated[
        Share | Matrix,
        "How the person fills in hidden tests: 0 knows all correlations, 1 ignores them, in "
        "between mixes; or the covariance they believe in.",
    ] = 0.0

    def __init__(
        self,
        initial: npt.ArrayLike,
        curves: Curve | Sequence[Curve],
        imputation: float | npt.ArrayLike = 0.0,
    ) -> None:
        faults: list[str] = []
        beliefs = read_numbers("initial", initial, 1, faults)
        size = 0 if beliefs is None else beliefs.size
        kept = _curves(curves, size, faults)
        dial = _imputation(imputation, size, faults)
        InvalidProblem.raise_if(faults)
        assert beliefs is not None
        object.__setattr__(self, "initial", frozen_array(beliefs))
        object.__setattr__(self, "curves", kept)
        object.__setattr__(self, "imputation", dial)

    @property
    def size(self) -> int:
        """How many tests the person has beliefs about."""
        return int(self.initial.size)

    @property
    def curve_of(self) -> tuple[Curve, ...]:
        """One curve for each test."""
        return (self.curves,) * self.size if isinstance(self.curves, Curve) else self.curves

    def retention(self, counts: npt.ArrayLike) -> FloatArray:
        """Share of each first error that is left.

        Parameters
        ----------
        counts
            Showings of each test, shape (..., n).

        Returns
        -------
        array of shape (..., n)
            1 before the first showing, never rising.
        """
        array = np.asarray(counts, dtype=np.float64)
        if isinstance(self.curves, Curve):
            return self.curves.retention(array)
        columns = [curve.retention(array[..., i]) for i, curve in enumerate(self.curves)]
        return np.stack(columns, axis=-1)

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
        return (world.coefficients - self.initial) * self.retention(counts)

    def beliefs(self, world: World, counts: npt.ArrayLike) -> FloatArray:
        """The person's weights after so many showings; they never overshoot the truth.

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

        Examples
        --------
        >>> from preceptor.people.curves import Geometric
        >>> Learner([0.0], Geometric(2.0)).beliefs(World([1.0], [[1.0]]), [2])
        array([0.75])
        """
        return world.coefficients - self.errors(world, counts)

    def imputing_covariance(self, world: World) -> FloatArray:
        """The covariance from which the person fills in what is hidden.

        Parameters
        ----------
        world
            Where the tests come from.

        Returns
        -------
        array of shape (n, n)
            The world's own covariance if `imputation` is 0.
        """
        if isinstance(self.imputation, np.ndarray):
            return self.imputation
        diagonal = np.diag(np.diag(world.covariance))
        return (1.0 - self.imputation) * world.covariance + self.imputation * diagonal

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
        curves = set(self.curve_of)
        if len(curves) > 1:
            return f"a curve of its own for each test ({counted(len(curves), 'different one')})"
        return curves.pop().in_words()

    def imputation_in_words(self) -> str:
        """What the person makes of tests that are not shown."""
        if isinstance(self.imputation, np.ndarray):
            return "filled in from a covariance of the person's own"
        if self.imputation == 0.0:
            return "filled in from the shown ones, with the right correlations"
        if self.imputation == 1.0:
            return "taken to be average: the person ignores correlations"
        return f"filled in from the shown ones; {self.imputation:.0%} of the correlation is ignored"

    def beliefs_in_words(self, world: World) -> str:
        """How far the first beliefs are from a world.

        Parameters
        ----------
        world
            The truth.

        Returns
        -------
        str
            Part of a sentence.
        """
        if not np.any(self.initial):
            return "a novice who predicts the average, whatever the tests say"
        start = world.outcome_variance - world.noise_variance
        error = world.coefficients - self.initial
        left = float(error @ world.covariance @ error)
        share = left / start if start > 0 else 0.0
        return (
            "weights of their own; shown every test they would miss "
            f"{share:.0%} of the variance that tests explain"
        )

    def __repr__(self) -> str:
        names = [f"x{i + 1}" for i in range(self.size)]
        weights = weights_in_words(names, self.initial) if np.any(self.initial) else "all 0"
        rows = [
            ("first weights", weights),
            ("learning", self.learning_in_words()),
            ("unseen tests", self.imputation_in_words()),
        ]
        return labelled(f"Learner with beliefs about {counted(self.size, 'test')}", rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; one curve is written once."""
        data: dict[str, Any] = {"initial": plain(self.initial), "curves": plain(self.curves)}
        if isinstance(self.imputation, np.ndarray) or self.imputation != 0.0:
            data["imputation"] = plain(self.imputation)
        return data

    @classmethod
    def from_dict(cls, data: Any) -> Learner:
        """Rebuild from plain data."""
        fields = dict(data)
        if "curves" in fields:
            given = fields["curves"]
            if isinstance(given, list):
                fields["curves"] = [Curve.from_dict(item) for item in given]
            else:
                fields["curves"] = Curve.from_dict(given)
        return super().from_dict(fields)


def _curves(
    curves: Curve | Sequence[Curve], size: int, faults: list[str]
) -> Curve | tuple[Curve, ...]:
    if isinstance(curves, Curve):
        several: tuple[Curve, ...] = (curves,)
        kept: Curve | tuple[Curve, ...] = curves
    else:
        try:
            several = kept = tuple(curves)
        except TypeError:
            several = kept = ()
        if size and len(several) != size:
            faults.append(
                f"curves: {len(several)} curves for {size} tests; "
                "give one curve, or one for each test"
            )
    for position, curve in enumerate(several):
        if not isinstance(curve, Curve):
            faults.append(
                f"curves[{position}]: {curve!r} is not a curve; use Geometric, PowerLaw, OneShot, "
                "Tabulated or a subclass of Curve"
            )
            continue
        try:
            check_curve(curve, up_to=200)
        except InvalidProblem as error:
            faults += error.faults
    return kept


def _imputation(
    imputation: float | npt.ArrayLike, size: int, faults: list[str]
) -> float | FloatArray:
    if not isinstance(imputation, (list, tuple, np.ndarray)):
        if not is_number(imputation) or not 0.0 <= float(imputation) <= 1.0:  # type: ignore[arg-type]
            faults.append(
                f"imputation: {imputation!r}, must be a number from 0 (knows the correlations) "
                "to 1 (ignores them), or a covariance matrix"
            )
            return 0.0
        return float(imputation)  # type: ignore[arg-type]
    matrix = read_numbers("imputation", imputation, 2, faults)
    if matrix is None:
        return 0.0
    if size:
        faults += covariance_faults("imputation", matrix, size)
    return frozen_array(matrix)
