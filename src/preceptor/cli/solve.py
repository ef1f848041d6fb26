"""`preceptor solve`, and what helps to write problem files for it: `schema` and `methods`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import preceptor
from preceptor.cli._app import EXAMPLES, app
from preceptor.cli._console import check_target, readable_errors, say, spinner
from preceptor.planning import SOLVERS


@app.command(epilog=EXAMPLES)
def solve(
    problem: Annotated[
        Path, typer.Argument(metavar="PROBLEM", help="A problem file, .toml or .json.")
    ],
    method: Annotated[
        str, typer.Option(help="A solver; `preceptor methods` lists them.", show_default=True)
    ] = "auto",
    length: Annotated[
        int | None, typer.Option(help="Rounds to plan exactly before committing.", min=1)
    ] = None,
    suffix: Annotated[
        str | None, typer.Option(help="How to commit: best, or last (the paper's rule).")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds that a search may take.", min=0.0)
    ] = None,
    target_gap: Annotated[
        float | None, typer.Option(help="Stop when the plan is proven this close to the best.")
    ] = None,
    width: Annotated[int | None, typer.Option(help="States that a beam keeps.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a search.", min=0)] = None,
    memory_limit_gb: Annotated[
        float | None, typer.Option(help="Refuse plans that need more memory (GiB).", min=0.0)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the plan to this JSON file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the plan into this .png, .pdf or .svg file.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the plan as JSON instead of words.")
    ] = False,
) -> None:
    """Find a plan for a problem file and print it."""
    options: dict[str, Any] = {
        "length": length,
        "suffix": suffix,
        "time_limit": time_limit,
        "target_gap": target_gap,
        "width": width,
        "seed": seed,
    }
    if memory_limit_gb is not None:
        options["memory_limit"] = int(memory_limit_gb * 2**30)
    given = {name: value for name, value in options.items() if value is not None}
    with readable_errors():
        # Whatever cannot be written is found out now, not after minutes of planning.
        if output is not None:
            check_target(output)
        if plot is not None:
            from preceptor.report.plots import check_picture_path

            check_picture_path(plot)
            check_target(plot)
        task = preceptor.Problem.load(problem)
        with spinner("planning", keeps_best=True) as tell:
            if method in SOLVERS and "progress" in SOLVERS[method].options:
                given["progress"] = tell
            plan = preceptor.solve(task, method, **given)
        if output is not None:
            plan.save(output)
            say(f"Wrote the plan to {output}")
        if plot is not None:
            with spinner("drawing"):
                plan.plot(plot)
            say(f"Drew the plan into {plot}")
    typer.echo(plan.to_json() if as_json else plan.explain())


@app.command()
def schema() -> None:
    """Print the JSON schema of problem files."""
    typer.echo(json.dumps(preceptor.schema(), indent=2, ensure_ascii=False))


@app.command()
def methods() -> None:
    """List the solvers."""
    width = max(map(len, SOLVERS))
    for name, solver in SOLVERS.items():
        options = ", ".join(solver.options) or "none"
        typer.echo(f"{name:<{width}}  {solver.summary}")
        typer.echo(f"{'':<{width}}  Proves {solver.proves}. Options: {options}.")
