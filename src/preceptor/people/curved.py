"""People with learning curves: one for all tests, or one per test.

The argument of the curve (showings, exposure, indirect learning) depends on the kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from preceptor._base.schema import Items
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.model.person import Person
from preceptor.people.curves import Curve, OneShot, check_curve

Curves = Annotated[
    Curve | tuple[Curve, ...],
    Items(at_least=1),
    "How errors shrink with showings: one curve for all tests, or a list with one per test.",
]
SteadyCurves = Annotated[
    Curve | tuple[Curve, ...],
    Items(at_least=1),
    "How errors shrink with showings, by the same factor every time: one curve for all tests, or "
    "a list with one per test.",
]


@dataclass(frozen=True, eq=False, repr=False)
class Curved(Person):
    """Base of people with a field `curves`."""

    if TYPE_CHECKING:  # a field of every kind; its position among the fields varies

        @property
        def curves(self) -> Any:
            """One curve for all tests, or a tuple with one per test."""

    def fill_in_curves(self, curves: Curve | Sequence[Curve], *, steady: bool = False) -> list[str]:
        """Check and set the field `curves`.

        Parameters
        ----------
        curves
            Argument of the constructor, checked after `fill_in`.
        steady
            Whether every showing must leave the same share of an error.

        Returns
        -------
        list of str
            Faults found.
        """
        faults: list[str] = []
        object.__setattr__(self, "curves", _curves(curves, self.size, faults))
        if faults or not steady:
            return faults
        unsteady = {curve: None for curve in self.curve_of if curve.ratio is None}
        return [
            f"curves: {curve!r} has no constant ratio, but {type(self).__name__} needs one; use "
            "Geometric without a floor, on which every showing leaves the same share of the error"
            for curve in unsteady
        ]

    @property
    def curve_of(self) -> tuple[Curve, ...]:
        """One curve per test."""
        return (self.curves,) * self.size if isinstance(self.curves, Curve) else self.curves

    @property
    def ratios(self) -> FloatArray:
        """Share of each error (n,) that a showing leaves, for curves where it is constant."""
        return np.array([curve.ratio for curve in self.curve_of], dtype=np.float64)

    def curves_after(self, showings: FloatArray) -> Curve | tuple[Curve, ...]:
        """Return the rest of each curve after some showings.

        Parameters
        ----------
        showings
            Exposure counts, shape (n,).

        Returns
        -------
        Curve or tuple of Curve
            One for all tests if all are equal.
        """
        rest = tuple(c.after(m) for c, m in zip(self.curve_of, showings.tolist(), strict=True))
        return rest[0] if isinstance(self.curves, Curve) and len(set(rest)) == 1 else rest

    def learning_in_words(self) -> str:
        """Describe the curve, or say how many different ones there are."""
        curves = set(self.curve_of)
        if len(curves) > 1:
            return f"one learning curve per test ({len(curves)} different ones)"
        return curves.pop().in_words()

    @classmethod
    def from_fields(cls, fields: Any) -> Self:
        """Rebuild from plain data; `curves` is one curve or a list."""
        if "curves" not in fields:
            return super().from_fields(fields)
        given = fields["curves"]
        try:
            curves = (
                [Curve.from_dict(item) for item in given]
                if isinstance(given, list)
                else Curve.from_dict(given)
            )
        except InvalidInput as error:
            faults = list(error.faults)
            try:  # with any valid curve, to report other faults too
                super().from_fields({**fields, "curves": OneShot()})
            except InvalidInput as others:
                faults += others.faults
            raise type(error)(faults) from None
        return super().from_fields({**fields, "curves": curves})


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
                f"curves: {len(several)} curves for {size} tests; give one curve, or one per test"
            )
            several = several[:100]  # enough to report other faults too
    for position, curve in enumerate(several):
        if not isinstance(curve, Curve):
            faults.append(
                f"curves[{position}]: {curve!r} is not a curve; use Geometric, PowerLaw, OneShot, "
                "Tabulated, Branch or a subclass of Curve"
            )
            continue
        try:
            check_curve(curve, up_to=200)
        except InvalidProblem as error:
            faults += error.faults
    return kept
