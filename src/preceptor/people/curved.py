"""People with learning curves: one for all tests, or one for each.

What the curve is a curve *of* (showings, exposure, what was told indirectly) is the business of
the kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from preceptor._base.fields import Items
from preceptor._base.values import FloatArray
from preceptor._base.words import counted
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.people.curves import Curve, OneShot, check_curve
from preceptor.people.person import Person

Curves = Annotated[
    Curve | tuple[Curve, ...],
    Items(at_least=1),
    "How errors shrink with showings: one curve for all tests, or a list with one for each.",
]
SteadyCurves = Annotated[
    Curve | tuple[Curve, ...],
    Items(at_least=1),
    "How errors shrink with showings, by the same factor every time: one curve for all tests, or "
    "a list with one for each.",
]


@dataclass(frozen=True, eq=False, repr=False)
class Curved(Person):
    """Base of people with a field `curves`."""

    if TYPE_CHECKING:  # a field of every kind, in an order of its own

        @property
        def curves(self) -> Any:
            """One curve for all tests, or a tuple with one for each."""

    def fill_in_curves(self, curves: Curve | Sequence[Curve]) -> list[str]:
        """Check and set the field; says what is wrong with it.

        Parameters
        ----------
        curves
            What the constructor was given, after `fill_in`.

        Returns
        -------
        list of str
            One fault each.
        """
        faults: list[str] = []
        object.__setattr__(self, "curves", _curves(curves, self.size, faults))
        return faults

    def fill_in_steady_curves(self, curves: Curve | Sequence[Curve]) -> list[str]:
        """The same, for kinds that need every showing to leave the same share of an error.

        Parameters
        ----------
        curves
            What the constructor was given, after `fill_in`.

        Returns
        -------
        list of str
            One fault each.
        """
        faults = self.fill_in_curves(curves)
        if faults:
            return faults
        unsteady = {curve: None for curve in self.curve_of if curve.ratio is None}
        return [
            f"curves: {curve!r} has no constant ratio, but {type(self).__name__} needs one; use "
            "Geometric without a floor, on which every showing leaves the same share of the error"
            for curve in unsteady
        ]

    @property
    def curve_of(self) -> tuple[Curve, ...]:
        """One curve for each test."""
        return (self.curves,) * self.size if isinstance(self.curves, Curve) else self.curves

    @property
    def ratios(self) -> FloatArray:
        """Share of each error (n,) that a showing leaves, for curves where it is constant."""
        return np.array([curve.ratio for curve in self.curve_of], dtype=np.float64)

    def curves_after(self, showings: FloatArray) -> Curve | tuple[Curve, ...]:
        """What is left of each curve after so many showings.

        Parameters
        ----------
        showings
            Of each test, shape (n,).

        Returns
        -------
        Curve or tuple of Curve
            One for all tests if all go on alike.
        """
        rest = tuple(c.after(m) for c, m in zip(self.curve_of, showings.tolist(), strict=True))
        return rest[0] if isinstance(self.curves, Curve) and len(set(rest)) == 1 else rest

    def curves_in_words(self) -> str:
        """The curve, or how many different ones there are."""
        curves = set(self.curve_of)
        if len(curves) > 1:
            return f"a curve of its own for each test ({counted(len(curves), 'different one')})"
        return curves.pop().in_words()

    @classmethod
    def from_fields(cls, fields: Any) -> Self:
        """Rebuild from plain data; one curve may stand for all."""
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
            try:  # with any curve, to hear what else is wrong
                super().from_fields({**fields, "curves": OneShot()})
            except InvalidInput as others:
                faults += others.faults
            raise type(error)(faults) from None
        return super().from_fields({**fields, "curves": curves})


# Of more curves than there are tests so many are looked at, to say what else is wrong.
_LOOKED_AT = 100


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
            several = several[: max(size, _LOOKED_AT)]
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
