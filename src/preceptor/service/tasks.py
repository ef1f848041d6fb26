"""What is done in the pool: plain data in, plain data out; nothing here knows of a database."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor.advice.from_here import SoFar, from_here
from preceptor.logs import Log
from preceptor.plan import Plan
from preceptor.planning import SOLVERS, solve
from preceptor.problem import Problem
from preceptor.service.tutors import Tutors
from preceptor.tutoring.rounds import Round as Followed

# Problems whose tutors are at work here; others are sent again.
_MOST = 64
_PROBLEMS: OrderedDict[str, Problem] = OrderedDict()
_TUTORS = Tutors()


def ready() -> dict[str, Any]:
    """Say that the process has begun."""
    return {}


def plan_anew(problem: Mapping[str, Any], **how: Any) -> dict[str, Any]:
    """Solve a problem."""
    return _planned(Problem.from_dict(problem), **how)


def plan_from_here(
    plan: str,
    start: Sequence[int],
    counts: Sequence[int],
    position: int,
    log: Mapping[str, Any] | None,
    **how: Any,
) -> dict[str, Any]:
    """Plan for one person from where they are.

    `start` is what they had seen when they were enrolled, `counts` that and what came after,
    `position` how many rounds that were, `log` those rounds.
    """
    return _planned(
        problem_from_here(Plan.from_json(plan).problem, start, counts, position, log), **how
    )


def problem_from_here(
    problem: Problem,
    start: Sequence[int],
    counts: Sequence[int],
    position: int,
    log: Mapping[str, Any] | None,
) -> Problem:
    """The problem of a plan for somebody who has followed it for a while.

    Whoever learns by showings goes by counts. Others first see as much as they had seen when they
    were enrolled, in typical cases, and are then followed through their own.
    """
    if problem.horizon is not None:
        problem = problem.replace(horizon=max(problem.horizon - position, 1))
    if problem.learns_by_showings:
        return from_here(problem, SoFar(tuple(counts), None, position))
    if any(start):
        problem = from_here(problem, SoFar(tuple(start)))
    if log is None:
        return problem
    gaps = {name: np.array(log[name], dtype=np.float64) for name in ("values", "outcome")}
    return from_here(problem, SoFar(tuple(counts), Log(**{**log, **gaps}), position))


def _planned(
    problem: Problem, *, method: str, time_limit: float, seed: int, objective: str | None = None
) -> dict[str, Any]:
    given = {"time_limit": time_limit, "seed": seed, "objective": objective}
    takes = SOLVERS[method].options
    options = {name: value for name, value in given.items() if name in takes and value is not None}
    with one_blas_thread():
        plan = solve(problem, method, **options)
    return {
        "body": plan.to_json() + "\n",
        "gap": plan.gap if math.isfinite(plan.gap) else None,
        "sure": plan.how_sure(),
        "method": plan.method,
        "seconds": plan.seconds,
    }


def advise(
    plan: str,
    problem: Mapping[str, Any] | None,
    who: str,
    record: Sequence[Mapping[str, Any]],
    available: Sequence[int] | None,
) -> dict[str, Any]:
    """What somebody's tutor says; asks for the problem if it is not known here."""
    if problem is not None:
        _PROBLEMS[plan] = Problem.from_dict(problem)
        while len(_PROBLEMS) > _MOST:
            _PROBLEMS.popitem(last=False)
    if plan not in _PROBLEMS:
        return {"needs": plan}
    _PROBLEMS.move_to_end(plan)
    rounds = tuple(Followed.from_dict(each) for each in record)
    said = _TUTORS.of(_PROBLEMS[plan], plan, who, rounds).recommendation(available)
    return {"columns": list(said.shown), "reason": said.reason}


def forget(who: str) -> dict[str, Any]:
    """Nothing about somebody who was erased stays in memory."""
    _TUTORS.forget(who)
    return {}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (ready, plan_anew, plan_from_here, advise, forget)
}
