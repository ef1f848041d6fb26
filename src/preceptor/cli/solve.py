"""`preceptor solve`, and what helps to write problem files for it: `schema` and `methods`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.files import write_all
from preceptor.cli._app import EXAMPLES, app
from preceptor.cli._console import check_target, echo_json, readable_errors, say, spinner
from preceptor.cli.explain import check_again
from preceptor.planning import SOLVERS


@app.command(epilog=EXAMPLES)
def solve(
    problem: Annotated[
        Path, typer.Argument(metavar="PROBLEM", help="A problem file, .toml or .json.")
    ],
    method: Annotated[
        str, typer.Option(help="The method; `preceptor methods` lists them all.", show_default=True)
    ] = "auto",
    length: Annotated[
        int | None, typer.Option(help="Cases to plan exactly before committing to one set.", min=1)
    ] = None,
    suffix: Annotated[
        str | None, typer.Option(help="Which set to commit to: best, or last (the paper's rule).")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds that the method may take.", min=0.0)
    ] = None,
    target_gap: Annotated[
        float | None,
        typer.Option(help="Stop when the gap is at most this share, e.g. 0.01 for 1%."),
    ] = None,
    width: Annotated[int | None, typer.Option(help="States that the beam keeps.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search.", min=0)] = None,
    objective: _options.Objective = None,
    memory_limit_gb: Annotated[
        float | None,
        typer.Option(help="Refuse to plan if that takes more memory than this (GiB).", min=0.0),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the plan to this JSON file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the plan to this .png, .pdf or .svg file.")
    ] = None,
    verify: _options.Verify = False,
    as_json: _options.AsJson = False,
) -> None:
    """Find a plan for a problem file and print it."""
    options: dict[str, Any] = {
        "length": length,
        "suffix": suffix,
        "time_limit": time_limit,
        "target_gap": target_gap,
        "width": width,
        "seed": seed,
        "objective": objective,
    }
    if memory_limit_gb is not None:
        options["memory_limit"] = int(memory_limit_gb * 2**30)
    given = {name: value for name, value in options.items() if value is not None}
    with readable_errors():
        # Whatever cannot be written is found out now, not after minutes of planning.
        if output is not None:
            check_target(output, problem, endings=(".json",))
        if plot is not None:
            from preceptor.report.plots import check_picture_path

            check_picture_path(plot)
            check_target(plot, problem, output)
        task = preceptor.Problem.load(problem)
        with spinner("planning", keeps_best=True) as tell:
            if method in SOLVERS and "progress" in SOLVERS[method].options:
                given["progress"] = tell
            plan = preceptor.solve(task, method, **given)
        if verify:
            check_again(plan)
        _write(plan, output, plot)
    if as_json:
        echo_json(plan.to_dict())
        return
    from preceptor.report.words import explain

    typer.echo(explain(plan))


def _write(plan: preceptor.Plan, output: Path | None, plot: Path | None) -> None:
    """The plan and its picture, as far as they are wanted: both or neither."""
    contents: dict[str | Path, bytes] = {}
    if output is not None:
        contents[output] = (plan.to_json() + "\n").encode()
    if plot is not None:
        from preceptor.report.plots import picture_of

        with spinner("drawing"):
            contents[plot] = picture_of(plan.plot(), plot.suffix)
    write_all(contents)
    if output is not None:
        say(f"Wrote the plan to {output}")
    if plot is not None:
        say(f"Drew the plan to {plot}")


@app.command()
def schema() -> None:
    """Print the JSON schema of problem files."""
    echo_json(preceptor.schema())


@app.command()
def methods() -> None:
    """List the methods, what each proves and which options it takes."""
    width = max(map(len, SOLVERS))
    for name, solver in SOLVERS.items():
        options = ", ".join(solver.options) or "none"
        typer.echo(f"{name:<{width}}  {solver.summary}")
        typer.echo(f"{'':<{width}}  Proves {solver.proves}. Options: {options}.")
