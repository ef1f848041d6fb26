"""Bounds that have no checker of their own: worked out again by the code that planning uses.

This is the only file of the room that imports planning. What it returns is a repetition, not an
independent proof, and `verify` says so.
"""

from __future__ import annotations

import numpy as np

from preceptor.people.crowd import Crowd
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.planning.bounds import instant_bound
from preceptor.planning.people_search import bounds_of
from preceptor.planning.restricted import floor_over_all_sets
from preceptor.planning.shape import shape_of
from preceptor.problem import Problem

_EXACT = ("finite", "lattice", "truncated")


def has_dual(problem: Problem) -> bool:
    """Whether a dual certificate can speak about this problem at all."""
    return shape_of(problem).has_dual


def cheap_bound(problem: Problem) -> tuple[float, str]:
    """The bound that costs no search, and how it came about."""
    if shape_of(problem).too_many_sets:
        return floor_over_all_sets(problem), "floor over all sets, computed again"
    return instant_bound(problem), "instant bound computed again"


def crowd_bound(problem: Problem) -> tuple[float, str]:
    """The average of what nobody's plan can go below, person by person."""
    bounds, _ = bounds_of(problem)
    shares = problem.learner.weights if isinstance(problem.learner, Crowd) else np.ones(1)
    return float(shares @ bounds), "bounds of all people computed again"


def solved_again(plan: Plan, problem: Problem) -> tuple[float, str]:
    """The bound of the same exact method, run a second time."""
    options = {"length": plan.options["length"]} if plan.method == "truncated" else {}
    if plan.method == "lattice":
        options = {"caps": int(max(plan.options["caps"]))}
    again = solve(problem, plan.method if plan.method in _EXACT else "auto", **options)
    return again.lower_bound, f"solved again with method {again.method!r}"
