"""What may be asked of planning, checked before it waits in a queue."""

from __future__ import annotations

from preceptor._base.words import unknown_names
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.planning import SOLVERS
from preceptor.planning.crowd_plans import check_objective
from preceptor.problem import Problem
from preceptor.service.live import Live


def check_time(live: Live, seconds: float) -> None:
    """Refuse a time limit beyond what this service allows."""
    most = live.settings.job_seconds
    if seconds > most:
        raise InvalidInput(f"time_limit: {seconds:g} seconds, this service plans for {most:g}")


def check_method(problem: Problem, method: str, objective: str | None) -> None:
    """Refuse a method that does not exist, or that cannot serve this problem."""
    InvalidInput.raise_if(unknown_names("method", [method], list(SOLVERS)))
    solver = SOLVERS[method]
    why_not = solver.why_not(problem)
    if why_not:
        raise NotApplicable(f"method: {method!r} {why_not}")
    check_objective(problem, objective)
    if objective is not None and "objective" not in solver.options:
        raise InvalidInput(f"objective: method {method!r} takes none; leave it out")
