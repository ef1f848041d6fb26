"""The Typer application; commands register with it when their modules are imported."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import preceptor
from preceptor.cli._console import Commands, option

# Key in a context's `meta` that asks for the complete help page.
_ALL = "preceptor.help_all"


def examples(*commands: str, after: str = "") -> str:
    """Format example commands for the end of a help page, one paragraph each."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"  {each}" for each in commands), after])


class BriefCommand(TyperCommand):
    """A command whose `--help` fits on one screen; `--help-all` adds the panels of details.

    Options with a `rich_help_panel` are details.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take `--help-all` as `--help` with every panel."""
        if "--help-all" in args:
            ctx.meta[_ALL] = True
            args = ["--help"]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help page, without details unless all were asked for."""
        details = [each for each in self.params if getattr(each, "rich_help_panel", None)]
        brief = not ctx.meta.get(_ALL)
        for each in details:
            each.hidden = brief  # type: ignore[attr-defined]
        epilog = self.epilog
        if brief:
            panels = dict.fromkeys(each.rich_help_panel for each in details)  # type: ignore[attr-defined]
            self.epilog = f"--help-all also lists: {', '.join(panels)}\n\n{epilog or ''}"
        try:
            super().format_help(ctx, formatter)
        finally:
            self.epilog = epilog
            for each in details:
                each.hidden = False  # type: ignore[attr-defined]


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
    after="Shell completion: preceptor --install-completion",
)

app = typer.Typer(
    name="preceptor",
    cls=Commands,
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
    version: Annotated[
        bool, option("Print the version.", "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Plan which tests to show a person who is still learning to read them."""
