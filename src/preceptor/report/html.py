"""One HTML file that a person can act on, print and pass around: no network, no other files.

Everything in it is drawn from advice: a plan, its rivals, its sensitivities, an estimate. A
bare plan is taken to `preceptor.advice` first, which may plan; nothing here does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.files import write_text
from preceptor._base.words import counted, percent
from preceptor.advice.schedule import stretches
from preceptor.evaluation.mistakes import decides
from preceptor.model.yes_no_risks import Decision
from preceptor.plan import Plan
from preceptor.report import figures
from preceptor.report.mistake_words import costs, in_100, mistakes_by
from preceptor.report.pages import template
from preceptor.report.palette import TESTS, styles
from preceptor.report.people_words import average_row, person_rows, share, worth_of_knowing
from preceptor.report.phrases import joined
from preceptor.report.scale import ROUNDING, per_case, scale_of
from preceptor.report.showing import (
    commits_in_sight,
    places_of,
    repeated_word,
    rounds_shown,
    settles_after,
)
from preceptor.report.svg import writable
from preceptor.report.tables import (
    about_rows,
    assumptions,
    certificate_rows,
    change_rows,
    chips,
    column_rows,
    in_parts,
    most_sensitive,
    rival_rows,
    weight_rows,
)
from preceptor.report.words import sections

if TYPE_CHECKING:
    from preceptor.advice import Advice, Alternative, Change, Provenance


def write_report(advice: Advice | Plan, path: str | Path, *, rows: bool = False) -> None:
    """Write the report of advice, or of a plan, as one HTML file: whole or not at all.

    Parameters
    ----------
    advice
        What `advise` gave. A bare plan is first compared with its rivals and with changed
        assumptions, which takes a second or more.
    path
        Where to write it.
    rows
        Also say what is odd about single rows of the table. They may be about single patients, so
        a page to be passed around has none of it.

    Raises
    ------
    MissingExtra
        jinja2 is not installed.
    """
    write_text(path, render_report(advice, rows=rows))


def render_report(advice: Advice | Plan, *, rows: bool = False) -> str:
    """The report as HTML text.

    Parameters
    ----------
    advice
        What `advise` gave, or a bare plan, as for `write_report`.
    rows
        Also say what is odd about single rows of the table.

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
        rivals=rival_rows(plan, rivals),
        scale=scale,
        decides=decides(plan.problem),
        is_binary=plan.problem.is_binary,
        costs=costs(plan.problem.risk) if isinstance(plan.problem.risk, Decision) else "",
        is_discounted=plan.problem.discount < 1.0,
        people=person_rows(plan),
        average=average_row(plan) if plan.regrets is not None else None,
        worth_of_knowing=[] if plan.regrets is None else worth_of_knowing(plan.regrets),
        changes=change_rows(plan, changes),
        most_sensitive=most_sensitive(changes),
        notes=advice.notes,
        certificate=certificate_rows(plan, advice.verification),
        assumptions=assumptions(plan),
        figures=_figures(plan, rivals, changes),
        committed=joined(plan, plan.policy.commit) if plan.policy.commit else "",
        is_shaded=commits_in_sight(plan),
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
        regret = share(plan.regrets.worst)
        cards.append(("Nobody loses more than", regret, "beyond the best plan found for them"))
    units = problem.world.units
    outcome = units.outcome if problem.is_binary and units is not None else scale.unit
    return {"outcome": outcome, "cards": cards}


def _mistake_cards(plan: Plan, rivals: Sequence[Alternative]) -> list[tuple[str, str, str]]:
    """Misses and false alarms, each beside that of the best fixed set."""
    own = mistakes_by(plan)
    fixed = rivals[0].mistakes if rivals else None

    def card(title: str, share: float, beside: float | None) -> tuple[str, str, str]:
        habit = "" if beside is None else f"; {in_100(beside)} with the best fixed set"
        return title, in_100(share), f"of 100 cases{habit}"

    return [
        card("Misses", float(own.misses), None if fixed is None else float(fixed.misses)),
        card(
            "False alarms",
            float(own.false_alarms),
            None if fixed is None else float(fixed.false_alarms),
        ),
    ]


def _learning(plan: Plan) -> dict[str, Any]:
    """Weights as they are learned, with the colours that tests have in pictures."""
    world = plan.problem.world
    weights = weight_rows(plan)
    # Of many tests, those that are shown come first: the others have nothing to tell.
    weights.sort(key=lambda row: not (row.showings or row.is_committed))
    drawn, shown = figures.learned(plan)
    places = places_of(world, plan.policy.schedule(rounds_shown(plan)))
    return {
        "weights": in_parts(weights),
        "lines_drawn": len(drawn),
        "lines_shown": shown,
        "chips": chips(places, world.labels, len(TESTS)),
    }


def _data(advice: Advice, *, rows: bool) -> dict[str, Any]:
    """What the table was like, or nothing where there was none."""
    estimate = advice.estimate
    if estimate is None:
        return {"data": None}
    data = {
        "done": estimate.notes,
        "doubts": [*estimate.doubts, *about_rows(advice, rows=rows)],
        "columns": in_parts(column_rows(advice)),
        "replicates": 0 if advice.resampled is None else advice.resampled.replicates,
        "explained": estimate.facts,
    }
    return {"data": data}


def _provenance(origin: Provenance) -> str:
    """Where all this comes from, in a line."""
    cases = "" if origin.cases is None else f", {counted(origin.cases, 'case')}"
    made = f"; {origin.when}" if origin.when else ""
    return f"From {origin.source}{cases}{made}; Preceptor {origin.version}; seed {origin.seed}"


def _commit_card(plan: Plan) -> tuple[str, str]:
    length, horizon = plan.exploration_length, plan.problem.horizon
    if horizon is not None and (length is None or length >= horizon):
        return "never", f"{counted(horizon, 'case')} in all"
    if length is None:
        word, first = repeated_word(plan.policy), settles_after(plan.policy)
        if not word:
            return "never", ""
        return "never", f"repeats {len(word):,} cases from case {(first or 0) + 1:,} on"
    return (
        ("at once", "no exploration")
        if length == 0
        else (f"after {length:,}", "case" if length == 1 else "cases")
    )


def _gap_card(plan: Plan) -> tuple[str, str]:
    if not np.isfinite(plan.gap):
        return "nothing", "about the best possible plan"
    if plan.gap <= ROUNDING:
        return "the best", f"no {plan.bounded_plan} can do better"
    return f"at most {percent(plan.gap)}", f"above the best possible {plan.bounded_plan}"


def _figures(
    plan: Plan, rivals: Sequence[Alternative], changes: Sequence[Change]
) -> dict[str, str]:
    drawn = {
        "timeline": figures.timeline(plan),
    }
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
