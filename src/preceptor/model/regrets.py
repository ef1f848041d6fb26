"""Regrets of a plan for a crowd: the excess cost for each person over their own best plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.progress import CONTRADICTION
from preceptor._base.values import FloatArray, Value, frozen_array

OBJECTIVES = ("regret", "mean", "cvar")
CONTRADICTED = "none: the proven bound is above the best plan's cost, so one of them is wrong"


@dataclass(frozen=True, eq=False)
class Regrets(Value):
    """Costs and regrets of a plan for a crowd and of other policies, person by person.

    A regret is the excess cost of a policy over the best plan found for that person, as a share of
    the latter: 0.02 means 2% more than if their kind had been known.

    Attributes
    ----------
    people
        Names of the people.
    weights
        Probability of each person, shape (people,).
    policies
        Names of the policies compared; the first is the plan.
    costs
        Expected discounted losses, shape (policies, people).
    best
        Cost of the best plan found for each person, shape (people,).
    bounds
        Proven lower bounds for each person, shape (people,). A bound above `best` by more than
        rounding is dropped and set to 0.
    bound_kinds
        How each bound was proven, and for which policies if not for all.
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
            self.set_fields(**{name: frozen_array(getattr(self, name))})
        for name in ("people", "policies", "bound_kinds", "exact", "accuracy"):
            self.set_fields(**{name: tuple(getattr(self, name))})
        wrong = self.bounds > self.best * (1.0 + CONTRADICTION)
        bounds = np.where(wrong, 0.0, np.minimum(self.bounds, self.best))
        kinds = zip(self.bound_kinds, wrong, strict=True)
        told = tuple(CONTRADICTED if false else kind for kind, false in kinds)
        self.set_fields(bounds=frozen_array(bounds), bound_kinds=told)

    @property
    def table(self) -> FloatArray:
        """Regrets of all policies, shape (policies, people)."""
        # No regret is negative, nor is there one for a person whose best plan costs nothing.
        return np.asarray(np.maximum(self.costs / self.best - 1.0, 0.0))

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
