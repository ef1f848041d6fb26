"""`preceptor explain` and `examples`: a plan file in words, and built-in tables of real cases."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.words import WIDTH
from preceptor.cli import _console
from preceptor.cli._app import app
from preceptor.data.datasets import EXAMPLES
from preceptor.errors import InvalidInput


@app.command()
def explain(
    plan: Annotated[Path, _console.argument("Plan file written by plan or solve.", "PLAN")],
    verify: _options.Verify = False,
    as_json: _options.AsJson = False,
) -> None:
    """Explain a plan file in words."""
    found = preceptor.Plan.load(plan)
    if verify:
        check_again(found)
    _console.show(lambda: _as_data(found), found.explain, as_json=as_json)


def _as_data(plan: preceptor.Plan) -> dict[str, Any]:
    from preceptor.report.words import plan_facts, sections

    told = [{"title": title, "text": body} for title, body in sections(plan)]
    return {**plan_facts(plan), "sections": told}


def check_again(plan: preceptor.Plan) -> None:
    """Verify value and lower bound independently."""
    with _console.spinner("verifying"):
        proof = preceptor.verify(plan)
    _console.report_proof(proof)


@app.command()
def examples(
    write: Annotated[
        str | None,
        _console.option("Write this example to a file.", words=tuple(EXAMPLES), metavar="NAME"),
    ] = None,
    output: Annotated[
        Path | None,
        _console.option(
            "The file to write: .csv or .xlsx (default: NAME.csv).",
            "--output",
            "-o",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the built-in examples, or write one as a CSV file or a workbook."""
    if write is None:
        for table in (load() for load in EXAMPLES.values()):
            typer.echo(table.name)
            for line in table.describe().splitlines():
                lines = textwrap.wrap(line, WIDTH - 2, subsequent_indent="  ")
                typer.echo(textwrap.indent("\n".join(lines), "  "))
        return
    if write not in EXAMPLES:
        raise InvalidInput(f"--write: {write!r} is not known; there is {', '.join(EXAMPLES)}")
    table = EXAMPLES[write]()
    target = output or Path(f"{table.name}.csv")
    _console.check_target(target, endings=(".csv", ".xlsx"))
    from preceptor._base.files import write_bytes

    content = io.BytesIO()
    if target.suffix.lower() == ".csv":
        table.frame.to_csv(content, index=False, lineterminator="\n")
    else:
        table.frame.to_excel(content, sheet_name=table.name, index=False, engine="openpyxl")
    write_bytes(target, content.getvalue())
    _console.say(f"Wrote {table.rows} cases to {target}; the outcome is {table.outcome}")
