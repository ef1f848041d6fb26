"""People who learn by showings: the paper's learner.

Every showing of a test moves its weight along a curve toward the truth, whatever the outcome was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Items, Matrix, Share, Vector
from preceptor._base.values import FloatArray, plain
from preceptor._base.words import counted
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.curves import Curve, check_curve
from preceptor.people.person import BY_SHOWINGS, Affine, Parameter, Person

if TYPE_CHECKING:
    from preceptor.people.expected import Expected


@dataclass(frozen=True, eq=False)
class Learner(Person):
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
    """

    kind: ClassVar[str] = BY_SHOWINGS
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("rate", "share of a weight's error that one showing removes", 0.0, 1.0,
                  (0.015, 0.05, 0.2)),
        Parameter("floor", "share of the error that stays, however often a test is shown",
                  0.0, 1.0, (0.12, 0.40, 1.0)),
    )  # fmt: skip

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
        faults = self.fill_in(initial, imputation)
        object.__setattr__(self, "curves", _curves(curves, self.size, faults))
        InvalidProblem.raise_if(faults)

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

    def learn(
        self,
        world: World,
        state: FloatArray,
        filled: FloatArray,
        shown: npt.NDArray[np.bool_],
        outcome: FloatArray,
    ) -> FloatArray:
        """One more showing of what was shown."""
        return state + shown

    def moves(
        self,
        world: World,
        state: FloatArray,
        filled: FloatArray,
        shown: npt.NDArray[np.bool_],
        outcome: FloatArray,
    ) -> Affine:
        """Errors keep the share that the curve leaves."""
        later = self.learn(world, state, filled, shown, outcome)
        return kept_shares(world, self.retention(state), self.retention(later))

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Exact: their weights move by what is shown alone."""
        from preceptor.people.exposures import by_showings

        return by_showings(self, world, sets, start)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; one curve is written once."""
        data: dict[str, Any] = {"initial": plain(self.initial), "curves": plain(self.curves)}
        if isinstance(self.imputation, np.ndarray) or self.imputation != 0.0:
            data["imputation"] = plain(self.imputation)
        return data

    @classmethod
    def from_fields(cls, data: Any) -> Learner:
        """Rebuild from plain data."""
        fields = dict(data)
        if "curves" in fields:
            given = fields["curves"]
            if isinstance(given, list):
                fields["curves"] = [Curve.from_dict(item) for item in given]
            else:
                fields["curves"] = Curve.from_dict(given)
        return super().from_fields(fields)


def kept_shares(world: World, now: FloatArray, later: FloatArray) -> Affine:
    """Weights of which shares `later` / `now` of the errors are kept, with targets at the truth."""
    kept = np.divide(later, now, out=np.zeros_like(later), where=now > 0)
    turn = kept[..., None] * np.eye(kept.shape[-1])
    return Affine(turn, world.coefficients * (1.0 - kept))


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

