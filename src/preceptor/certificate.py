"""What a dual bound leaves behind so that others can prove it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from preceptor._base.packing import pack, unpack
from preceptor._base.values import FloatArray, Value, frozen_array

# Relative errors below this are read as this by the multipliers; a loss cannot tell them from 0.
SMALLEST_ERROR = 1e-30
_ARRAYS = ("log_weight", "linear_weight", "square_weight", "constants", "round_minima")


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
