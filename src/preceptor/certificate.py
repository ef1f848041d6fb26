"""What a dual bound leaves behind so that others can prove it again.

A `Certificate` is about problems in which every showing divides an error by a constant, a
`PotentialCertificate` about any curve, any imputation and any convex risk.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preceptor._base.packing import pack, unpack
from preceptor._base.values import FloatArray, IntArray, Value, frozen_array
from preceptor.errors import InvalidInput

# Relative errors below this are read as this by the multipliers; a loss cannot tell them from 0.
SMALLEST_ERROR = 1e-30
_ARRAYS = ("log_weight", "linear_weight", "square_weight", "constants", "round_minima")
_POTENTIAL_ARRAYS = ("potentials", "caps", "tangents")
# Showings by which a count is divided where it is a potential's first function.
COUNT_UNIT = 50.0


def _check_claims(certificate: Certificate | PotentialCertificate, alone: str) -> None:
    """Refuse claims that are no numbers: files can hold anything."""
    faults = [
        f"certificate {name}: {getattr(certificate, name)!r}, must be a number"
        for name in (alone, "beam_bound")
        if not isinstance(getattr(certificate, name), numbers.Real)
    ]
    faults += [
        f"certificate {name}: {getattr(certificate, name)!r}, must be a whole number"
        for name in ("beam_width", "beam_layers")
        if not isinstance(getattr(certificate, name), numbers.Integral)
    ]
    InvalidInput.raise_if(faults)


@dataclass(frozen=True, eq=False)
class Certificate(Value):
    """Multipliers (T+1, n) of the penalty κ log u + r u - N u², constants and certified minima.

    `dual_bound` is what they prove by themselves. A beam of `beam_width` states over
    `beam_layers` rounds, ranked by them, proves `beam_bound` (0 layers: there was no beam).
    """

    log_weight: FloatArray
    linear_weight: FloatArray
    square_weight: FloatArray
    constants: FloatArray
    round_minima: FloatArray
    dual_bound: float
    beam_width: int = 0
    beam_layers: int = 0
    beam_bound: float = 0.0

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        _check_claims(self, "dual_bound")

    def with_beam(self, width: int, layers: int, bound: float) -> Certificate:
        """The same, with what a beam added."""
        return replace(self, beam_width=width, beam_layers=layers, beam_bound=bound)

    def to_dict(self) -> dict[str, Any]:
        """Arrays are packed: hundreds of rounds times tests."""
        packed = {name: pack(getattr(self, name)) for name in _ARRAYS}
        return super().to_dict() | packed

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Certificate:
        """Unpack."""
        fields = dict(data)
        for name in _ARRAYS:
            fields[name] = unpack(f"certificate {name}", fields.get(name))
        return super().from_dict(fields)


@dataclass(frozen=True, eq=False)
class PotentialCertificate(Value):
    """Potentials of the counts, round by round, that prove a bound for any convex loss.

    With r_i(m) the share of test i's error that is left after m showings beyond the problem's
    start (`retention_table`), and counts read as min(m, cap_i),

        φ_t(m) = Σ_i θ_ti · (m_i / 50, 1 - r_i(m_i), 1 - r_i(m_i)²).

    Rounds are 0 to T - 1; over infinitely many rounds θ_T repeats forever, at the end of a finite
    horizon T it is 0. If g_t is at most L_S(m) + δ φ_{t+1}(m + 1_S) - φ_t(m) for every set that
    shows something and every count m_i <= t, then going on from counts m in round t costs at least
    φ_t(m) + C_t with C_t = min(g_t + δ C_{t+1}, stopping - max φ_t) and C_T = g_T / (1 - δ) or 0.
    Stopping, where nothing may be shown, is nothing from then on: showing nothing changes no count,
    so it can wait until the end.

    A round is minimised over counts test by test after the loss, convex in the deviation y =
    shift + D e, is replaced by its tangent at some y0. Errors beyond a cap lie between that at the
    cap and their limit. Any y0 is valid; `tangents` are hints that were good ones.

    Attributes
    ----------
    potentials
        θ, shape (T + 1, n, 3).
    caps
        Showings at which the count of each test stops to matter, shape (n,).
    tangents
        Shape (T or T + 1, sets, rows) as single-precision numbers, or (0, 0, 0) if left out: y0
        for each round and each set of the problem, rows as in `problem.oracle.forms()`: y = L'(w* -
        w), where LL' is the covariance of the shown tests in ascending order, w* their best
        weights and w the person's.
    value
        C_0 + φ_0(0): what the potentials prove by themselves.
    beam_width, beam_layers, beam_bound
        A beam of so many states over so many rounds, ranked by them, proves `beam_bound` (0 layers:
        there was no beam). Counts of tests whose error never changes beyond their cap are merged
        there.
    """

    potentials: FloatArray
    caps: IntArray
    tangents: FloatArray
    value: float
    beam_width: int = 0
    beam_layers: int = 0
    beam_bound: float = 0.0

    def __post_init__(self) -> None:
        types = {"potentials": np.float64, "caps": np.int64, "tangents": np.float32}
        for name, kind in types.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), kind))
        _check_claims(self, "value")

    def with_beam(self, width: int, layers: int, bound: float) -> PotentialCertificate:
        """The same, with what a beam added."""
        return replace(self, beam_width=width, beam_layers=layers, beam_bound=bound)

    def to_dict(self) -> dict[str, Any]:
        """Arrays are packed."""
        packed = {name: pack(getattr(self, name)) for name in _POTENTIAL_ARRAYS}
        return super().to_dict() | packed

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PotentialCertificate:
        """Unpack."""
        fields = dict(data)
        for name in _POTENTIAL_ARRAYS:
            fields[name] = unpack(f"certificate {name}", fields.get(name))
        return super().from_dict(fields)
