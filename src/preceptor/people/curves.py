"""Learning curves: the share of a person's initial error that remains after m showings.

A curve is the paper's φ, a non-increasing function of the exposure count with φ(0) = 1. The squared
error of a weight after m showings is φ(m) times its initial value; the error itself is multiplied
by `retention(m)` = sign(m)·sqrt(φ(m)). `floor` is the share of the squared error that is never
learned.

φ determines the size of an error, not its sign. The paper continues with the branch on which the
sign stays, as do all curves here but one; its arguments only need a path that is determined by the
count and tends to the truth. A `Branch` is any such path: the size of the error comes from another
curve, its sign from a list.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.schema import Limits, NonNegative, Share, Vector, faults_as_made
from preceptor._base.values import FloatArray, Kind
from preceptor._base.words import counted
from preceptor.errors import InvalidProblem

_NEVER = "nothing is ever learned"


@dataclass(frozen=True, eq=False)
class Curve(Kind):
    """Base of all learning curves: φ, the share of the initial squared error after m showings.

    A user-defined curve is a frozen dataclass with a `kind` that defines `raw`.

    Parameters
    ----------
    floor
        Share of the initial squared error that is never learned, from 0 to 1.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Hyperbolic(Curve):
    ...     kind = "hyperbolic-example"
    ...     rate: float = 0.5
    ...     def raw(self, counts):
    ...         return 1.0 / (1.0 + self.rate * counts)
    >>> check_curve(Hyperbolic(rate=0.2))   # raises if it rises or does not start at 1
    """

    family: ClassVar[str] = "curve"

    floor: Annotated[Share, "Share of the squared error that is never learned."] = field(
        default=0.0, kw_only=True
    )

    def __post_init__(self) -> None:
        InvalidProblem.raise_if(faults_as_made(self) or self._faults())

    def _faults(self) -> list[str]:
        """Faults of fields that are valid by themselves."""
        return []

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild from plain data, including a nested curve."""
        rebuilt = dict(fields)
        if "curve" in rebuilt and not isinstance(rebuilt["curve"], Curve):
            rebuilt["curve"] = Curve.from_dict(rebuilt["curve"])
        return super().from_fields(rebuilt)

    @abstractmethod
    def raw(self, counts: FloatArray) -> FloatArray:
        """Return φ before the floor is applied.

        Parameters
        ----------
        counts
            Exposure counts, an array of any shape.

        Returns
        -------
        array
            Shares of the same shape: 1 at 0 showings, never rising.
        """

    @property
    def ratio(self) -> float | None:
        """Factor by which each showing multiplies the error, if constant; else None."""
        return None

    @property
    def limit(self) -> float:
        """A lower bound on φ; bounds on plans are tighter the closer it is to φ's limit."""
        return self.floor

    def phi(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the share of the initial squared error that remains.

        Parameters
        ----------
        counts
            Exposure counts, any shape.

        Returns
        -------
        array
            Shares of the same shape, between the floor and 1.

        Examples
        --------
        >>> float(Geometric(2.0).phi(1))
        0.25
        """
        return np.maximum(self.raw(np.asarray(counts, dtype=np.float64)), self.floor)

    @property
    def keeps_sign(self) -> bool:
        """Whether errors never change sign, so that weights never overshoot the truth."""
        return True

    def sign(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the sign of the error relative to the initial one.

        Parameters
        ----------
        counts
            Exposure counts, any shape.

        Returns
        -------
        array
            1 or -1 for each count; always 1 unless the curve is a `Branch`.
        """
        return np.ones(np.shape(counts))

    def retention(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the share of the initial error (not squared) that remains: signed sqrt(φ).

        Parameters
        ----------
        counts
            Exposure counts, any shape.

        Returns
        -------
        array
            Shares of the same shape; negative where the weight has overshot the truth.
        """
        root: FloatArray = np.sqrt(self.phi(counts))
        return root if self.keeps_sign else self.sign(counts) * root

    def to_move(self, counts: npt.ArrayLike) -> FloatArray:
        """Return a bound on the further change of `retention`, whatever is shown from now on.

        Parameters
        ----------
        counts
            Exposure counts so far, any shape.

        Returns
        -------
        array
            Shares of the initial error, of the same shape, that never grow with the count.
        """
        size: FloatArray = np.sqrt(self.phi(counts))
        if not self.keeps_sign:
            return 2.0 * size
        return np.maximum(size - math.sqrt(self.limit), 0.0)

    def faster(self, factor: float) -> Curve:
        """Return the curve on which m showings do what m·factor showings do on this one.

        Parameters
        ----------
        factor
            How much faster, above 0; below 1 is slower.

        Returns
        -------
        Curve
            With the same floor.
        """
        return Tabulated(self.phi(factor * np.arange(2_000)), floor=self.floor)

    def after(self, count: float) -> Curve:
        """Return the rest of the curve after some showings.

        Parameters
        ----------
        count
            Exposure count so far, at least 0.

        Returns
        -------
        Curve
            φ(count + m) / φ(count) after m more. If φ(count) is 0, one-shot learning, which removes
            whatever error there may be.

        Examples
        --------
        >>> PowerLaw(1.0).after(3).phi([0, 4]).tolist()
        [1.0, 0.5]
        """
        if count == 0 or self.ratio is not None:
            return self
        if float(self.phi(count)) == 0.0:
            return OneShot()
        return Continued(self, count)

    def in_words(self) -> str:
        """Describe the curve, as part of a sentence."""
        return self._with_floor(f"a curve of kind {self.kind or type(self).__name__}")

    def _with_floor(self, text: str) -> str:
        if not self.floor:
            return text
        return f"{text}; {math.sqrt(self.floor):.0%} of the error is never learned"


@dataclass(frozen=True, eq=False)
class Geometric(Curve):
    """Every showing divides the error by alpha: φ(m) = α^(-2m). The paper's main case.

    Parameters
    ----------
    alpha
        Factor by which a showing divides the error, at least 1; 1 means no learning.
    floor
        Share of the initial squared error that is never learned, from 0 to 1.

    Examples
    --------
    >>> float(Geometric(2.0).retention(3))
    0.125
    """

    kind: ClassVar[str] = "geometric"

    alpha: Annotated[
        float, Limits(at_least=1), "2^(1/7) = 1.104 halves the error every seven showings."
    ]

    @classmethod
    def from_half_life(cls, showings: float, *, floor: float = 0.0) -> Geometric:
        """Return the curve with this half-life of the error.

        Parameters
        ----------
        showings
            Showings that halve the error, at least 0.01.
        floor
            Share of the initial squared error that is never learned, from 0 to 1.

        Returns
        -------
        Geometric
            The curve with alpha = 2^(1/showings).

        Examples
        --------
        >>> round(float(Geometric.from_half_life(14).retention(14)), 6)
        0.5
        """
        if not (is_number(showings) and showings >= 0.01):
            raise InvalidProblem(f"showings: {showings!r}, must be a number of at least 0.01")
        return cls(2.0 ** (1.0 / showings), floor=floor)

    def raw(self, counts: FloatArray) -> FloatArray:
        """α^(-2m)."""
        return np.asarray(np.power(self.alpha, -2.0 * counts))

    @property
    def ratio(self) -> float | None:
        """1/α, or None with a floor."""
        return 1.0 / self.alpha if self.floor == 0.0 else None

    @property
    def limit(self) -> float:
        """The floor, or 1 without learning (α = 1)."""
        return 1.0 if self.alpha == 1.0 else self.floor

    def faster(self, factor: float) -> Geometric:
        """Return the curve on which each showing counts as `factor` showings.

        >>> round(Geometric(4.0).faster(0.5).alpha, 9)
        2.0
        """
        return Geometric(self.alpha**factor, floor=self.floor)

    def after(self, count: float) -> Geometric:
        """Return the same curve; a floor becomes a larger share of the remaining error.

        >>> round(Geometric(2.0, floor=0.01).after(2).floor, 6)
        0.16
        """
        if self.floor == 0.0:
            return self
        grown = math.log(self.floor) + 2.0 * count * math.log(self.alpha)
        return Geometric(self.alpha, floor=math.exp(min(grown, 0.0)))

    def in_words(self) -> str:
        """Give the half-life of an error.

        >>> Geometric.from_half_life(14).in_words()
        'the error of a weight halves every 14 showings'
        """
        if self.alpha == 1.0:
            return _NEVER
        half_life = math.log(2) / math.log(self.alpha)
        return self._with_floor(f"the error of a weight halves every {half_life:.3g} showings")


@dataclass(frozen=True, eq=False)
class PowerLaw(Curve):
    """φ(m) = (m + 1)^(-exponent): fast at first, then ever slower.

    Parameters
    ----------
    exponent
        Learning speed, at least 0; 0 means no learning.
    floor
        Share of the initial squared error that is never learned, from 0 to 1.

    Examples
    --------
    >>> PowerLaw(1.0).phi([0, 1, 3]).tolist()
    [1.0, 0.5, 0.25]
    """

    kind: ClassVar[str] = "power-law"

    exponent: Annotated[
        NonNegative, "Learning speed; with 1 the first showing halves the squared error."
    ]

    def raw(self, counts: FloatArray) -> FloatArray:
        """(m + 1)^(-exponent)."""
        return np.asarray(np.power(counts + 1.0, -self.exponent))

    @property
    def limit(self) -> float:
        """The floor, or 1 without learning (exponent 0)."""
        return 1.0 if self.exponent == 0.0 else self.floor

    def faster(self, factor: float) -> PowerLaw:
        """Scale the exponent: the same family, though not exactly m·factor for m showings."""
        return PowerLaw(self.exponent * factor, floor=self.floor)

    def in_words(self) -> str:
        """Give the power, and the showings that halve an error.

        >>> PowerLaw(2.0).in_words()
        'the squared error of a weight falls as (showings + 1)^-2; the error halves after 1 showing'
        """
        if self.exponent == 0.0:
            return _NEVER
        text = f"the squared error of a weight falls as (showings + 1)^-{self.exponent:.3g}"
        # With a smaller exponent the count overflows.
        if self.exponent > 0.01:
            half = f"{2.0 ** (2.0 / self.exponent) - 1.0:.3g}"
            text += f"; the error halves after {half} showing{'' if half == '1' else 's'}"
        return self._with_floor(text)


@dataclass(frozen=True, eq=False)
class OneShot(Curve):
    """One showing teaches everything: φ(0) = 1, then 0. The paper's worst case for fixed sets.

    Parameters
    ----------
    floor
        Share of the initial squared error that is never learned, from 0 to 1.

    Examples
    --------
    >>> OneShot().phi([0, 1, 2]).tolist()
    [1.0, 0.0, 0.0]
    """

    kind: ClassVar[str] = "one-shot"

    def raw(self, counts: FloatArray) -> FloatArray:
        """1 before the first showing, 0 after it."""
        return np.where(counts < 1.0, 1.0, 0.0)

    @property
    def ratio(self) -> float | None:
        """0, or None with a floor."""
        return 0.0 if self.floor == 0.0 else None

    def after(self, count: float) -> Curve:
        """Return this curve before the first showing or without a floor; else no learning."""
        return self if count < 1.0 or self.floor == 0.0 else Geometric(1.0)

    def in_words(self) -> str:
        """Say that one showing is enough."""
        return self._with_floor("one showing teaches the weight")


@dataclass(frozen=True, eq=False)
class Tabulated(Curve):
    """φ from a table, constant beyond its end.

    Parameters
    ----------
    phi_values
        Entry m is the share of the initial squared error after m showings. Starts at 1 and never
        rises.
    floor
        Share of the initial squared error that is never learned, from 0 to 1.

    Examples
    --------
    >>> Tabulated([1.0, 0.5, 0.4]).phi([0, 1, 2, 3]).tolist()
    [1.0, 0.5, 0.4, 0.4]
    """

    kind: ClassVar[str] = "tabulated"

    phi_values: Annotated[
        Vector,
        Limits(at_least=0, at_most=1),
        "Remaining share after 0, 1, 2, ... showings; begins with 1 and never rises.",
    ]

    def _faults(self) -> list[str]:
        return _curve_faults(self.phi_values)

    def raw(self, counts: FloatArray) -> FloatArray:
        """Return the table's entries, the last one beyond its end."""
        rows = np.minimum(counts, self.phi_values.size - 1).astype(np.int64)
        return self.phi_values[rows]

    @property
    def limit(self) -> float:
        """The last entry or the floor, whichever is larger."""
        return max(float(self.phi_values[-1]), self.floor)

    def after(self, count: float) -> Curve:
        """Return the rest of the table from the integer below.

        >>> Tabulated([1.0, 0.5, 0.25]).after(1).phi([0, 1]).tolist()
        [1.0, 0.5]
        """
        rest = np.maximum(self.phi_values, self.floor)[int(min(count, self.phi_values.size - 1)) :]
        return Tabulated(rest / rest[0]) if rest[0] > 0.0 else OneShot()

    def in_words(self) -> str:
        """Give the remaining error at the end of the table.

        >>> Tabulated([1.0, 0.49, 0.25]).in_words()
        'from a table: 50% of the error of a weight remains after 2 showings'
        """
        last = self.phi_values.size - 1
        left = math.sqrt(max(float(self.phi_values[-1]), 0.0))
        after = counted(last, "showing")
        text = f"from a table: {left:.0%} of the error of a weight remains after {after}"
        return self._with_floor(text) if last else _NEVER


@dataclass(frozen=True, eq=False)
class Continued(Curve):
    """The rest of another curve: φ(m) = curve.φ(by + m) / curve.φ(by).

    `Curve.after` makes one where a curve has no simpler rest. The floor of the whole curve becomes
    a larger share of the remaining error.

    Parameters
    ----------
    curve
        The whole curve, with φ(by) > 0.
    by
        Exposure count so far, at least 0.
    floor
        Share of the squared error at that point that is never learned, from 0 to 1.

    Examples
    --------
    >>> from preceptor.people.curves import PowerLaw
    >>> Continued(PowerLaw(1.0), 3).phi([0, 4]).tolist()
    [1.0, 0.5]
    """

    kind: ClassVar[str] = "continued"

    curve: Annotated[Curve, "The whole curve."]
    by: Annotated[NonNegative, "Exposure count so far."]

    def _faults(self) -> list[str]:
        if self._left > 0.0:
            return []
        return [f"by: {self.by!r}, but nothing is left to learn there; use a smaller one"]

    @property
    def _left(self) -> float:
        return float(self.curve.phi(self.by))

    def raw(self, counts: FloatArray) -> FloatArray:
        """Return φ after `by` more showings, relative to φ(by)."""
        return self.curve.phi(self.by + counts) / self._left

    @property
    def keeps_sign(self) -> bool:
        """Whether the whole curve keeps the sign."""
        return self.curve.keeps_sign

    def sign(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the sign on the whole curve, relative to the sign at `by`."""
        later = self.by + np.asarray(counts, dtype=np.float64)
        return self.curve.sign(later) * self.curve.sign(self.by)

    @property
    def ratio(self) -> float | None:
        """The ratio of the whole curve, or None with a floor."""
        return self.curve.ratio if self.floor == 0.0 else None

    @property
    def limit(self) -> float:
        """The limit of the whole curve relative to φ(by), or the floor if that is larger."""
        return max(self.floor, min(self.curve.limit / self._left, 1.0))

    def after(self, count: float) -> Curve:
        """Return the rest of the whole curve."""
        return super().after(count) if self.floor else self.curve.after(self.by + count)

    def in_words(self) -> str:
        """Describe the whole curve, and the exposure so far.

        >>> from preceptor.people.curves import PowerLaw
        >>> Continued(PowerLaw(0.0), 3).in_words()
        'nothing is ever learned (after 3 showings)'
        """
        return self._with_floor(f"{self.curve.in_words()} (after {self.by:.3g} showings)")


@dataclass(frozen=True, eq=False)
class Branch(Curve):
    """Another curve with signs from a list: e(m) = sign(m)·sqrt(φ(m))·e(0).

    With `signs` 1, -1 the weight overshoots at every showing, each time by less. With
    `repeats=False` it overshoots once and then approaches from the other side. The size of the
    error still never grows, so exposure counts still determine the state, and squared error depends
    on signs only through products of two errors: between correlated tests.

    Parameters
    ----------
    curve
        Sizes of the error. It must tend to 0, or the error would never settle.
    signs
        1 or -1 after 0, 1, 2, ... showings; begins with 1.
    repeats
        Whether the list starts again at its end; if not, its last sign stays.
    floor
        Must be 0.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> Branch(Geometric(2.0), [1, -1]).retention([0, 1, 2, 3]).tolist()
    [1.0, -0.5, 0.25, -0.125]
    >>> Branch(Geometric(2.0), [1, -1], repeats=False).retention([0, 1, 2, 3]).tolist()
    [1.0, -0.5, -0.25, -0.125]
    """

    kind: ClassVar[str] = "branch"

    curve: Annotated[Curve, "Size of the error."]
    signs: Annotated[
        Vector,
        Limits(at_least=-1, at_most=1),
        "1 or -1: the sign of the error after 0, 1, 2, ... showings; begins with 1.",
    ]
    repeats: Annotated[bool, "Whether the list of signs repeats; else the last sign stays."] = True

    def _faults(self) -> list[str]:
        faults, listed = [], self.signs.tolist()
        if {*listed} - {1.0, -1.0} or listed[0] != 1.0:
            faults.append(f"signs: {listed}, must be a list of 1 and -1 that begins with 1")
        if not self.curve.keeps_sign:
            faults.append("curve: has signs already; give the curve inside it, and all `signs`")
        if self.floor or self.curve.limit:
            left = max(float(self.floor), self.curve.limit)
            faults.append(
                f"curve: {left:.3g} of the squared error always stays, and an error that changes "
                "sign would never settle; use a curve that tends to 0, without a `floor`"
            )
        return faults

    def raw(self, counts: FloatArray) -> FloatArray:
        """Return φ of the curve."""
        return self.curve.phi(counts)

    @property
    def keeps_sign(self) -> bool:
        """Only if every sign is 1."""
        return bool(np.all(self.signs > 0.0))

    def sign(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the list's entry at the integer below.

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
        """The curve's ratio if no sign changes; else None: solvers assume ratios in [0, 1]."""
        return self.curve.ratio if self.keeps_sign else None

    def faster(self, factor: float) -> Branch:
        """Return a branch whose sizes shrink faster, with the same signs.

        >>> from preceptor.people.curves import Geometric
        >>> Branch(Geometric(2.0), [1, -1]).faster(2.0).retention([1, 2]).tolist()
        [-0.25, 0.0625]
        """
        return Branch(self.curve.faster(factor), self.signs, self.repeats)

    def after(self, count: float) -> Curve:
        """Return the rest of the sizes and of the signs, relative to the sign there.

        >>> from preceptor.people.curves import Geometric
        >>> Branch(Geometric(2.0), [1, -1, -1]).after(2).retention([0, 1, 2]).tolist()
        [1.0, -0.5, 0.25]
        """
        if count == 0:
            return self
        later = self.sign(count + np.arange(self.signs.size))
        return Branch(self.curve.after(count), later * later[0], self.repeats)

    def in_words(self) -> str:
        """Describe the sizes and the signs.

        >>> from preceptor.people.curves import Geometric
        >>> Branch(Geometric(2.0), [1, -1]).in_words()
        'the error of a weight halves every 1 showings; its signs are + -, repeated'
        """
        if self.keeps_sign:
            return self.curve.in_words()
        listed = " ".join("+" if sign > 0.0 else "-" for sign in self.signs)
        then = "repeated" if self.repeats else "then constant"
        return f"{self.curve.in_words()}; its signs are {listed}, {then}"


def check_curve(curve: Curve, *, up_to: int = 1000) -> None:
    """Raise `InvalidProblem` naming every rule of the model that a curve breaks.

    The rules: φ(0) = 1, never rising, between 0 and 1, never below `curve.limit`, elementwise on
    arrays, signs that are 1 or -1 and begin with 1. `Learner` checks every curve it is given.

    Parameters
    ----------
    curve
        The curve to check.
    up_to
        Counts 0 to `up_to` are tried, and a few much larger ones.

    Raises
    ------
    InvalidProblem
        The curve breaks a rule.

    Examples
    --------
    >>> check_curve(Geometric(1.1))
    """
    counts = np.concatenate([np.arange(up_to + 1.0), [1e4, 1e6, 1e9]])
    values = np.asarray(curve.phi(counts), dtype=np.float64)
    name = type(curve).__name__
    if values.shape != counts.shape:
        raise InvalidProblem(
            f"{name}.raw: gave shape {values.shape} for counts of shape {counts.shape}; "
            "it must work elementwise on an array"
        )
    faults = [f"{name}: {fault}" for fault in _curve_faults(values)]
    if values.min(initial=np.inf) < curve.limit - 1e-12:
        faults.append(f"{name}: limit is {curve.limit}, but φ goes down to {values.min():.6g}")
    signs = np.asarray(curve.sign(counts), dtype=np.float64)
    if signs.shape != counts.shape or not np.all(np.abs(signs) == 1.0) or signs[0] != 1.0:
        faults.append(f"{name}: sign must be 1 or -1 for each count, and 1 before any showing")
    elif curve.keeps_sign and np.any(signs < 0.0):
        faults.append(f"{name}: keeps_sign is True, but the sign changes")
    ratio = curve.ratio
    if ratio is not None and not np.allclose(
        curve.retention(counts[1:50]), ratio * curve.retention(counts[:49]), rtol=1e-9, atol=1e-300
    ):
        faults.append(f"{name}: ratio is {ratio}, but retention does not shrink by that factor")
    InvalidProblem.raise_if(faults)


def _curve_faults(values: FloatArray) -> list[str]:
    faults = []
    if not np.all(np.isfinite(values)):
        worst = int(np.flatnonzero(~np.isfinite(values))[0])
        return [f"φ({worst}) is {values[worst]}, must be a number"]
    if not math.isclose(values[0], 1.0, abs_tol=1e-12):
        faults.append(f"φ(0) is {values[0]:.6g}, must be 1: nothing is learned before a showing")
    rises = np.flatnonzero(np.diff(values) > 1e-12)
    if rises.size:
        m = int(rises[0])
        faults.append(
            f"φ rises from {values[m]:.6g} to {values[m + 1]:.6g} at count {m + 1}; "
            "a learning curve must never rise"
        )
    if values.min() < 0.0:
        faults.append(f"φ goes down to {values.min():.6g}, must not be negative")
    return faults
