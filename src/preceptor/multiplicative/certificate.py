"""What a dual bound leaves behind so that others can prove it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._value import FloatArray, Value, frozen_array, pack, unpack

if TYPE_CHECKING:
    from preceptor.multiplicative.dual import DualBound
    from preceptor.multiplicative.instance import DualInstance

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

    @classmethod
    def of(cls, bound: DualBound) -> Certificate:
        """Of a freshly certified bound."""
        return cls(bound.kappa, bound.r, bound.N, bound.constants, bound.round_minima, bound.value)

    def with_beam(self, width: int, layers: int, bound: float) -> Certificate:
        """The same, with what a beam added."""
        return replace(self, beam_width=width, beam_layers=layers, beam_bound=bound)

    def to_bound(self, instance: DualInstance) -> DualBound:
        """The bound again, for an instance made anew from the problem."""
        from preceptor.multiplicative.dual import DualBound

        return DualBound(
            instance=instance,
            kappa=np.array(self.log_weight),
            r=np.array(self.linear_weight),
            N=np.array(self.square_weight),
            constants=np.array(self.constants),
            round_minima=np.array(self.round_minima),
            stop_slack=None,
            value=self.dual_bound,
            status="converged",
            iterations=0,
            seconds=0.0,
            seed=0,
        )

    def to_data(self) -> dict[str, Any]:
        """Arrays are packed: hundreds of rounds times tests."""
        packed = {name: pack(getattr(self, name)) for name in _ARRAYS}
        return super().to_data() | packed

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Certificate:
        """Unpack."""
        fields = dict(data)
        for name in _ARRAYS:
            fields[name] = unpack(f"certificate {name}", fields.get(name))
        return super().from_data(fields)
