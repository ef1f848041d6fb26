"""A page that shows one person's run: who they may be, what was shown, how far off they were.

One HTML file without network or other files, in the manner of the report of a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.files import write_text
from preceptor._base.version import VERSION
from preceptor._base.words import counted
from preceptor.errors import InvalidInput
from preceptor.model.yes_no_risks import Decision
from preceptor.problem import Problem
from preceptor.report import run_figures as figures
from preceptor.report.pages import template
from preceptor.report.palette import styles
from preceptor.report.run import Run
from preceptor.report.svg import writable
from preceptor.report.tables import in_parts
from preceptor.tutoring import Tutor

if TYPE_CHECKING:
    from preceptor.logs import Log


def write_session(
    run: Tutor | tuple[Problem, Log],
    path: str | Path,
    *,
    name: str = "",
    reasons: Sequence[str] = (),
) -> None:
    """Write a page about one person's run as one HTML file: whole or not at all.

    Parameters
    ----------
    run
        A tutor after some rounds; or a problem and the log of one participant, which a tutor then
        follows.
    path
        Where to write it.
    name
        Whom it is about; the log's participant if left out.
    reasons
        Why what was shown was shown, one for each round, if that was kept.

    Raises
    ------
    InvalidInput
        Several participants, other tests, or more or fewer reasons than rounds.
    MissingExtra
        jinja2 is not installed.
    """
    write_text(path, render_session(run, name=name, reasons=reasons), private=True)


def render_session(
    run: Tutor | tuple[Problem, Log], *, name: str = "", reasons: Sequence[str] = ()
) -> str:
    """The page as HTML text.

    Parameters
    ----------
    run
        As for `write_session`.
    name
        Whom it is about; the log's participant if left out.
    reasons
        Why what was shown was shown, one for each round, if that was kept.

    Returns
    -------
    str
        One page that needs no network and no other files.

    Raises
    ------
    InvalidInput
        Several participants, other tests, or more or fewer reasons than rounds.
    MissingExtra
        jinja2 is not installed.
    """
    page = template("session.html.j2")
    if not isinstance(run, Tutor):
        problem, log = run
        name = name or ", ".join(log.participants)
        run = Tutor(problem).through(log)
    if reasons and len(reasons) != run.rounds:
        raise InvalidInput(
            f"reasons: {len(reasons)} for {counted(run.rounds, 'round')}; give one for each"
        )
    past = Run.of(run)
    units = run.problem.world.units
    advice = run.recommendation()
    outcome = "" if units is None else units.outcome
    rendered = page.render(
        name=name,
        outcome=outcome,
        styles=styles(),
        version=VERSION,
        rounds=run.rounds,
        cards=_cards(run, past),
        advice=advice,
        kinds=_kind_rows(run, past),
        doubts=run.doubts(),
        beliefs=in_parts(figures.belief_rows(run)),
        record=_record_rows(run, past, reasons),
        with_reasons=bool(reasons),
        figures=_figures(run, past),
        over=figures.OVER,
        is_binary=run.problem.is_binary,
    )
    return writable(rendered)


def _figures(tutor: Tutor, past: Run) -> dict[str, str]:
    drawn = {"beliefs": figures.beliefs(tutor)}
    if past.rounds:
        drawn["kinds"] = figures.kinds(tutor, past)
        drawn["shown"] = figures.shown(tutor)
    if np.isfinite(past.errors).any():
        drawn["errors"] = figures.errors(tutor, past)
    return drawn


def _cards(tutor: Tutor, past: Run) -> list[tuple[str, str, str]]:
    units = tutor.problem.world.units
    unit = "" if units is None else units.outcome
    likeliest, share = max(tutor.kinds.items(), key=lambda item: item[1])
    known = past.errors[np.isfinite(past.errors)]
    cards = [("Likeliest kind", f"{share:.0%}", likeliest)]
    if known.size:
        few = max(1, min(figures.OVER, known.size // 2))
        begin, end = (float(np.sqrt(np.mean(part**2))) for part in (known[:few], known[-few:]))
        what = "Typically off"
        if isinstance(tutor.problem.risk, Decision):
            what, unit, begin, end = "Wrong decisions, %", "", 100.0 * begin**2, 100.0 * end**2
        elif tutor.problem.is_binary:
            what, unit, begin, end = "Brier score", "", begin**2, end**2
        cards.append((f"{what}, first {counted(few, 'round')}", f"{begin:.3g}", unit))
        if known.size > 1:
            cards.append((f"{what}, last {counted(few, 'round')}", f"{end:.3g}", unit))
    cards.append(("Answers scatter by", f"{tutor.scatter:.3g}", "around what their weights say"))
    return cards


def _kind_rows(tutor: Tutor, past: Run) -> list[dict[str, Any]]:
    """Kinds, likeliest first."""
    rows = [
        {"name": name, "first": f"{first:.1%}", "now": f"{now:.1%}", "share": now}
        for name, first, now in zip(tutor.kinds, past.kinds[0], past.kinds[-1], strict=True)
    ]
    return sorted(rows, key=lambda row: -row["share"])


def _record_rows(tutor: Tutor, past: Run, reasons: Sequence[str]) -> list[dict[str, str]]:
    world = tutor.problem.world
    names = list(tutor.kinds)
    rows = []
    for i, entry in enumerate(tutor.record):
        results = zip(entry.shown, entry.values, strict=True)
        likeliest = int(np.argmax(past.kinds[i + 1]))
        rows.append(
            {
                "round": f"{i + 1:,}",
                "shown": ", ".join(f"{world.labels[test]} {value:g}" for test, value in results)
                or "nothing",
                "answer": "" if entry.answer is None else f"{entry.answer:.6g}",
                "outcome": "not told" if entry.outcome is None else f"{entry.outcome:.6g}",
                "off": _signed(past.errors[i]),
                "likeliest": f"{names[likeliest]} ({past.kinds[i + 1, likeliest]:.0%})",
                "reason": reasons[i] if reasons else "",
            }
        )
    return rows


def _signed(off: float) -> str:
    return "" if not np.isfinite(off) else f"{off:+.3g}".replace("-", "\N{MINUS SIGN}")
