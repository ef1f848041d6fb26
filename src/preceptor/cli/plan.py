"""`preceptor plan`: from a table of cases to a plan that a person can act on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from preceptor.advice.kinds import KINDS
from preceptor.cli._app import app
from preceptor.cli._console import check_target, fail, readable_errors, say, spinner
from preceptor.cli._tables import read_named_numbers
from preceptor.cli._worlds import source_of
from preceptor.errors import InvalidInput
from preceptor.people.beliefs import BELIEFS
from preceptor.regrets import OBJECTIVES

_EXAMPLES = """[bold]Examples[/bold]

  preceptor plan

  preceptor plan cases.csv --outcome y --tests 3 --half-life 14 --cases 100

  preceptor plan cases.csv --outcome y --beliefs marginal --costs costs.csv --limit 30

  preceptor plan cases.csv --outcome y --person by-showings --half-life 14

  preceptor plan cases.csv --outcome y --learner learner.json --json
"""


@app.command(epilog=_EXAMPLES)
def plan(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TABLE]",
            help="Cases, one per row: .csv, .tsv, .jsonl or .parquet (default: an example).",
            show_default=False,
        ),
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="The column to predict.", metavar="COLUMN")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Unit of the outcome, for the report.", metavar="TEXT")
    ] = None,
    tests: Annotated[
        int | None, typer.Option(help="How many tests may be shown per case (default: 3).", min=1)
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option(help="Showings of a test that halve the error of its weight (default: 14)."),
    ] = None,
    cases: Annotated[
        float | None, typer.Option(help="Roughly how many cases lie ahead (default: 100).")
    ] = None,
    beliefs: Annotated[
        str | None,
        typer.Option(
            help="First beliefs: zero (predicts the average), equal, marginal, or a .csv or .json "
            "file of name and weight, in outcome per unit of the test (default: zero).",
            metavar="zero|equal|marginal|FILE",
            autocompletion=lambda: ["zero", "equal", "marginal"],
        ),
    ] = None,
    standardised: Annotated[
        bool,
        typer.Option(
            "--standardised",
            help="The weights in the file of --beliefs are per standard deviation.",
        ),
    ] = False,
    costs: Annotated[
        Path | None,
        typer.Option(
            help="A .csv or .json file of name, cost and (optional) price.", metavar="FILE"
        ),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="What the tests shown in one case may cost together.")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help=f"Whom to plan for: {', '.join(KINDS)} (default: crowd, since one rarely knows "
            "how somebody learns).",
            metavar="KIND",
            autocompletion=lambda: list(KINDS),
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="For a crowd: the worst loss beyond a person's own best plan (regret), its mean, "
            "or that of the worst fifth (cvar) (default: regret).",
            metavar="|".join(OBJECTIVES),
            autocompletion=lambda: list(OBJECTIVES),
        ),
    ] = None,
    learner: Annotated[
        Path | None,
        typer.Option(help="A learner file, as written by `preceptor fit`.", metavar="FILE"),
    ] = None,
    participant: Annotated[
        str | None, typer.Option(help="Plan for this person in the learner file.", metavar="NAME")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to ignore; repeatable.", metavar="COLUMN")
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(
            help="A built-in table; `preceptor examples` lists them.",
            autocompletion=lambda: ["body-fat", "diabetes"],
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Instead of --half-life: each showing divides the error by this. Plans for "
            "somebody who learns by showings."
        ),
    ] = None,
    discount: Annotated[
        float | None, typer.Option(help="Instead of --cases: the discount factor.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds to search and to prove (default: 4; for somebody who learns by showings "
            "0.5, then 10 if the gap is wide).",
            min=0.0,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The plan file to write.")] = Path(
        "plan.json"
    ),
    report: Annotated[Path, typer.Option(help="The report to write.")] = Path("report.html"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write no files.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check value and lower bound again; takes minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything random.", min=0)] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON instead of words.")
    ] = False,
) -> None:
    """Plan which tests to show, from a table of cases, and write the plan and a report.

    Without a table it plans a built-in example: body fat from tape measures.

    Unless told who the person is (--person, --learner), it plans so that no kind loses much.
    """
    with readable_errors():
        if not dry_run:
            inputs = (data, beliefs, costs, learner)
            check_target(output, *inputs)
            check_target(report, output, *inputs)
        from preceptor.advice import advise

        found = {} if costs is None else read_named_numbers(costs, ("cost", "price"))
        with spinner("planning", keeps_best=True) as tell:
            advice = advise(
                source_of(data, example),
                outcome,
                unit=unit,
                drop=drop or (),
                tests=tests,
                costs=found.get("cost"),
                prices=found.get("price"),
                limit=limit,
                person=person,
                objective=objective,
                learner=learner,
                participant=participant,
                beliefs=_beliefs(beliefs),
                standardised=standardised,
                half_life=half_life,
                alpha=alpha,
                cases=cases,
                discount=discount,
                time_limit=time_limit,
                verify=verify,
                vary=not dry_run,
                seed=seed,
                progress=tell,
            )
        proof = advice.verification
        if proof is not None and not proof.ok:
            fail(f"the proof of this plan does not hold ({proof.how}); please report this", code=1)
        if proof is not None:
            say(f"Checked again, value and bound stand: {proof.how}")
        if not dry_run:
            with spinner("drawing the report"):
                advice.save(output, report)
            say(f"Wrote the plan to {output} and the report to {report}")
        if as_json:
            typer.echo(json.dumps(advice.to_dict(), indent=2, ensure_ascii=False))
        else:
            typer.echo(advice.explain())
            if not dry_run:
                say(f"What to show one person next: preceptor next {output} --shown counts.json")


def _beliefs(named: str | None) -> str | dict[str, float] | None:
    """One of the names that the library knows, or the weights in a file."""
    if named is None or named in BELIEFS:
        return named
    path = Path(named)
    if path.suffix.lower() not in (".csv", ".json"):
        known = ", ".join(BELIEFS)
        raise InvalidInput(f"--beliefs: {named!r}, must be {known}, or a .csv or .json file")
    return read_named_numbers(path, ("weight",))["weight"]
