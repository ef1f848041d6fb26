"""What a careful reader of a plan should be told beyond its numbers."""

from __future__ import annotations

from preceptor.evaluation.expectations import expectations
from preceptor.plan import Plan
from preceptor.problem import Problem

_NOT_GAUSSIAN = (
    "These tests are not Gaussian; what is expected of people who learn from outcomes takes them "
    "to be, so costs are approximate."
)


def accuracy_notes(problem: Problem) -> tuple[str, ...]:
    """How far off costs of people who do not learn by showings may be, where they are."""
    if problem.learns_by_showings:
        return ()
    said = tuple(dict.fromkeys(e.accuracy for e in expectations(problem) if e.accuracy))
    if not problem.world.is_gaussian:
        said += (_NOT_GAUSSIAN,)
    return (*said, "The gap is only as good as this cost.") if said else ()


def tie_notes(plan: Plan) -> tuple[str, ...]:
    """Say so if another set would end up exactly as good as the one committed to.

    "Every optimal policy commits" needs an untied tail: with a tie, a policy that goes on
    changing sets forever can be just as good or better.
    """
    from preceptor.evaluation.long_run import tied_sets

    commit = plan.policy.commit
    if not plan.problem.learns_by_showings:
        return ()
    if commit is None or (plan.problem.horizon is not None and plan.exploration_length is None):
        return ()
    ties = [shown for shown in tied_sets(plan.problem, plan.policy) if shown != commit]
    if not ties:
        return ()
    name_of = plan.problem.world.name_of
    others = " or ".join("{" + ", ".join(name_of(shown)) + "}" for shown in ties)
    return (
        f"In the long run {others} is exactly as good as the last set, so the best plan may never "
        "settle on one of them.",
    )
