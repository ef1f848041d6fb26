"""Where one person is along a plan, by their log: the next case, and the one just shown."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import preceptor
from preceptor._base.words import counted, first_few
from preceptor.cli._answers import YesNo
from preceptor.cli._console import note_all, say, spinner
from preceptor.cli._recording import Recorded
from preceptor.cli._tables import renamed_columns
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.advice.from_here import SoFar
    from preceptor.advice.next_case import NextCase
    from preceptor.logs import Log
    from preceptor.logs.appending import LogFile
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
    just_shown: Recorded | None,
) -> tuple[NextCase, str]:
    """The next case of somebody in a log, once the one just shown is recorded; and their name."""
    from preceptor.logs import Log
    from preceptor.logs.appending import LogFile

    world, file = plan.problem.world, LogFile.at(log)
    rounds = Log.read(log, world, columns=columns, reading=reading) if file.has_rows else None
    note_all(*(() if rounds is None else rounds.notes))
    if file.content is None and just_shown is None:
        say(f"Note: {log} is not there yet, so nobody has seen anything; --record begins it")
    who = _who(participant, rounds, log)
    chosen = along(plan, _so_far(plan, rounds, who), at_hand)
    if just_shown is not None:
        rounds = _recorded(plan, file, rounds, who, columns, reading, chosen, just_shown)
        chosen = along(plan, _so_far(plan, rounds, who), at_hand)
    return chosen, who


def _who(participant: str | None, rounds: Log | None, log: Path) -> str:
    if participant is not None:
        if rounds is not None and participant not in rounds.participants:
            there = first_few(rounds.participants, 8)
            say(f"Note: {participant} is not in {log} (in it: {there}); taken for somebody new")
        return participant
    if rounds is None or len(rounds.participants) > 1:
        there = "" if rounds is None else f"; in {log} are {first_few(rounds.participants, 8)}"
        raise InvalidInput(f"--participant: say who{there}")
    return rounds.participants[0]


def _so_far(plan: preceptor.Plan, rounds: Log | None, who: str) -> SoFar:
    from preceptor.advice.from_here import SoFar, after_log, since_the_plan

    if rounds is None or who not in rounds.participants:
        return since_the_plan(plan, SoFar.nothing(plan.problem.world))
    return since_the_plan(plan, after_log(rounds.for_participant(who)))


def _recorded(
    plan: preceptor.Plan,
    file: LogFile,
    rounds: Log | None,
    who: str,
    columns: dict[str, str],
    reading: Reading,
    chosen: NextCase,
    just_shown: Recorded,
) -> Log:
    """Add the case that was shown to the log."""
    from preceptor.logs.appending import NewRound
    from preceptor.logs.levels import Tests, cells_of
    from preceptor.logs.plausible import implausible
    from preceptor.tutoring.rounds import Round, check_size

    world = plan.problem.world
    if just_shown.case is not None and just_shown.case != chosen.case:
        raise InvalidInput(
            f"--case: {just_shown.case}, but by {file.path} the next case of {who} is "
            f"{chosen.case}; nothing was recorded"
        )
    yes_no = YesNo.of(plan.problem) if world.is_binary else None
    seen, results, answer, outcome = just_shown.numbers(
        world, chosen.shown, reading.decimal, yes_no
    )
    Round.checked(world, seen, results, answer)
    if outcome is not None:
        check_size(world, "outcome", outcome)
    if not just_shown.anyway:
        InvalidInput.raise_if(
            f"{fault}; correct it, or record it nevertheless with --anyway"
            for fault in implausible(world, seen, results, answer, outcome)
        )
    entry = NewRound(who, seen, results, answer, outcome)
    after = file.append(rounds, world, entry, columns=columns)
    cells = cells_of(seen, after.for_participant(who).values[-1], Tests.of(world))
    what = [f"{n} {v}" if isinstance(v, str) else f"{n} {v:.10g}" for n, v in cells.items()]
    told = "" if outcome is None else f", outcome {outcome:.10g}"
    say(
        f"Recorded case {chosen.case} of {who} in {file.path}: {', '.join(what) or 'nothing shown'}"
        f"; answer {answer:.10g}{told}"
    )
    if outcome is None:
        say("Note: without --outcome they were not told, so the case counts as teaching nothing")
    return after


def say_how_to_record(
    plan: Path, log: Path, who: str, columns: list[str] | None, chosen: NextCase
) -> None:
    """Tell which command adds the case that is shown now."""
    given = [f"--columns {shlex.quote(each)}" for each in columns or []]
    command = shlex.join(["preceptor", "next", str(plan), "--log", str(log), "--participant", who])
    results = "--values ... " if chosen.shown else ""
    say(
        f"Then: {' '.join([command, *given])} --record --case {chosen.case} {results}"
        "--answer ... --outcome ..."
    )


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
            "probe": advice.probe,
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
