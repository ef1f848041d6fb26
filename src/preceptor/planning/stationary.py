"""The best single set, shown in every round: what the paper's figures compare with."""

from __future__ import annotations

import time

import numpy as np

from preceptor._base.progress import Status
from preceptor._base.values import FloatArray
from preceptor.evaluation.expectations import fixed_costs, weights_of
from preceptor.evaluation.value import commit_value
from preceptor.plan import Plan
from preceptor.planning.bounds import instant_bound
from preceptor.planning.notes import accuracy_notes
from preceptor.planning.solver import Solver
from preceptor.policies import Stationary
from preceptor.problem import Problem

_FIXED = "Best among policies that never change the set; others may do much better."


def solve_stationary(problem: Problem) -> Plan:
    """Compare every set shown throughout. Exact among stationary policies only.

    Parameters
    ----------
    problem
        What to plan.

    Returns
    -------
    Plan
        The best fixed set.
    """
    started = time.perf_counter()
    costs = _costs(problem)
    best = int(np.argmin(costs))
    value, one = float(costs[best]), costs.size == 1
    return Plan(
        problem=problem,
        policy=Stationary(problem.sets[best]),
        value=value,
        lower_bound=value if one else instant_bound(problem),
        status=Status.BOUNDED,
        method="stationary",
        seconds=time.perf_counter() - started,
        states=len(problem.sets),
        notes=(*accuracy_notes(problem), *(() if one else (_FIXED,))),
    ).settled()


def _costs(problem: Problem) -> FloatArray:
    """What each set costs when it is shown throughout (sets,)."""
    if problem.learns_by_showings:
        counts = np.array(problem.start_counts, dtype=np.int64)
        each = [commit_value(problem, counts, s, problem.horizon).value for s in problem.sets]
        return np.array(each)
    return weights_of(problem) @ fixed_costs(problem)


STATIONARY = Solver(
    "stationary", solve_stationary, proves="the best fixed set; a bound", all_people=True
)
