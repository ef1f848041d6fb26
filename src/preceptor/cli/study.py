"""`preceptor study`: studies with people, from the file to the analysis.

The group alone is here; each command is a file of its own (`study_new.py`, ...) that registers with
`study_app`.
"""

from __future__ import annotations

import typer

from preceptor.cli._app import app
from preceptor.cli._console import know_options
from preceptor.errors import MissingExtra

EXAMPLES = """[bold]Examples[/bold]

  preceptor study new study.toml --template decisive

  preceptor study check study.toml

  preceptor study power study.toml --people 10,20,40
"""

study_app = typer.Typer(name="study", rich_markup_mode="rich", no_args_is_help=True)
app.add_typer(study_app, epilog=EXAMPLES)


@study_app.callback()
def study(context: typer.Context) -> None:
    """Try policies on people: write a study, check it, run it, analyse it."""
    know_options(context)


def need_extra() -> None:
    """Say what to install where something is missing."""
    try:
        import fastapi  # noqa: F401
        import pandas  # noqa: F401
        import statsmodels  # noqa: F401
    except ImportError as missing:
        raise MissingExtra(str(missing.name), "study", "A study") from None
