"""When every showing divides an error by a constant, a problem is a few arrays.

Then a state is a vector of relative errors u and a round costs a constant plus |W_S u|²: the form
in which `preceptor.engine` searches schedules and proves bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import remembered
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.engine.instance import DualInstance


def to_instance(problem: Problem) -> DualInstance:
    """The arrays; only for problems whose shape has nothing in `why_not_geometric`."""
    return remembered(problem, "instance", lambda: _instance(problem))


def _instance(problem: Problem) -> DualInstance:
    from preceptor.engine.instance import DualInstance

    ratios = np.array([curve.ratio for curve in problem.by_showings.curve_of], dtype=np.float64)
    return DualInstance(
        covariance=np.array(problem.world.covariance),
        initial_error=problem.initial_errors,
        alpha=1.0 / ratios,
        members=problem.sets.members,
        set_cost=problem.oracle.floors(),
        discount=problem.discount,
        horizon=problem.horizon,
    )
