"""When every showing divides an error by a constant, a problem is a few arrays.

Then a state is a vector of relative errors u and a round costs a constant plus |W_S u|²: the form
in which `preceptor.multiplicative` searches schedules and proves bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor.loss import ClosedForm
from preceptor.problem.problem import Problem
from preceptor.problem.risks import SquaredError

if TYPE_CHECKING:
    from preceptor.multiplicative.instance import DualInstance


def why_not_multiplicative(problem: Problem) -> str:
    """Why the problem does not have that form; empty if it does."""
    if not isinstance(problem.risk, SquaredError):
        return f"the risk is {type(problem.risk).__name__}, not squared error"
    if not isinstance(problem.loss, ClosedForm):
        return "losses come from a sample"
    imputes = problem.learner.imputing_covariance(problem.world)
    if not np.array_equal(imputes, problem.world.covariance):
        return "the person does not impute from the world's covariance"
    for name, curve in zip(problem.world.labels, problem.learner.curve_of, strict=True):
        if not curve.ratio:
            return f"{name} is not learned by a constant factor a showing ({curve})"
    if problem.discount == 0.0:
        return "nothing after the first round counts"
    return ""


def to_multiplicative(problem: Problem) -> DualInstance:
    """The arrays; only for problems that have the form."""
    from preceptor.multiplicative.instance import DualInstance

    ratios = np.array([curve.ratio for curve in problem.learner.curve_of], dtype=np.float64)
    return DualInstance(
        covariance=np.array(problem.world.covariance),
        initial_error=problem.initial_errors,
        alpha=1.0 / ratios,
        members=problem.sets.members,
        set_cost=problem.oracle.floors(),
        discount=problem.discount,
        horizon=problem.horizon,
    )
