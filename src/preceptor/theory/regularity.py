"""How fast losses can change with beliefs: the assumption behind "explore, then commit".

**Assumption.** There is a constant L such that for all sets S and all beliefs h, h'

    |loss(S, h) - loss(S, h')| <= L ‖h - h'‖₁.

Where it holds depends on the risk:

- A charge with a largest slope Λ (Huber: its threshold; absolute error: 1; any own risk that is
  Lipschitz in the residual). Beliefs move the residual by (h - h')·x̂, so losses change by at most
  Λ E|(h - h')·x̂| <= Λ Σ_i |h_i - h'_i| E|x̂_i|: it holds **everywhere**, for any distribution of the
  tests and any way to fill them in, with L = Λ max_S max_i E|x̂_i|.
- Squared error has no largest slope. It holds **within reach**: errors never grow, so no belief
  is ever further from the truth than the first, and on that box the loss is Lipschitz. This is the
  paper's lemma, whose constant for Gaussian tests is 4B max_S ‖M_S‖_∞ with B the largest weight or
  belief; ours looks at the errors themselves.

Policies only meet beliefs within reach, so that is all the theorem needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.model.problem import Problem
from preceptor.model.risks import AbsoluteError, NumberRisk, ResidualRisk, Risk
from preceptor.model.sets import TestSet


@dataclass(frozen=True)
class RegularLoss:
    """Whether losses are Lipschitz in beliefs (1-norm), and with what constant.

    Attributes
    ----------
    everywhere
        L for all beliefs there are; infinity if none is known.
    within_reach
        L for beliefs that the person can come to, at most `everywhere`.
    slope
        Λ, how much a charge changes per unit of residual at most; infinity if there is no end.
    proven
        False if `within_reach` rests on a user-defined risk that was only checked on a grid.
    """

    everywhere: float
    within_reach: float
    slope: float
    proven: bool

    @property
    def holds_everywhere(self) -> bool:
        """The assumption as it stands in the paper: one constant for all beliefs."""
        return math.isfinite(self.everywhere)

    @property
    def holds(self) -> bool:
        """What the theorem needs: one constant for all beliefs within reach."""
        return math.isfinite(self.within_reach)


def regular_loss(problem: Problem, slope: float | None = None) -> RegularLoss:
    """Check the assumption that losses are Lipschitz in beliefs, and find the constant.

    Parameters
    ----------
    problem
        Whose losses are meant. The person learns by showings.
    slope
        Largest slope of a user-defined risk, where it is known. Built-in risks know theirs.

    Returns
    -------
    RegularLoss
        Constants for all beliefs, and for those within reach.

    Raises
    ------
    InvalidInput
        A slope that is no positive number, that the risk exceeds, or that it does not need.
    NotApplicable
        The person does not learn by showings.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)
    >>> regular_loss(problem).holds, regular_loss(problem).holds_everywhere
    (True, False)
    >>> huber = regular_loss(problem.replace(risk=pr.Huber(1.0)))
    >>> huber.holds_everywhere, round(huber.everywhere, 3)   # sqrt(2/π), the mean of |x|
    (True, 0.798)
    """
    losses = Slopes(problem, slope)
    sizes = np.abs(problem.by_showings.errors(problem.world, problem.start_counts))
    everywhere = within = 0.0
    for shown in problem.sets:
        everywhere = max(everywhere, float(losses.everywhere(shown).max(initial=0.0)))
        within = max(within, float(losses.within(sizes, shown).max(initial=0.0)))
    return RegularLoss(everywhere, within, losses.slope, losses.proven)


class Slopes:
    """How fast the loss of a set can change with each error (n,), for certificates."""

    def __init__(self, problem: Problem, slope: float | None = None) -> None:
        own = isinstance(problem.risk, ResidualRisk)
        if slope is not None:
            InvalidInput.raise_if(_slope_faults(problem.risk, slope))
        self.problem = problem
        if slope is not None:
            self.slope = float(slope)
        else:
            # A user-defined function cannot be checked everywhere.
            self.slope = math.inf if own else float(_number_risk(problem).charge_slope(math.inf))
        self.proven = not own or slope is not None
        self._unit = (
            problem.replace(risk=AbsoluteError()).oracle if math.isfinite(self.slope) else None
        )

    def everywhere(self, shown: TestSet) -> FloatArray:
        """Λ E|x̂_i|; infinity where a shown set can move and there is no Λ."""
        size = self.problem.size
        # Absolute error charges 1 per unit of residual, so its slopes are E|x̂_i| everywhere.
        if self._unit is not None:
            return self.slope * self._unit.sensitivity_of(np.zeros(size), shown)
        return np.full(size, math.inf if shown else 0.0)

    def within(self, sizes: FloatArray, shown: TestSet) -> FloatArray:
        """The same while no error is larger than `sizes` (n,)."""
        everywhere = self.everywhere(shown)
        if isinstance(self.problem.risk, ResidualRisk) and self.proven:
            return everywhere
        return np.minimum(everywhere, self.problem.oracle.sensitivity_of(sizes, shown))


def _number_risk(problem: Problem) -> NumberRisk:
    if not isinstance(problem.risk, NumberRisk):
        raise NotApplicable(
            "regularity: the paper's assumption is about residuals, but the outcome is yes or no"
        )
    return problem.risk


def _slope_faults(risk: Risk, slope: float) -> list[str]:
    if not isinstance(risk, ResidualRisk):
        return [f"slope: {slope!r}, is for a ResidualRisk; {type(risk).__name__} knows its own"]
    if not (is_number(slope) and slope > 0.0):
        return [f"slope: {slope!r}, must be a positive number"]
    # Differences on grids of residuals never exceed the largest slope, so that they can refute it.
    for largest in (1.0, 10.0, 1000.0):
        grid = np.linspace(-largest, largest, 2001)
        steepest = float(np.max(np.abs(np.diff(risk.charge(grid)) / np.diff(grid))))
        if steepest > slope * (1.0 + 1e-9):
            return [
                f"slope: {slope!r}, but the risk has slopes of {steepest:.6g}; give at least that"
            ]
    return []
