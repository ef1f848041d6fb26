"""Advice as a headline, as text and as plain data: what to do, what it is worth, how sure it is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from preceptor._base.words import LISTED, counted, listed, percent, wrap
from preceptor.advice.advice import Advice
from preceptor.advice.alternatives import Alternative
from preceptor.advice.comparing import WORTH_HAVING
from preceptor.advice.few_sets import FEW
from preceptor.advice.looking import WITHIN, Looking
from preceptor.model.mistakes import Mistakes, decides
from preceptor.model.plan import Plan
from preceptor.model.yes_no_risks import Decision
from preceptor.report.mistakes_and_people import (
    against,
    best_set,
    costs,
    has_costs,
    mistakes_by,
    still_wrong,
    worst_off,
)
from preceptor.report.phrases import (
    NOTHING_SAVED,
    cases,
    joined,
    per_case,
    scale_of,
    section,
    table,
)
from preceptor.report.schedule_view import repeated_word, rounds_shown, settles_after
from preceptor.report.tables import rival_rows
from preceptor.report.words import explain, in_a_sentence, least_loss, plan_facts

_AS_GOOD = ": one fixed set is as good"


def headline(advice: Advice) -> tuple[str, ...]:
    """What to do, what it is worth, how sure it is, for which people it is wrong, and looking."""
    said = (_what_to_do(advice), _worth(advice), _how_sure(advice), _wrong_for(advice))
    return said if advice.looking is None else (*said, _by_looking(advice.plan, advice.looking))


def _what_to_do(advice: Advice) -> str:
    said = _shown_when(advice)
    if advice.few is None:
        return said
    more = advice.few.value / advice.plan.value - 1.0
    costs = f"{_share(more)} more" if more > NOTHING_SAVED else "no more"
    return f"{said} Three sets are enough: `--simple {FEW}` costs {costs}."


def _shown_when(advice: Advice) -> str:
    plan = advice.plan
    policy, horizon = plan.policy, plan.problem.horizon
    commit, length = policy.commit, plan.exploration_length
    if commit is not None and is_one_set(plan):
        if not commit:
            return _nothing_to_show(advice)
        return f"No schedule is needed: always show {joined(plan, commit)}."
    brief = in_a_sentence(plan)
    if brief:
        return brief
    settled = settles_after(policy)
    if horizon is not None and (length is None or 2 * length > horizon or commit is None):
        many = counted(len(set(policy.schedule(horizon))), "set")
        return f"Follow a schedule of {cases(horizon)} that rotates among {many}."
    if commit is not None and length is not None:
        tally = Counter(policy.schedule(length)).most_common()
        names = plan.problem.world.name_of
        most = [f"{' + '.join(names(shown)) or 'nothing'} ({cases(n)})" for shown, n in tally[:3]]
        last = f" (to the last, case {horizon})" if horizon is not None else ""
        said = f"In the first {cases(length)} show {listed(most)}"
        ending = f"then always {joined(plan, commit)}{last}"
        if len(tally) == len(most):
            return f"{said}, in the order of the schedule; {ending}."
        others = counted(len(tally) - len(most), "other set")
        return f"{said}, and {others} between them; {ending}."
    word = repeated_word(policy)
    if word:
        many = counted(len(set(word)), "set")
        first_cases = f"Follow the schedule for {cases(settled)}, then r" if settled else "R"
        return f"{first_cases}epeat a cycle of {cases(len(word))} with {many}, over and over."
    many = counted(len(set(policy.schedule(rounds_shown(plan)))), "set")
    return f"Follow the schedule, which keeps changing among {many}."


def _nothing_to_show(advice: Advice) -> str:
    """Why the best plan shows no test, how much the tests tell at all, and what would change it."""
    found = advice.estimate
    told = ""
    if found is not None:
        name = found.design.outcome_name
        if found.world.is_binary:
            low, high = found.held_out.auc_interval
            told = (
                f"These tests tell little about {name}: in held-out cases their AUC is "
                f"{found.held_out.auc:.2f} ({low:.2f} to {high:.2f}; 0.5 is chance). "
            )
        else:
            share = max(found.r_squared, 0.0)
            # Large-sample standard error of a squared correlation.
            error = 2.0 * math.sqrt(share / found.rows) * (1.0 - share)
            low, high = max(share - 1.96 * error, 0.0), min(share + 1.96 * error, 1.0)
            told = (
                f"These tests tell little about {name}: they predict {share:.0%} of its variance "
                f"in held-out cases ({low:.0%} to {high:.0%}). "
            )
    return (
        f"{told}Showing none of the tests costs least: what a learner gains from them is less than "
        "the chance in single outcomes, which they would learn as well, costs. Tests that tell "
        "more, or learners who change less with each outcome, would change that."
    )


def _worth(advice: Advice) -> str:
    """What the plan saves, or what one fixed set forgoes."""
    plan, free = advice.plan, advice.free
    fixed = _habit(advice)
    said = []
    if is_one_set(plan) and free is not None and not is_one_set(free):
        saved = max(1.0 - free.value / plan.value, 0.0) if plan.value > 0.0 else 0.0
        verdict = _AS_GOOD
        if saved >= WORTH_HAVING:
            verdict = ", which these cases cannot distinguish from zero; one fixed set is preferred"
        what = scale_of(plan.problem).what
        said.append(f"A schedule would save {_share(saved)} of the {what}{verdict}.")
    elif fixed is not None and is_one_set(plan):
        said.append(f"No schedule was found that costs less{_AS_GOOD}.")
    elif fixed is not None:
        said.append(_against_habit(plan, fixed))
    if fixed is not None:
        is_linear = advice.estimate is not None and advice.estimate.is_linear_reading
        said += in_numbers(plan, advice.rivals, is_linear=is_linear)
    if advice.simple is not None and free is not None and plan.value > 0.0 and free.value > 0.0:
        more = max(plan.value / free.value - 1.0, 0.0)
        limit = counted(advice.simple, "set")
        said.append(f"At most {limit} instead of any number costs {_share(more)} more.")
    return " ".join(said) or "What it is worth was not compared."


def _against_habit(plan: Plan, habit: Alternative) -> str:
    """What the plan saves or costs against one fixed set, on average and in the worst case."""
    saved = 1.0 - plan.value / habit.value if habit.value > 0.0 else 0.0
    always = f"always showing {set_of(plan, habit)}"
    worst = _worst_off(plan, habit)
    mean = " on average" if plan.regrets is not None else ""
    if saved <= -NOTHING_SAVED and worst:
        return f"Costs {_share(-saved)} more{mean} than {always}, but {worst}."
    if worst:
        worst = f"; {worst}"
    elif saved < WORTH_HAVING:
        worst = _AS_GOOD
    what = scale_of(plan.problem).what
    return f"Saves {_share(max(saved, 0.0))} of the {what}{mean} compared with {always}{worst}."


def _habit(advice: Advice) -> Alternative | None:
    """The fixed set that the plan was compared with in resampled worlds; else the best one."""
    found = advice.resampled
    shown = {r.policy.commit: r for r in advice.rivals[:2][::-1] if r.policy is not None}
    if found is not None and found.habit in shown:
        return shown[found.habit]
    return next((rival for rival in advice.rivals if rival.name == "fixed"), None)


def _worst_off(plan: Plan, habit: Alternative) -> str:
    """For a crowd: how much less the worst-off person loses than by the habit, if it is less."""
    if plan.regrets is None or plan.regrets.objective == "mean":
        return ""
    row = 2 if habit.name == "fixed" else 1
    ours, theirs = (float(plan.regrets.table[i].max()) for i in (0, row))
    if theirs - ours < WORTH_HAVING:
        return ""
    return f"the worst-off person loses {percent(ours)} instead of {percent(theirs)}"


def _how_sure(advice: Advice) -> str:
    plan, found = advice.plan, advice.resampled
    said = [f"How sure: {plan.how_sure()}."]
    if found is not None:
        low, high = found.interval
        share = found.share_of(found.habit)
        worlds = f"{len(found.gains)} worlds estimated from other draws of the cases"
        which = "a schedule" if is_one_set(plan) else "the plan"
        if not (is_one_set(plan) and advice.free is None):
            said.append(
                f"In {worlds}, {which} saves {low:z.1%} to {high:z.1%} compared with "
                f"{joined(plan, found.habit)}, which is the best fixed set in {share:.0%} of them."
            )
        else:
            said.append(f"In {worlds}, this set is the best fixed one in {share:.0%}.")
    elif advice.estimate is None:
        said.append("The world is taken as given; its uncertainty is not known.")
    return " ".join(said)


def _wrong_for(advice: Advice) -> str:
    plan = advice.plan
    if plan.regrets is not None:
        worst = worst_off(plan.regrets)
        if worst is None:
            return "Wrong for: none of the kinds of person it was made for, as far as search found."
        loses = percent(plan.regrets.table[0, worst])
        return (
            f'Wrong for: "{plan.regrets.people[worst]}" loses most, {loses} more than by their own '
            "plan; and people unlike any of the kinds below."
        )
    text = f"Wrong for: people who do not learn as assumed ({plan.problem.learner.kind})"
    if advice.changes and advice.changes[0].saving >= NOTHING_SAVED:
        worst_change = advice.changes[0]
        missed = f"{_share(worst_change.saving)} of the {scale_of(plan.problem).what}"
        text += f"; if {worst_change.direction}, a plan made for that would save {missed}"
    return f"{text}."


def _by_looking(plan: Plan, found: Looking) -> str:
    """What choosing with the case in view would be worth to these people."""
    commit = plan.policy.commit
    habit = f"always showing {joined(plan, commit)}" if commit and is_one_set(plan) else "this plan"
    aim = f"half of the trainees within {WITHIN:.0%} of an expert without help"
    tutor = "choosing cases and tests by their results and the trainee's answers"
    if found.chosen is None:
        said = f"{tutor} (`preceptor teach`) would not bring {aim} in {found.most_chosen} cases"
    else:
        high = f"more than {found.most_chosen}" if found.high is None else f"{found.high}"
        interval = f" ({found.low} to {high})" if found.low != found.high else ""
        said = (
            f"{tutor} (`preceptor teach`) would bring {aim} after about "
            f"{cases(found.chosen)}{interval}"
        )
    takes = f"more than {found.most_planned}" if found.planned is None else f"{found.planned}"
    return (
        f"Looking at the case: {said}; {habit} takes {takes}. Simulated with {found.people} people "
        "of these kinds and cases of this table; real trainees may differ."
    )


def _share(value: float) -> str:
    """Format a saving: more digits the smaller it is."""
    if value < NOTHING_SAVED:
        return "less than 0.01%" if value > 0.0 else "0%"
    return f"{value:.2%}" if value < 0.01 else f"{value:.1%}"


def in_numbers(plan: Plan, rivals: Sequence[Alternative], *, is_linear: bool = False) -> list[str]:
    """Loss per case of plan and rivals: in units of the outcome, or as mistakes.

    `is_linear`: whether an outcome with two values is treated as a number.
    """
    problem, scale = plan.problem, scale_of(plan.problem)
    others = _habits(plan, [rival for rival in rivals if rival.name in ("fixed", "predictive")])
    same = [(rival, f"by {rival.title.lower()}") for rival in rivals if not rival.needs_tests]
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
        numbers = [f"{per_case(problem, r.value):.4g} {words}" for r, words in others + cheapest]
        rest = f", against {listed(numbers)}" if numbers else ""
        own = f"{per_case(problem, plan.value):.4g}"
        said.append(f"{scale.label.capitalize()}{unit}: {own}{each}{rest}.")
    if is_linear:
        said.append(_linear_floor(plan))
    if problem.is_binary:
        said += [_floor(plan), _no_use(plan, [rival for rival, _ in same])]
    return [text for text in said if text]


def _habits(plan: Plan, fixed_sets: list[Alternative]) -> list[tuple[Alternative, str]]:
    """Fixed sets to compare with, and their names; sets that show the same are merged."""
    others: list[tuple[Alternative, str]] = []
    for rival in fixed_sets:
        is_fixed = rival.name == "fixed"
        if is_one_set(plan) and (is_fixed or rival.policy == plan.policy):
            continue
        if others and rival.policy == others[0][0].policy:
            others = [(others[0][0], f"{others[0][1]} (also the most predictive)")]
        elif is_fixed:
            others.append((rival, "with the best fixed set"))
        else:
            others.append((rival, f"with the most predictive tests ({set_of(plan, rival)})"))
    return others


def _linear_floor(plan: Plan) -> str:
    """The least loss of a linear reader, where the outcome has two values."""
    least, scale = least_loss(plan), scale_of(plan.problem)
    if least is None:
        return ""
    return (
        f"No linear reader of the allowed tests can be below {float(scale.of(least)):.4g}; the "
        "outcome has two values, and a reader who treats it as yes or no may be."
    )


def _no_use(plan: Plan, same: list[Alternative]) -> str:
    """Warn where one answer for all cases costs less than showing tests."""
    best = min(same, key=lambda rival: rival.value, default=None)
    if best is None or best.value >= plan.value:
        return ""
    shows = any(plan.policy.used_sets())
    than = "showing any tests by this plan" if shows else "what this person says without any test"
    return f"Beware: {best.title.lower()} costs less than {than}."


def _floor(plan: Plan) -> str:
    """The least possible loss, where the outcome is yes or no."""
    if decides(plan.problem):
        return still_wrong(plan)
    least, shown = least_loss(plan), best_set(plan.problem)
    if least is None or shown is None:
        return ""
    label = scale_of(plan.problem).label
    return f"The best reader of {joined(plan, shown)} would still have {least:.4g} ({label})."


def is_one_set(plan: Plan) -> bool:
    """Whether the plan shows one set from the first case to the last."""
    return plan.policy.commit is not None and plan.exploration_length == 0


def set_of(plan: Plan, rival: Alternative) -> str:
    """The tests that a rival shows, for a sentence."""
    shown = None if rival.policy is None else rival.policy.commit
    return joined(plan, shown) if shown else "nothing"


def explain_advice(advice: Advice) -> str:
    """What `preceptor plan` prints; for a crowd, the table of people includes the rivals."""
    parts = [section("In short", list(advice.headline)), explain(advice.plan)]
    if advice.plan.regrets is None:
        parts.append(_compared(advice))
    parts.append(_weights(advice))
    if advice.notes:
        parts.append(section("Left out", list(advice.notes)))
    return "\n\n".join(filter(None, parts))


def _weights(advice: Advice) -> str:
    """The estimated weights of the tests that the plan shows, with intervals."""
    plan, found, world = advice.plan, advice.resampled, advice.plan.problem.world
    if found is None:
        return ""
    horizon = plan.problem.horizon
    sets = plan.policy.used_sets() if horizon is None else plan.policy.schedule(horizon)
    shown = {i for each in sets for i in each}
    rows = [row for i, row in enumerate(found.weights) if i in shown]
    if not rows:
        return ""
    rows = sorted(rows, key=lambda row: -abs(row.weight))[:LISTED]
    unit = f" ({world.units.outcome})" if world.units is not None else ""
    if world.is_binary:
        unit = " on the scale of the score"
    head = ("test", "weight of 1 sd", f"{found.level:.0%} of draws", "correlation")
    cells = [
        (
            row.name,
            f"{row.weight:+.3g}",
            f"{row.low:+.3g} to {row.high:+.3g}",
            f"{row.correlation:+.2f}" + ("*" if row.disagrees else " "),
        )
        for row in rows
    ]
    legend = [
        f"Estimated{unit}, in {found.replicates} draws of the cases; tests that the plan shows."
    ]
    if any(row.disagrees for row in rows):
        legend.append(
            "* The weight has the opposite sign to the test's own correlation with the outcome: it "
            "is what the test adds to the others, and near duplicates share it between them."
        )
    lines = [line for text in legend for line in wrap(text, "  ", "  ")]
    return "\n".join(["Estimated weights", *table([head, *cells]), *lines])


def _compared(advice: Advice) -> str:
    """A table of other policies."""
    plan, problem = advice.plan, advice.plan.problem
    scale = scale_of(problem)
    found = rival_rows(plan, advice.rivals, advice.free)
    head: tuple[str, ...] = ("policy", scale.label, "loss vs plan", "excess loss")
    rows: list[tuple[str, ...]] = [(r.title, r.per_case, r.more, r.excess) for r in found]
    if decides(problem):
        total = "wrong" if scale.what == "wrong decisions" else scale.what
        head = ("policy", "misses", "false alarms", total, "loss vs plan", "excess loss")
        rows = [(r.title, r.misses, r.false_alarms, r.per_case, r.more, r.excess) for r in found]
    unit = f", in {scale.unit}" if scale.unit else ""
    about = f"{scale.label.capitalize()} over all cases{unit}."
    if isinstance(problem.risk, Decision):
        charged = f"; {costs(problem.risk)}" if has_costs(problem) else ""
        about = f"Misses and false alarms per 100 cases, over all cases{charged}."
    best = "Best achievable: the best set, read by a person who knows every weight from case 1."
    return "\n".join(
        [
            "Compared with other policies",
            *table([head, *rows]),
            "",
            about,
            best,
            "Excess loss: loss above the best achievable, as a multiple of the plan's.",
        ]
    )


# Fields of rivals and of changed assumptions that go into plain data unchanged.
_OF_RIVALS = ("name", "title", "value", "standard_error")
_OF_CHANGES = ("kept", "again", "saving", "saving_at_most")


def advice_to_dict(advice: Advice) -> dict[str, Any]:
    """Return advice as plain data."""
    plan, problem = advice.plan, advice.plan.problem
    estimate, proof = advice.estimate, advice.verification

    def names(shown: tuple[int, ...] | None) -> list[str] | None:
        return None if shown is None else list(problem.world.name_of(shown))

    return {
        "headline": list(advice.headline),
        "provenance": asdict(advice.provenance),
        **plan_facts(plan),
        "verified": None if proof is None else proof.ok,
        "scale": scale_of(problem).axis,
        "per_case": per_case(problem, plan.value),
        **_mistakes_to_dict(mistakes_by(plan) if decides(problem) else None),
        "alternatives": [
            {
                **{name: getattr(rival, name) for name in _OF_RIVALS},
                "shows": names(rival.policy.commit if rival.policy else None),
                "per_case": per_case(problem, rival.value),
                "more_than_plan": rival.excess(plan),
                **_mistakes_to_dict(rival.mistakes),
            }
            for rival in advice.rivals
        ],
        "sensitivity": [
            {"if": change.direction, **{name: getattr(change, name) for name in _OF_CHANGES}}
            for change in advice.changes
        ],
        **_people_to_dict(plan),
        "simple": advice.simple,
        "with_three_sets": None if advice.few is None else advice.few.value,
        "searched": None if advice.free is None else advice.free.value,
        "resampled": _resampled_to_dict(advice),
        "looking": None if advice.looking is None else asdict(advice.looking),
        "left_out": list(advice.notes),
        "schedule": [
            {"case": row.case, "show": list(row.shown), "text": row.text}
            for row in advice.schedule()
        ],
        "world": {
            "cases": None if estimate is None else estimate.rows,
            "notes": [] if estimate is None else list(estimate.notes),
            "doubts": [] if estimate is None else list(estimate.doubts),
        },
        "plan": plan.to_dict(),
    }


def _mistakes_to_dict(mistakes: Mistakes | None) -> dict[str, Any]:
    """Where answers are decisions: misses, false alarms, sensitivity and specificity."""
    if mistakes is None:
        return {}
    return {
        "mistakes": {
            "misses_per_100": 100.0 * float(mistakes.misses),
            "false_alarms_per_100": 100.0 * float(mistakes.false_alarms),
            "sensitivity": float(mistakes.sensitivity),
            "specificity": float(mistakes.specificity),
        }
    }


def _resampled_to_dict(advice: Advice) -> dict[str, Any] | None:
    """Plan, habit and weights in worlds estimated from resampled cases."""
    found, world = advice.resampled, advice.plan.problem.world
    if found is None:
        return None
    low, high = found.interval
    return {
        "habit": list(world.name_of(found.habit)),
        "gain_low": low,
        "gain_high": high,
        "gains": found.gains.tolist(),
        "best_fixed_sets": [
            {"set": list(world.name_of(shown)), "replicates": often}
            for shown, often in found.winners
        ],
        "weights": [asdict(each) for each in found.weights],
        "replicates": found.replicates,
    }


def _people_to_dict(plan: Plan) -> dict[str, Any]:
    """For a crowd: regrets of each person."""
    regrets = plan.regrets
    if regrets is None:
        return {}
    losses, worst = regrets.table, worst_off(regrets)
    return {
        "objective": regrets.objective,
        "worst_regret": regrets.worst,
        "mean_regret": regrets.mean,
        "loses_most": None if worst is None else regrets.people[worst],
        "people": [
            {
                "name": name,
                "weight": float(regrets.weights[i]),
                "regret": float(losses[0, i]),
                "regret_most_predictive": float(losses[1, i]),
                "regret_best_fixed_set": float(losses[2, i]),
                "own_plan": float(regrets.best[i]),
                "lower_bound": float(regrets.bounds[i]),
                "how_bounded": regrets.bound_kinds[i],
                "exact": regrets.exact[i],
            }
            for i, name in enumerate(regrets.people)
        ],
    }
