"""What a dual bound leaves behind so that others can prove it again."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preceptor._base.packing import pack, unpack
from preceptor._base.values import FloatArray, IntArray, Value, frozen_array
from preceptor.errors import InvalidInput

_ARRAYS = {"potentials": np.float64, "caps": np.int64, "round_minima": np.float64}
# Showings by which a count is divided where it is a potential's first function.
COUNT_UNIT = 50.0


@dataclass(frozen=True, eq=False)
class Certificate(Value):
    """Potentials of the counts, round by round, that prove a bound for any convex loss.

    With r_i(m) the share of test i's error at the problem's start that is left after m more
    showings, and counts read as min(m, cap_i),

        φ_t(m) = Σ_i θ_ti · (m_i / 50, 1 - r_i(m_i), 1 - r_i(m_i)²).

    Rounds are 0 to T - 1; over infinitely many rounds θ_T repeats forever, at the end of a finite
    horizon T it is 0. If g_t is at most L_S(m) + δ φ_{t+1}(m + 1_S) - φ_t(m) for every set that
    shows something and every count m_i <= t, then going on from counts m in round t costs at least
    φ_t(m) + C_t with C_t = min(g_t + δ C_{t+1}, stopping - max φ_t) and C_T = g_T / (1 - δ) or 0.
    Stopping, where nothing may be shown, is nothing from then on: showing nothing changes no count,
    so it can wait until the end.

    A round is minimised over counts test by test after the loss, convex in the deviation y =
    shift + D e, is replaced by its tangent at some y0. Errors beyond a cap lie between that at the
    cap and their limit.

    Where each showing divides an error by α, log r = -m log α, so that these potentials are all
    mixtures of log r, r and r², up to a constant of each round.

    Attributes
    ----------
    potentials
        θ, shape (T + 1, n, 3).
    caps
        Showings at which the count of each test stops to matter, shape (n,).
    round_minima
        The g_t that are claimed, shape (T,), or (T + 1,) over infinitely many rounds.
    dual_bound
        C_0 + φ_0(0): what the potentials prove by themselves.
    beam_width, beam_layers, beam_bound
        A beam of so many states over so many rounds, ranked by them, proves `beam_bound` (0 layers:
        there was no beam). Counts of tests whose error never changes beyond their cap are merged
        there.
    """

    potentials: FloatArray
    caps: IntArray
    round_minima: FloatArray
    dual_bound: float
    beam_width: int = 0
    beam_layers: int = 0
    beam_bound: float = 0.0

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), kind))
        faults = [
            f"certificate {name}: {getattr(self, name)!r}, must be a number"
            for name in ("dual_bound", "beam_bound")
            if not isinstance(getattr(self, name), numbers.Real)
        ]
        faults += [
            f"certificate {name}: {getattr(self, name)!r}, must be a whole number"
            for name in ("beam_width", "beam_layers")
            if not isinstance(getattr(self, name), numbers.Integral)
        ]
        InvalidInput.raise_if(faults)

    def with_beam(self, width: int, layers: int, bound: float) -> Certificate:
        """The same, with what a beam added."""
        return replace(self, beam_width=width, beam_layers=layers, beam_bound=bound)

    def to_dict(self) -> dict[str, Any]:
        """Arrays are packed: hundreds of rounds times tests."""
        return super().to_dict() | {name: pack(getattr(self, name)) for name in _ARRAYS}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Certificate:
        """Unpack."""
        fields = dict(data)
        for name in _ARRAYS:
            fields[name] = unpack(f"certificate {name}", fields.get(name))
        return super().from_dict(fields)
