"""Losses as people read them: a typical error in the units of the outcome, or mistakes per 100."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.discounting import total_weight
from preceptor._base.values import FloatArray
from preceptor.model.risks import SquaredError
from preceptor.model.yes_no_risks import Decision
from preceptor.problem import Problem

# Gaps up to this are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Scale:
    """What losses are turned into.

    Attributes
    ----------
    label
        What to call it.
    unit
        The outcome, or empty.
    is_squared
        Whether the root is taken.
    per
        How many cases it is about.
    what
        Of what a saving is a share.
    """

    label: str
    unit: str
    is_squared: bool
    per: int = 1
    what: str = "loss"

    def of(self, losses: npt.ArrayLike) -> FloatArray:
        """Losses of single rounds on this scale; the root of a squared error."""
        array = self.per * np.asarray(losses, dtype=np.float64)
        return np.sqrt(array) if self.is_squared else array

    @property
    def axis(self) -> str:
        """For an axis or the head of a table."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def scale_of(problem: Problem) -> Scale:
    """Root-mean-square error, wrong decisions per 100 cases, or what else the risk suggests.

    Prices are in units of the loss, so with them there is no error to speak of.
    """
    is_priced = bool(np.any(problem.budget.prices(problem.size)))
    if isinstance(problem.risk, Decision):
        return _of_decisions(problem.risk, is_priced=is_priced)
    if is_priced:
        return Scale("expected loss, prices included", "", is_squared=False)
    name = problem.risk.error_name
    if not name:
        return Scale("expected loss", "", is_squared=False)
    if problem.is_binary:
        return Scale(name, "", is_squared=False, what=name)
    unit = problem.world.units.outcome if problem.world.units is not None else ""
    return Scale(name, unit, is_squared=isinstance(problem.risk, SquaredError))


def _of_decisions(risk: Decision, *, is_priced: bool) -> Scale:
    """Where both mistakes cost 1, losses count wrong decisions; else they are costs."""
    if is_priced:
        return Scale("cost per 100 cases, prices included", "", False, 100, "cost")
    if risk.miss == risk.false_alarm == 1.0:
        return Scale("wrong decisions per 100 cases", "", False, 100, "wrong decisions")
    return Scale("cost per 100 cases", "", False, 100, "cost")


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
