"""What a plan for several people minimises.

Costs of different people cannot be added as they are: whoever starts far from the truth costs more
than everybody else together, and a plain sum would be a plan for them alone. So each cost is
divided by what the best plan for that person costs, and everything here is about these ratios.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray

# How sharp the stand-ins for the worst regret are, in units of one over the regret at hand.
_SHARPNESS = (4.0, 16.0, 64.0)
_SMALLEST_REGRET = 1e-3


class Objective(ABC):
    """A number for the costs of everybody; smaller is better."""

    unit: float = 1.0
    """What differences are small against, besides the value itself: ratios are around 1."""

    @abstractmethod
    def value(self, costs: FloatArray) -> Any:
        """What is minimised.

        Parameters
        ----------
        costs
            One cost a person along the last axis, shape (people,) or (plans, people).

        Returns
        -------
        float or array of shape (plans,)
            Infinite where somebody's cost is who counts.
        """

    def stages(self, costs: FloatArray) -> tuple[Objective, ...]:
        """Objectives to search with one after the other, easiest first; the last is this one.

        Parameters
        ----------
        costs
            Of a plan that is known already, shape (people,).

        Returns
        -------
        tuple of Objective
            Only this one, unless there is something smoother.
        """
        return (self,)

    def least(self, people: int) -> FloatArray:
        """Costs that nobody is known to stay below, shape (people,)."""
        best: FloatArray = getattr(self, "best", np.zeros(people))
        return best

    def margin(self, value: float, share: float) -> float:
        """How much a value must change to change by this share."""
        return share * max(abs(value), self.unit)


@dataclass(frozen=True, eq=False)
class Cost(Objective):
    """What one person's plan costs."""

    unit = 0.0

    def value(self, costs: FloatArray) -> Any:
        """The cost."""
        return costs[..., 0]


@dataclass(frozen=True, eq=False)
class Mean(Objective):
    """Weighted mean of everybody's cost relative to their own best plan.

    Parameters
    ----------
    weights
        How much each person counts, shape (people,); in any units.
    best
        What the best plan for each person costs, shape (people,).

    Examples
    --------
    >>> import numpy as np
    >>> float(Mean(np.array([1.0, 3.0]), np.array([2.0, 4.0])).value(np.array([3.0, 4.0])))
    1.125
    """

    weights: FloatArray
    best: FloatArray

    def value(self, costs: FloatArray) -> Any:
        """Mean ratio; who has no weight does not count, whatever they cost."""
        counts = self.weights > 0
        shares = self.weights[counts] / self.weights.sum()
        return costs[..., counts] @ (shares / self.best[counts])


@dataclass(frozen=True, eq=False)
class Regret(Objective):
    """The worst excess that anybody has over their own best plan, as a share of it.

    Parameters
    ----------
    best
        What the best plan for each person costs, shape (people,).
    sharpness
        Infinite for the worst regret itself. Otherwise a smooth stand-in that is never smaller,
        log(sum of exp(sharpness x regret)) / sharpness: a maximum has kinks at which no single
        change helps, though a small loss for one person for a larger gain of another would.

    Examples
    --------
    >>> import numpy as np
    >>> float(Regret(np.array([2.0, 4.0])).value(np.array([3.0, 4.0])))
    0.5
    """

    best: FloatArray
    sharpness: float = math.inf

    def value(self, costs: FloatArray) -> Any:
        """Worst regret, or its smooth stand-in."""
        ratios = costs / self.best
        worst = ratios.max(axis=-1)
        if math.isinf(self.sharpness):
            return worst - 1.0
        if not np.all(np.isfinite(worst)):
            worst = np.where(np.isfinite(worst), worst, np.inf)
            ratios = np.where(np.isfinite(ratios), ratios, 0.0)
        rest = np.exp(self.sharpness * (ratios - worst[..., None])).sum(axis=-1)
        # Infinitely bad stays so: exp(-inf) leaves log(0) behind, or nan.
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = worst - 1.0 + np.log(rest) / self.sharpness
        return np.where(np.isfinite(worst), smooth, np.inf)

    def stages(self, costs: FloatArray) -> tuple[Objective, ...]:
        """Smooth ones that become sharper, as seen from the regret at hand."""
        if self.best.size == 1:
            return (self,)
        now = float(np.max(costs / self.best)) - 1.0
        scale = max(now, _SMALLEST_REGRET) if math.isfinite(now) else 1.0
        return (*(Regret(self.best, sharpness / scale) for sharpness in _SHARPNESS), self)


@dataclass(frozen=True, eq=False)
class CVaR(Objective):
    """Mean ratio to the own best plan among those who do worst (conditional value at risk).

    Parameters
    ----------
    weights
        How much each person counts, shape (people,); in any units.
    best
        What the best plan for each person costs, shape (people,).
    level
        Share of the weight that does better and is left out: 0 is the mean, towards 1 only the
        worst counts.

    Examples
    --------
    >>> import numpy as np
    >>> float(CVaR(np.ones(2), np.ones(2), level=0.5).value(np.array([3.0, 1.0])))
    3.0
    """

    weights: FloatArray
    best: FloatArray
    level: float = 0.8

    def value(self, costs: FloatArray) -> Any:
        """Mean over the worst share of the weight."""
        ratios = costs / self.best
        order = np.argsort(-ratios, axis=-1)
        weights = self.weights[order] / self.weights.sum()
        left = 1.0 - self.level
        before = np.cumsum(weights, axis=-1) - weights
        counted = np.clip(left - before, 0.0, weights)
        # Nobody's infinite cost may meet a weight of 0.
        sorted_ratios = np.take_along_axis(ratios, order, axis=-1)
        parts = np.where(counted > 0, counted, 0.0) * np.where(counted > 0, sorted_ratios, 0.0)
        return parts.sum(axis=-1) / left

    def stages(self, costs: FloatArray) -> tuple[Objective, ...]:
        """From the mean to the worst: half the level first."""
        return (Mean(self.weights, self.best), CVaR(self.weights, self.best, self.level / 2), self)
