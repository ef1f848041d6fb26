"""`preceptor explain`: a plan file in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor.cli._app import app
from preceptor.cli._console import echo_json, readable_errors, report_proof, spinner


@app.command()
def explain(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan file, as written by plan or solve.")
    ],
    verify: _options.Verify = False,
    as_json: _options.AsJson = False,
) -> None:
    """Explain a plan file in words."""
    with readable_errors():
        from preceptor.report.words import explain as in_words
        from preceptor.report.words import sections

        found = preceptor.Plan.load(plan)
        if verify:
            check_again(found)
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
            echo_json(data)
        else:
            typer.echo(in_words(found))


def check_again(plan: preceptor.Plan) -> None:
    """Prove value and lower bound again, slowly."""
    with spinner("checking again"):
        proof = preceptor.verify(plan)
    report_proof(proof.in_words(), holds=proof.ok)
