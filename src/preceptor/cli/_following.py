"""Where one person is along a plan, by their log: the next case, or what a tutor advises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import preceptor
from preceptor._base.words import counted, first_few
from preceptor.cli._console import note_all, say, spinner
from preceptor.cli._tables import renamed_columns
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.advice.from_here import SoFar
    from preceptor.advice.next_case import NextCase
    from preceptor.logs import Log
    from preceptor.tables import Reading


def along(plan: preceptor.Plan, so_far: SoFar, at_hand: tuple[int, ...] | None) -> NextCase:
    """The next case by what somebody has been through."""
    from preceptor.advice.next_case import next_case

    with spinner("choosing tests"):
        return next_case(plan, so_far, at_hand)


def since(plan: preceptor.Plan, so_far: SoFar) -> SoFar:
    """Counts are totals, those before the plan included."""
    from dataclasses import replace

    before = plan.problem.start_counts if plan.seen_before is None else plan.seen_before
    left = [max(c - b, 0) for c, b in zip(so_far.counts, before, strict=True)]
    return replace(so_far, counts=tuple(left))


def by_log(
    plan: preceptor.Plan,
    log: Path,
    participant: str | None,
    columns: dict[str, str],
    reading: Reading,
    at_hand: tuple[int, ...] | None,
) -> NextCase:
    """The next case of one participant in a log."""
    from preceptor.advice.from_here import SoFar, after_log, since_the_plan
    from preceptor.logs import Log

    world = plan.problem.world
    rounds = Log.read(log, world, columns=columns, reading=reading)
    note_all(*rounds.notes)
    who = _who(participant, rounds, log)
    known = who in rounds.participants
    so_far = after_log(rounds.for_participant(who)) if known else SoFar.nothing(world)
    return along(plan, since_the_plan(plan, so_far), at_hand)


def _who(participant: str | None, rounds: Log, log: Path) -> str:
    there = first_few(rounds.participants, 8)
    if participant is not None:
        if participant not in rounds.participants:
            say(f"Note: {participant} is not in {log} (in it: {there}); taken for somebody new")
        return participant
    if len(rounds.participants) > 1:
        raise InvalidInput(f"--participant: say who; in {log} are {there}")
    return rounds.participants[0]


def by_tutor(
    plan: Path,
    log: Path,
    participant: str | None,
    columns: list[str] | None,
    reading: Reading,
    report: Path | None,
    *,
    as_json: bool,
) -> None:
    """What a tutor advises who has seen all answers of one person."""
    from preceptor.cli._summary import kind_lines
    from preceptor.logs import Log
    from preceptor.tutoring import Tutor

    problem = preceptor.Plan.load(plan).problem
    renamed = renamed_columns(columns or [])
    rounds = Log.read(log, problem.world, columns=renamed, reading=reading)
    note_all(*rounds.notes)
    if participant is not None:
        rounds = rounds.for_participant(participant)
    elif len(rounds.participants) > 1:
        people = first_few(rounds.participants, 8)
        raise InvalidInput(f"--participant: say who; in {log} are {people}")
    name = rounds.participants[0]
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
        typer.echo(json.dumps(data, ensure_ascii=False))
        return
    typer.echo(advice.reason)
    typer.echo(f"\nWho {name} may be, after {counted(tutor.rounds, 'round')}:")
    for line in (*kind_lines(tutor), *(f"Doubt: {doubt}" for doubt in tutor.doubts())):
        typer.echo(line)
