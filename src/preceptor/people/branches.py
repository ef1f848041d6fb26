"""Learners who pass the truth: other branches of the paper's learning rule.

The rule says how large an error is after m showings, e(m)² = φ(m) e(0)², and not which sign it has.
The paper goes on with the branch on which the sign stays; its arguments need no more than a path
that is fixed by the count and tends to the truth. A `Branch` is any such path: the size of the
error is that of another curve, its sign is read off a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Limits, Vector
from preceptor._base.values import FloatArray, frozen_array
from preceptor.errors import InvalidProblem
from preceptor.people.curves import Curve


@dataclass(frozen=True, eq=False)
class Branch(Curve):
    """Another curve whose error changes sign as a list says: e(m) = sign(m)·sqrt(φ(m))·e(0).

    With `signs` 1, -1 somebody overshoots at every showing, each time by less. With `repeats=False`
    they overshoot once and then come from the other side. The size of the error still never grows,
    so counts are enough to plan by, exactly, and squared error sees the sign only where two errors
    meet: between correlated tests.

    Parameters
    ----------
    curve
        Sizes of the error. It must tend to 0 in the end, or the error would never settle.
    signs
        1 or -1 after 0, 1, 2, ... showings; begins with 1.
    repeats
        Whether the list starts again at its end; if not, its last sign stays.
    floor
        Must be 0.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> Branch(Geometric(2.0), [1, -1]).retention([0, 1, 2, 3]).tolist()
    [1.0, -0.5, 0.25, -0.125]
    >>> Branch(Geometric(2.0), [1, -1], repeats=False).retention([0, 1, 2, 3]).tolist()
    [1.0, -0.5, -0.25, -0.125]
    """

    kind: ClassVar[str] = "branch"

    curve: Annotated[Curve, "How large the error is."]
    signs: Annotated[
        Vector,
        Limits(at_least=-1, at_most=1),
        "1 or -1: the sign of the error after 0, 1, 2, ... showings; begins with 1.",
    ]
    repeats: Annotated[bool, "Whether the signs start again at their end; else the last stays."] = (
        True
    )

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "signs", frozen_array(self.signs))
        except (TypeError, ValueError):
            raise InvalidProblem(f"signs: {self.signs!r}, must be a list of 1 and -1") from None
        super().__post_init__()

    def _faults(self) -> list[str]:
        faults = super()._faults()
        if not isinstance(self.repeats, bool):
            faults.append(f"repeats: {self.repeats!r}, must be true or false")
        listed = self.signs.tolist()
        if self.signs.ndim != 1 or not listed or {*listed} - {1.0, -1.0} or listed[0] != 1.0:
            faults.append(f"signs: {listed}, must be a list of 1 and -1 that begins with 1")
        if not isinstance(self.curve, Curve):
            return [*faults, f"curve: {self.curve!r} is not a curve; give one, e.g. Geometric(1.1)"]
        if not self.curve.keeps_sign:
            faults.append("curve: has signs of its own; give the curve of sizes and all `signs`")
        if self.floor or self.curve.limit:
            left = max(float(self.floor), self.curve.limit)
            faults.append(
                f"curve: {left:.3g} of the squared error always stays, and an error that changes "
                "sign would never settle; use a curve that tends to 0, without a `floor`"
            )
        return faults

    def raw(self, counts: FloatArray) -> FloatArray:
        """That of the curve."""
        return self.curve.phi(counts)

    @property
    def keeps_sign(self) -> bool:
        """Only if every sign is 1."""
        return bool(np.all(self.signs > 0.0))

    def sign(self, counts: npt.ArrayLike) -> FloatArray:
        """The list's entry at the whole number below.

        >>> from preceptor.people.curves import Geometric
        >>> Branch(Geometric(2.0), [1, -1, -1]).sign([0, 1, 2, 3]).tolist()
        [1.0, -1.0, -1.0, 1.0]
        """
        whole = np.floor(np.asarray(counts, dtype=np.float64))
        last = self.signs.size - 1
        place = np.mod(whole, self.signs.size) if self.repeats else np.minimum(whole, last)
        return self.signs[place.astype(np.int64)]

    @property
    def ratio(self) -> float | None:
        """That of the curve if no sign changes; else none: solvers take ratios for shares."""
        return self.curve.ratio if self.keeps_sign else None

    def faster(self, factor: float) -> Branch:
        """Sizes shrink faster; the signs stay with the showings.

        >>> from preceptor.people.curves import Geometric
        >>> Branch(Geometric(2.0), [1, -1]).faster(2.0).retention([1, 2]).tolist()
        [-0.25, 0.0625]
        """
        return Branch(self.curve.faster(factor), self.signs, self.repeats)

    def after(self, count: float) -> Curve:
        """The rest of the sizes and of the signs, relative to the sign there.

        >>> from preceptor.people.curves import Geometric
        >>> Branch(Geometric(2.0), [1, -1, -1]).after(2).retention([0, 1, 2]).tolist()
        [1.0, -0.5, 0.25]
        """
        if count == 0:
            return self
        later = self.sign(count + np.arange(self.signs.size))
        return Branch(self.curve.after(count), later * later[0], self.repeats)

    def in_words(self) -> str:
        """The sizes, and how the sign goes.

        >>> from preceptor.people.curves import Geometric
        >>> Branch(Geometric(2.0), [1, -1]).in_words()
        'the error of a weight halves every 1 showings; its sign goes + - and again from the start'
        """
        if self.keeps_sign:
            return self.curve.in_words()
        listed = " ".join("+" if sign > 0.0 else "-" for sign in self.signs)
        then = "and again from the start" if self.repeats else "and stays"
        return f"{self.curve.in_words()}; its sign goes {listed} {then}"

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild from plain data, the curve of sizes first."""
        rebuilt = dict(fields)
        if "curve" in rebuilt and not isinstance(rebuilt["curve"], Curve):
            rebuilt["curve"] = Curve.from_dict(rebuilt["curve"])
        return super().from_fields(rebuilt)
