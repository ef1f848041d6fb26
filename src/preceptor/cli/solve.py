"""`preceptor solve`, `schema` and `methods`: plan a problem file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.extensions import installed_extensions
from preceptor._base.files import write_all
from preceptor.cli import _console, _serving
from preceptor.cli._app import EXAMPLES, app
from preceptor.cli.explain import check_again
from preceptor.errors import InvalidInput
from preceptor.planning.solvers import installed_solvers, solver_named


@app.command(epilog=EXAMPLES)
def solve(
    problem: Annotated[Path, _console.argument("Problem file, .toml or .json.", "PROBLEM")],
    method: Annotated[
        str, _console.option("Solution method; see `preceptor methods`.", show_default=True)
    ] = "auto",
    length: Annotated[
        int | None, _console.option("Rounds to plan exactly before committing to one set.", min=1)
    ] = None,
    time_limit: Annotated[float | None, _console.option("Time limit in seconds.", min=0.0)] = None,
    target_gap: Annotated[
        float | None, _console.option("Stop when the gap is at most this share, e.g. 0.01 for 1%.")
    ] = None,
    width: Annotated[int | None, _console.option("Beam width.", min=1)] = None,
    seed: Annotated[int | None, _console.option("Random seed of the search.", min=0)] = None,
    objective: _options.Objective = None,
    memory_limit_gb: Annotated[
        float | None, typer.Option(help="Refuse to use more memory than this (GiB).", min=0.0)
    ] = None,
    output: Annotated[
        Path | None, _console.option("Write the plan to this JSON file.", "--output", "-o")
    ] = None,
    plot: Annotated[
        Path | None, _console.option("Plot the plan to this .png, .pdf or .svg file.")
    ] = None,
    verify: _options.Verify = False,
    as_json: _options.AsJson = False,
) -> None:
    """Find a plan for a problem file and print it."""
    options: dict[str, Any] = {
        "length": length,
        "time_limit": time_limit,
        "target_gap": target_gap,
        "width": width,
        "seed": seed,
        "objective": objective,
    }
    if memory_limit_gb is not None:
        options["memory_limit"] = int(memory_limit_gb * 2**30)
    given = {name: value for name, value in options.items() if value is not None}
    # Fail before planning if an output cannot be written.
    _console.check_target(output, problem, endings=(".json",))
    if plot is not None:
        from preceptor.report.plots import PICTURES, figure_class

        figure_class()
        _console.check_target(plot, problem, output, endings=PICTURES)
    task = preceptor.Problem.load(problem)
    with _console.spinner("planning", keeps_best=True) as tell:
        if "progress" in solver_named(method).options:
            given["progress"] = tell
        plan = preceptor.solve(task, method, **given)
    if verify:
        check_again(plan)
    _write(plan, output, plot)
    _console.show(plan.to_dict, plan.explain, as_json=as_json)


def _write(plan: preceptor.Plan, output: Path | None, plot: Path | None) -> None:
    """Write the plan and its picture, both or neither."""
    contents: dict[str | Path, bytes] = {}
    if output is not None:
        contents[output] = (plan.to_json() + "\n").encode()
    if plot is not None:
        from preceptor.report.plots import picture_of

        with _console.spinner("drawing"):
            contents[plot] = picture_of(plan.plot(), plot.suffix)
    write_all(contents)
    if output is not None:
        _console.say(f"Wrote the plan to {output}")
    if plot is not None:
        _console.say(f"Plotted the plan to {plot}")


@app.command()
def schema(
    what: Annotated[
        str, _console.argument("Kind of file: problem or study.", "problem|study")
    ] = "problem",
) -> None:
    """Print the JSON schema of problem files, or of study files."""
    if what == "study":
        _serving.need_extra("study")
        from preceptor.live.study.reference import study_schema

        _console.echo_json(study_schema())
        return
    if what != "problem":
        raise InvalidInput(f"kind: {what!r}, must be problem or study")
    _console.note_all(*installed_extensions().faults)
    try:
        table = preceptor.schema(own_kinds=True)
    except preceptor.NotSerializable as error:
        _console.note_all(f"kinds of extensions are left out: {error}")
        table = preceptor.schema()
    _console.echo_json(table)


@app.command()
def methods() -> None:
    """List the methods, what each proves and which options it takes."""
    solvers, faults = installed_solvers()
    _console.note_all(*faults)
    width = max(map(len, solvers))
    for name, solver in solvers.items():
        options = ", ".join(solver.options) or "none"
        typer.echo(f"{name:<{width}}  {solver.summary}")
        typer.echo(f"{'':<{width}}  Proves {solver.proves}. Options: {options}.")
