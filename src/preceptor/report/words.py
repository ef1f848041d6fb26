"""A plan in words, for readers who have never seen the model.

Short schedules are spelled out; long or interleaved ones become a table of phases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from preceptor._base.numerics import effective_cases, total_weight
from preceptor._base.progress import Status
from preceptor._base.words import counted, duration_in_words, listed, sentence, times
from preceptor.model.evaluation import evaluate, learner_is_unknown, losses_along
from preceptor.model.mistakes import decides
from preceptor.model.plan import FIXED_SCHEDULES, Plan
from preceptor.model.policies import Alternating, Policy, Stationary, runs
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.report import schedule_view
from preceptor.report.mistakes_and_people import (
    MAX_LISTED,
    along_in_words,
    best_by,
    mistakes_by,
    named,
    proven,
    rates,
    who_would_lose,
)
from preceptor.report.phrases import ROUNDING, Row, cases, joined, per_case, plus, scale_of, section

# The most runs of equal sets that are described in one sentence; more become a table of phases.
_SENTENCE_RUNS = 5
_Part = str | Row


def explain(plan: Plan) -> str:
    """What to show, what it costs, how certain that is and how it was found, as plain text.

    >>> import preceptor as pr
    >>> world = pr.World([1.0, 0.5], [[1.0, 0.0], [0.0, 1.0]], names=["bmi", "bp"])
    >>> problem = pr.Problem(world, pr.Learner([0.8, 0.0], pr.Geometric(1.1)), 1)
    >>> print(explain(pr.solve(problem)).split("\\n\\n")[1])
    What to show
      Always show bmi.
    """
    parts = []
    for title, body in sections(plan):
        parts.append(section(title, body))
        if title == "What to show" and plan.regrets is not None:
            parts.append(who_would_lose(plan))
    return "\n\n".join(parts)


def plan_facts(plan: Plan) -> dict[str, Any]:
    """What a plan shows in the end, what it costs and what is proven, as plain data."""
    copied = ("exploration_length", "value", "lower_bound", "bound_holds_for", "gap")
    commit, names = plan.policy.commit, plan.problem.world.name_of
    return {
        "commit": None if commit is None else list(names(commit)),
        **{name: getattr(plan, name) for name in copied},
        "status": plan.status.value,
    }


def sections(plan: Plan) -> list[tuple[str, Sequence[_Part]]]:
    """Titles with their paragraphs and table rows; the first section has no title."""
    everything: list[tuple[str, Sequence[_Part]]] = [
        ("", [_setting(plan)]),
        ("What to show", _what_to_show(plan)),
        ("What it costs", _what_it_costs(plan)),
        ("How sure this is", _certainty(plan)),
        ("How it was found", [_how_found(plan)]),
        ("Notes", list(plan.notes)),
    ]
    return [(title, body) for title, body in everything if body]


def _setting(plan: Plan) -> str:
    problem = plan.problem
    many = counted(len(problem.world.tests), "test")
    if problem.horizon is None:
        matter = f"{effective_cases(problem.discount):,.0f}"
        text = f"A plan for {many} over open-ended teaching, of which about {matter} cases matter."
    else:
        text = f"A plan for {many} over {cases(problem.horizon)}."
    if problem.discount < 1.0:
        factor = f"{problem.discount:.6g}"
        text += f" Discount factor {factor}: each case counts {factor} times the one before."
    if plan.regrets is not None:
        many = counted(len(plan.regrets.people), "kind")
        why = "The person may be any of those below"
        if learner_is_unknown(problem):
            why = "How the person learns is not known"
        text += f" {why}, so it is for {many} of person at once."
    elif not problem.learns_by_showings:
        text += f" How the person learns: {problem.learner.learning_in_words()}."
    before = problem.start_counts if plan.seen_before is None else plan.seen_before
    starts = [before[block[0]] for block in problem.world.blocks]
    seen = [
        f"{name} {times(count)}"
        for name, count in zip(problem.world.tests, starts, strict=True)
        if count
    ]
    if seen:
        text += f" The person has already seen {listed(seen)}."
    return text


def _what_to_show(plan: Plan) -> list[_Part]:
    policy, horizon = plan.policy, plan.problem.horizon
    length, commit = policy.exploration_length, policy.commit
    if horizon is not None and (length is None or length >= horizon):
        return _schedule_words(plan, policy.schedule(horizon), "", total=horizon)
    first, word = schedule_view.settles_after(policy), schedule_view.repeated_word(policy)
    if first and word and horizon is None:
        return _schedule_words(plan, policy.schedule(first), _word_in_words(plan, word), total=None)
    if length is None or commit is None:
        return _endless_words(plan, policy)
    if not commit:
        closing = "show nothing from then on" if length else "show nothing, ever"
    elif horizon is None or length == 0:
        closing = f"always show {joined(plan, commit)}"
    else:
        left = horizon - length
        when = "in the last case" if left == 1 else f"for the remaining {cases(left)}"
        closing = f"show {joined(plan, commit)} {when}"
    if length == 0:
        return [sentence(closing)]
    return _schedule_words(plan, policy.schedule(length), closing, total=horizon)


def in_a_sentence(plan: Plan) -> str:
    """What to show, if one sentence can say it; else empty."""
    length, horizon = plan.exploration_length, plan.problem.horizon
    if length is None or plan.policy.commit is None:
        return ""
    rounds = length if horizon is None else min(length, horizon)
    if len(runs(plan.policy.schedule(rounds))) > _SENTENCE_RUNS:
        return ""
    first = _what_to_show(plan)[0]
    return first if isinstance(first, str) else ""


def _word_in_words(plan: Plan, word: tuple[TestSet, ...]) -> str:
    """E.g. "over and over: abdomen + wrist in 5 of 9 cases and chest in 4"."""
    parts = [
        f"{plus(plan, shown)} in {often:,}" + (f" of {cases(len(word))}" if i == 0 else "")
        for i, (shown, often) in enumerate(schedule_view.shares(word))
    ]
    return f"over and over: {listed(parts)}"


def _schedule_words(
    plan: Plan, schedule: list[TestSet], closing: str, *, total: int | None
) -> list[_Part]:
    """The schedule, then `closing`: one sentence if short, else a summary and its phases."""
    pieces = runs(schedule)
    if len(pieces) <= _SENTENCE_RUNS:
        parts = [
            f"{joined(plan, shown)} for {cases(length) if i == 0 else length}"
            for i, (shown, length) in enumerate(pieces)
        ]
        parts += [closing] if closing else []
        return [sentence("show " + ", then ".join(parts))]
    counts = schedule_view.tally(pieces)
    many = f"of the {total:,} " if total is not None and total > len(schedule) else ""
    opening = f"for the first {len(schedule):,} {many}cases" if closing else "throughout"
    summary = f"{opening}, rotate among {counted(len(counts), 'set')}: {_tally(plan, counts)}"
    lines: list[_Part] = [sentence(f"{summary}; then {closing}" if closing else summary)]
    found = schedule_view.phases(schedule)
    if len(found) > 1 or (len(counts) == 2 and found[0].longest_run <= 3):
        lines += _table(plan, found, closing)
    return lines


def _table(plan: Plan, found: list[schedule_view.Phase], closing: str) -> list[Row]:
    """One row per phase: its cases, and what is shown in them."""
    rows = []
    for phase in found:
        first, last = phase.begin + 1, phase.begin + phase.length
        label = f"case {first}" if first == last else f"cases {first} to {last}"
        rows.append((label, _phase_words(plan, phase)))
    if closing:
        rows.append((f"from case {last + 1}", closing))
    return rows


def _phase_words(plan: Plan, phase: schedule_view.Phase) -> str:
    """E.g. "bmi + bp (11 cases) and s5 (7), alternating"."""
    (most, often), *others = phase.counts.items()
    if not others:
        return plus(plan, most)
    if often >= 0.8 * phase.length:
        mainly = f"mainly {plus(plan, most)} ({often:,} of {cases(phase.length)})"
        rare = dict(others)
        return f"{mainly}, otherwise {_tally(plan, rare) if len(rare) > 1 else plus(plan, *rare)}"
    tallied = _tally(plan, phase.counts)
    if len(phase.counts) == 2 and phase.longest_run <= 3:
        return tallied + (", alternating" if phase.longest_run == 1 else ", roughly alternating")
    return tallied + ", interleaved"


def _tally(plan: Plan, counts: dict[TestSet, int]) -> str:
    """E.g. "bmi + bp (11 cases), s5 (7) and nothing (1)"."""
    return listed(
        [
            f"{plus(plan, shown)} ({cases(count) if i == 0 else f'{count:,}'})"
            for i, (shown, count) in enumerate(counts.items())
        ]
    )


def _endless_words(plan: Plan, policy: Policy) -> list[_Part]:
    """A policy that never commits to one set."""
    if isinstance(policy, Alternating) and len(runs(policy.cycle)) <= _SENTENCE_RUNS:
        parts = [
            joined(plan, shown) + (f" for {cases(length)}" if length > 1 else "")
            for shown, length in runs(policy.cycle)
        ]
        return [sentence(f"repeat forever: {', then '.join(parts)}")]
    if isinstance(policy, Alternating):
        lines = _schedule_words(plan, list(policy.cycle), "", total=None)
        return [f"Repeat a cycle of {cases(len(policy.cycle))} forever.", *lines]
    lines = _schedule_words(plan, policy.schedule(schedule_view.ROUNDS_IF_FIXED), "", total=None)
    return [
        f"The plan never commits to one set. Its first {schedule_view.ROUNDS_IF_FIXED} cases:",
        *lines,
    ]


def _what_it_costs(plan: Plan) -> list[_Part]:
    problem, policy = plan.problem, plan.policy
    weight = total_weight(problem.discount, problem.horizon)
    what = "Expected discounted loss" if problem.discount < 1.0 else "Expected loss"
    average = f"{plan.value / weight:.4g} per case on average"
    whose = ", averaged over the people" if plan.regrets is not None else ""
    lines: list[_Part] = [
        f"{what}{whose}: {plan.value:.6g} in total, {average}{loss_unit(problem)}."
    ]
    scale = scale_of(problem)
    if decides(problem):
        spent = mistakes_by(plan)
        lines.append(f"Per 100 cases: {named(spent)} ({rates(spent)}).")
    if scale.unit:
        off = f"{per_case(problem, plan.value):.3g}"
        lines.append(f"The {scale.label} of a prediction is {off} ({scale.unit}).")
    lines += _along_the_way(plan)
    commit, length = policy.commit, plan.exploration_length
    if commit is not None and length:
        fixed = evaluate(problem, Stationary(commit))
        lines.append(
            f"Showing {joined(plan, commit)} from the first case would cost {fixed:.6g} in total"
            f"{_how_much_more(fixed, plan.value)}."
        )
    return lines


def loss_unit(problem: Problem) -> str:
    """Unit of losses, in brackets: " (squared error of weight, kg)"; empty if unknown."""
    if problem.is_binary:
        return f" ({problem.risk.in_words()})"
    scale = scale_of(problem)
    if not scale.unit:
        return ""
    what = "squared error" if scale.is_squared else scale.label
    return f" ({what} of {scale.unit})"


def _how_much_more(other: float, value: float) -> str:
    if value <= 0.0 or other < 1.0005 * value:
        return ""
    ratio = other / value
    if ratio < 2.0:
        return f", {ratio - 1.0:.1%} more than the plan"
    return f", {ratio:.1f} times as much as the plan"


def _along_the_way(plan: Plan) -> list[_Part]:
    """Loss of the first case, of the one where the plan commits, and of a late one."""
    problem = plan.problem
    length = schedule_view.settles_after(plan.policy) or 0
    if problem.horizon is not None:
        rounds = min(problem.horizon, length + 2_000)
    else:
        # Later cases have a weight of a hundredth or less.
        matter = math.ceil(math.log(100.0) / max(1.0 - problem.discount, 1e-3))
        rounds = length + min(matter, 2_000)
    marks = sorted({1, min(length + 1, rounds), rounds})
    if decides(problem):
        rows: list[_Part] = [*along_in_words(plan, marks)]
        if (best_reader := best_by(plan)) is not None:
            shown, mistakes = best_reader
            of = f"the best reader of {joined(plan, shown)}: {rates(mistakes)}"
            rows.append(f"Best achievable: {named(mistakes)} per 100 cases ({of}).")
        return rows
    losses = losses_along(problem, plan.policy.schedule(rounds))
    parts = [f"{losses[case - 1]:.4g} for case {case:,}" for case in marks]
    lines: list[_Part] = [f"Loss of a single case: {listed(parts)}."]
    best = least_loss(plan)
    if best is not None and best > 0.0:
        lines.append(f"Best achievable: {best:.4g} per case (best set, every weight known).")
    return lines


def least_loss(plan: Plan) -> float | None:
    """The best achievable loss per case; None if there are too many sets."""
    problem = plan.problem
    if problem.budget.count(problem.size) > MAX_LISTED:
        return None
    return float(problem.oracle.floors().min())


def _certainty(plan: Plan) -> list[_Part]:
    if plan.regrets is not None:
        return [sentence(plan.how_sure()), *proven(plan)]
    if plan.gap <= ROUNDING or not math.isfinite(plan.gap):
        return [sentence(plan.how_sure())]
    bound = f"no {plan.bounded_plan} can cost less than {plan.lower_bound:.6g}, the lower bound"
    said: list[_Part] = [sentence(f"{plan.how_sure()}: {bound}")]
    if not plan.problem.learns_by_showings and plan.certificate is None:
        said.append(
            "The bound is the loss of a person who knows every weight, so it says little; the plan "
            "is the best that search found."
        )
    if plan.bound_holds_for == FIXED_SCHEDULES:
        said.append(
            "A policy that reacts to cases and outcomes may cost less than that: what this person "
            "learns depends on them."
        )
    return said


def _how_found(plan: Plan) -> str:
    text = f"Method: {plan.method}"
    if plan.reason:
        text += f" ({plan.reason})"
    work = duration_in_words(plan.seconds)
    if plan.states:
        work = f"{counted(plan.states, 'state')} in {work}"
    ended = {
        Status.WITHIN_TARGET: "; it stopped because the gap was as small as requested",
        Status.TIME_LIMIT: "; it stopped at the time limit",
        Status.INTERRUPTED: "; it was interrupted, and this is the best found until then",
    }
    return f"{text}; {work}{ended.get(plan.status, '')}."
