"""Risks as compiled loops read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.risks import NumberRisk


class CompiledRisk(NamedTuple):
    """A risk as kernels read it: which form, its numbers, and a surface where it is read off one.

    `loss/_loss_kernels.py` says what the codes mean.
    """

    code: int
    numbers: FloatArray  # (any,)
    surface: FloatArray  # (any, any, 16)

    @classmethod
    def of_number(cls, risk: NumberRisk) -> CompiledRisk:
        """A charge that is a closed function of the residual's variance."""
        return cls(risk.code, np.array([risk.parameter]), np.zeros((0, 0, 16)))
