"""The command line: a thin layer that reads files, calls the library and prints.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 cannot be done (too large,
method does not apply), 2 wrong input.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from rich.console import Console
    from rich.text import Text
except ImportError as missing:
    raise SystemExit(
        f"The command line needs {missing.name}. Install it with: pip install 'preceptor[cli]'"
    ) from None

import preceptor
from preceptor.errors import InvalidFile, InvalidInput, PreceptorError, UnknownMethod
from preceptor.plan import Progress, Update
from preceptor.planning import SOLVERS, options_of

app = typer.Typer(
    name="preceptor",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLES = """[bold]Examples[/bold]

  preceptor solve examples/diabetes.toml

  preceptor solve problem.toml --plot plan.png --output plan.json

  preceptor solve problem.toml --method truncated --length 40

  preceptor solve problem.toml --json | jq .value

  preceptor explain plan.json
"""


def main() -> None:
    """Entry point of the `preceptor` command."""
    app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"preceptor {preceptor.__version__}")
        raise typer.Exit


@app.callback(epilog=_EXAMPLES)
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Plan which tests to show a person who learns from what they are shown."""


@app.command(epilog=_EXAMPLES)
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
    with _readable_errors():
        # Whatever cannot be written is found out now, not after minutes of planning.
        if output is not None:
            _check_target(output)
        if plot is not None:
            from preceptor.report.plots import check_picture_path

            check_picture_path(plot)
            _check_target(plot)
        task = preceptor.Problem.load(problem)
        with _spinner("planning") as tell:
            if method in SOLVERS and "progress" in options_of(method):
                given["progress"] = tell
            plan = preceptor.solve(task, method, **given)
        if output is not None:
            plan.save(output)
            _say(f"Wrote the plan to {output}")
        if plot is not None:
            with _spinner("drawing"):
                plan.plot(plot)
            _say(f"Drew the plan into {plot}")
    typer.echo(plan.to_json() if as_json else plan.explain())


@app.command()
def explain(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan file, as written by solve --output.")
    ],
) -> None:
    """Say in words what a plan file holds."""
    with _readable_errors():
        text = preceptor.Plan.load(plan).explain()
    typer.echo(text)


@app.command()
def schema() -> None:
    """Print the JSON schema of problem files."""
    typer.echo(json.dumps(preceptor.schema(), indent=2, ensure_ascii=False))


@app.command()
def methods() -> None:
    """List the solvers."""
    width = max(map(len, SOLVERS))
    for name, solver in SOLVERS.items():
        summary = (solver.__doc__ or "").strip().split("\n")[0]
        typer.echo(f"{name:<{width}}  {summary}")


def _say(text: str) -> None:
    """A message to the person, not part of the result."""
    typer.echo(text, err=True)


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn the library's errors into one block on stderr and an exit code."""
    try:
        yield
    except PreceptorError as error:
        _fail(str(error), code=2 if isinstance(error, (InvalidInput, UnknownMethod)) else 1)
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), code=2)


def _fail(message: str, *, code: int) -> None:
    # Wrapped by the terminal, never by us, so that paths and numbers can be copied and searched.
    console = Console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("Error: ", "bold red"), message))
    raise typer.Exit(code)


@contextmanager
def _spinner(doing: str) -> Iterator[Progress]:
    """Something that moves while the person waits, with what is known so far; on a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda update: None
        return
    with console.status(f"{doing} ... (Ctrl-C stops and keeps the best so far)") as status:

        def tell(update: Update) -> None:
            parts = [f"{doing}: {update.stage}"]
            if update.value is not None:
                parts.append(f"best {update.value:.6g}")
            if update.lower_bound is not None:
                parts.append(f"cannot be below {update.lower_bound:.6g}")
            if update.gap is not None:
                parts.append(f"gap {100 * update.gap:.3g}%")
            status.update(", ".join(parts))

        yield tell


def _check_target(path: Path) -> None:
    """Refuse early what could not be written later."""
    folder = path.parent
    if not folder.is_dir():
        raise InvalidFile(f"{folder}: no such folder; make it first")
    if path.is_dir():
        raise InvalidFile(f"{path}: is a folder, expected the name of a file")
    if not os.access(folder, os.W_OK):
        raise InvalidFile(f"{folder}: you may not write there")


if __name__ == "__main__":
    main()
