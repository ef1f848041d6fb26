"""`preceptor explain`: a plan file in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from preceptor.cli._app import app
from preceptor.cli._console import readable_errors
from preceptor.cli._plans import check_again, load_plan


@app.command()
def explain(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan file, as written by plan or solve.")
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check value and lower bound again; takes minutes.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the sections as JSON instead of text.")
    ] = False,
) -> None:
    """Explain a plan file in words."""
    with readable_errors():
        from preceptor.report.words import explain as in_words
        from preceptor.report.words import sections

        found = load_plan(plan)
        if verify:
            check_again(found)
        text = in_words(found)
        if as_json:
            commit, names = found.policy.commit, found.problem.world.name_of
            data = {
                "value": found.value,
                "lower_bound": found.lower_bound,
                "bound_holds_for": found.bound_holds_for,
                "gap": found.gap,
                "status": found.status.value,
                "exploration_length": found.exploration_length,
                "commit": None if commit is None else list(names(commit)),
                "sections": [{"title": title, "text": body} for title, body in sections(found)],
            }
            text = json.dumps(data, indent=2, ensure_ascii=False)
    typer.echo(text)
