"""The best single set, shown in every round: what the paper's figures compare with."""

from __future__ import annotations

import time

import numpy as np

from preceptor._base.progress import Status
from preceptor.evaluation.value import commit_value
from preceptor.plan import Plan
from preceptor.planning.bounds import instant_bound
from preceptor.planning.solver import Solver
from preceptor.policies import Stationary
from preceptor.problem import Problem


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
    counts = np.array(problem.start_counts, dtype=np.int64)
    costs = [commit_value(problem, counts, shown, problem.horizon).value for shown in problem.sets]
    best = int(np.argmin(costs))
    # The bound knows nothing of stationarity, so it may exceed the value by rounding only.
    bound = min(instant_bound(problem), costs[best])
    return Plan(
        problem=problem,
        policy=Stationary(problem.sets[best]),
        value=costs[best],
        lower_bound=bound,
        status=Status.OPTIMAL if bound == costs[best] else Status.BOUNDED,
        method="stationary",
        seconds=time.perf_counter() - started,
        states=len(problem.sets),
        notes=("Best among policies that never change the set; others may do much better.",),
    )


STATIONARY = Solver("stationary", solve_stationary, proves="the best fixed set; a bound")
