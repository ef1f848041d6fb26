"""Rows and sentences of the report, ready to be laid out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.words import in_seconds, listed, percent, sentence
from preceptor.evaluation.mistakes import Mistakes, decides
from preceptor.evaluation.value import counts_after
from preceptor.plan import Plan
from preceptor.report.mistake_words import against, best_by, in_100, mistakes_by, still_wrong
from preceptor.report.phrases import joined
from preceptor.report.scale import per_case, scale_of
from preceptor.report.showing import rounds_shown
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from preceptor.advice import Alternative, Change
    from preceptor.verification.verify import Verification


def worth(plan: Plan, rivals: Sequence[Alternative]) -> str:
    """What the plan gains over its rivals, in a sentence."""
    if decides(plan.problem):
        told = [
            (f"{'with' if r.needs_tests else 'by'} {r.title.lower()}", r.mistakes)
            for r in rivals
            if r.mistakes is not None
        ]
        text = f"Over all cases, of 100: {against(plan, told)}."
        return f"{text} {still_wrong(plan)}".rstrip()
    problem, scale = plan.problem, scale_of(plan.problem)
    unit = f" ({scale.unit})" if scale.unit else ""
    own = f"{per_case(problem, plan.value):.3g}"
    others = [
        f"{per_case(problem, r.value):.3g} {'with' if r.needs_tests else 'by'} {r.title.lower()}"
        for r in rivals
    ]
    text = f"Over all cases, the {scale.label} of this plan is {own}{unit}"
    if others:
        text += f", against {listed(others)}"
    floor = least_loss(plan)
    if floor is not None:
        text += f"; the best achievable is {float(scale.of(floor)):.3g}"
    return f"{text}."


class RivalRow(NamedTuple):
    """A way to choose tests: per case, loss against the plan's, multiple of its excess loss.

    Where answers are decisions, also misses and false alarms per 100 cases; else they are empty.
    """

    title: str
    detail: str
    per_case: str
    more: str
    excess: str
    is_plan: bool
    misses: str = ""
    false_alarms: str = ""


def rival_rows(
    plan: Plan, rivals: Sequence[Alternative], free: Plan | None = None
) -> list[RivalRow]:
    """The plan and its rivals, and the best achievable; `free` is what search found beside it."""
    problem = plan.problem
    floor = least_loss(plan)
    weight = total_weight(problem.discount, problem.horizon)
    best = None if floor is None else floor * weight
    rows = [_rival_row(plan, "This plan", "", plan.value, 0.0, best, _mistakes(plan))]
    for rival in rivals:
        commit = None if rival.policy is None else rival.policy.commit
        detail = "" if commit is None else joined(plan, commit)
        value, error = rival.value, rival.standard_error
        rows.append(_rival_row(plan, rival.title, detail, value, error, best, rival.mistakes))
    if free is not None:
        title = "The plan found by search"
        rows.append(_rival_row(plan, title, "", free.value, 0.0, best, _mistakes(free)))
    if best is not None:
        detail = "the best set, read by a person who knows every weight from the first case"
        least = f"{per_case(problem, best):.3g}"
        reader = best_by(plan)
        shares = _of_100(None if reader is None else reader[1])
        rows.append(RivalRow("Best achievable", detail, least, "", "0.00x", False, *shares))
    return rows


def _mistakes(plan: Plan) -> Mistakes | None:
    return mistakes_by(plan) if decides(plan.problem) else None


def _of_100(mistakes: Mistakes | None) -> tuple[str, str]:
    """Misses and false alarms per 100 cases; empty where there are none to speak of."""
    if mistakes is None:
        return "", ""
    return in_100(float(mistakes.misses)), in_100(float(mistakes.false_alarms))


def _rival_row(
    plan: Plan,
    title: str,
    detail: str,
    value: float,
    error: float,
    best: float | None,
    mistakes: Mistakes | None,
) -> RivalRow:
    is_plan = title == "This plan"
    more = "" if is_plan or plan.value <= 0 else _more(value / plan.value - 1.0)
    if error and plan.value > 0:
        more += f" ± {error / plan.value:.1%}"
    excess = ""
    if best is not None and plan.value - best > 1e-12 * plan.value:
        excess = f"{(value - best) / (plan.value - best):.2f}x"
    each = f"{per_case(plan.problem, value):.3g}"
    return RivalRow(title, detail, each, more, excess, is_plan, *_of_100(mistakes))


def _more(share: float) -> str:
    """What is lost beyond the plan's loss; a saving that rounds to nothing is none."""
    return f"{share:+.1%}".replace("-0.0%", "0.0%")


class WeightRow(NamedTuple):
    """A test: its true weight, the person's at first and when the plan commits, showings."""

    name: str
    truth: str
    first: str
    showings: int
    later: str
    is_committed: bool


def weight_rows(plan: Plan) -> list[WeightRow]:
    """How each weight is learned until the plan commits (or over the cases drawn).

    Empty for people of whom showings alone do not say what they know.
    """
    problem = plan.problem
    if not problem.learns_by_showings:
        return []
    rounds = plan.exploration_length or rounds_shown(plan)
    counts = counts_after(problem, plan.policy.schedule(rounds))
    scale = np.sqrt(np.diag(problem.world.covariance))
    truth = problem.world.coefficients * scale
    first = problem.by_showings.beliefs(problem.world, problem.start_counts) * scale
    later = problem.by_showings.beliefs(problem.world, counts) * scale
    committed = plan.policy.commit or ()
    order = np.argsort(-np.abs(truth), kind="stable")
    return [
        WeightRow(
            problem.world.labels[i],
            f"{truth[i]:+.2f}",
            f"{first[i]:+.2f}".replace("+0.00", "0"),
            int(counts[i] - problem.start_counts[i]),
            f"{later[i]:+.2f}".replace("+0.00", "0"),
            i in committed,
        )
        for i in map(int, order)
    ]


class ChangeRow(NamedTuple):
    """A changed assumption: cost per case if this plan is kept, saving found, saving possible."""

    direction: str
    kept: str
    again: str
    saving: str
    at_most: str


def change_rows(plan: Plan, changes: Sequence[Change]) -> list[ChangeRow]:
    """One row per change, what hurts most first."""
    return [
        ChangeRow(
            change.direction[0].upper() + change.direction[1:],
            f"{per_case(change.problem, change.kept):.4g}",
            f"{per_case(change.problem, change.again):.4g}",
            f"{change.saving:.2%}",
            percent(change.saving_at_most),
        )
        for change in changes
    ]


def most_sensitive(changes: Sequence[Change]) -> str:
    """The change that costs most, in a sentence."""
    if not changes:
        return "No assumption could be changed."
    worst = changes[0]
    if worst.saving < 5e-5:
        return (
            "As far as a quick search can tell, no plan made for one of the changes below would "
            "save even 0.01% of the expected loss."
        )
    return (
        f"Of the assumptions varied, {worst.assumption} matters most: if {worst.direction}, "
        f"a plan made for that would save {worst.saving:.2%} of the expected loss; no plan can "
        f"save more than {percent(worst.saving_at_most)}."
    )


def certificate_rows(plan: Plan, verification: Verification | None) -> list[tuple[str, str]]:
    """What was proven about the plan, and how."""
    exact = plan.problem.learns_by_showings or (
        plan.regrets is not None and all(plan.regrets.exact)
    )
    value = f"{plan.value:.8g}" + (" (exact)" if exact else "")
    if plan.regrets is not None:
        value += ", averaged over the people"
    rows = [
        ("Status", plan.status.value),
        ("Expected loss of the plan", value),
        ("Lower bound", f"{plan.lower_bound:.8g}; no {plan.bounded_plan} costs less"),
        ("Regret" if plan.regrets is not None else "Gap", sentence(plan.how_sure())),
        ("Method", f"{plan.method}, {in_seconds(plan.seconds)}"),
    ]
    if not plan.problem.learns_by_showings:
        proof = "a bound on every case, person by person; it can be computed again"
    elif plan.certificate is not None:
        proof = "a dual certificate for every round; it is in the plan file"
    else:
        proof = "a bound on every round, or an exact method; it can be proven again"
    rows.append(("Proof of the bound", proof))
    if verification is None:
        checked = "not for this report; preceptor plan --verify does, and pr.verify(plan) in Python"
    else:
        verdict = "it holds" if verification.ok else "FAILED"
        checked = f"{verdict}. {verification.in_words()}"
    rows.append(("Checked independently", checked))
    return rows
