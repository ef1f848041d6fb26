"""The application that the commands register with."""

from __future__ import annotations

from typing import Annotated

import typer

import preceptor
from preceptor.cli._console import know_options


def examples(*commands: str, after: str = "") -> str:
    """Commands to try, for the end of a help page; only paragraphs keep their lines there."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"  {each}" for each in commands), after])


EXAMPLES = examples(
    "preceptor plan",
    "preceptor plan cases.csv --outcome y --tests 3 --half-life 14 --cases 100",
    "preceptor next plan.json --shown counts.json",
    "preceptor tutor cases.csv --outcome y --name ann",
    "preceptor simulate plan.json --people 200",
    "preceptor solve examples/diabetes.toml",
    "preceptor solve problem.toml --plot plan.png --output plan.json",
    "preceptor solve problem.toml --method truncated --length 40",
    "preceptor solve problem.toml --json | jq .value",
    "preceptor explain plan.json",
    after="Type less: preceptor --install-completion teaches your shell to complete commands and "
    "options.",
)

app = typer.Typer(
    name="preceptor",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"preceptor {preceptor.__version__}")
        raise typer.Exit


@app.callback(epilog=EXAMPLES)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Plan which tests to show a person who is still learning to read them."""
    know_options(context)
