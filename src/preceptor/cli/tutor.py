"""`preceptor tutor`: teach one person in the terminal."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.words import counted
from preceptor.cli._app import BriefCommand, app, examples
from preceptor.cli._console import check_target, option, say, spinner
from preceptor.cli._options import reads_table
from preceptor.cli._tables import Cases, Deck
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.cli._session import Question, Session
    from preceptor.learners.tutor import Tutor
    from preceptor.model.sets import TestSet

# A session of training: cases that the tutor picks, and at the end some as they come, because
# picked cases follow the rule more closely than cases in general do.
_PICKED, _AS_THEY_COME = 20, 5
_ORDINARY = "as they come"
# As in `learners.tutored`.
_LOOKS = ("pool", "case", "nothing")

_EXAMPLES = examples(
    "preceptor tutor cases.csv --outcome y --name ann",
    "preceptor tutor cases.csv --outcome y --name ann --rounds 40 --report ann.html",
    "preceptor tutor cases.csv --outcome y --name ann --looks case     (cases as they come)",
    "preceptor tutor cases.csv --outcome y --name ann --plan plan.json     (costs and "
    "risk from the plan)",
    "preceptor fit ann.csv --data cases.csv --outcome y",
)


@app.command(cls=BriefCommand, epilog=_EXAMPLES)
@reads_table
def tutor(
    name: Annotated[str, option("Name of the trainee.", metavar="NAME")],
    data: _options.Table = None,
    outcome: _options.Outcome = None,
    plan: Annotated[
        Path | None,
        option(
            "Plan for the same table: use its person, initial beliefs, costs and risk.",
            metavar="PLAN",
        ),
    ] = None,
    tests: _options.Tests = None,
    log: Annotated[
        Path | None,
        option(
            "Log of all rounds: .csv, .jsonl or .parquet (default: NAME.csv). If it contains "
            "rounds of NAME, the session resumes after them.",
            metavar="FILE",
        ),
    ] = None,
    looks: Annotated[
        str,
        option(
            "What the tutor looks at before it chooses: all cases of the table, of which it also "
            "picks one (pool), the next case (case), or nothing.",
            words=_LOOKS,
        ),
    ] = "pool",
    tau: Annotated[
        float | None,
        option(
            "Cases decided alone that one aided case is worth: 0 counts only this answer, inf "
            "only what is learned (default: inf for picked cases, 30 for others).",
            min=0,
            panel=_options.MORE,
        ),
    ] = None,
    alone: Annotated[
        str,
        option(
            "What the trainee will see later, without the tutor: any tests, or the best ones.",
            words=("any", "best"),
            metavar="any|best",
            panel=_options.MORE,
        ),
    ] = "any",
    course: Annotated[
        str | None,
        option(
            "Database of `preceptor teach`: answer the cases of that course here.",
            metavar="FILE|URL",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        option(
            f"Stop after this many cases (default: when told to; if the tutor picks them, after "
            f"{_PICKED + _AS_THEY_COME}, of which the last {_AS_THEY_COME} come as they are).",
            min=1,
        ),
    ] = None,
    report: Annotated[
        Path | None, option("Write an HTML page about the session.", metavar="FILE")
    ] = None,
    half_life: _options.HalfLife = None,
    cases: _options.Cases = None,
    person: _options.Kind = None,
    drop: _options.Drop = None,
    seed: Annotated[int, option("Random seed of the order of cases.", min=0)] = 0,
    *,
    reading: Reading,
) -> None:
    """Teach one person in the terminal: show tests of a case, ask for a prediction, tell the truth.

    Cases and tests are picked to teach, and adapt to how the answers suggest this person learns.

    The log is written after every case; the same command resumes from there.
    """
    if course is not None:
        given = {"table": data, "plan": plan, "log": log, "report": report, "tests": tests}
        InvalidInput.raise_if(
            f"{name}: the course says so already; leave it out"
            for name, value in given.items()
            if value is not None
        )
        from preceptor.cli._course_session import teach_in_terminal

        return teach_in_terminal(course, name, rounds)
    from preceptor.cli._session import Session, question_of
    from preceptor.learners.tutor import Tutor

    if looks not in _LOOKS:
        raise InvalidInput(f"--looks: {looks!r}, must be one of {', '.join(_LOOKS)}")
    logged = log or _log_of(name)
    inputs = (data, plan)
    named_by = "--log" if log else "--log or --name"
    check_target(logged, *inputs, option=named_by, endings=_options.LOG_ENDINGS)
    check_target(report, logged, *inputs, option="--report", endings=(".html", ".htm"))
    planned = None if plan is None else preceptor.Plan.load(plan).problem
    as_number = planned is not None and not planned.is_binary
    found = Cases.read(data, outcome, drop, reading, seed=seed, as_number=as_number)
    about_person = {"tests": tests, "half_life": half_life, "cases": cases, "person": person}
    if planned is None:
        with spinner("preparing") as tell:
            problem = found.problem(about_person, progress=tell)
    else:
        check_plan(planned, found, about_person)
        problem = planned
    deck = Deck(found, problem, seed)
    session = Session.resumed(name, logged, Tutor(problem, tau=tau, alone=alone))
    session = replace(session, tutor=deck.located(session.tutor))
    question = question_of(problem, found.name, found.outcome)
    if rounds is None and looks == "pool":
        rounds = _PICKED + _AS_THEY_COME
    _talk(session, deck, question, looks, rounds, report)


def _log_of(name: str) -> Path:
    """Default log file of this person."""
    if not re.fullmatch(r"[\w-][\w .-]*", name):
        raise InvalidInput(f"--name: {name!r} cannot be used as a file name; add --log")
    return Path(f"{name}.csv")


def check_plan(planned: preceptor.Problem, found: Cases, given: dict[str, Any]) -> None:
    """The plan must match the table's tests, and excludes options about the person."""
    faults = [
        f"{option}: already given by the plan; leave out --{option} or --plan"
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
    deck: Deck,
    question: Question,
    looks: str,
    rounds: int | None,
    report: Path | None,
) -> None:
    """Run the session."""
    from preceptor.cli._session import Stopped, picked_in_words, summary

    before = session.tutor.rounds
    picks = looks == "pool"
    # A short session has no room for cases that are not picked.
    ordinary = _AS_THEY_COME if picks and rounds is not None and rounds >= _PICKED else 0
    _greet(session, question, deck, picks=picks)
    try:
        for number in range(rounds) if rounds is not None else itertools.count():
            if rounds is not None and ordinary and number == rounds - ordinary:
                typer.echo(f"\nThe last {counted(ordinary, 'case')} come as they are.")
                looks = _ORDINARY
            session = _one_case(session, deck, question, looks)
    except (Stopped, KeyboardInterrupt):
        pass
    tutor = session.tutor
    typer.echo()
    typer.echo(summary(tutor, session.name, tutor.rounds - before, deck.cases.name))
    if not tutor.rounds:
        return
    if picks:
        typer.echo(picked_in_words(tutor, deck.pool, deck.cases.name))
    if report is not None:
        from preceptor.report.session import write_session

        # Reasons of earlier sessions are not stored.
        reasons = session.reasons if before == 0 else ()
        write_session(tutor, report, name=session.name, reasons=reasons)
        say(f"Wrote the session page to {report}")
    say(f"Saved in {session.path}. The same command continues with the next case.")
    say(f"To estimate how {session.name} learns: preceptor fit {session.path} --data ...")


def _greet(session: Session, question: Question, deck: Deck, *, picks: bool) -> None:
    for line in question.greeting(deck.cases.outcome):
        typer.echo(line)
    if picks:
        typer.echo("Cases are picked to teach: expect to be wrong more often than usual.")
    if not session.tutor.rounds:
        return
    so_far = counted(session.tutor.rounds, "case")
    typer.echo(f"Welcome back, {session.name}: {so_far} so far.")
    last = session.tutor.record[-1]
    if last.answer is not None and last.outcome is not None:
        verdict = question.verdict(last.answer, last.outcome)
        typer.echo(f"Last time you said {question.said(last.answer)}. {verdict}")


def _one_case(session: Session, deck: Deck, question: Question, looks: str) -> Session:
    """Show a case, record the answer, then tell the truth."""
    from preceptor.cli._session import ask

    tutor, found = session.tutor, deck.cases
    with spinner("choosing"):
        position, shown, reason = _choice(tutor, deck, looks)
    row = int(deck.rows[position])
    uses = deck.uses(tutor.record)
    if uses[position] and uses[position] == uses.max():
        typer.echo("\nAll cases have been used; they repeat in another order.")
    typer.echo(f"\nCase {tutor.rounds + 1}")
    lines = found.in_words(row, shown) or ["nothing is shown this time: give your best guess"]
    for line in lines:
        typer.echo(f"  {line}")
    answer = ask(question, lambda: reason)
    truth = float(found.outcome[row])
    # Recorded before the truth is told, so that it cannot be answered again knowing it.
    after = session.after(shown, found.results(row, shown), answer, truth, reason, deck)
    typer.echo(question.verdict(answer, truth))
    return after


def _choice(tutor: Tutor, deck: Deck, looks: str) -> tuple[int, TestSet, str]:
    """Position of the next case, the tests to show of it, and the reason."""
    if looks == "pool":
        said = tutor.recommendation(pool=deck.pool)
        assert said.case is not None
        return said.case, said.shown, said.reason
    position = deck.next_in_line(tutor.record)
    row = int(deck.rows[position])
    available = deck.cases.available(row)
    if looks == _ORDINARY:
        usual = _tests_alone(tutor, available, deck.seed)
        if usual is not None:
            return position, usual, "This case was not picked: the last ones come as they are."
    known = deck.cases.values[row] if looks == "case" else None
    said = tutor.recommendation(available, case=known)
    return position, said.shown, said.reason


def _tests_alone(tutor: Tutor, available: list[int], seed: int) -> TestSet | None:
    """Tests as the trainee will see them without the tutor; None if none of these are known."""
    from preceptor.planning.candidate_sets import full_sets, most_predictive_set

    rng = np.random.default_rng([seed, tutor.rounds])
    best = tutor.alone == "best"
    sets = [most_predictive_set(tutor.problem)] if best else full_sets(tutor.problem, rng)
    known = [shown for shown in sets if set(shown) <= set(available)]
    return known[rng.integers(len(known))] if known else None
