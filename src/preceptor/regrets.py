"""What a plan for a crowd costs each of its people beyond that person's own best plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.progress import CONTRADICTION
from preceptor._base.values import FloatArray, Value, frozen_array

OBJECTIVES = ("regret", "mean", "cvar")
CONTRADICTED = "none: what was proven is above the best plan's cost, so one of them is wrong"


@dataclass(frozen=True, eq=False)
class Regrets(Value):
    """Costs and regrets of a plan for a crowd, person by person, beside other policies.

    A regret is what a policy costs somebody beyond the best plan found for them, as a share of
    that: 0.02 means 2 % more than if one had known who they are.

    Attributes
    ----------
    people
        Names of the people.
    weights
        How likely each is, shape (people,).
    policies
        Names of the policies compared; the first is the plan.
    costs
        Expected discounted losses, shape (policies, people).
    best
        What the best plan found costs each person, shape (people,).
    bounds
        What no plan can go below for each person, shape (people,); proven. One above `best` by
        more than rounding is dropped: 0.
    bound_kinds
        How each bound was proven, in a few words, and for what it holds if not for all policies.
    exact
        Whether a person's costs are exact, or approximate as `accuracy` says.
    accuracy
        Sentences on approximate costs.
    objective
        What the plan minimises: "regret", "mean" or "cvar".
    """

    people: tuple[str, ...]
    weights: FloatArray
    policies: tuple[str, ...]
    costs: FloatArray
    best: FloatArray
    bounds: FloatArray
    bound_kinds: tuple[str, ...]
    exact: tuple[bool, ...]
    accuracy: tuple[str, ...] = ()
    objective: str = "regret"

    def __post_init__(self) -> None:
        for name in ("weights", "costs", "best", "bounds"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        for name in ("people", "policies", "bound_kinds", "exact", "accuracy"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        wrong = self.bounds > self.best * (1.0 + CONTRADICTION)
        bounds = np.where(wrong, 0.0, np.minimum(self.bounds, self.best))
        object.__setattr__(self, "bounds", frozen_array(bounds))
        kinds = zip(self.bound_kinds, wrong, strict=True)
        told = tuple(CONTRADICTED if false else kind for kind, false in kinds)
        object.__setattr__(self, "bound_kinds", told)

    @property
    def table(self) -> FloatArray:
        """Regrets of all policies, shape (policies, people)."""
        # Nobody does better than their best; whose best costs nothing loses nothing by it.
        ratios: FloatArray = np.maximum(self.costs / self.best - 1.0, 0.0)
        return ratios

    @property
    def of_plan(self) -> dict[str, float]:
        """The plan's regret by name of the person."""
        return dict(zip(self.people, self.table[0].tolist(), strict=True))

    @property
    def worst(self) -> float:
        """The plan's largest regret."""
        return float(self.table[0].max())

    @property
    def mean(self) -> float:
        """The plan's regret, averaged over people by weight."""
        return float(self.weights @ self.table[0])

    def __getitem__(self, person: str) -> float:
        """The plan's regret for one person."""
        return self.of_plan[person]

    def __repr__(self) -> str:
        from preceptor._base.words import labelled

        rows = [(name, f"{100 * regret:+.1f} %") for name, regret in self.of_plan.items()]
        return labelled(f"Regrets: at most {100 * self.worst:.1f} %", rows)
