"""Advice as text and as plain data: the plan, and a table of what else could be done."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from preceptor.evaluation.mistakes import Mistakes, decides
from preceptor.model.yes_no_risks import Decision
from preceptor.report.mistake_words import costs, has_costs, mistakes_by
from preceptor.report.people_words import worst_off
from preceptor.report.phrases import section, table, wrap
from preceptor.report.scale import per_case, scale_of
from preceptor.report.tables import rival_rows
from preceptor.report.words import explain

if TYPE_CHECKING:
    from preceptor.advice import Advice
    from preceptor.plan import Plan
    from preceptor.problem import Problem

# Weights on the terminal; all of them are in the report and in the data.
_MOST_WEIGHTS = 8


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
