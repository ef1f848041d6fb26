"""Objectives of a plan for several people.

Costs of different people cannot simply be added: a person who starts far from the truth costs more
than all others together, and the sum would plan for that person alone. So each cost is divided by
the cost of the best plan for that person, and all objectives are functions of these ratios.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray


class Objective(ABC):
    """Combines the costs of all people into one number; smaller is better."""

    unit: float = 1.0
    """Scale of differences in addition to the value itself: ratios are around 1."""

    @abstractmethod
    def value(self, costs: FloatArray) -> Any:
        """The number to minimise.

        Parameters
        ----------
        costs
            Cost of each person along the last axis, shape (people,) or (plans, people).

        Returns
        -------
        float or array of shape (plans,)
            Infinite where the cost of a person with weight is.
        """

    def stages(self, costs: FloatArray) -> tuple[Objective, ...]:
        """Objectives to search with one after another, easiest first; the last is this one.

        Parameters
        ----------
        costs
            Costs of a known plan, shape (people,).

        Returns
        -------
        tuple of Objective
            Only this one, unless there is something smoother.
        """
        return (self,)

    def least(self, people: int) -> FloatArray:
        """Optimistic costs of the people, shape (people,)."""
        return np.asarray(getattr(self, "best", np.zeros(people)))

    def margin(self, value: float, share: float) -> float:
        """The difference that corresponds to this share of a value."""
        return share * max(abs(value), self.unit)


@dataclass(frozen=True, eq=False)
class Cost(Objective):
    """The cost of a plan for one person."""

    unit = 0.0

    def value(self, costs: FloatArray) -> Any:
        """The cost."""
        return costs[..., 0]


@dataclass(frozen=True, eq=False)
class MeanRatio(Objective):
    """Weighted mean of each person's cost relative to their own best plan.

    Parameters
    ----------
    weights
        How much each person counts, shape (people,); in any units.
    best
        What the best plan for each person costs, shape (people,).

    Examples
    --------
    >>> import numpy as np
    >>> float(MeanRatio(np.array([1.0, 3.0]), np.array([2.0, 4.0])).value(np.array([3.0, 4.0])))
    1.125
    """

    weights: FloatArray
    best: FloatArray

    def value(self, costs: FloatArray) -> Any:
        """Mean ratio; people without weight are ignored, even at infinite cost."""
        counts = self.weights > 0
        shares = self.weights[counts] / self.weights.sum()
        return costs[..., counts] @ (shares / self.best[counts])


@dataclass(frozen=True, eq=False)
class Regret(Objective):
    """The largest regret: excess cost over a person's own best plan, as a share of it.

    Parameters
    ----------
    best
        What the best plan for each person costs, shape (people,).
    sharpness
        Infinite for the worst regret itself. Otherwise a smooth upper approximation,
        log(sum of exp(sharpness x regret)) / sharpness: a maximum has kinks at which no single
        change helps, although a small loss for one person and a larger gain for another would.

    Examples
    --------
    >>> import numpy as np
    >>> float(Regret(np.array([2.0, 4.0])).value(np.array([3.0, 4.0])))
    0.5
    """

    best: FloatArray
    sharpness: float = math.inf

    def value(self, costs: FloatArray) -> Any:
        """Worst regret, or its smooth approximation."""
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
        """Smooth approximations of increasing sharpness, scaled to the current regret."""
        if self.best.size == 1:
            return (self,)
        now = float(np.max(costs / self.best)) - 1.0
        scale = max(now, 1e-3) if math.isfinite(now) else 1.0
        # Sharpness of the smooth approximations to the worst regret, times the current regret.
        return (*(Regret(self.best, sharpness / scale) for sharpness in (4.0, 16.0, 64.0)), self)


@dataclass(frozen=True, eq=False)
class CVaR(Objective):
    """Mean cost relative to the own best plan among the worst off (conditional value at risk).

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
        # An infinite cost must not be multiplied by a weight of 0.
        sorted_ratios = np.take_along_axis(ratios, order, axis=-1)
        parts = np.where(counted > 0, counted, 0.0) * np.where(counted > 0, sorted_ratios, 0.0)
        return parts.sum(axis=-1) / left

    def stages(self, costs: FloatArray) -> tuple[Objective, ...]:
        """From the mean to the worst: half the level first."""
        return (
            MeanRatio(self.weights, self.best),
            CVaR(self.weights, self.best, self.level / 2),
            self,
        )
