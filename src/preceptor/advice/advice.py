"""Advice as a value: a plan with its rivals, how sure it is, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.files import write_all
from preceptor._base.words import labelled
from preceptor.advice.alternatives import Alternative
from preceptor.advice.resampling import Resampled
from preceptor.advice.sensitivity import Change
from preceptor.plan import Plan

if TYPE_CHECKING:
    from preceptor.advice.schedule import ScheduleRow
    from preceptor.estimation import WorldEstimate
    from preceptor.verification import Verification


@dataclass(frozen=True)
class Provenance:
    """Where advice comes from.

    Attributes
    ----------
    source
        What the table is called: its file's name, as a rule.
    outcome
        What is predicted; empty for a bare problem.
    cases
        How many cases the world was estimated from, or None.
    seed
        Seed of everything random.
    version
        The version of this package.
    when
        The day, as in 2026-11-16; empty where nobody said it.
    command
        The command line; empty in Python.
    """

    source: str
    outcome: str
    cases: int | None
    seed: int
    version: str
    when: str = ""
    command: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """What `advise` found: a plan beside what else could be done, and what else could be true.

    Attributes
    ----------
    plan
        What to show.
    rivals
        What people would do without a plan, and what that costs.
    changes
        The plan under changed assumptions; empty where nothing was varied.
    provenance
        Where it all comes from.
    estimate
        The estimated world, or None where a problem was given instead of a table.
    verification
        Value and bound proven again, or None where nobody asked for it.
    free
        What search found where `plan` is something simpler; None where they are the same.
    resampled
        Plan, habit and weights in worlds estimated from cases drawn again; None without a table.
    simple
        How many different sets were asked for at most; None for any number.
    notes
        What had to be left out for want of time, a sentence each.
    """

    plan: Plan
    rivals: tuple[Alternative, ...]
    changes: tuple[Change, ...]
    provenance: Provenance
    estimate: WorldEstimate | None = None
    verification: Verification | None = None
    free: Plan | None = None
    resampled: Resampled | None = None
    simple: int | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        rivals = [f"{rival.name} {rival.excess(self.plan):+.1%}" for rival in self.rivals]
        origin = self.provenance
        cases = "" if origin.cases is None else f", {origin.cases:,} cases"
        rows = [
            ("in short", self.headline[0]),
            ("from", f"{origin.source}{cases}; seed {origin.seed}"),
            ("plan", self.plan.how_sure()),
            ("loss", f"{self.plan.value:.6g} in total"),
            ("rivals' loss", ", ".join(rivals) or "not compared"),
            ("changes", f"{len(self.changes)} assumptions varied"),
        ]
        return labelled("Advice", rows)

    @property
    def headline(self) -> tuple[str, ...]:
        """What to do, what that is worth, how sure it is, for whom it would be wrong."""
        from preceptor.report.advice_words import headline

        return headline(self)

    def schedule(self, most: int = 200) -> list[ScheduleRow]:
        """What to show case by case, for whoever sits beside the person.

        Parameters
        ----------
        most
            Cases at most that are listed one by one; what comes later is summed up.

        Returns
        -------
        list of ScheduleRow
            One for each case, and one for all cases from which on nothing changes.
        """
        from preceptor.advice.schedule import schedule_rows

        return schedule_rows(self.plan, most)

    def explain(self) -> str:
        """The advice in short, the plan in words, and a table of its rivals.

        Returns
        -------
        str
            What `preceptor plan` prints.
        """
        from preceptor.report.advice_words import explain_advice

        return explain_advice(self)

    def save(
        self,
        plan: str | Path,
        report: str | Path | None = None,
        *,
        schedule: str | Path | None = None,
        rows: bool = False,
    ) -> None:
        """Write the plan (JSON), the report (HTML) and the schedule (CSV): all of them, or none.

        Parameters
        ----------
        plan
            Where to write the plan.
        report
            Where to write the report; none if left out.
        schedule
            Where to write what to show case by case; nowhere if left out.
        rows
            Whether the report may name single rows of the table.

        Raises
        ------
        MissingExtra
            jinja2 is not installed.
        """
        contents: dict[str | Path, bytes] = {plan: (self.plan.to_json() + "\n").encode("utf-8")}
        if report is not None:
            from preceptor.report.html import render_report

            contents[report] = render_report(self, rows=rows).encode("utf-8")
        if schedule is not None:
            from preceptor.advice.schedule import schedule_csv

            contents[schedule] = schedule_csv(self).encode("utf-8")
        write_all(contents)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data.

        Returns
        -------
        dict
            Numbers, text, lists and tables, for JSON.
        """
        from preceptor.report.advice_words import advice_to_dict

        return advice_to_dict(self)
