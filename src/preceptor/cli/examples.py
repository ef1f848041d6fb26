"""`preceptor examples`: tables of real cases that come with the package."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import preceptor.cli._options as _options
from preceptor.cli._app import app
from preceptor.cli._console import check_target, readable_errors, say
from preceptor.cli._worlds import EXAMPLES, load_example

if TYPE_CHECKING:
    from preceptor.datasets import DataSet

_ENDINGS = (".csv", ".xlsx")


@app.command()
def examples(
    write: Annotated[
        str | None,
        typer.Option(
            help="Write this example to a file.",
            metavar="NAME",
            autocompletion=lambda: list(EXAMPLES),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .csv or .xlsx (default: NAME.csv).",
            show_default=False,
        ),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """List the built-in examples, or write one as a CSV file or a workbook."""
    with readable_errors():
        if write is not None:
            table = load_example(write)
            target = output or Path(f"{table.name}.csv")
            check_target(target, endings=_ENDINGS)
            from preceptor._base.files import write_bytes

            write_bytes(target, _content(table, target.suffix.lower()))
            say(f"Wrote {table.rows} cases to {target}; the outcome is {table.outcome}")
            return
        tables = [load_example(name) for name in EXAMPLES]
    if as_json:
        listed = [
            {
                "name": table.name,
                "title": table.title,
                "cases": table.rows,
                "tests": list(table.tests),
                "outcome": table.outcome,
                "units": dict(table.units),
                "source": table.source,
                "licence": table.licence,
                "notes": list(table.notes),
            }
            for table in tables
        ]
        typer.echo(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    typer.echo("\n\n".join(f"{table.name}\n{_indented(table.describe())}" for table in tables))


def _content(table: DataSet, ending: str) -> bytes:
    """The table as the content of such a file."""
    if ending == ".csv":
        text: str = table.frame.to_csv(index=False, lineterminator="\n")
        return text.encode()
    workbook = io.BytesIO()
    table.frame.to_excel(workbook, sheet_name=table.name, index=False, engine="openpyxl")
    return workbook.getvalue()


def _indented(text: str) -> str:
    import textwrap

    lines = text.splitlines()
    return "\n".join(
        textwrap.fill(line, 88, initial_indent="  ", subsequent_indent="    ") for line in lines
    )
