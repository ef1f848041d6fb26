"""How long to plan, and what to prove: quickly for one person, a little longer for a crowd."""

from __future__ import annotations

import math

from preceptor._base.deadline import Deadline
from preceptor._base.progress import Progress, Status, report
from preceptor._base.words import counted
from preceptor.advice.proofs import proofs_to_come, with_proofs
from preceptor.evaluation.expectations import is_anybody, people_of
from preceptor.people.crowd import Crowd
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.planning.candidate_sets import has_many_sets
from preceptor.planning.crowd_plans import check_objective
from preceptor.problem import Problem

# Enough for most tables; where the proof leaves a wide gap, more is taken.
QUICK_SECONDS, MORE_SECONDS = 0.5, 10.0
_WIDE = 0.05
# For a crowd or somebody who does not learn by showings, and for each proof that goes with it.
PEOPLE_SECONDS, PROOF_SECONDS = 4.0, 0.5
# With too many sets planning is among promising ones, for so long if nobody says.
MANY_SETS_SECONDS = 3.0
# The least that a step of advice gets, however little time is left.
_LEAST_SECONDS = 0.05


def half_left(deadline: Deadline) -> float | None:
    """Seconds that a step of advice gets in its turn: half of those that are left.

    Planning comes first, then few sets if that was asked for, then drawing cases again; changed
    assumptions take the rest. None where there is no end.
    """
    if deadline.left == math.inf:
        return None
    return max(deadline.left / 2.0, _LEAST_SECONDS)


def plan_for(
    problem: Problem,
    *,
    objective: str | None,
    time_limit: float | None,
    deadline: Deadline,
    seed: int,
    progress: Progress | None,
) -> Plan:
    """A plan in the time that fits the person; arguments are those of `advise`.

    For somebody who learns by showings quick first; if that leaves much unproven and nobody set a
    limit, ten seconds more. With a limit, planning takes its share of what is left of it.
    """
    check_objective(problem, objective)
    if time_limit is not None:
        time_limit = half_left(deadline)
    if isinstance(problem.learner, Crowd):
        return _plan_for_crowd(problem, objective, time_limit, seed, progress)
    if not problem.learns_by_showings:
        limit = PEOPLE_SECONDS if time_limit is None else time_limit
        return solve(problem, "auto", time_limit=limit, seed=seed, progress=progress)
    seconds = QUICK_SECONDS if time_limit is None else time_limit
    if has_many_sets(problem):
        # A dual over all of them would take minutes and gigabytes.
        limit = time_limit or MANY_SETS_SECONDS
        return solve(problem, "search", time_limit=limit, seed=seed, progress=progress)
    plan = solve(problem, "auto", time_limit=seconds, seed=seed, progress=progress)
    if time_limit is None and plan.status is Status.TIME_LIMIT and plan.gap > _WIDE:
        said = (
            f"Up to {plan.gap:.0%} above the best possible after {QUICK_SECONDS} seconds; "
            f"taking {MORE_SECONDS:g} more (`time_limit` sets how many)"
        )
        report(progress, "planning further", sentence=said)
        longer = solve(problem, "auto", time_limit=MORE_SECONDS, seed=seed, progress=progress)
        plan = min(plan, longer, key=lambda each: (each.value, each.gap))
    return plan


def _plan_for_crowd(
    problem: Problem,
    objective: str | None,
    time_limit: float | None,
    seed: int,
    progress: Progress | None,
) -> Plan:
    """One plan for everybody, and what can be proven about it in the time that is left."""
    many = counted(len(people_of(problem)), "kind")
    why = "how this one learns is not known" if is_anybody(problem) else "they may be any of these"
    said = f"Planning for {many} of person at once, since {why}"
    report(progress, "preparing", sentence=said)
    proofs = proofs_to_come(problem)
    if time_limit is None:
        seconds, each = PEOPLE_SECONDS, PROOF_SECONDS
    else:
        each = min(PROOF_SECONDS, time_limit / (2 * proofs + 1))
        seconds = time_limit - proofs * each
    plan = solve(
        problem,
        "auto",
        time_limit=seconds,
        seed=seed,
        objective=objective,
        progress=progress,
    )
    report(progress, "proving")
    return with_proofs(plan, each, seed)
