"""Rows and sentences of the report, ready to be laid out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.words import in_seconds, percent, sentence
from preceptor.evaluation.expectations import people_of, weights_of
from preceptor.evaluation.mistakes import Mistakes, best_mistakes, best_reader, decides
from preceptor.evaluation.value import counts_after
from preceptor.model.links import LOGISTIC, PROBIT
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.report.mistake_words import best_by, costs, in_100, mistakes_by, named, rates, yes_of
from preceptor.report.phrases import Row, joined
from preceptor.report.scale import per_case, scale_of
from preceptor.report.showing import MOST_ROWS, rounds_shown
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from preceptor.advice import Advice, Alternative, Change
    from preceptor.verification.verify import Verification


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


# What a page says of a weight whose sign is not that of the plain correlation.
DISAGREES = "sign disagrees"


class ColumnRow(NamedTuple):
    """A column of the table as estimated: what it is like, what it weighs, and how surely.

    `interval` is empty where nothing was estimated again, `disagrees` where the sign of the weight
    is that of the plain correlation with the outcome.
    """

    name: str
    average: str
    deviation: str
    missing: str
    weight: str
    interval: str
    disagrees: str


def column_rows(advice: Advice) -> list[ColumnRow]:
    """One row per column, the largest weight first; none without a table.

    Parameters
    ----------
    advice
        With an estimate, and weights estimated again from cases drawn with replacement, if there
        was time for that.

    Returns
    -------
    list of ColumnRow
        Weights are for one standard deviation of the test.
    """
    estimate, resampled = advice.estimate, advice.resampled
    if estimate is None:
        return []
    world, units = estimate.world, estimate.world.units
    assert units is not None, "whatever was estimated from a table has its units"
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
    """Sentences that name single rows of the table; without leave, only how many there are."""
    found = [] if advice.estimate is None else list(advice.estimate.rows_in_doubt)
    if rows or not found:
        return found
    one = len(found) == 1
    remarks = "A remark" if one else f"{len(found):,} remarks"
    left_out = f"{remarks} about single rows of the table {'is' if one else 'are'} left out here"
    return [f"{left_out}; preceptor plan --rows tells them."]


def signed(value: float) -> str:
    """A number with its sign, in three digits.

    >>> signed(-0.12345), signed(2.0), signed(0.0)
    ('−0.123', '+2', '0')
    """
    return "0" if value == 0.0 else f"{value:+.3g}".replace("-", "\N{MINUS SIGN}")


def in_parts(rows: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Rows of a long table that are open at once, and the others, which are a click away."""
    return (rows, ()) if len(rows) <= MOST_ROWS + 3 else (rows[:MOST_ROWS], rows[MOST_ROWS:])


def chips(places: Mapping[int, int], labels: Sequence[str], colours: int) -> dict[str, int]:
    """By name of column: the number of the chip in the colour of its test."""
    return {labels[test]: place % colours + 1 for test, place in places.items()}


_LINKS = {
    PROBIT: "probit: yes if the score plus chance is above 0, chance being normal with variance 1",
    LOGISTIC: "logistic: the score is the log odds of yes",
}


def assumptions(plan: Plan) -> list[Row]:
    """Label and sentence for each assumption."""
    problem = plan.problem
    rows = [
        ("Tests per case", problem.budget_in_words()),
        ("Learning", problem.learner.learning_in_words()),
        ("First beliefs", problem.learner.beliefs_in_words(problem.world)),
        ("Unseen tests", problem.learner.imputation_in_words()),
        ("Time", problem.time_in_words()),
    ]
    rows += _yes_no_rows(problem) if problem.is_binary else [_noise_row(problem)]
    if plan.regrets is not None:
        people = people_of(problem).items()
        for (name, person), weight in zip(people, weights_of(problem), strict=True):
            unseen = person.imputation_in_words()
            learning = person.learning_in_words()
            rows.append((f"{weight:.0%}", f"{name}: {learning}; unseen tests {unseen}"))
    return rows


def _yes_no_rows(problem: Problem) -> list[Row]:
    """How common yes is, how answers come about, and what no test tells."""
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
        ("From score to chance", _LINKS.get(outcome.link, outcome.link)),
        ("What no test tells", left),
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
    return ("What no test explains", said)
