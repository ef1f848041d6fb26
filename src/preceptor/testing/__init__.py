"""Contracts for what people add to the package, and problems whose answers are known.

Whoever writes a solver, a learning curve, a risk, a budget or a person of their own can
hold it to the promises that ours keep. Each check raises `InvalidInput` with every promise that was
broken; silence means that nothing was found.

>>> import preceptor as pr
>>> from preceptor.testing import check_risk
>>> check_risk(pr.Huber(0.5))
"""

from preceptor.people.curves import check_curve
from preceptor.simulation import check_human
from preceptor.testing.kinds import check_budget, check_risk
from preceptor.testing.known import KnownInstance, known_instances
from preceptor.testing.people import check_person
from preceptor.testing.small import brute_force, small_problems
from preceptor.testing.solvers import check_plan, check_solver

__all__ = [
    "KnownInstance",
    "brute_force",
    "check_budget",
    "check_curve",
    "check_human",
    "check_person",
    "check_plan",
    "check_risk",
    "check_solver",
    "known_instances",
    "small_problems",
]
