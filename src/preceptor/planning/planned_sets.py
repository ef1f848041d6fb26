"""The sets a finite plan has to consider round by round: all but the empty one.

Showing nothing costs the same, c, in every state (the person predicts the average), and teaches
nothing. Let X be the least cost of the h rounds that follow. Waiting first costs c + δX, waiting
last X + δ^h c, and the first is no less: c(1 - δ^h) >= (1 - δ)X, because X can be no more than what
showing nothing in all h rounds costs, c(1 - δ^h)/(1 - δ). So waiting can always be put off to the
end, where it means: stop showing anything. A plan is then rounds without the empty set and a round
to stop at, and its states are fewer by a power of the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.loss import DeviationForms
from preceptor.model.sets import SetFamily
from preceptor.problem import Problem


@dataclass(frozen=True)
class PlannedSets:
    """`family` is planned round by round; it leaves out the first `skipped` (0 or 1) sets."""

    problem: Problem
    family: SetFamily
    skipped: int

    @classmethod
    def of(cls, problem: Problem) -> PlannedSets:
        """Set the empty set aside if it is allowed and costs the same in every state."""
        sets = problem.sets
        if len(sets) < 2 or sets.sizes[0] > 0 or not _is_constant(problem):
            return cls(problem, sets, 0)
        rest = SetFamily(sets.members[1:], sets.sizes[1:], sets.prices[1:], sets.tests)
        return cls(problem, rest, 1)

    @property
    def may_stop(self) -> bool:
        """Whether stopping for good stands for every wait."""
        return self.skipped == 1

    @property
    def forms(self) -> DeviationForms | None:
        """The compiled form of the planned sets' losses, if there is one."""
        forms = self.problem.oracle.forms()
        if forms is None or not self.skipped:
            return forms
        return DeviationForms(
            floor=forms.floor[1:],
            shift=forms.shift[1:],
            reading=forms.reading[1:],
            prices=forms.prices[1:],
            risk=forms.risk,
        )

    def losses(self, errors: FloatArray) -> FloatArray:
        """Losses (states, planned sets)."""
        return self.problem.oracle.losses(errors)[:, self.skipped :]

    def waiting_loss(self) -> float:
        """What a round in which nothing is shown costs."""
        return float(self.problem.oracle.loss_of(self.problem.initial_errors[None, :], ())[0])


def _is_constant(problem: Problem) -> bool:
    """Whether errors, however large, make no difference to somebody who is shown nothing.

    Not so where cases are sampled and not centred: there even a guess without any test leans
    on what the person believes.
    """
    sizes = np.abs(problem.world.coefficients - problem.learner.initial)
    return not np.any(problem.oracle.sensitivity_of(sizes, ()))
