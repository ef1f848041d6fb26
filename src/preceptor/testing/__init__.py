"""Contract checks for user-defined extensions, and problems with known optima.

They hold your own solver, learning curve, risk, budget or person to the rules that the built-in
ones follow. Each check raises `InvalidInput` with every rule that is broken, and returns nothing
otherwise.

>>> import preceptor as pr
>>> from preceptor.testing.budgets_and_risks import check_risk
>>> check_risk(pr.Huber(0.5))
"""

from preceptor.people.curves import check_curve
from preceptor.simulation.checking import check_human
from preceptor.testing.budgets_and_risks import check_budget, check_risk
from preceptor.testing.people import check_person
from preceptor.testing.problems import KnownInstance, brute_force, known_instances, small_problems
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
