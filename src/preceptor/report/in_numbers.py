"""What a plan and its rivals come to per case: in units of the outcome, or mistakes per 100."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preceptor._base.words import listed
from preceptor.evaluation.mistakes import decides
from preceptor.model.yes_no_risks import Decision
from preceptor.report.mistake_words import against, best_set, costs, has_costs, still_wrong
from preceptor.report.phrases import joined
from preceptor.report.scale import per_case, scale_of
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from preceptor.advice import Advice, Alternative
    from preceptor.plan import Plan


def in_numbers(advice: Advice, fixed: Alternative, predictive: Alternative) -> list[str]:
    """The loss per case of plan and habits: in the unit of the outcome, or as mistakes."""
    plan = advice.plan
    problem, scale = plan.problem, scale_of(plan.problem)
    others = _habits(plan, fixed, predictive)
    same = [
        (rival, f"by {rival.title.lower()}") for rival in advice.rivals if not rival.needs_tests
    ]
    said = []
    if decides(problem):
        told = [(words, r.mistakes) for r, words in [*others, *same] if r.mistakes is not None]
        said.append(f"Per 100 cases: {against(plan, told)}.")
    if not decides(problem) or has_costs(problem) or "prices" in scale.label:
        unit = f" ({scale.unit})" if scale.unit else ""
        if isinstance(problem.risk, Decision):
            unit = f" ({costs(problem.risk)})"
        each = " per case" if scale.per == 1 else ""
        cheapest = sorted(same, key=lambda each: each[0].value)[:1]
        beside_it = [*others, *cheapest]
        numbers = [f"{per_case(problem, r.value):.4g} {words}" for r, words in beside_it]
        beside = f", against {listed(numbers)}" if numbers else ""
        own = f"{per_case(problem, plan.value):.4g}"
        said.append(f"{scale.label.capitalize()}{unit}: {own}{each}{beside}.")
    if reads_linearly(advice):
        said.append(_linear_floor(plan))
    if problem.is_binary:
        said += [_floor(plan), _no_use(plan, [rival for rival, _ in same])]
    return [text for text in said if text]


def _habits(
    plan: Plan, fixed: Alternative, predictive: Alternative
) -> list[tuple[Alternative, str]]:
    """What the plan is set beside, and what to call it; what shows the same is left out."""
    others = []
    beside_fixed = not is_one_set(plan) and fixed.name == "fixed"
    if beside_fixed and plan.problem.is_binary and fixed.policy == predictive.policy:
        return [(fixed, "with the best fixed set (also the most predictive)")]
    if beside_fixed:
        others.append((fixed, "with the best fixed set"))
    if not (is_one_set(plan) and predictive.policy is not None) or (
        predictive.policy is not None and predictive.policy.commit != plan.policy.commit
    ):
        theirs = set_of(plan, predictive)
        others.append((predictive, f"with the most predictive tests ({theirs})"))
    return others


def _linear_floor(plan: Plan) -> str:
    """What no linear reader can go below; a reader of yes and no may."""
    least, scale = least_loss(plan), scale_of(plan.problem)
    if least is None:
        return ""
    return (
        f"No linear reader of what may be shown can be below {float(scale.of(least)):.4g}; the "
        "outcome takes two values, and whoever reads it as yes or no may be."
    )


def _no_use(plan: Plan, same: list[Alternative]) -> str:
    """A warning where the same answer for everybody costs less than showing tests."""
    best = min(same, key=lambda rival: rival.value, default=None)
    if best is None or best.value >= plan.value:
        return ""
    shows = any(plan.policy.used_sets())
    than = "showing any tests by this plan" if shows else "what this person says without any test"
    return f"Beware: {best.title.lower()} costs less than {than}."


def _floor(plan: Plan) -> str:
    """What nobody can go below, where the outcome is yes or no."""
    if decides(plan.problem):
        return still_wrong(plan)
    least, shown = least_loss(plan), best_set(plan.problem)
    if least is None or shown is None:
        return ""
    label = scale_of(plan.problem).label
    return f"The best reader of {joined(plan, shown)} would still have {least:.4g} ({label})."


def reads_linearly(advice: Advice) -> bool:
    """Whether an outcome that takes two values was read as a number."""
    return advice.estimate is not None and advice.estimate.is_linear_reading


def is_one_set(plan: Plan) -> bool:
    """Whether the plan shows one set from the first case to the last."""
    return plan.policy.commit is not None and plan.exploration_length == 0


def set_of(plan: Plan, rival: Alternative) -> str:
    """What a rival shows, for a sentence."""
    shown = None if rival.policy is None else rival.policy.commit
    return joined(plan, shown) if shown else "nothing"
