"""`preceptor plan`: from a table of cases to a plan that a person can act on."""

from __future__ import annotations

import datetime
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor.cli._app import app, examples
from preceptor.cli._console import (
    check_target,
    echo_json,
    readable_errors,
    report_proof,
    say,
    spinner,
)
from preceptor.cli._reading import reads_table
from preceptor.cli._tables import read_named_numbers, source_of
from preceptor.errors import InvalidInput
from preceptor.tables import Reading

_EXAMPLES = examples(
    "preceptor plan",
    "preceptor plan cases.csv --outcome y --tests 3 --half-life 14 --cases 100",
    "preceptor plan cases.csv --outcome y --beliefs marginal --costs costs.csv --limit 30",
    "preceptor plan cases.csv --outcome y --person by-showings --half-life 14",
    "preceptor plan cases.csv --outcome y --learner learner.json --json",
    "preceptor plan cases.csv --outcome y --log log.csv --participant p07     (from where p07 is)",
    "preceptor plan cases.csv --outcome y --cases 40 --simple 2 --schedule monday.csv",
    "preceptor plan cases.csv --outcome ill --positive yes --miss-cost 5 --false-alarm-cost 1",
)


@app.command(epilog=_EXAMPLES)
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
    link: _options.Link = None,
    person: _options.Kind = None,
    objective: _options.Objective = None,
    learner: _options.LearnerFile = None,
    participant: _options.Participant = None,
    log: _options.LogSoFar = None,
    drop: _options.Drop = None,
    simple: Annotated[
        int | None,
        typer.Option(
            help="At most so many different sets; says what that costs (default: any number).",
            metavar="SETS",
        ),
    ] = None,
    full_plan: Annotated[
        bool,
        typer.Option(
            "--full-plan",
            help="Keep the plan where one fixed set is as good, as far as the cases can tell.",
        ),
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for all planning; reading, loading and compiling aside (default: 15).",
            min=0.0,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The plan file to write.")] = Path(
        "plan.json"
    ),
    report: Annotated[Path, typer.Option(help="The report to write.")] = Path("report.html"),
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write the plan only, no report.")
    ] = False,
    schedule: Annotated[
        Path | None,
        typer.Option(
            help="Also write what to show case by case, as a .csv that spreadsheets open.",
            metavar="FILE",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write no files.")] = False,
    verify: _options.Verify = False,
    rows: Annotated[
        bool,
        typer.Option("--rows", help="Let the report name single rows of the table that look odd."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything random.", min=0)] = 0,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Plan which tests to show, from a table of cases, and write the plan and a report.

    Without a table it plans a built-in example: progression of diabetes from ten tests.

    Unless told who the person is (--person, --learner), it plans so that no kind loses much.
    """
    with readable_errors():
        if not dry_run:
            inputs = (data, beliefs, costs, learner, log)
            check_target(output, *inputs, endings=(".json",))
            if not no_report:
                check_target(report, output, *inputs, endings=(".html", ".htm"))
            if schedule is not None:
                check_target(
                    schedule, output, report, *inputs, option="--schedule", endings=(".csv",)
                )
        elif schedule is not None:
            raise InvalidInput(
                "--schedule: writes a file, --dry-run writes none; leave one of them out"
            )
        from preceptor.advice import advise

        found = {} if costs is None else read_named_numbers(costs, ("cost", "price"))
        with spinner("planning", keeps_best=True) as tell:
            advice = advise(
                source_of(data),
                outcome,
                unit=unit,
                drop=drop or (),
                reading=reading,
                tests=tests,
                costs=found.get("cost"),
                prices=found.get("price"),
                limit=limit,
                risk=risk,
                miss_cost=miss_cost,
                false_alarm_cost=false_alarm_cost,
                as_number=as_number,
                link=link,
                person=person,
                objective=objective,
                learner=learner,
                participant=participant,
                log=log,
                beliefs=_options.beliefs_from(beliefs),
                half_life=half_life,
                cases=cases,
                about=about,
                simple=simple,
                full_plan=full_plan,
                time_limit=time_limit,
                verify=verify,
                vary=not dry_run,
                seed=seed,
                when=datetime.date.today().isoformat(),
                command=command_line(),
                progress=tell,
            )
        proof = advice.verification
        if proof is not None:
            report_proof(proof.in_words(), holds=proof.ok)
        if not dry_run:
            with spinner("drawing the report"):
                page = None if no_report else report
                advice.save(output, page, schedule=schedule, rows=rows)
            also = "" if no_report else f" and the report to {report}"
            say(f"Wrote the plan to {output}{also}")
            if schedule is not None:
                say(f"Wrote what to show case by case to {schedule}")
        if as_json:
            echo_json(advice.to_dict())
        else:
            typer.echo(advice.explain())
            if not dry_run:
                ask = shlex.join(["preceptor", "next", str(output)])
                say(f"What to show one person next: {ask} --log log.csv --participant NAME")


def command_line() -> str:
    """What was typed, as it could be typed again."""
    return shlex.join(["preceptor", *sys.argv[1:]])
