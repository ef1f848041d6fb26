"""`preceptor plan`: from a table of cases to a plan and a report."""

from __future__ import annotations

import datetime
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor._base.words import listed
from preceptor.cli._app import BriefCommand, app, examples
from preceptor.cli._console import check_target, echo_json, option, report_proof, say, spinner
from preceptor.cli._options import reads_table
from preceptor.cli._tables import read_named_numbers, source_of
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput

_EXAMPLES = examples(
    "preceptor plan",
    "preceptor plan cases.csv --outcome y --tests 3 --half-life 14 --cases 100",
    "preceptor plan cases.csv --outcome y --cases 40 --simple 2 --schedule schedule.csv",
    "preceptor plan cases.csv --outcome y --log log.csv --participant p07",
    "preceptor plan cases.csv --outcome ill --positive yes --miss-cost 5 --false-alarm-cost 1",
)


@app.command(cls=BriefCommand, epilog=_EXAMPLES)
@reads_table
def plan(
    data: _options.Table = None,
    outcome: _options.Outcome = None,
    unit: _options.Unit = None,
    tests: _options.Tests = None,
    half_life: _options.HalfLife = None,
    cases: _options.Cases = None,
    about: _options.About = None,
    beliefs: _options.Beliefs = None,
    costs: _options.Costs = None,
    limit: _options.Limit = None,
    miss_cost: _options.MissCost = None,
    false_alarm_cost: _options.FalseAlarmCost = None,
    risk: _options.Risk = None,
    as_number: _options.AsNumber = False,
    person: _options.Kind = None,
    objective: _options.Objective = None,
    learner: _options.LearnerFile = None,
    participant: _options.Participant = None,
    log: _options.LogSoFar = None,
    drop: _options.Drop = None,
    simple: Annotated[
        int | None,
        option("Use at most this many different sets, and report the extra cost.", metavar="SETS"),
    ] = None,
    full_plan: Annotated[
        bool,
        option(
            "Return the plan even where one fixed set is as good within sampling error.",
            "--full-plan",
            panel=_options.MORE,
        ),
    ] = False,
    time_limit: Annotated[
        float | None,
        option(
            "Seconds for planning, without reading and compiling (default: 15).",
            min=0.0,
            metavar="SECONDS",
            panel=_options.MORE,
        ),
    ] = None,
    output: Annotated[Path, option("Plan file to write.", "--output", "-o")] = Path("plan.json"),
    report: Annotated[Path, option("Report to write.")] = Path("report.html"),
    no_report: Annotated[
        bool, option("Do not write a report.", "--no-report", panel=_options.MORE)
    ] = False,
    schedule: Annotated[
        Path | None, option("Also write the sets case by case, as a .csv file.", metavar="FILE")
    ] = None,
    dry_run: Annotated[bool, option("Write no files.", "--dry-run", panel=_options.MORE)] = False,
    verify: _options.Verify = False,
    rows: Annotated[
        bool,
        option("Let the report identify unusual rows of the table.", "--rows", panel=_options.MORE),
    ] = False,
    seed: Annotated[int, option("Random seed.", min=0, panel=_options.MORE)] = 0,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Plan which tests to show, from a table of cases, and write the plan and a report.

    Without a table it plans a built-in example: progression of diabetes from ten tests.

    Unless the learner is known (--person, --learner), the plan suits a mixture of kinds.
    """
    if not dry_run:
        inputs = (data, beliefs, costs, learner, log)
        check_target(output, *inputs, endings=(".json",))
        if not no_report:
            check_target(report, output, *inputs, endings=(".html", ".htm"))
        if schedule is not None:
            check_target(schedule, output, report, *inputs, option="--schedule", endings=(".csv",))
    elif schedule is not None:
        raise InvalidInput("--schedule: conflicts with --dry-run; leave one of them out")
    from preceptor.advice.advising import advise
    from preceptor.advice.options import Charges, PersonOptions, TableOptions

    found = {} if costs is None else read_named_numbers(costs, ("cost", "price"))
    with spinner("planning", keeps_best=True) as tell:
        advice = advise(
            source_of(data),
            outcome,
            tests=tests,
            costs=found.get("cost"),
            limit=limit,
            person=PersonOptions(
                person=person,
                half_life=half_life,
                beliefs=_options.beliefs_from(beliefs),
                objective=objective,
                learner=learner,
                participant=participant,
                log=log,
            ),
            cases=cases,
            about=about,
            risk=Charges(risk, miss_cost, false_alarm_cost, found.get("price")),
            table=TableOptions(unit=unit, drop=drop, reading=reading, as_number=as_number),
            simple=simple,
            full_plan=full_plan,
            verify=verify,
            vary=not dry_run,
            time_limit=time_limit,
            seed=seed,
            progress=tell,
        ).as_run(datetime.date.today().isoformat(), command_line())
    proof = advice.verification
    if proof is not None:
        report_proof(proof)
    if not dry_run:
        page = None if no_report else report
        there = [str(each) for each in (output, page, schedule) if each and each.exists()]
        with spinner("drawing the report"):
            advice.save(output, page, schedule=schedule, rows=rows)
        also = "" if no_report else f" and the report to {report}"
        say(f"Wrote the plan to {output}{also}")
        if schedule is not None:
            say(f"Wrote the case-by-case schedule to {schedule}")
        if there:
            say(f"Replaced {listed(there)}")
    if as_json:
        echo_json(advice.to_dict())
    else:
        typer.echo(advice.explain())
        if not dry_run:
            follow = shlex.join(["preceptor", "next", str(output)])
            say(f"What to show a person next: {follow} --log log.csv --participant NAME")
            given = [str(data)] if data is not None else []
            given += ["--outcome", outcome] if outcome is not None else []
            given += ["--tests", str(tests)] if tests is not None else []
            say(f"Teach a class with these cases: {shlex.join(['preceptor', 'teach', *given])}")


def command_line() -> str:
    """The command line, quoted so that it can be run again."""
    return shlex.join(["preceptor", *sys.argv[1:]])
