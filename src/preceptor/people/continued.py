"""The rest of a learning curve, for somebody who is met in the middle of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.fields import NonNegative
from preceptor._base.values import FloatArray
from preceptor.people.curves import Curve


@dataclass(frozen=True, eq=False)
class Continued(Curve):
    """Another curve from some showing on: φ(m) = curve.φ(by + m) / curve.φ(by).

    `Curve.after` makes one where a curve has no simpler rest. The curve's own floor stays where it
    was, as a larger share of what is left.

    Parameters
    ----------
    curve
        The whole curve, with something left to learn after `by` showings.
    by
        Showings so far, at least 0.
    floor
        Share of the squared error at that point that learning never removes, from 0 to 1.

    Examples
    --------
    >>> from preceptor.people.curves import PowerLaw
    >>> Continued(PowerLaw(1.0), 3).phi([0, 4]).tolist()
    [1.0, 0.5]
    """

    kind: ClassVar[str] = "continued"

    curve: Annotated[Curve, "The whole curve."]
    by: Annotated[NonNegative, "Showings so far."]

    def _faults(self) -> list[str]:
        faults = super()._faults()
        if not isinstance(self.curve, Curve):
            return [*faults, f"curve: {self.curve!r} is not a curve; give one, e.g. PowerLaw(1.0)"]
        if not (is_number(self.by) and self.by >= 0.0):
            return [*faults, f"by: {self.by!r}, must be a number of showings of at least 0"]
        if not self._left > 0.0:
            faults.append(f"by: {self.by!r}, but nothing is left to learn there; use less of it")
        return faults

    @property
    def _left(self) -> float:
        return float(self.curve.phi(self.by))

    def raw(self, counts: FloatArray) -> FloatArray:
        """What more showings leave of what is left."""
        return self.curve.phi(self.by + counts) / self._left

    @property
    def keeps_sign(self) -> bool:
        """Whether the whole curve does."""
        return self.curve.keeps_sign

    def sign(self, counts: npt.ArrayLike) -> FloatArray:
        """That of the whole curve, relative to where it is met."""
        later = self.by + np.asarray(counts, dtype=np.float64)
        return self.curve.sign(later) * self.curve.sign(self.by)

    @property
    def ratio(self) -> float | None:
        """That of the whole curve."""
        return self.curve.ratio if self.floor == 0.0 else None

    @property
    def limit(self) -> float:
        """That of the whole curve, as a share of what is left, or the floor if that is larger."""
        return max(self.floor, min(self.curve.limit / self._left, 1.0))

    def after(self, count: float) -> Curve:
        """The rest of the whole curve."""
        return super().after(count) if self.floor else self.curve.after(self.by + count)

    def in_words(self) -> str:
        """The whole curve, and how far along it.

        >>> from preceptor.people.curves import PowerLaw
        >>> Continued(PowerLaw(0.0), 3).in_words()
        'nothing is ever learned (after 3 showings)'
        """
        return self._with_floor(f"{self.curve.in_words()} (after {self.by:.3g} showings)")

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild from plain data, the whole curve first."""
        rebuilt = dict(fields)
        if "curve" in rebuilt and not isinstance(rebuilt["curve"], Curve):
            rebuilt["curve"] = Curve.from_dict(rebuilt["curve"])
        return super().from_fields(rebuilt)
