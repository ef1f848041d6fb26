"""The report as one HTML file to act on, print and pass around: no network, no other files.

Its content comes from advice: a plan, its rivals, its sensitivities, an estimate. For a bare plan
`preceptor.advice` computes these first; nothing here plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.extensions import from_extra
from preceptor._base.files import write_text
from preceptor._base.words import counted, percent
from preceptor.advice.advice import Advice, Provenance, stretches
from preceptor.advice.alternatives import Alternative
from preceptor.advice.sensitivity import Change
from preceptor.model.mistakes import decides
from preceptor.model.plan import Plan
from preceptor.model.yes_no_risks import Decision
from preceptor.report import figures, schedule_view, tables
from preceptor.report.charts import writable
from preceptor.report.mistakes_and_people import (
    average_row,
    both,
    costs,
    mistakes_by,
    person_rows,
    regret_in_words,
    worth_of_knowing,
)
from preceptor.report.palette import TESTS, styles
from preceptor.report.phrases import ROUNDING, joined, per_case, scale_of
from preceptor.report.words import sections

if TYPE_CHECKING:
    import jinja2


def template(name: str) -> jinja2.Template:
    """Load a template of this package; undefined names in it are errors.

    Raises
    ------
    MissingExtra
        jinja2 is not installed.
    """
    jinja = from_extra("jinja2", "cli", "Writing a report")
    environment: jinja2.Environment = jinja.Environment(
        loader=jinja.PackageLoader("preceptor.report"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def write_report(advice: Advice | Plan, path: str | Path, *, rows: bool = False) -> None:
    """Write the report of advice, or of a plan, as one HTML file (atomically).

    Parameters
    ----------
    advice
        The result of `advise`. A bare plan is first compared with its rivals and with changed
        assumptions, which takes a second or more.
    path
        File to write.
    rows
        Also include remarks about single rows of the data. They may identify patients, so a page to
        be passed around should not have them.

    Raises
    ------
    MissingExtra
        jinja2 is not installed.
    """
    write_text(path, render_report(advice, rows=rows))


def render_report(advice: Advice | Plan, *, rows: bool = False) -> str:
    """Return the report as HTML text.

    Parameters
    ----------
    advice
        The result of `advise`, or a bare plan, as for `write_report`.
    rows
        Also include remarks about single rows of the data.

    Returns
    -------
    str
        One page that needs no network and no other files.

    Raises
    ------
    MissingExtra
        jinja2 is not installed.
    """
    page = template("report.html.j2")
    if isinstance(advice, Plan):
        from preceptor.advice.advising import advice_on

        advice = advice_on(advice)
    plan, rivals, changes = advice.plan, advice.rivals, advice.changes
    world = plan.problem.world
    scale = scale_of(plan.problem)
    rendered = page.render(
        **_heading(plan, rivals),
        **_learning(plan),
        **_data(advice, rows=rows),
        styles=styles(),
        headline=advice.headline,
        provenance=_provenance(advice.provenance),
        command=advice.provenance.command,
        schedule=stretches(plan),
        words=dict(sections(plan)),
        rivals=tables.rival_rows(plan, rivals),
        scale=scale,
        decides=decides(plan.problem),
        is_binary=plan.problem.is_binary,
        costs=costs(plan.problem.risk) if isinstance(plan.problem.risk, Decision) else "",
        is_discounted=plan.problem.discount < 1.0,
        people=person_rows(plan),
        average=average_row(plan) if plan.regrets is not None else None,
        worth_of_knowing=[] if plan.regrets is None else worth_of_knowing(plan.regrets),
        changes=tables.change_rows(changes),
        most_sensitive=tables.most_sensitive(changes),
        notes=advice.notes,
        certificate=tables.certificate_rows(plan, advice.verification),
        assumptions=tables.assumptions(plan),
        figures=_figures(plan, rivals, changes),
        committed=joined(plan, plan.policy.commit) if plan.policy.commit else "",
        is_shaded=schedule_view.commits_in_sight(plan),
        correlations=figures.correlation_rows(plan),
        columns=world.size,
    )
    return writable(rendered)


def _heading(plan: Plan, rivals: Sequence[Alternative]) -> dict[str, Any]:
    problem = plan.problem
    scale = scale_of(problem)
    own = f"{per_case(problem, plan.value):.3g}"
    cards = [(f"{scale.label.capitalize()}, this plan", own, scale.unit or "per case")]
    for rival in rivals[:1]:
        cards.append(
            ("Best fixed set", f"{per_case(problem, rival.value):.3g}", "one set for every case")
        )
    if decides(problem):
        cards = _mistake_cards(plan, rivals)
    cards.append(("Commits to one set", *_commit_card(plan)))
    if plan.regrets is None:
        cards.append(("Proven", *_gap_card(plan)))
    else:
        regret = regret_in_words(plan.regrets.worst)
        cards.append(("Largest regret", regret, "beyond the best plan found for that person"))
    units = problem.world.units
    outcome = units.outcome if problem.is_binary and units is not None else scale.unit
    return {"outcome": outcome, "cards": cards}


def _mistake_cards(plan: Plan, rivals: Sequence[Alternative]) -> list[tuple[str, str, str]]:
    """Misses and false alarms, each compared with the best fixed set."""
    fixed = rivals[0].mistakes if rivals else None
    others = ["", ""]
    if fixed is not None:
        others = [f"; {share} with the best fixed set" for share in both(fixed)]
    own = zip(("Misses", "False alarms"), both(mistakes_by(plan)), others, strict=True)
    return [(title, share, f"of 100 cases{other}") for title, share, other in own]


def _learning(plan: Plan) -> dict[str, Any]:
    """Weights as they are learned, with the colours of the tests."""
    world = plan.problem.world
    weights = tables.weight_rows(plan)
    # Tests that are shown come first.
    weights.sort(key=lambda row: not (row.showings or row.is_committed))
    drawn, shown = figures.learned(plan)
    places = schedule_view.places_of(world, plan.policy.schedule(schedule_view.rounds_shown(plan)))
    return {
        "weights": tables.in_parts(weights),
        "lines_drawn": len(drawn),
        "lines_shown": shown,
        "chips": {world.labels[i]: place % len(TESTS) + 1 for i, place in places.items()},
    }


def _data(advice: Advice, *, rows: bool) -> dict[str, Any]:
    """The data behind the estimate, or None if there was none."""
    estimate = advice.estimate
    if estimate is None:
        return {"data": None}
    data = {
        "done": estimate.notes,
        "doubts": [*estimate.doubts, *tables.about_rows(advice, rows=rows)],
        "columns": tables.in_parts(tables.column_rows(advice)),
        "replicates": 0 if advice.resampled is None else advice.resampled.replicates,
        "explained": estimate.facts,
    }
    return {"data": data}


def _provenance(origin: Provenance) -> str:
    """Source, version and seed, in a line."""
    cases = "" if origin.cases is None else f", {counted(origin.cases, 'case')}"
    made = f"; {origin.when}" if origin.when else ""
    return f"From {origin.source}{cases}{made}; Preceptor {origin.version}; seed {origin.seed}"


def _commit_card(plan: Plan) -> tuple[str, str]:
    length, horizon = plan.exploration_length, plan.problem.horizon
    if horizon is not None and (length is None or length >= horizon):
        return "never", f"{counted(horizon, 'case')} in all"
    if length is None:
        word, first = (
            schedule_view.repeated_word(plan.policy),
            schedule_view.settles_after(plan.policy),
        )
        if not word:
            return "never", ""
        return "never", f"repeats {len(word):,} cases from case {(first or 0) + 1:,} on"
    if length == 0:
        return "at once", "no exploration"
    return f"after {length:,}", "case" if length == 1 else "cases"


def _gap_card(plan: Plan) -> tuple[str, str]:
    if not np.isfinite(plan.gap):
        return "nothing", "about the best possible plan"
    if plan.gap <= ROUNDING:
        return "the best", f"no {plan.bounded_plan} can do better"
    return f"at most {percent(plan.gap)}", f"above the best possible {plan.bounded_plan}"


def _figures(
    plan: Plan, rivals: Sequence[Alternative], changes: Sequence[Change]
) -> dict[str, str]:
    drawn = {"timeline": schedule_view.timeline(plan)}
    if decides(plan.problem):
        drawn["misses"] = figures.mistakes(plan, rivals, "misses")
        drawn["alarms"] = figures.mistakes(plan, rivals, "false alarms")
    else:
        drawn["losses"] = figures.losses(plan, rivals)
    if plan.problem.learns_by_showings:
        drawn["learning"] = figures.learning(plan)
    if plan.regrets is not None:
        drawn["people"] = figures.people(plan)
    if changes:
        drawn["sensitivities"] = figures.sensitivities(changes)
    return drawn
