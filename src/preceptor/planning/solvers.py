"""All solvers, and `solve`, which calls one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from preceptor._base.deadline import UNCOUNTED
from preceptor._base.discounting import total_weight
from preceptor.errors import NotApplicable, UnknownMethod
from preceptor.plan import Plan
from preceptor.planning.auto import AUTO
from preceptor.planning.beam import BEAM
from preceptor.planning.certified import CERTIFIED
from preceptor.planning.finite import FINITE
from preceptor.planning.independent import INDEPENDENT
from preceptor.planning.lattice import LATTICE
from preceptor.planning.notes import tie_notes
from preceptor.planning.search import SEARCH
from preceptor.planning.solver import Solver
from preceptor.planning.stationary import STATIONARY
from preceptor.planning.truncated import TRUNCATED
from preceptor.problem import Problem

SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        AUTO,
        STATIONARY,
        INDEPENDENT,
        FINITE,
        TRUNCATED,
        LATTICE,
        BEAM,
        SEARCH,
        CERTIFIED,
    )
}
"""Every solver by its name: what `solve(method=...)` takes and `preceptor methods` lists."""


def solve(problem: Problem, method: str = "auto", **options: Any) -> Plan:
    """Find a plan.

    Parameters
    ----------
    problem
        What to plan.
    method
        The name of a solver in `SOLVERS`; "auto" picks one by the shape and size of the problem.
    **options
        Go to the solver; `preceptor methods` lists them.

    Returns
    -------
    Plan
        What to show, what that costs, and a lower bound on what policies cost: all of them, or
        schedules fixed in advance, as `bound_holds_for` says.

    Raises
    ------
    UnknownMethod
        No solver has that name, or it does not have that option.
    NotApplicable
        The solver cannot serve this problem; the message names those that can.
    TooLarge
        The solver would need more memory than it may use.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> learner = pr.Learner([0.2, 1.3], pr.Geometric(1.10))
    >>> plan = pr.solve(pr.Problem(world, learner, 1, discount=0.99, horizon=600))
    >>> round(plan.value, 4), plan.exploration_length, plan.status.value
    (25.7274, 46, 'optimal')
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"solve: got {type(problem).__name__}, expected a Problem")
    solver = SOLVERS.get(method)
    if solver is None:
        raise UnknownMethod(f"method: {method!r} is not known; use one of {', '.join(SOLVERS)}")
    before = UNCOUNTED.so_far
    try:
        plan = solver.plan(problem, options)
    except NotApplicable as error:
        others = [each.name for each in SOLVERS.values() if each is not solver]
        able = [name for name in others if not SOLVERS[name].why_not(problem)]
        raise NotApplicable(f"{error}; methods that can: {', '.join(able)}") from None
    notes = (*plan.notes, *tie_notes(plan))
    return replace(_stated(plan), notes=notes, compiled=UNCOUNTED.so_far - before)


def _stated(plan: Plan) -> Plan:
    """The plan as its numbers allow: losses may be tabulated, and no gap at all is optimal."""
    problem = plan.problem
    if problem.oracle.accuracy > 0.0:
        off = problem.oracle.accuracy * total_weight(problem.discount, problem.horizon)
        plan = replace(plan, lower_bound=max(plan.lower_bound - off, 0.0))
    return plan.settled()
