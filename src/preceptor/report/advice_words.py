"""Advice as text and as plain data: the plan, and a table of what else could be done."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from preceptor.report.people_words import (
    PersonRow,
    average_row,
    person_rows,
    worst_off,
    worth_of_knowing,
)
from preceptor.report.phrases import section, wrap
from preceptor.report.scale import per_case, scale_of
from preceptor.report.tables import rival_rows
from preceptor.report.words import explain, sections

if TYPE_CHECKING:
    from preceptor.advice import Advice
    from preceptor.plan import Plan

WHO = "Who would lose by this plan"
# Names that begin so say how somebody learns.
_TELLING = ("by outcomes", "by showings", "not learning")
_WIDEST_NAME = 44


def explain_advice(advice: Advice) -> str:
    """What `preceptor plan` prints."""
    plan = advice.plan
    told = sections(plan, code=False)
    if plan.regrets is not None:
        # What to show comes first, then whom that suits.
        at = 1 + [title for title, _ in told].index("What to show")
        before, after = (
            "\n\n".join(section(title, body) for title, body in part)
            for part in (told[:at], told[at:])
        )
        return "\n\n".join([before, _who_would_lose(plan), after])
    return "\n\n".join([explain(plan, code=False), _compared(advice)])


def _who_would_lose(plan: Plan) -> str:
    """A table of people, and what to make of it."""
    assert plan.regrets is not None
    rows, scale = person_rows(plan), scale_of(plan.problem)
    head = ("person", "weight", "this plan", "predictive", "fixed set", "own plan")
    cells = [
        (_named(r), r.weight, r.plan + ("*" if r.is_worst else " "), r.predictive, r.fixed, r.own)
        for r in rows
    ]
    mean = average_row(plan)
    cells.append((mean.name, "", mean.plan + " ", mean.predictive, mean.fixed, ""))
    unit = f", in {scale.unit}" if scale.unit else ""
    legend = (
        "Loss beyond the best plan found for that person, as a share of it (* the largest): by "
        "this plan, by the most predictive tests, and by the set that suits everybody best if it "
        f"is never changed. Own plan: its {scale.label}{unit}."
    )
    lines = [WHO, *_table([head, *cells]), *wrap(legend, "  ", "  "), ""]
    return "\n".join([*lines, *wrap(" ".join(worth_of_knowing(plan.regrets)), "  ", "  ")])


def _named(row: PersonRow) -> str:
    """A name that says how the person learns stands alone; any other gets a few words."""
    if row.name.startswith(_TELLING):
        return row.name
    how = row.how.split(":")[0].split(";")[0]
    return f"{row.name} ({how})" if len(row.name) + len(how) <= _WIDEST_NAME else row.name


def _compared(advice: Advice) -> str:
    """A table of what else could be done."""
    plan = advice.plan
    scale = scale_of(plan.problem)
    head = ("way to choose", scale.label, "loss vs plan", "excess loss")
    rows = [(r.title, r.per_case, r.more, r.excess) for r in rival_rows(plan, advice.rivals)]
    unit = f", in {scale.unit}" if scale.unit else ""
    best = "Best achievable: the best set, read by a person who knows every weight from case 1."
    return "\n".join(
        [
            "Compared with other ways to choose tests",
            *_table([head, *rows]),
            "",
            f"{scale.label.capitalize()} over all cases{unit}.",
            best,
            "Excess loss: loss above the best achievable, as a multiple of the plan's.",
        ]
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns side by side, the first to the left, numbers to the right; a rule under the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return ["  " + line for line in (lines[0], rule, *lines[1:])]


def advice_to_dict(advice: Advice) -> dict[str, Any]:
    """All of it as plain data."""
    plan, problem = advice.plan, advice.plan.problem
    estimate, proof = advice.estimate, advice.verification

    def names(shown: tuple[int, ...] | None) -> list[str] | None:
        return None if shown is None else list(problem.world.name_of(shown))

    return {
        "provenance": asdict(advice.provenance),
        "commit": names(plan.policy.commit),
        "exploration_length": plan.exploration_length,
        "value": plan.value,
        "lower_bound": plan.lower_bound,
        "gap": plan.gap,
        "status": plan.status.value,
        "verified": None if proof is None else proof.ok,
        "scale": scale_of(problem).axis,
        "per_case": per_case(problem, plan.value),
        "alternatives": [
            {
                "name": rival.name,
                "title": rival.title,
                "shows": names(rival.policy.commit if rival.policy else None),
                "value": rival.value,
                "standard_error": rival.standard_error,
                "per_case": per_case(problem, rival.value),
                "more_than_plan": rival.excess(plan),
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
        "world": {
            "cases": None if estimate is None else estimate.rows,
            "notes": [] if estimate is None else list(estimate.notes),
            "doubts": [] if estimate is None else list(estimate.doubts),
        },
        "plan": plan.to_dict(),
    }


def _people_to_dict(plan: Plan) -> dict[str, Any]:
    """For a crowd: what the plan means to each of its people."""
    regrets = plan.regrets
    if regrets is None:
        return {}
    table, worst = regrets.table, worst_off(regrets)
    return {
        "objective": regrets.objective,
        "worst_regret": regrets.worst,
        "mean_regret": regrets.mean,
        "loses_most": None if worst is None else regrets.people[worst],
        "randomised_regret": regrets.game,
        "people": [
            {
                "name": name,
                "weight": float(regrets.weights[i]),
                "regret": float(table[0, i]),
                "regret_most_predictive": float(table[1, i]),
                "regret_best_fixed_set": float(table[2, i]),
                "own_plan": float(regrets.best[i]),
                "lower_bound": float(regrets.bounds[i]),
                "how_bounded": regrets.bound_kinds[i],
                "exact": regrets.exact[i],
            }
            for i, name in enumerate(regrets.people)
        ],
    }
