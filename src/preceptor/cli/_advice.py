"""A plan with what helps to act on it: rivals, changed assumptions, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from preceptor._threads import one_blas_thread
from preceptor.cli._console import fail, say, spinner
from preceptor.comparison import Alternative, Change, alternatives, sensitivity
from preceptor.plan import Plan, Status
from preceptor.planning import solve
from preceptor.problem.problem import Problem

if TYPE_CHECKING:
    from preceptor.estimation import WorldEstimate
    from preceptor.verification import Verification


# Enough for most tables; where the proof leaves a wide gap, more is taken.
QUICK_SECONDS, MORE_SECONDS = 0.5, 10.0
_WIDE = 0.05


@dataclass(frozen=True)
class Advice:
    """What `preceptor plan` found; `changes` is empty where nothing was varied."""

    plan: Plan
    estimate: WorldEstimate
    rivals: tuple[Alternative, ...]
    changes: tuple[Change, ...]
    verification: Verification | None

    def write(self, plan: Path, report: Path) -> None:
        """Both files, and none of them if the report cannot be drawn."""
        from preceptor.files import write_text
        from preceptor.report.html import render_report

        with spinner("drawing the report"):
            page = render_report(
                self.plan,
                estimate=self.estimate,
                alternatives=self.rivals,
                changes=self.changes,
                verification=self.verification,
            )
        self.plan.save(plan)
        write_text(report, page)

    def show(self) -> None:
        """The plan in words and a table of its rivals, on stdout."""
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        from preceptor.report.scale import scale_of
        from preceptor.report.tables import rival_rows
        from preceptor.report.words import explain

        typer.echo(explain(self.plan, code=False))
        typer.echo("\nAgainst other ways to choose")
        scale = scale_of(self.plan.problem)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for head in ("way", scale.label, "loss", "avoidable"):
            table.add_column(Text(head), justify="left" if head == "way" else "right")
        for row in rival_rows(self.plan, self.rivals):
            cells = (row.title, row.per_case, row.more, row.avoidable)
            table.add_row(*(Text(cell) for cell in cells), style="bold" if row.is_plan else "")
        Console().print(table)
        unit = f" in {scale.unit}" if scale.unit else ""
        typer.echo(f"{scale.label.capitalize()} of a case{unit}; loss against the plan's;")
        typer.echo("avoidable: loss above what nobody can be below, as a share of the plan's.")

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        from preceptor.report.scale import per_case, scale_of

        plan, problem = self.plan, self.plan.problem
        return {
            "commit": self._names(plan.policy.commit),
            "exploration_length": plan.exploration_length,
            "value": plan.value,
            "lower_bound": plan.lower_bound,
            "gap": plan.gap,
            "status": plan.status.value,
            "verified": None if self.verification is None else self.verification.ok,
            "scale": scale_of(problem).axis,
            "per_case": per_case(problem, plan.value),
            "alternatives": [
                {
                    "name": rival.name,
                    "title": rival.title,
                    "shows": self._names(rival.policy.commit if rival.policy else None),
                    "value": rival.value,
                    "standard_error": rival.standard_error,
                    "per_case": per_case(problem, rival.value),
                    "more_than_plan": rival.excess(plan),
                }
                for rival in self.rivals
            ],
            "sensitivity": [
                {
                    "if": change.direction,
                    "kept": change.kept,
                    "again": change.again,
                    "saving": change.saving,
                    "saving_at_most": change.saving_at_most,
                }
                for change in self.changes
            ],
            "world": {
                "cases": self.estimate.rows,
                "notes": list(self.estimate.notes),
                "doubts": list(self.estimate.doubts),
            },
            "plan": plan.to_data(),
        }

    def _names(self, shown: tuple[int, ...] | None) -> list[str] | None:
        return None if shown is None else list(self.plan.problem.world.name_of(shown))


def advise(
    problem: Problem,
    estimate: WorldEstimate,
    *,
    time_limit: float | None,
    seed: int,
    verify: bool,
    vary: bool,
) -> Advice:
    """Plan, compare, and where wanted prove again and vary what was assumed."""
    with one_blas_thread():
        plan = _plan(problem, QUICK_SECONDS if time_limit is None else time_limit, seed)
        if time_limit is None and plan.status is Status.TIME_LIMIT and plan.gap > _WIDE:
            say(
                f"Up to {plan.gap:.0%} above the best possible after {QUICK_SECONDS} seconds; "
                f"taking {MORE_SECONDS:g} more (--time-limit sets how many)"
            )
            plan = min(plan, _plan(problem, MORE_SECONDS, seed), key=_value_then_gap)
        with spinner("comparing"):
            rivals = alternatives(plan, seed=seed)
            changes = sensitivity(plan, seed=seed) if vary else ()
        proof = None
        if verify:
            with spinner("proving again"):
                proof = plan.verify()
    if proof is not None and not proof.ok:
        fail(f"the proof of this plan does not hold: {proof.how}; please report it", code=1)
    return Advice(plan, estimate, rivals, changes, proof)


def _plan(problem: Problem, seconds: float, seed: int) -> Plan:
    with spinner("planning", keeps_best=True) as tell:
        return solve(problem, "auto", time_limit=seconds, seed=seed, progress=tell)


def _value_then_gap(plan: Plan) -> tuple[float, float]:
    return plan.value, plan.gap
