"""`preceptor plan`: from a table of cases to a plan that a person can act on."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from preceptor.cli._app import app
from preceptor.cli._console import check_target, readable_errors, say
from preceptor.cli._speed import in_background, load_report, load_solvers
from preceptor.errors import InvalidInput

DEFAULT_CASES = 100.0

_EXAMPLES = """[bold]Examples[/bold]

  preceptor plan

  preceptor plan cases.csv --outcome y --tests 3 --half-life 14 --cases 100

  preceptor plan cases.csv --outcome y --beliefs marginal --costs costs.csv --limit 30

  preceptor plan cases.csv --outcome y --learner learner.json --json
"""


@app.command(epilog=_EXAMPLES)
def plan(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TABLE]",
            help="Cases, a row each: .csv, .tsv, .jsonl or .parquet. Left out: an example.",
            show_default=False,
        ),
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="The column that is to be predicted.", metavar="COLUMN")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Unit of the outcome, for the report.", metavar="TEXT")
    ] = None,
    tests: Annotated[
        int | None, typer.Option(help="How many tests may be shown a case (default: 3).", min=1)
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option(help="A weight's error halves every so many showings (default: 14)."),
    ] = None,
    cases: Annotated[
        float | None, typer.Option(help="About how many cases are to come (default: 100).")
    ] = None,
    beliefs: Annotated[
        str | None,
        typer.Option(
            help="First weights: zero (predicts the average), equal, marginal, or a .csv or "
            ".json file of name and weight (outcome per unit of the test) (default: zero).",
            metavar="zero|equal|marginal|FILE",
            autocompletion=lambda: ["zero", "equal", "marginal"],
        ),
    ] = None,
    standardised: Annotated[
        bool, typer.Option("--standardised", help="Weights in FILE are for 1 standard deviation.")
    ] = False,
    costs: Annotated[
        Path | None,
        typer.Option(help="A .csv or .json file of name, cost and price.", metavar="FILE"),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="What the tests of a case may cost together.")
    ] = None,
    learner: Annotated[
        Path | None, typer.Option(help="A person, as written by `preceptor fit`.", metavar="FILE")
    ] = None,
    participant: Annotated[
        str | None, typer.Option(help="Who of the people in the learner file.", metavar="NAME")
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
        float | None, typer.Option(help="Instead of --half-life: a showing divides errors by it.")
    ] = None,
    discount: Annotated[
        float | None, typer.Option(help="Instead of --cases: weight of a case to the one before.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds to search and to prove (default: 0.5, then 10 if the gap is wide).",
            min=0.0,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The plan file to write.")] = Path(
        "plan.json"
    ),
    report: Annotated[Path, typer.Option(help="The report to write.")] = Path("report.html"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write no files.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Prove value and bound again; takes minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything random.", min=0)] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON instead of words.")
    ] = False,
) -> None:
    """Plan which tests to show, from a table of cases; writes a plan and a report.

    Without a table it plans a built-in example: body fat from tape measures.
    """
    with readable_errors():
        if not dry_run:
            inputs = (data, beliefs, costs, learner)
            check_target(output, *inputs)
            check_target(report, output, *inputs)
        if learner is None and participant is not None:
            raise InvalidInput("--participant: names somebody in a learner file; give --learner")
        if learner is not None and (beliefs, half_life, alpha) != (None, None, None):
            raise InvalidInput(
                "--learner: says how the person starts and learns; leave out --beliefs, "
                "--half-life and --alpha"
            )
        weight = discount_of(cases, discount)
        from preceptor.cli._advice import advise
        from preceptor.cli._budgets import budget_from_options
        from preceptor.cli._people import learner_from_file, learner_from_options
        from preceptor.cli._worlds import estimate_world
        from preceptor.problem.problem import Problem

        with in_background(load_solvers):
            estimate = estimate_world(
                data, outcome=outcome, unit=unit, example=example, drop=drop or (), seed=seed
            )
            world = estimate.world
            if learner is not None:
                person = learner_from_file(learner, world, participant)
            else:
                person = learner_from_options(
                    world,
                    beliefs=beliefs,
                    standardised=standardised,
                    half_life=half_life,
                    alpha=alpha,
                )
            budget = budget_from_options(world, tests=tests, costs=costs, limit=limit)
            problem = Problem(world, person, budget, weight)
        with in_background(load_report) if not dry_run else nullcontext():
            advice = advise(
                problem,
                estimate,
                time_limit=time_limit,
                seed=seed,
                verify=verify,
                vary=not dry_run,
            )
        if not dry_run:
            advice.write(output, report)
            say(f"Wrote the plan to {output} and the report to {report}")
        if as_json:
            typer.echo(json.dumps(advice.to_data(), indent=2, ensure_ascii=False))
        else:
            advice.show()
            if not dry_run:
                say(f"What to show somebody now: preceptor next {output} --shown counts.json")


def discount_of(cases: float | None, discount: float | None) -> float:
    """About so many more cases: each counts 1 - 1/cases of the one before."""
    if cases is not None and discount is not None:
        raise InvalidInput("--cases and --discount say the same thing; give one of them")
    if discount is not None:
        return discount
    wanted = DEFAULT_CASES if cases is None else cases
    if not wanted >= 1.0:
        raise InvalidInput(f"--cases: {wanted}, must be a number of at least 1")
    return 1.0 - 1.0 / wanted
