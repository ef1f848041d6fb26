"""`preceptor tutor`: teach a real person in a terminal, working out who they may be on the way."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.words import counted
from preceptor.cli._app import app, examples
from preceptor.cli._console import check_target, note_all, readable_errors, say, spinner
from preceptor.cli._reading import reads_table
from preceptor.cli._tables import source_of
from preceptor.errors import InvalidInput
from preceptor.tables import Reading

if TYPE_CHECKING:
    from preceptor.cli._asking import Question
    from preceptor.cli._cases import Cases
    from preceptor.cli._session import Session

_EXAMPLES = examples(
    "preceptor tutor cases.csv --outcome y --name ann",
    "preceptor tutor cases.csv --outcome y --name ann --rounds 20 --report ann.html",
    "preceptor tutor cases.csv --outcome y --name ann --plan plan.json     (costs, risks: "
    "as planned)",
    "preceptor fit ann.csv --data cases.csv --outcome y",
)


@app.command(epilog=_EXAMPLES)
@reads_table
def tutor(
    name: Annotated[str, typer.Option(help="Whom you teach.", metavar="NAME")],
    data: _options.Table = None,
    outcome: _options.Outcome = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="A plan of the same table: teach the person it was made for, with their first "
            "beliefs, its costs and its risk.",
            metavar="PLAN",
        ),
    ] = None,
    tests: _options.Tests = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="The log of all rounds: .csv, .jsonl or .parquet (default: NAME.csv). Where it "
            "has rounds of NAME, the session goes on after them.",
            metavar="FILE",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Stop after so many cases (default: when told to).", min=1)
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page that shows the run.", metavar="FILE")
    ] = None,
    half_life: _options.HalfLife = None,
    cases: _options.Cases = None,
    person: _options.Kind = None,
    drop: _options.Drop = None,
    seed: Annotated[int, typer.Option(help="Seed of the order of cases.", min=0)] = 0,
    *,
    reading: Reading,
) -> None:
    """Teach a person in the terminal: show tests of a case, take the answer, tell the truth.

    What is shown is planned anew as answers come, for whichever kind of learner they point to.

    The log is written after every case, so nothing is lost if it ends at any moment; the same
    command goes on from there.
    """
    with readable_errors():
        from preceptor.advice.choices import reading_as
        from preceptor.cli._asking import question_of
        from preceptor.cli._cases import Cases
        from preceptor.cli._session import Session
        from preceptor.tutoring import Tutor

        logged = log or _log_of(name)
        inputs = (data, plan)
        named_by = "--log" if log else "--log or --name"
        check_target(logged, *inputs, option=named_by, endings=_options.LOG_ENDINGS)
        if report is not None:
            check_target(report, logged, *inputs, option="--report", endings=(".html", ".htm"))
        planned = None if plan is None else preceptor.Plan.load(plan).problem
        as_number = planned is not None and not planned.is_binary
        found = Cases.read(
            source_of(data),
            outcome,
            drop=drop or (),
            reading=reading,
            seed=seed,
            read_as=reading_as(None, as_number),
        )
        note_all(*found.estimate.warnings)
        about_whom = {"tests": tests, "half_life": half_life, "cases": cases, "person": person}
        if planned is None:
            problem = _problem(found, about_whom)
        else:
            _check_plan(planned, found, about_whom)
            problem = planned
        session = Session.resumed(name, logged, Tutor(problem))
        question = question_of(problem, found.name, found.outcome)
        _talk(session, found, question, seed, rounds, report)


def _log_of(name: str) -> Path:
    """Where the rounds of this person are kept, unless `--log` says it."""
    if not re.fullmatch(r"[\w-][\w .-]*", name):
        raise InvalidInput(f"--name: {name!r} cannot be the name of a file; give --log too")
    return Path(f"{name}.csv")


def _problem(found: Cases, given: dict[str, Any]) -> preceptor.Problem:
    """The problem of the table for the person that the options describe."""
    from preceptor.advice.choices import budget_for, problem_for, time_from

    world = found.estimate.world
    with spinner("beginning") as tell:
        return problem_for(
            world,
            budget_for(world, tests=given["tests"]),
            time_from(given["cases"]),
            person=given["person"],
            learner=None,
            participant=None,
            beliefs=None,
            standardised=False,
            half_life=given["half_life"],
            alpha=None,
            progress=tell,
        )


def _check_plan(planned: preceptor.Problem, found: Cases, given: dict[str, Any]) -> None:
    """A plan must be about the tests of the table, and says alone whom it is for."""
    faults = [
        f"{option}: the plan says that; leave it out, or --plan"
        for option, value in given.items()
        if value is not None
    ]
    ours, theirs = planned.world.labels, found.estimate.world.labels
    if ours != theirs:
        faults.append(
            f"plan: its tests ({', '.join(ours)}) are not those of the table ({', '.join(theirs)})"
        )
    InvalidInput.raise_if(faults)


def _talk(
    session: Session,
    found: Cases,
    question: Question,
    seed: int,
    rounds: int | None,
    report: Path | None,
) -> None:
    """The session itself."""
    from preceptor.cli._asking import Stopped, summary

    before = session.tutor.rounds
    _greet(session, question, found)
    try:
        for _ in range(rounds) if rounds is not None else itertools.count():
            session = _one_case(session, found, question, seed)
    except (Stopped, KeyboardInterrupt):
        pass
    tutor = session.tutor
    typer.echo()
    typer.echo(summary(tutor, session.name, tutor.rounds - before, found.name))
    if not tutor.rounds:
        return
    if report is not None:
        from preceptor.report.session import write_session

        # Why rounds of an earlier session were shown is not kept.
        reasons = session.reasons if before == 0 else ()
        write_session(tutor, report, name=session.name, reasons=reasons)
        say(f"Wrote the page of this run to {report}")
    say(f"Kept in {session.path}. The same command goes on with the next case.")
    say(f"What it says about how {session.name} learns: preceptor fit {session.path} --data ...")


def _greet(session: Session, question: Question, found: Cases) -> None:
    for line in question.greeting(found.outcome):
        typer.echo(line)
    if not session.tutor.rounds:
        return
    so_far = counted(session.tutor.rounds, "case")
    typer.echo(f"Welcome back, {session.name}: {so_far} so far.")
    last = session.tutor.record[-1]
    if last.answer is not None and last.outcome is not None:
        verdict = question.verdict(last.answer, last.outcome)
        typer.echo(f"Last time you said {question.said(last.answer)}. {verdict}")


def _one_case(session: Session, found: Cases, question: Question, seed: int) -> Session:
    """Show a case, take the answer, keep it, tell the truth."""
    from preceptor.cli._asking import ask

    tutor = session.tutor
    row, turn = found.row_of(tutor.problem, seed, tutor.rounds)
    with spinner("choosing tests"):
        advice = tutor.recommendation(found.available(row))
    if turn and row == found.order(tutor.problem, seed, turn)[0]:
        typer.echo("\nAll cases have been used; they come again in another order.")
    typer.echo(f"\nCase {tutor.rounds + 1}")
    lines = found.in_words(row, advice.shown) or ["nothing is shown this time: say what you expect"]
    for line in lines:
        typer.echo(f"  {line}")
    answer = ask(question, lambda: advice.reason)
    truth = float(found.outcome[row])
    # Kept before it is told: nobody shall answer again once they have seen the truth.
    after = session.after(
        advice.shown, found.results(row, advice.shown), answer, truth, advice.reason
    )
    typer.echo(question.verdict(answer, truth))
    return after
