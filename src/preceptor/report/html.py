"""One HTML file that a person can act on, print and pass around: no network, no other files.

Everything in it is drawn from values: a plan, its rivals, its sensitivities, an estimate. Where
rivals and sensitivities are not given they are asked from `preceptor.comparison`, which may plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from preceptor.errors import MissingExtra
from preceptor.files import write_text
from preceptor.plan import Plan
from preceptor.report import figures
from preceptor.report.assumptions import assumptions
from preceptor.report.phrases import joined, listed, percent
from preceptor.report.plots import rounds_shown
from preceptor.report.scale import per_case, scale_of
from preceptor.report.svg import inline_svg
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
    from preceptor.comparison import Alternative, Change
    from preceptor.verification import Verification


class Estimate(Protocol):
    """What the report reads of an estimated world."""

    @property
    def notes(self) -> Sequence[str]:
        """How it was estimated."""

    @property
    def doubts(self) -> Sequence[str]:
        """What a careful reader should not trust blindly."""

    def summary(self) -> str:
        """The estimate in words."""


def write_report(
    plan: Plan,
    path: str | Path,
    *,
    estimate: Estimate | None = None,
    alternatives: Sequence[Alternative] | None = None,
    changes: Sequence[Change] | None = None,
    verification: Verification | None = None,
    seed: int = 0,
) -> None:
    """Write the report of a plan, whole or not at all."""
    text = render_report(
        plan,
        estimate=estimate,
        alternatives=alternatives,
        changes=changes,
        verification=verification,
        seed=seed,
    )
    write_text(path, text)


def render_report(
    plan: Plan,
    *,
    estimate: Estimate | None = None,
    alternatives: Sequence[Alternative] | None = None,
    changes: Sequence[Change] | None = None,
    verification: Verification | None = None,
    seed: int = 0,
) -> str:
    """The report as HTML text."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtra("jinja2", "cli", "Writing a report") from error
    if alternatives is None or changes is None:
        from preceptor import comparison

        if alternatives is None:
            alternatives = comparison.alternatives(plan, seed=seed)
        if changes is None:
            changes = comparison.sensitivity(plan, seed=seed)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("preceptor.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("report.html.j2")
    return template.render(
        **_heading(plan, alternatives),
        words=dict(sections(plan, code=False)),
        worth=worth(plan, alternatives),
        rivals=rival_rows(plan, alternatives),
        scale=scale_of(plan.problem),
        weights=weight_rows(plan),
        changes=change_rows(plan, changes),
        most_sensitive=most_sensitive(changes),
        certificate=certificate_rows(plan, verification),
        assumptions=assumptions(plan),
        estimate=estimate,
        figures=_figures(plan, alternatives, changes),
        committed=joined(plan, plan.policy.commit) if plan.policy.commit else "",
        rounds=rounds_shown(plan),
    )


def _heading(plan: Plan, rivals: Sequence[Alternative]) -> dict[str, Any]:
    problem = plan.problem
    scale = scale_of(problem)
    own = f"{per_case(problem, plan.value):.3g}"
    cards = [(f"{scale.label.capitalize()}, this plan", own, scale.unit or "a case")]
    for rival in rivals[:1]:
        cards.append(
            ("Best fixed set", f"{per_case(problem, rival.value):.3g}", "one set for ever")
        )
    settle = plan.exploration_length
    cards.append(("Settles after", "never" if settle is None else f"{settle:,}", "cases"))
    gap = percent(plan.gap) if np.isfinite(plan.gap) else "not known"
    cards.append(("Proven", gap, "above the best possible, at most"))
    return {"outcome": scale.unit, "cards": cards}


def _figures(
    plan: Plan, rivals: Sequence[Alternative], changes: Sequence[Change]
) -> dict[str, str]:
    names = listed([rival.title.lower() for rival in rivals]) if rivals else "nothing"
    axis = scale_of(plan.problem).axis
    drawn = {
        "timeline": (figures.timeline(plan), "Which tests are shown in which case"),
        "losses": (
            figures.losses(plan, rivals),
            f"{axis} of each case: this plan beside {names}, and the floor",
        ),
        "learning": (
            figures.learning(plan),
            "The person's weight of each shown test, case by case, moving to the true weight",
        ),
        "correlations": (
            figures.correlations(plan),
            "Correlations of all pairs of tests; the tests shown for ever are framed",
        ),
    }
    if changes:
        drawn["sensitivities"] = (
            figures.sensitivities(changes),
            "Loss saved by planning again under each changed assumption",
        )
    return {name: inline_svg(figure, name, text) for name, (figure, text) in drawn.items()}
