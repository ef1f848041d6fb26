"""Solvers: each turns a problem into a `Plan`. A new one is a new file and one line below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from preceptor.errors import UnknownMethod
from preceptor.plan import Plan
from preceptor.planning.auto import solve_auto
from preceptor.planning.batch import solve_many
from preceptor.planning.beam import solve_beam
from preceptor.planning.certified import solve_certified
from preceptor.planning.finite import solve_finite
from preceptor.planning.independent import solve_independent
from preceptor.planning.lattice import solve_lattice
from preceptor.planning.notes import tie_notes
from preceptor.planning.search import solve_search
from preceptor.planning.stationary import solve_stationary
from preceptor.planning.truncated import solve_truncated
from preceptor.problem.problem import Problem

__all__ = ["SOLVERS", "options_of", "solve", "solve_many"]

SOLVERS: dict[str, Callable[..., Plan]] = {
    "auto": solve_auto,
    "stationary": solve_stationary,
    "independent": solve_independent,
    "finite": solve_finite,
    "truncated": solve_truncated,
    "lattice": solve_lattice,
    "beam": solve_beam,
    "search": solve_search,
    "certified": solve_certified,
}


def solve(problem: Problem, method: str = "auto", **options: Any) -> Plan:
    """Find a plan. `method` names a solver, `options` go to it; "auto" picks by size.

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
    _check_options(method, options)
    plan = solver(problem, **options)
    return replace(plan, notes=(*plan.notes, *tie_notes(plan)))


def options_of(method: str) -> list[str]:
    """Names of the options that a solver takes."""
    import inspect

    return [
        name
        for name, parameter in inspect.signature(SOLVERS[method]).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]


def _check_options(method: str, options: dict[str, Any]) -> None:
    accepted = options_of(method)
    unknown = sorted(set(options) - set(accepted))
    if unknown:
        takes = f"it takes {', '.join(accepted)}" if accepted else "it takes none"
        raise UnknownMethod(f"method {method!r} has no option {', '.join(unknown)}; {takes}")
