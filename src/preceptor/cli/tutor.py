"""`preceptor tutor`: teach a real person in a terminal, working out who they may be on the way."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import preceptor.cli._options as _options
from preceptor._base.words import counted
from preceptor.cli._answers import YesNo
from preceptor.cli._app import app
from preceptor.cli._asking import (
    Stopped,
    ask,
    ask_yes_no,
    how_to_answer,
    in_lines,
    verdict,
    yes_no_verdict,
)
from preceptor.cli._console import check_target, readable_errors, say, spinner
from preceptor.cli._reading import as_options, reads_table
from preceptor.cli._tables import read_named_numbers
from preceptor.tables import Reading

if TYPE_CHECKING:
    from preceptor.cli._cases import Cases
    from preceptor.cli._session import Session

_EXAMPLES = """[bold]Examples[/bold]

  preceptor tutor cases.csv --outcome y --name ann

  preceptor tutor --name ann                          (goes on, next week)

  preceptor tutor cases.csv --outcome y --name ann --rounds 20 --report ann.html

  preceptor fit ann.csv --data cases.csv --outcome y
"""


@app.command(epilog=_EXAMPLES)
@reads_table
def tutor(
    name: Annotated[str, typer.Option(help="Whom you teach.", metavar="NAME")],
    data: _options.Table = None,
    outcome: _options.Outcome = None,
    unit: _options.Unit = None,
    tests: _options.Tests = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="Where the session is kept (default: NAME.json). If it is there, it goes on.",
            metavar="FILE",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="The log of all rounds: .csv, .jsonl or .parquet (default: NAME.csv).",
            metavar="FILE",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Stop after so many cases (default: when told to).", min=1)
    ] = None,
    show_why: Annotated[
        bool,
        typer.Option(
            "--show-why", help="Say with each case why these tests are shown; may bias answers."
        ),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a page that shows the run.", metavar="FILE")
    ] = None,
    half_life: _options.HalfLife = None,
    cases: _options.Cases = None,
    about: _options.About = None,
    beliefs: _options.Beliefs = None,
    standardised: _options.Standardised = False,
    costs: _options.Costs = None,
    limit: _options.Limit = None,
    miss_cost: _options.MissCost = None,
    false_alarm_cost: _options.FalseAlarmCost = None,
    risk: _options.Risk = None,
    as_number: _options.AsNumber = False,
    link: _options.Link = None,
    person: _options.Kind = None,
    learner: _options.LearnerFile = None,
    participant: _options.Participant = None,
    drop: _options.Drop = None,
    example: _options.Example = None,
    alpha: _options.Alpha = None,
    discount: _options.Discount = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the order of cases (default: 0).", min=0)
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Teach a person in the terminal: show tests of a case, take the answer, tell the truth.

    What is shown is planned anew as answers come, for whichever kind of learner they point to.

    State and log are written after every case, so nothing is lost if it ends at any moment; the
    same command goes on from there. Options of a session that has begun may be left out.
    """
    with readable_errors():
        import preceptor.cli._beginning as _beginning

        kept = state or _beginning.file_for(name, ".json")
        logged = log or _beginning.file_for(name, ".csv")
        targets = {
            "--state" if state else "--state or --name": kept,
            "--log" if log else "--log or --name": logged,
        }
        if report is not None:
            targets["--report"] = report
        _check_targets(targets, data, beliefs, costs, learner)
        numbers = {} if costs is None else read_named_numbers(costs, ("cost", "price"))
        given = {
            "outcome": outcome,
            "unit": unit,
            "drop": drop or None,
            "tests": tests,
            "costs": numbers.get("cost"),
            "prices": numbers.get("price"),
            "limit": limit,
            "miss_cost": miss_cost,
            "false_alarm_cost": false_alarm_cost,
            "risk": risk,
            "as_number": as_number or None,
            "link": link,
            "person": person,
            "learner": None if learner is None else _beginning.content(learner),
            "participant": participant,
            "beliefs": _options.beliefs_from(beliefs),
            "standardised": standardised or None,
            "half_life": half_life,
            "alpha": alpha,
            "cases": cases,
            "about": about,
            "discount": discount,
        } | as_options(reading)
        choices = {option: value for option, value in given.items() if value is not None}
        if kept.exists():
            session, found = _beginning.resumed(kept, name, seed, choices, (data, example))
        else:
            session, found = _beginning.begun(name, seed or 0, choices, (data, example), learner)
        # A session that goes on reads the table with which it was begun.
        _check_targets(targets, session.table.get("path"))
        session.check_log(logged)
        if session.rounds:
            session.check_unchanged(kept, "end one of them and begin again")
            # If it ended between two files, the state is ahead of the log.
            session.write_log(logged)
        _talk(session, found, kept, logged, report, rounds, show_why=show_why)


def _check_targets(targets: Mapping[str, Path], *read: Path | str | None) -> None:
    """Refuse files, by the options that name them, that could not be written or are in use."""
    before: list[Path] = []
    for option, path in targets.items():
        endings = (".html", ".htm") if option == "--report" else ()
        check_target(path, *before, *read, option=option, endings=endings)
        before.append(path)


def _talk(
    session: Session,
    found: Cases,
    kept: Path,
    logged: Path,
    report: Path | None,
    rounds: int | None,
    *,
    show_why: bool,
) -> None:
    """The session itself."""
    from preceptor.cli._summary import summary

    before = len(session.rounds)
    _greet(session, found)
    try:
        for _ in range(rounds) if rounds is not None else itertools.count():
            session = _one_case(session, found, kept, logged, show_why=show_why)
    except (Stopped, KeyboardInterrupt):
        pass
    now = len(session.rounds) - before
    typer.echo()
    typer.echo(summary(session.tutor, session.name, now, found.name))
    if not session.rounds:
        return
    if report is not None:
        from preceptor.report.session import write_session

        reasons = [each.reason for each in session.rounds]
        write_session(session.tutor, report, name=session.name, reasons=reasons)
        say(f"Wrote the page of this run to {report}")
    say(f"Kept in {kept} and {logged}. The same command goes on with the next case.")
    path = session.table.get("path")
    table = f" --data {path} --outcome {session.choices.get('outcome')}" if path else ""
    say(f"What the log says about how {session.name} learns: preceptor fit {logged}{table}")


def _greet(session: Session, found: Cases) -> None:
    if session.tutor.problem.is_binary:
        _greet_yes_no(session, found)
        return
    average = found.outcome.mean()
    typer.echo(
        f"Predict {found.name} of each case from what you see. The average is {average:.4g}."
    )
    values = sorted(set(found.outcome.tolist()))
    if len(values) == 2:
        typer.echo(in_lines(how_to_answer(*values)))
    typer.echo("A number is an answer; ? is help, q stops.")
    if session.rounds:
        last = session.tutor.record[-1]
        assert last.answer is not None, "every case here is answered and told"
        assert last.outcome is not None
        so_far = counted(len(session.rounds), "case")
        typer.echo(f"Welcome back, {session.name}: {so_far} so far.")
        typer.echo(f"Last time you said {last.answer:.6g}. {verdict(last.answer, last.outcome)}")


def _greet_yes_no(session: Session, found: Cases) -> None:
    """What to answer where the outcome is yes or no, and how common yes is."""
    question = YesNo.of(session.tutor.problem)
    share = float(found.outcome.mean())
    typer.echo(f"Predict {found.name} of each case from what you see: {question.in_words()}.")
    typer.echo(f"Of 100 cases {100.0 * share:.3g} are {question.truth(1.0)}. ? is help, q stops.")
    if session.rounds:
        last = session.tutor.record[-1]
        assert last.answer is not None
        assert last.outcome is not None
        so_far = counted(len(session.rounds), "case")
        typer.echo(f"Welcome back, {session.name}: {so_far} so far.")
        typer.echo(f"Last time: {yes_no_verdict(question, last.answer, last.outcome)}")


def _one_case(
    session: Session, found: Cases, kept: Path, logged: Path, *, show_why: bool
) -> Session:
    """Show a case, take the answer, keep it, tell the truth."""
    tutor, played = session.tutor, len(session.rounds)
    row, turn = found.row_of(tutor.problem, session.seed, played)
    with spinner("choosing tests"):
        advice = tutor.recommendation(found.available(row))
    if turn and row == found.order(tutor.problem, session.seed, turn)[0]:
        typer.echo("\nAll cases have been used; they come again in another order.")
    typer.echo(f"\nCase {played + 1}")
    lines = found.in_words(row, advice.shown) or ["nothing is shown this time: say what you expect"]
    for line in lines:
        typer.echo(f"  {line}")
    if show_why:
        typer.echo(in_lines(advice.reason))
    outcomes = found.outcome
    question = YesNo.of(tutor.problem) if tutor.problem.is_binary else None
    if question is None:
        answer = ask(outcomes.min(), outcomes.max(), lambda: advice.reason)
    else:
        answer = ask_yes_no(question, lambda: advice.reason)
    truth = float(outcomes[row])
    values = found.results(row, advice.shown)
    after = session.after(row, advice.shown, values, answer, truth, advice.reason)
    # Kept before it is told: nobody shall answer again once they have seen the truth.
    after = after.save(kept)
    after.write_log(logged)
    said = verdict(answer, truth) if question is None else yes_no_verdict(question, answer, truth)
    typer.echo(said)
    return after
