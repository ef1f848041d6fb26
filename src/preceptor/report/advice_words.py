"""Advice as text and as plain data: the plan, and a table of what else could be done."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from preceptor.report.scale import per_case, scale_of
from preceptor.report.tables import rival_rows
from preceptor.report.words import explain

if TYPE_CHECKING:
    from preceptor.advice import Advice


def explain_advice(advice: Advice) -> str:
    """What `preceptor plan` prints."""
    plan = advice.plan
    scale = scale_of(plan.problem)
    head = ("way to choose", scale.label, "loss vs plan", "excess loss")
    rows = [(r.title, r.per_case, r.more, r.excess) for r in rival_rows(plan, advice.rivals)]
    unit = f", in {scale.unit}" if scale.unit else ""
    best = "Best achievable: the best set, read by a person who knows every weight from case 1."
    return "\n".join(
        [
            explain(plan, code=False),
            "",
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
        "world": {
            "cases": None if estimate is None else estimate.rows,
            "notes": [] if estimate is None else list(estimate.notes),
            "doubts": [] if estimate is None else list(estimate.doubts),
        },
        "plan": plan.to_dict(),
    }
