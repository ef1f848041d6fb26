"""`preceptor next`: what to show one person now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.words import as_known
from preceptor.cli._app import app
from preceptor.cli._console import check_target, readable_errors
from preceptor.cli._following import along, by_log, by_tutor, since
from preceptor.cli._plans import load_plan
from preceptor.cli._reading import reads_log
from preceptor.cli._tables import read_counts, renamed_columns
from preceptor.errors import InvalidInput
from preceptor.tables import Reading

if TYPE_CHECKING:
    from preceptor.advice.next_case import NextCase

_EXAMPLES = """[bold]Examples[/bold]

  preceptor next plan.json                                      (the first case of somebody new)

  preceptor next plan.json --log log.csv --participant p07

  preceptor next plan.json --log log.csv --participant p07 --available abdomen,wrist,weight

  preceptor next plan.json --shown counts.json

with, for instance, {"abdomen": 12, "wrist": 7} in counts.json; or, to find out from the answers how this person learns:

  preceptor next plan.json --log log.csv --participant p07 --tutor
"""  # noqa: E501 - a line of help that is broken cannot be copied


@app.command(name="next", epilog=_EXAMPLES)
@reads_log
def next_tests(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan file.")],
    shown: _options.Shown = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="What people were shown and answered so far, as for `preceptor fit`: says how far "
            "along the plan this person is.",
            metavar="LOG",
        ),
    ] = None,
    participant: Annotated[
        str | None,
        typer.Option(help="Who in the log, if there are several.", metavar="NAME"),
    ] = None,
    available: Annotated[
        str | None,
        typer.Option(
            help="Tests that can be shown now, if not all can: the best of what there is.",
            metavar="NAME,NAME,...",
        ),
    ] = None,
    tutor: Annotated[
        bool,
        typer.Option(
            "--tutor",
            help="Do not follow the plan: a tutor works out from the log who this person is and "
            "what suits them now.",
        ),
    ] = False,
    columns: _options.Columns = None,
    report: Annotated[
        Path | None,
        typer.Option(help="With --tutor: write a page that shows the run.", metavar="FILE"),
    ] = None,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Say what to show one person next, given what they have seen so far.

    With a log of their answers, it counts what they have seen. Somebody who is off the plan is
    planned for from where they are.
    """
    with readable_errors():
        _check_together(shown, log, participant, columns, report, tutor=tutor)
        if tutor:
            assert log is not None
            if available is not None:
                raise InvalidInput("--available: goes along the plan; leave it out, or --tutor")
            if report is not None:
                check_target(report, plan, log, endings=(".html", ".htm"))
            by_tutor(plan, log, participant, columns, reading, report, as_json=as_json)
            return
        found = load_plan(plan)
        at_hand = None if available is None else _columns_of(found, available)
        if log is None:
            from preceptor.advice.from_here import SoFar, so_far_from

            counts = None if shown is None else read_counts(shown)
            so_far = so_far_from(found.problem.world, shown=counts)
            if so_far is None:
                so_far = SoFar.nothing(found.problem.world)
            chosen = along(found, since(found, so_far), at_hand)
        else:
            renamed = renamed_columns(columns or [])
            chosen = by_log(found, log, participant, renamed, reading, at_hand)
        said = _in_json(found, chosen) if as_json else _in_words(found, chosen, log is not None)
    typer.echo(said)


def _check_together(
    shown: Path | None,
    log: Path | None,
    participant: str | None,
    columns: list[str] | None,
    report: Path | None,
    *,
    tutor: bool,
) -> None:
    """Refuse options that do not go together."""
    if log is not None and shown is not None:
        raise InvalidInput("--shown: --log says already what was shown; leave one out")
    if log is None:
        about = {"participant": participant, "columns": columns, "tutor": tutor}
        faults = [f"--{o}: is about a log; give --log too" for o, value in about.items() if value]
        if report is not None:
            faults.append("--report: shows the run in a log; give --log and --tutor too")
        InvalidInput.raise_if(faults)
    elif report is not None and not tutor:
        raise InvalidInput("--report: shows what a tutor makes of the log; give --tutor too")


def _columns_of(plan: preceptor.Plan, available: str) -> tuple[int, ...]:
    """Columns of the tests that can be shown now."""
    world = plan.problem.world
    names = [name.strip() for name in available.split(",") if name.strip()]
    if not names:
        raise InvalidInput("--available: nothing, name at least one test")
    called, faults = as_known("--available", dict.fromkeys(names), world.tests)
    InvalidInput.raise_if(faults)
    return world.columns_of(list(called.values()))


def _in_json(plan: preceptor.Plan, chosen: NextCase) -> str:
    from preceptor.report.scale import scale_of

    scale = scale_of(plan.problem)
    data = {
        "show": list(chosen.names),
        "expected_loss": chosen.loss,
        "expected": None if chosen.loss is None else float(scale.of(chosen.loss)),
        "scale": scale.axis,
        "forever": chosen.shown == plan.policy.commit,
        "case": chosen.case,
        "of": chosen.of,
        "on_plan": chosen.on_plan,
        "reasons": list(chosen.reasons),
    }
    return json.dumps(data, ensure_ascii=False)


def _in_words(plan: preceptor.Plan, chosen: NextCase, numbered: bool) -> str:
    from dataclasses import replace

    from preceptor.report.scale import scale_of

    # Without a log nobody has counted cases, so none is numbered.
    lines = [(chosen if numbered else replace(chosen, case=None)).in_words(), *chosen.reasons]
    if chosen.loss is not None:
        scale = scale_of(plan.problem)
        unit = f" ({scale.unit})" if scale.unit else ""
        label = scale.label.removeprefix("expected ")
        number = f"{float(scale.of(chosen.loss)):.3g}{unit}"
        if scale.per == 1:
            lines.append(f"Expected {label} of this case: {number}.")
        else:
            label = label.replace("cases", "cases like this one")
            lines.append(f"Expected {label}: {number}.")
    return "\n".join(lines)
