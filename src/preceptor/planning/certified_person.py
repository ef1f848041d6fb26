"""A plan and a proof for one person who does not learn by showings: search, then a bound.

For people whose rounds are linear in their errors the bound is a semidefinite program
(`semidefinite.py`); for everybody else it is the floor of every case, and the plan says so.
"""

from __future__ import annotations

from dataclasses import replace

from preceptor._base.progress import Progress, Status, report
from preceptor.errors import MissingExtra
from preceptor.evaluation.expectations import expectations
from preceptor.people.crowd import Crowd
from preceptor.people.quadratic import quadratic_rounds
from preceptor.plan import ALL_POLICIES, FIXED_SCHEDULES, Plan
from preceptor.planning.anytime import Watch
from preceptor.planning.conic import has_solver
from preceptor.planning.search import solve_search
from preceptor.planning.semidefinite import (
    MOST_SETS,
    MOST_TESTS,
    SemidefiniteBound,
    semidefinite_bound,
)
from preceptor.problem import Problem

# Share of the time that the search may take; the rest is for the proof.
_SEARCH = 0.4
# Seconds that a proof may take where there is no limit.
_MOST_SECONDS = 120.0


def why_not_certified(problem: Problem) -> str:
    """Why there is no proof for a problem; empty if there may be one."""
    if isinstance(problem.learner, Crowd):
        return "proves something about one person, not about a crowd"
    return ""


def may_be_proven(problem: Problem) -> bool:
    """Whether a semidefinite bound is worth trying: one linear person, few tests and sets."""
    if isinstance(problem.learner, Crowd) or problem.size > MOST_TESTS or problem.discount == 0.0:
        return False
    if problem.budget.count(problem.size) > MOST_SETS or not has_solver():
        return False
    (expected,) = expectations(problem)
    return not isinstance(quadratic_rounds(expected), str)


def certify_person(
    problem: Problem,
    watch: Watch,
    *,
    target_gap: float,
    max_iterations: int | None,
    seed: int,
    bound_holds_for: str,
    progress: Progress | None,
) -> Plan:
    """The best schedule found, and the best bound that there is for this kind of person."""
    hurry = Watch(None if watch.left == float("inf") else max(_SEARCH * watch.left, 1e-3))
    plan = solve_search(problem, hurry, max_kicks=max_iterations, seed=seed, progress=progress)
    report(progress, "proving", value=plan.value)
    (expected,) = expectations(problem)
    seconds = max(min(watch.left, _MOST_SECONDS), 1e-3)
    found: SemidefiniteBound | str
    try:
        with watch.proving():
            found = semidefinite_bound(
                expected,
                problem.discount,
                problem.horizon,
                time_limit=seconds,
                adaptive=bound_holds_for == ALL_POLICIES,
            )
    except MissingExtra as error:
        found = f"{error}"
    proved = plan.proved + watch.proved
    if isinstance(found, str) or found.bound <= plan.lower_bound:
        why = found if isinstance(found, str) else "The semidefinite bound is not better."
        note = f"The lower bound is the floor of every case, which usually says little. {why}"
        notes = (*plan.notes, note)
        return replace(plan, method="certified", notes=notes, seconds=watch.seconds, proved=proved)
    reach = (
        "every policy, even one that sees the person's weights"
        if found.adaptive
        else (
            "schedules fixed in advance; a policy that follows how cases and outcomes come may "
            "cost less"
        )
    )
    closed = plan.value - found.bound <= target_gap * abs(found.bound)
    status = Status.WITHIN_TARGET if closed else plan.status
    return replace(
        plan,
        method="certified",
        lower_bound=found.bound,
        bound_holds_for=ALL_POLICIES if found.adaptive else FIXED_SCHEDULES,
        status=Status.INTERRUPTED if watch.interrupted else status,
        certificate=found.certificate,
        options={**plan.options, "target_gap": target_gap},
        notes=(*plan.notes, f"The lower bound (a semidefinite program) holds for {reach}."),
        seconds=watch.seconds,
        proved=proved,
    ).settled()
