"""Lower bounds on what any policy must cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor.tails import geometric_sum

if TYPE_CHECKING:
    from preceptor.problem.problem import Problem


def least_loss(problem: Problem) -> float:
    """A loss that no round of any policy goes below: the best set read by the best reader."""
    return float(problem.oracle.floors().min())


def floor_bound(problem: Problem) -> float:
    """Instant bound on the whole problem: the first round's best loss, then the floor.

    The first round is known exactly because the person's state is; every later round costs at
    least `least_loss`.
    """
    first = float(problem.oracle.losses(problem.initial_errors[None, :]).min())
    return first + remaining_floor(problem, after=1)


def remaining_floor(problem: Problem, after: int) -> float:
    """Discounted floor of all rounds from `after` on."""
    left = None if problem.horizon is None else max(problem.horizon - after, 0)
    rounds = float(geometric_sum(np.array(problem.discount), left))
    return problem.discount**after * rounds * least_loss(problem)
