"""Rows of the tables in the report, and sentences about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from preceptor._base.numerics import total_weight
from preceptor._base.words import duration_in_words, percent, sentence
from preceptor.advice.alternatives import Alternative
from preceptor.advice.sensitivity import Change
from preceptor.model.evaluation import counts_after, people_of, weights_of
from preceptor.model.mistakes import Mistakes, best_mistakes, best_reader, decides
from preceptor.model.outcomes import LOGISTIC, PROBIT
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.report.mistakes_and_people import (
    best_by,
    both,
    costs,
    mistakes_by,
    named,
    rates,
    yes_of,
)
from preceptor.report.phrases import NOTHING_SAVED, Row, joined, per_case, scale_of
from preceptor.report.schedule_view import MOST_ROWS, rounds_shown
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from preceptor.advice.advice import Advice
    from preceptor.proofs.verify import Verification


class RivalRow(NamedTuple):
    """A policy: loss per case, loss relative to the plan, and multiple of its excess loss.

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
    """The plan, its rivals and the best achievable; `free` is the plan found by free search."""
    problem, floor = plan.problem, least_loss(plan)
    best = None if floor is None else floor * total_weight(problem.discount, problem.horizon)

    def row(
        title: str, value: float, mistakes: Mistakes | None, detail: str = "", error: float = 0.0
    ) -> RivalRow:
        is_plan = title == "This plan"
        more = ""
        if plan.value > 0:
            # A saving that rounds to nothing is none.
            change = f"{value / plan.value - 1.0:+.1%}".replace("-0.0%", "0.0%")
            more = "" if is_plan else change
            more += f" ± {error / plan.value:.1%}" if error else ""
        excess = ""
        if best is not None and plan.value - best > 1e-12 * plan.value:
            excess = f"{(value - best) / (plan.value - best):.2f}x"
        each = f"{per_case(problem, value):.3g}"
        per_100 = ("", "") if mistakes is None else both(mistakes)
        return RivalRow(title, detail, each, more, excess, is_plan, *per_100)

    rows = [row("This plan", plan.value, _mistakes(plan))]
    for rival in rivals:
        commit = None if rival.policy is None else rival.policy.commit
        detail = "" if commit is None else joined(plan, commit)
        rows.append(row(rival.title, rival.value, rival.mistakes, detail, rival.standard_error))
    if free is not None:
        rows.append(row("The plan found by search", free.value, _mistakes(free)))
    if best is not None:
        detail = "the best set, read by a person who knows every weight from the first case"
        reader = best_by(plan)
        found = row("Best achievable", best, None if reader is None else reader[1], detail)
        rows.append(found._replace(more="", excess="0.00x"))
    return rows


def _mistakes(plan: Plan) -> Mistakes | None:
    return mistakes_by(plan) if decides(plan.problem) else None


class WeightRow(NamedTuple):
    """A test: true weight, the person's weight at first and when the plan commits, showings."""

    name: str
    truth: str
    first: str
    showings: int
    later: str
    is_committed: bool


def weight_rows(plan: Plan) -> list[WeightRow]:
    """How each weight is learned until the plan commits (or over the cases drawn).

    Empty for people whose weights do not depend on showings alone.
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
    """A changed assumption: cost per case if the plan is kept, and savings found and possible."""

    direction: str
    kept: str
    again: str
    saving: str
    at_most: str


def change_rows(changes: Sequence[Change]) -> list[ChangeRow]:
    """One row per change, the costliest first."""
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
    """The costliest change, in a sentence."""
    if not changes:
        return "No assumption could be changed."
    worst = changes[0]
    if worst.saving < NOTHING_SAVED:
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
        ("Method", f"{plan.method}, {duration_in_words(plan.seconds)}"),
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


# Remark on a weight whose sign is not that of the plain correlation.
DISAGREES = "sign disagrees"


class ColumnRow(NamedTuple):
    """A column of the data table: its distribution, its estimated weight, and the interval.

    `interval` is empty without resampling, `disagrees` where the sign of the weight is that of the
    plain correlation with the outcome.
    """

    name: str
    average: str
    deviation: str
    missing: str
    weight: str
    interval: str
    disagrees: str


def column_rows(advice: Advice) -> list[ColumnRow]:
    """One row per column of the data, the largest weight first; none without data.

    Weights are for one standard deviation of the test, with intervals if cases were resampled.
    """
    estimate, resampled = advice.estimate, advice.resampled
    if estimate is None:
        return []
    world, units = estimate.world, estimate.world.units
    assert units is not None, "a world estimated from a table has units"
    weights = world.coefficients * np.sqrt(np.diag(world.covariance))
    found = {} if resampled is None else {each.name: each for each in resampled.weights}
    wrong = {each.name: each.correlation for each in estimate.signs_that_disagree}
    rows = []
    for i in map(int, np.argsort(-np.abs(weights), kind="stable")):
        name = world.labels[i]
        gaps = int(np.isnan(estimate.design.values[:, i]).sum())
        ends = found.get(name)
        rows.append(
            ColumnRow(
                name,
                f"{units.means[i]:.4g}",
                f"{units.scales[i]:.3g}",
                f"{gaps:,}" if gaps else "",
                signed(weights[i]),
                "" if ends is None else f"{signed(ends.low)} to {signed(ends.high)}",
                f"{DISAGREES} with its correlation, {signed(wrong[name])}" if name in wrong else "",
            )
        )
    return rows


def about_rows(advice: Advice, *, rows: bool) -> list[str]:
    """Remarks about single rows of the data; only their number unless `rows`."""
    found = [] if advice.estimate is None else list(advice.estimate.rows_in_doubt)
    if rows or not found:
        return found
    one = len(found) == 1
    remarks = "A remark" if one else f"{len(found):,} remarks"
    left_out = f"{remarks} about single rows of the table {'is' if one else 'are'} left out here"
    return [f"{left_out}; preceptor plan --rows shows them."]


def signed(value: float) -> str:
    """Format a number with its sign, in three digits.

    >>> signed(-0.12345), signed(2.0), signed(0.0)
    ('−0.123', '+2', '0')
    """
    return "0" if value == 0.0 else f"{value:+.3g}".replace("-", "\N{MINUS SIGN}")


def in_parts(rows: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Split a long table into rows that are visible at first and the others."""
    return (rows, ()) if len(rows) <= MOST_ROWS + 3 else (rows[:MOST_ROWS], rows[MOST_ROWS:])


_LINKS = {
    PROBIT: "probit: yes if the score plus a standard normal error is above 0",
    LOGISTIC: "logistic: the score is the log odds of yes",
}


def assumptions(plan: Plan) -> list[Row]:
    """Label and text of each assumption."""
    problem = plan.problem
    rows = [
        ("Tests per case", problem.budget_in_words()),
        ("Learning", problem.learner.learning_in_words()),
        ("Initial beliefs", problem.learner.beliefs_in_words(problem.world)),
        ("Hidden tests", problem.learner.imputation_in_words()),
        ("Time", problem.time_in_words()),
    ]
    rows += _yes_no_rows(problem) if problem.is_binary else [_noise_row(problem)]
    if plan.regrets is not None:
        people = people_of(problem).items()
        for (name, person), weight in zip(people, weights_of(problem), strict=True):
            unseen = person.imputation_in_words()
            learning = person.learning_in_words()
            rows.append((f"{weight:.0%}", f"{name}: {learning}; hidden tests {unseen}"))
    return rows


def _yes_no_rows(problem: Problem) -> list[Row]:
    """Prevalence, how the person answers, and what no test explains."""
    world, risk = problem.world, problem.risk
    outcome = world.outcome
    assert outcome is not None
    assert isinstance(risk, YesNoRisk)
    common = f"{yes_of(world)} in {100.0 * outcome.prevalence:.3g}% of all cases"
    if risk.believed_prevalence is not None:
        common += f"; the person takes it to be {100.0 * risk.believed_prevalence:.3g}%"
    if isinstance(risk, Decision):
        answers = f"yes above a probability of {risk.yes_above:.0%}; {costs(risk)}"
    else:
        answers = f"probabilities; {risk.in_words()}"
    everything = tuple(range(world.size))
    area = float(best_reader(problem, everything).area()[0])
    left = f"with all tests and all weights known, the area under the ROC curve is {area:.3f}"
    if isinstance(risk, Decision):
        least = best_mistakes(problem, everything)
        left += f"; still {named(least)} per 100 cases ({rates(least)})"
    return [
        ("Prevalence", common),
        ("Answers", answers),
        ("Link function", _LINKS.get(outcome.link, outcome.link)),
        ("Left unexplained", left),
    ]


def _noise_row(problem: Problem) -> Row:
    unit = scale_of(problem).unit
    noise = math.sqrt(problem.world.noise_variance)
    spread = math.sqrt(problem.world.outcome_variance)
    share = problem.world.explained_share
    of = f" {unit}" if unit else ""
    said = (
        f"with all tests and all weights known, still off by {noise:.3g}{of}; outcomes have a "
        f"standard deviation of {spread:.3g}, so all tests together explain {share:.0%} of the "
        "variance"
    )
    return ("Left unexplained", said)
