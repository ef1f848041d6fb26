"""`preceptor explain`: a plan file in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import preceptor
from preceptor.cli._app import app
from preceptor.cli._console import readable_errors


@app.command()
def explain(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan file, as written by solve --output.")
    ],
) -> None:
    """Say in words what a plan file holds."""
    with readable_errors():
        text = preceptor.Plan.load(plan).explain()
    typer.echo(text)
