"""Losses as people read them: a typical error in the units of the outcome, where there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.discounting import total_weight
from preceptor._base.values import FloatArray
from preceptor.model.risks import SquaredError
from preceptor.problem import Problem


@dataclass(frozen=True)
class Scale:
    """What losses are turned into: `label` names it, `unit` is the outcome or empty."""

    label: str
    unit: str
    is_squared: bool

    def of(self, losses: npt.ArrayLike) -> FloatArray:
        """Losses of single rounds on this scale; the root of a squared error."""
        array = np.asarray(losses, dtype=np.float64)
        return np.sqrt(array) if self.is_squared else array

    @property
    def axis(self) -> str:
        """For an axis or the head of a table."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def scale_of(problem: Problem) -> Scale:
    """Root-mean-square error, mean absolute error, or the loss itself, as the risk suggests.

    Prices are in units of the loss, so with them there is no error to speak of.
    """
    unit = problem.world.units.outcome if problem.world.units is not None else ""
    if np.any(problem.budget.prices(problem.size)):
        return Scale("expected loss, prices included", "", is_squared=False)
    if not problem.risk.error_name:
        return Scale("expected loss", "", is_squared=False)
    is_squared = isinstance(problem.risk, SquaredError)
    return Scale(problem.risk.error_name, unit, is_squared=is_squared)


def per_case(problem: Problem, value: float) -> float:
    """A discounted total as the average per case, on the problem's scale.

    >>> import preceptor as pr
    >>> world = pr.World([2.0], [[1.0]], noise_variance=0.0)
    >>> problem = pr.Problem(world, pr.Learner([0.0], pr.Geometric(1.0)), discount=0.5)
    >>> per_case(problem, 8.0)   # 4 in each of two rounds' worth: off by 2
    2.0
    """
    weight = total_weight(problem.discount, problem.horizon)
    return float(scale_of(problem).of(max(value, 0.0) / weight))
