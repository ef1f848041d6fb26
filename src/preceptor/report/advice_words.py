"""Advice in short, as text and as plain data: what to do, what it is worth, how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from preceptor._base.words import counted, listed, percent, wrap
from preceptor.advice.comparing import WORTH_HAVING
from preceptor.evaluation.mistakes import Mistakes, decides
from preceptor.model.yes_no_risks import Decision
from preceptor.report.mistake_words import (
    against,
    best_set,
    costs,
    has_costs,
    mistakes_by,
    still_wrong,
)
from preceptor.report.people_words import worst_off
from preceptor.report.phrases import cases, joined, section, table
from preceptor.report.scale import per_case, scale_of
from preceptor.report.showing import repeated_word, rounds_shown, settles_after
from preceptor.report.tables import rival_rows
from preceptor.report.words import explain, in_a_sentence, least_loss

if TYPE_CHECKING:
    from preceptor.advice import Advice, Alternative
    from preceptor.plan import Plan
    from preceptor.problem import Problem

# Savings below this share are none.
_NOTHING = 5e-5
# Weights on the terminal; all of them are in the report and in the data.
_MOST_WEIGHTS = 8


def headline(advice: Advice) -> tuple[str, ...]:
    """What to do, what it is worth, how sure it is, for whom it would be wrong: a text each."""
    return (_what_to_do(advice.plan), _worth(advice), _how_sure(advice), _wrong_for(advice))


def _what_to_do(plan: Plan) -> str:
    policy, horizon = plan.policy, plan.problem.horizon
    commit, length = policy.commit, plan.exploration_length
    if commit is not None and is_one_set(plan):
        what = f"always show {joined(plan, commit)}" if commit else "show nothing, ever"
        return f"Nothing to plan: {what}."
    brief = in_a_sentence(plan)
    if brief:
        return brief
    settled = settles_after(policy)
    if horizon is not None and (length is None or 2 * length > horizon or commit is None):
        many = counted(len(set(policy.schedule(horizon))), "set")
        return f"Follow a schedule of {cases(horizon)} that rotates among {many}."
    if commit is not None and length is not None:
        first = counted(len(set(policy.schedule(length))), "set")
        last = f" (to the last, case {horizon})" if horizon is not None else ""
        return (
            f"Show {first} in the first {cases(length)} as the schedule says, then always "
            f"{joined(plan, commit)}{last}."
        )
    word = repeated_word(policy)
    if word:
        many = counted(len(set(word)), "set")
        first_cases = f"Follow the schedule for {cases(settled)}, then r" if settled else "R"
        return f"{first_cases}epeat a cycle of {cases(len(word))} with {many}, over and over."
    many = counted(len(set(policy.schedule(rounds_shown(plan)))), "set")
    return f"Follow the schedule, which goes on changing among {many}."


def _worth(advice: Advice) -> str:
    """What the plan saves, or what the simple habit forgoes."""
    plan, free = advice.plan, advice.free
    fixed = _habit(advice)
    said = []
    if is_one_set(plan) and free is not None and not is_one_set(free):
        saved = max(1.0 - free.value / plan.value, 0.0) if plan.value > 0.0 else 0.0
        worth = f"{_share(saved)} of the {scale_of(plan.problem).what}"
        gains = "save" if plan.problem.is_binary else "be worth"
        said.append(f"A schedule would {gains} {worth}{_verdict(saved)}.")
    elif fixed is not None and is_one_set(plan):
        said.append("No schedule was found that costs less: the simple habit is as good.")
    elif fixed is not None:
        said.append(_beside_habit(plan, fixed))
    if fixed is not None:
        is_linear = advice.estimate is not None and advice.estimate.is_linear_reading
        said += in_numbers(plan, advice.rivals, is_linear=is_linear)
    if advice.simple is not None and free is not None and plan.value > 0.0 and free.value > 0.0:
        more = max(plan.value / free.value - 1.0, 0.0)
        limit = counted(advice.simple, "set")
        said.append(f"At most {limit} in place of any number costs {_share(more)} more.")
    return " ".join(said) or "What it is worth was not compared."


def _beside_habit(plan: Plan, habit: Alternative) -> str:
    """What the plan saves or costs beside one fixed set, on average and for the worst off."""
    saved = 1.0 - plan.value / habit.value if habit.value > 0.0 else 0.0
    always = f"always showing {set_of(plan, habit)}"
    worst = _worst_off(plan, habit)
    mean = " on average" if plan.regrets is not None else ""
    if saved <= -_NOTHING and worst:
        return f"Costs {_share(-saved)} more{mean} than {always}, but{worst}."
    if worst:
        worst = f"; {worst.lstrip()}"
    elif saved < WORTH_HAVING:
        worst = ": the simple habit is as good"
    gains = "Saves" if plan.problem.is_binary else "Worth"
    what = scale_of(plan.problem).what
    return f"{gains} {_share(max(saved, 0.0))} of the {what}{mean} against {always}{worst}."


def _habit(advice: Advice) -> Alternative | None:
    """The fixed set that the plan was compared with in worlds drawn again; else the best one."""
    found = advice.resampled
    shown = {r.policy.commit: r for r in advice.rivals[:2][::-1] if r.policy is not None}
    if found is not None and found.habit in shown:
        return shown[found.habit]
    return next((rival for rival in advice.rivals if rival.name == "fixed"), None)


def _worst_off(plan: Plan, habit: Alternative) -> str:
    """For a crowd: how much less the worst off loses than by the habit, if it is less."""
    if plan.regrets is None or plan.regrets.objective == "mean":
        return ""
    row = 2 if habit.name == "fixed" else 1
    ours, theirs = (float(plan.regrets.table[i].max()) for i in (0, row))
    if theirs - ours < WORTH_HAVING:
        return ""
    return f" the worst off loses {percent(ours)} in place of {percent(theirs)}"


def _verdict(saved: float) -> str:
    if saved < WORTH_HAVING:
        return ": the simple habit is as good"
    return ", which these cases cannot tell from nothing: the simple habit is preferred"


def _how_sure(advice: Advice) -> str:
    plan, found = advice.plan, advice.resampled
    said = [f"How sure: {plan.how_sure()}."]
    if found is not None:
        low, high = found.interval
        share = found.share_of(found.habit)
        worlds = f"{len(found.gains)} worlds estimated from other draws of the cases"
        which = "a schedule" if is_one_set(plan) else "the plan"
        if not (is_one_set(plan) and advice.free is None):
            said.append(f"In {worlds}, {which} saves {_signed(low)} to {_signed(high)}")
            said[-1] += f" against {joined(plan, found.habit)}, "
            said[-1] += f"which is the best fixed set in {share:.0%} of them."
        else:
            said.append(f"In {worlds}, this set is the best fixed one in {share:.0%}.")
    elif advice.estimate is None:
        said.append("The world is taken as given; nothing says how sure it is.")
    return " ".join(said)


def _wrong_for(advice: Advice) -> str:
    plan = advice.plan
    if plan.regrets is not None:
        worst = worst_off(plan.regrets)
        if worst is None:
            return "Wrong for: nobody among the kinds of person it was made for, as far as found."
        loses = percent(plan.regrets.table[0, worst])
        return (
            f'Wrong for: "{plan.regrets.people[worst]}" loses most by it, {loses} beyond a plan of '
            "their own; and people unlike any of the kinds below."
        )
    text = f"Wrong for: whoever learns otherwise than assumed ({plan.problem.learner.kind})"
    if advice.changes and advice.changes[0].saving >= _NOTHING:
        worst_change = advice.changes[0]
        missed = f"{_share(worst_change.saving)} of the {scale_of(plan.problem).what}"
        if plan.problem.is_binary:
            text += f"; if {worst_change.direction}, a plan made for that would save {missed}"
        else:
            text += f"; if {worst_change.direction}, it misses {missed}"
    return f"{text}."


def _share(value: float) -> str:
    """A saving as people read it: more digits the smaller it is."""
    if value < _NOTHING:
        return "less than 0.01%" if value > 0.0 else "0%"
    return f"{value:.2%}" if value < 0.01 else f"{value:.1%}"


def _signed(value: float) -> str:
    return f"{value:.1%}".replace("-0.0%", "0.0%")


def in_numbers(plan: Plan, rivals: Sequence[Alternative], *, is_linear: bool = False) -> list[str]:
    """The loss per case of plan and rivals: in the unit of the outcome, or as mistakes.

    `is_linear` where an outcome that takes two values is read as a number.
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
        beside = f", against {listed(numbers)}" if numbers else ""
        own = f"{per_case(problem, plan.value):.4g}"
        said.append(f"{scale.label.capitalize()}{unit}: {own}{each}{beside}.")
    if is_linear:
        said.append(_linear_floor(plan))
    if problem.is_binary:
        said += [_floor(plan), _no_use(plan, [rival for rival, _ in same])]
    return [text for text in said if text]


def _habits(plan: Plan, fixed_sets: list[Alternative]) -> list[tuple[Alternative, str]]:
    """Fixed sets beside the plan, and what to call them; what shows the same is left out."""
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


def is_one_set(plan: Plan) -> bool:
    """Whether the plan shows one set from the first case to the last."""
    return plan.policy.commit is not None and plan.exploration_length == 0


def set_of(plan: Plan, rival: Alternative) -> str:
    """What a rival shows, for a sentence."""
    shown = None if rival.policy is None else rival.policy.commit
    return joined(plan, shown) if shown else "nothing"


def explain_advice(advice: Advice) -> str:
    """What `preceptor plan` prints; for a crowd the table of its people has the rivals too."""
    parts = [section("In short", list(advice.headline)), explain(advice.plan)]
    if advice.plan.regrets is None:
        parts.append(_compared(advice))
    parts += [part for part in (_weights(advice), _left_out(advice)) if part]
    return "\n\n".join(parts)


def _weights(advice: Advice) -> str:
    """The estimated weights of the tests that the plan shows, with intervals."""
    found, world = advice.resampled, advice.plan.problem.world
    if found is None:
        return ""
    shown = {i for each in _sets_shown(advice.plan) for i in each}
    rows = [(i, row) for i, row in enumerate(found.weights) if i in shown]
    if not rows:
        return ""
    rows = sorted(rows, key=lambda each: -abs(each[1].weight))[:_MOST_WEIGHTS]
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
        for _, row in rows
    ]
    legend = [
        f"Estimated{unit}, in {found.replicates} draws of the cases; tests that the plan shows."
    ]
    if any(row.disagrees for _, row in rows):
        legend.append(
            "* The weight has the other sign than the test's own correlation with the outcome: it "
            "stands for what the test adds to the others, and nearly copies share it between them."
        )
    lines = [line for text in legend for line in wrap(text, "  ", "  ")]
    return "\n".join(["Estimated weights", *table([head, *cells]), *lines])


def _sets_shown(plan: Plan) -> list[tuple[int, ...]]:
    """What is shown while cases count."""
    horizon = plan.problem.horizon
    return plan.policy.used_sets() if horizon is None else plan.policy.schedule(horizon)


def _left_out(advice: Advice) -> str:
    return section("Left out", list(advice.notes)) if advice.notes else ""


def _compared(advice: Advice) -> str:
    """A table of what else could be done."""
    plan = advice.plan
    scale = scale_of(plan.problem)
    found = rival_rows(plan, advice.rivals, advice.free)
    head: tuple[str, ...] = ("way to choose", scale.label, "loss vs plan", "excess loss")
    rows: list[tuple[str, ...]] = [(r.title, r.per_case, r.more, r.excess) for r in found]
    if decides(plan.problem):
        total = "wrong" if scale.what == "wrong decisions" else scale.what
        head = ("way to choose", "misses", "false alarms", total, "loss vs plan", "excess loss")
        rows = [(r.title, r.misses, r.false_alarms, r.per_case, r.more, r.excess) for r in found]
    unit = f", in {scale.unit}" if scale.unit else ""
    best = "Best achievable: the best set, read by a person who knows every weight from case 1."
    return "\n".join(
        [
            "Compared with other ways to choose tests",
            *table([head, *rows]),
            "",
            _about_columns(plan.problem, f"{scale.label.capitalize()} over all cases{unit}."),
            best,
            "Excess loss: loss above the best achievable, as a multiple of the plan's.",
        ]
    )


def _about_columns(problem: Problem, otherwise: str) -> str:
    """What the numbers of the table are."""
    if not isinstance(problem.risk, Decision):
        return otherwise
    charged = f"; {costs(problem.risk)}" if has_costs(problem) else ""
    return f"Misses and false alarms per 100 cases, over all cases{charged}."


def advice_to_dict(advice: Advice) -> dict[str, Any]:
    """All of it as plain data."""
    plan, problem = advice.plan, advice.plan.problem
    estimate, proof = advice.estimate, advice.verification

    def names(shown: tuple[int, ...] | None) -> list[str] | None:
        return None if shown is None else list(problem.world.name_of(shown))

    return {
        "headline": list(advice.headline),
        "provenance": asdict(advice.provenance),
        "commit": names(plan.policy.commit),
        "exploration_length": plan.exploration_length,
        "value": plan.value,
        "lower_bound": plan.lower_bound,
        "bound_holds_for": plan.bound_holds_for,
        "gap": plan.gap,
        "status": plan.status.value,
        "verified": None if proof is None else proof.ok,
        "scale": scale_of(problem).axis,
        "per_case": per_case(problem, plan.value),
        **_mistakes_to_dict(mistakes_by(plan) if decides(problem) else None),
        "alternatives": [
            {
                "name": rival.name,
                "title": rival.title,
                "shows": names(rival.policy.commit if rival.policy else None),
                "value": rival.value,
                "standard_error": rival.standard_error,
                "per_case": per_case(problem, rival.value),
                "more_than_plan": rival.excess(plan),
                **_mistakes_to_dict(rival.mistakes),
            }
            for rival in advice.rivals
        ],
        "sensitivity": [
            {
                "if": change.direction,
                "kept": change.kept,
                "again": change.again,
                "saving": change.saving,
                "saving_at_most": change.saving_at_most,
            }
            for change in advice.changes
        ],
        **_people_to_dict(plan),
        "simple": advice.simple,
        "searched": None if advice.free is None else advice.free.value,
        "resampled": _resampled_to_dict(advice),
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
    """Where answers are decisions: how often each is wrong, and the usual two rates."""
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
    """Plan, habit and weights in worlds estimated from cases drawn again."""
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
    """For a crowd: what the plan means to each of its people."""
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
