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
from preceptor.plan import Plan
from preceptor.report import figures
from preceptor.report.assumptions import assumptions
from preceptor.report.pages import template
from preceptor.report.people_words import average_row, person_rows, share, worth_of_knowing
from preceptor.report.phrases import joined
from preceptor.report.scale import per_case, scale_of
from preceptor.report.settling import repeated_word, settles_after
from preceptor.report.tables import (
    certificate_rows,
    change_rows,
    most_sensitive,
    rival_rows,
    weight_rows,
    worth,
)
from preceptor.report.words import sections

if TYPE_CHECKING:
    from preceptor.advice import Advice, Alternative, Change, Provenance


def write_report(advice: Advice | Plan, path: str | Path) -> None:
    """Write the report of advice, or of a plan, as one HTML file: whole or not at all.

    Parameters
    ----------
    advice
        What `advise` gave. A bare plan is first compared with its rivals and with changed
        assumptions, which takes a second or more.
    path
        Where to write it.

    Raises
    ------
    MissingExtra
        jinja2 is not installed.
    """
    write_text(path, render_report(advice))


def render_report(advice: Advice | Plan) -> str:
    """The report as HTML text.

    Parameters
    ----------
    advice
        What `advise` gave, or a bare plan, as for `write_report`.

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
    return page.render(
        **_heading(plan, rivals),
        words=dict(sections(plan, code=False)),
        worth=worth(plan, rivals),
        rivals=rival_rows(plan, rivals),
        scale=scale_of(plan.problem),
        weights=weight_rows(plan),
        people=person_rows(plan),
        average=average_row(plan) if plan.regrets is not None else None,
        worth_of_knowing=[] if plan.regrets is None else worth_of_knowing(plan.regrets),
        changes=change_rows(plan, changes),
        most_sensitive=most_sensitive(changes),
        certificate=certificate_rows(plan, advice.verification),
        assumptions=assumptions(plan),
        estimate=advice.estimate,
        provenance=_provenance(advice.provenance),
        figures=_figures(plan, rivals, changes),
        committed=joined(plan, plan.policy.commit) if plan.policy.commit else "",
        is_shaded=figures.commits_in_sight(plan),
    )


def _heading(plan: Plan, rivals: Sequence[Alternative]) -> dict[str, Any]:
    problem = plan.problem
    scale = scale_of(problem)
    own = f"{per_case(problem, plan.value):.3g}"
    cards = [(f"{scale.label.capitalize()}, this plan", own, scale.unit or "per case")]
    for rival in rivals[:1]:
        cards.append(
            ("Best fixed set", f"{per_case(problem, rival.value):.3g}", "one set for every case")
        )
    cards.append(("Commits to one set", *_commit_card(plan)))
    if plan.regrets is None:
        cards.append(("Proven", *_gap_card(plan)))
    else:
        regret = share(plan.regrets.worst)
        cards.append(("Nobody loses more than", regret, "beyond the best plan found for them"))
    return {"outcome": scale.unit, "cards": cards}


def _provenance(origin: Provenance) -> str:
    """Where all this comes from, in a line."""
    cases = "" if origin.cases is None else f", {counted(origin.cases, 'case')}"
    return f"From {origin.source}{cases}; seed {origin.seed}; Preceptor {origin.version}"


def _commit_card(plan: Plan) -> tuple[str, str]:
    length = plan.exploration_length
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
    return f"at most {percent(plan.gap)}", "above the best possible plan"


def _figures(
    plan: Plan, rivals: Sequence[Alternative], changes: Sequence[Change]
) -> dict[str, str]:
    drawn = {
        "timeline": figures.timeline(plan),
        "losses": figures.losses(plan, rivals),
        "correlations": figures.correlations(plan),
    }
    if plan.problem.learns_by_showings:
        drawn["learning"] = figures.learning(plan)
    if plan.regrets is not None:
        drawn["people"] = figures.people(plan)
    if changes:
        drawn["sensitivities"] = figures.sensitivities(changes)
    return drawn
