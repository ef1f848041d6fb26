"""`preceptor next`: what to show one person now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.words import as_known, counted, first_few
from preceptor.cli._app import app, examples
from preceptor.cli._console import (
    check_target,
    echo_json,
    note_all,
    readable_errors,
    say,
    spinner,
)
from preceptor.cli._reading import reads_log
from preceptor.cli._tables import read_counts, renamed_columns
from preceptor.errors import InvalidInput
from preceptor.logs import Log
from preceptor.tables import Reading

if TYPE_CHECKING:
    from preceptor.advice.from_here import SoFar
    from preceptor.advice.next_case import NextCase

_EXAMPLES = examples(
    "preceptor next plan.json                                  (the first case of somebody new)",
    "preceptor next plan.json --log log.csv --participant p07",
    "preceptor next plan.json --log log.csv --participant p07 --available abdomen,wrist,weight",
    'preceptor next plan.json --shown counts.json         (e.g. {"abdomen": 12})',
    "preceptor next plan.json --log log.csv --participant p07 --tutor",
)


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
        found = preceptor.Plan.load(plan)
        world = found.problem.world
        rounds, who = None, ""
        if log is not None:
            rounds = Log.read(log, world, columns=renamed_columns(columns or []), reading=reading)
            note_all(*rounds.notes)
            who = _who(participant, rounds, log)
        if tutor:
            assert rounds is not None
            if available is not None:
                raise InvalidInput("--available: goes along the plan; leave it out, or --tutor")
            if report is not None:
                check_target(report, plan, log, endings=(".html", ".htm"))
            _by_tutor(found.problem, rounds.for_participant(who), report, as_json=as_json)
            return
        from preceptor.advice.from_here import SoFar, after_log, since_the_plan, so_far_from
        from preceptor.advice.next_case import next_case

        if rounds is None:
            counts = None if shown is None else read_counts(shown)
            so_far = _since(found, so_far_from(world, shown=counts) or SoFar.nothing(world))
        else:
            known = who in rounds.participants
            past = after_log(rounds.for_participant(who)) if known else SoFar.nothing(world)
            so_far = since_the_plan(found, past)
        at_hand = None if available is None else _columns_of(found, available)
        with spinner("choosing tests"):
            chosen = next_case(found, so_far, at_hand)
        if as_json:
            echo_json(_as_data(found, chosen))
        else:
            typer.echo(_in_words(found, chosen, numbered=log is not None))


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
        about = {"participant": participant, "columns": columns, "tutor": tutor, "report": report}
        InvalidInput.raise_if(
            f"--{option}: is about a log; give --log too"
            for option, value in about.items()
            if value
        )
    elif report is not None and not tutor:
        raise InvalidInput("--report: shows what a tutor makes of the log; give --tutor too")


def _who(participant: str | None, rounds: Log, log: Path) -> str:
    there = first_few(rounds.participants, 8)
    if participant is not None:
        if participant not in rounds.participants:
            say(f"Note: {participant} is not in {log} (in it: {there}); taken for somebody new")
        return participant
    if len(rounds.participants) > 1:
        raise InvalidInput(f"--participant: say who; in {log} are {there}")
    return rounds.participants[0]


def _since(plan: preceptor.Plan, so_far: SoFar) -> SoFar:
    """Counts are totals, those before the plan included."""
    before = plan.problem.start_counts if plan.seen_before is None else plan.seen_before
    left = [max(c - b, 0) for c, b in zip(so_far.counts, before, strict=True)]
    return replace(so_far, counts=tuple(left))


def _by_tutor(
    problem: preceptor.Problem, rounds: Log, report: Path | None, *, as_json: bool
) -> None:
    """What a tutor advises who has seen all answers of one person."""
    from preceptor.cli._asking import kind_lines
    from preceptor.tutoring import Tutor

    (name,) = rounds.participants
    with spinner("following the log"):
        tutor = Tutor(problem).through(rounds)
        advice = tutor.recommendation()
    if report is not None:
        from preceptor.report.session import write_session

        write_session(tutor, report, name=name)
        say(f"Wrote the page of this run to {report}")
    if as_json:
        data = {
            "show": list(advice.names),
            "reason": advice.reason,
            "kinds": advice.kinds,
            "participant": name,
            "rounds": tutor.rounds,
            "scatter": tutor.scatter,
            "doubts": list(tutor.doubts()),
        }
        echo_json(data)
        return
    typer.echo(advice.reason)
    typer.echo(f"\nWho {name} may be, after {counted(tutor.rounds, 'round')}:")
    typer.echo("\n".join(kind_lines(tutor)))


def _columns_of(plan: preceptor.Plan, available: str) -> tuple[int, ...]:
    """Columns of the tests that can be shown now."""
    world = plan.problem.world
    names = [name.strip() for name in available.split(",") if name.strip()]
    if not names:
        raise InvalidInput("--available: nothing, name at least one test")
    called, faults = as_known("--available", dict.fromkeys(names), world.tests)
    InvalidInput.raise_if(faults)
    return world.columns_of(list(called.values()))


def _as_data(plan: preceptor.Plan, chosen: NextCase) -> dict[str, Any]:
    from preceptor.report.scale import scale_of

    scale = scale_of(plan.problem)
    return {
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


def _in_words(plan: preceptor.Plan, chosen: NextCase, *, numbered: bool) -> str:
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
