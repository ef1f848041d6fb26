"""Advice: a plan with its rivals, how certain it is, where it comes from, and its schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from preceptor._base.files import write_all
from preceptor._base.words import csv_text, labelled, safe_cell
from preceptor.advice.alternatives import Alternative
from preceptor.advice.comparing import Resampled
from preceptor.advice.looking import Looking
from preceptor.advice.sensitivity import Change
from preceptor.model.plan import Plan
from preceptor.model.policies import runs
from preceptor.model.sets import TestSet

if TYPE_CHECKING:
    from preceptor.data.world_estimate import WorldEstimate
    from preceptor.proofs.verify import Verification

# Most cases in a file; cases with a tick box where one set is shown from then on.
_MOST_WRITTEN, _AND_SO_ON = 10_000, 20


class Stretch(NamedTuple):
    """Consecutive cases with the same set: their label, the set in words, its tests.

    `goes_on` if the cases listed are only the first of those with this set. A remark such as "goes
    on changing" has no cases.
    """

    label: str
    text: str
    shown: tuple[str, ...] = ()
    cases: range = range(0)
    goes_on: bool = False


@dataclass(frozen=True)
class ScheduleRow:
    """One case, or all cases from one on.

    Attributes
    ----------
    case
        The case in words: "7", or "from case 41 on".
    shown
        Names of the tests to show, in the order of the table; empty for none.
    text
        The same in words, or which cases are repeated.
    """

    case: str
    shown: tuple[str, ...]
    text: str


def stretches(plan: Plan, most: int = 200) -> list[Stretch]:
    """Return the cases of a plan, with consecutive cases that show the same set merged.

    Parameters
    ----------
    plan
        What to show.
    most
        Largest number of cases listed one by one; later cases are summarised.

    Returns
    -------
    list of Stretch
        Up to the last case, or up to the last change and one for the rest.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=2))
    >>> [(each.label, each.text) for each in stretches(plan)]
    [('cases 1 to 2', 'bmi')]
    """
    horizon, settled = plan.problem.horizon, plan.policy.settles()
    if horizon is not None or settled is None:
        found = _in_a_row(plan, plan.policy.schedule(min(horizon or most, most)), 1)
        if horizon is None or horizon > most:
            rest = "keeps changing" if horizon is None else f"continues until case {horizon:,}"
            found.append(Stretch(f"from case {most + 1:,} on", rest))
        return found
    first, word = settled
    changes = len(set(word)) > 1
    before = [*first, *word] if changes else list(first)
    found = _in_a_row(plan, before[:most], 1)
    if len(before) > most:
        label = f"cases {most + 1:,} to {len(before):,}"
        found.append(Stretch(label, "not listed here"))
    if changes:
        again = f"repeat cases {len(first) + 1:,} to {len(before):,}"
        return [*found, Stretch(f"from case {len(before) + 1:,} on", again)]
    (last,) = _in_a_row(plan, [word[0]] * _AND_SO_ON, len(first) + 1)
    label = f"from case {len(first) + 1:,} on" if first else "every case"
    return [*found, last._replace(label=label, goes_on=True)]


def schedule_rows(plan: Plan, most: int = 200) -> list[ScheduleRow]:
    """Return one row per case; arguments as in `stretches`."""
    rows = []
    for each in stretches(plan, most):
        if each.goes_on or not each.cases:
            rows.append(ScheduleRow(each.label, each.shown, each.text))
        else:
            rows += [ScheduleRow(str(case), each.shown, each.text) for case in each.cases]
    return rows


def schedule_csv(advice: Advice | Plan) -> str:
    """Return the rows as CSV for spreadsheets: case, show, then one column per test shown.

    Names that a spreadsheet would read as a formula are marked as text.
    """
    plan = advice if isinstance(advice, Plan) else advice.plan
    rows = schedule_rows(plan, most=_MOST_WRITTEN)
    widest = max((len(row.shown) for row in rows), default=0)
    table = [["case", "show", *(f"test {i + 1}" for i in range(widest))]]
    for row in rows:
        cells = [*row.shown, *[""] * (widest - len(row.shown))]
        table.append([row.case, *(safe_cell(cell) for cell in (row.text, *cells))])
    return csv_text(table)


def _in_a_row(plan: Plan, schedule: list[TestSet], first: int) -> list[Stretch]:
    found, at = [], first
    for shown, length in runs(schedule):
        cases = range(at, at + length)
        label = f"case {at:,}" if length == 1 else f"cases {at:,} to {cases[-1]:,}"
        names = tuple(plan.problem.world.name_of(shown))
        found.append(Stretch(label, " + ".join(names) or "nothing", names, cases))
        at += length
    return found


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
        The day, as in 2026-11-16; empty if not given.
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
    """What `advise` found: a plan, what else could be done, and what else could be true.

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
        Value and bound proven again, or None if that was not asked for.
    free
        What search found where `plan` is something simpler; None where they are the same.
    resampled
        Plan, fixed set and weights in worlds estimated from resampled cases; None without a table.
    simple
        The largest number of different sets that was allowed; None for any number.
    few
        The plan's version with three sets where it costs hardly more; None elsewhere.
    notes
        What was left out and why, a sentence each.
    looking
        What choosing with the case in view would be worth; None if that was not simulated.
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
    few: Plan | None = None
    notes: tuple[str, ...] = ()
    looking: Looking | None = None

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

    def as_run(self, when: str, command: str) -> Advice:
        """Add the day and the command line to the provenance.

        Parameters
        ----------
        when
            The day, as in 2026-11-16.
        command
            What was typed.

        Returns
        -------
        Advice
            The same advice with both in its provenance.
        """
        return replace(self, provenance=replace(self.provenance, when=when, command=command))

    @property
    def headline(self) -> tuple[str, ...]:
        """What to do, what that is worth, how certain it is, for which people it would be wrong."""
        from preceptor.report.advice_words import headline

        return headline(self)

    def schedule(self, most: int = 200) -> list[ScheduleRow]:
        """What to show case by case, for the person who runs the session.

        Parameters
        ----------
        most
            Largest number of cases listed one by one; later cases are summarised.

        Returns
        -------
        list of ScheduleRow
            One for each case, and one for all cases after which nothing changes.
        """

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
            Where to write the report; not written if left out.
        schedule
            Where to write what to show case by case; not written if left out.
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
