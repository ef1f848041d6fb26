"""`preceptor examples`: tables of real cases that come with the package."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from preceptor._base.words import WIDTH
from preceptor.cli._app import app
from preceptor.cli._console import check_target, readable_errors, say
from preceptor.errors import InvalidInput

EXAMPLES = ("diabetes",)


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
) -> None:
    """List the built-in examples, or write one as a CSV file or a workbook."""
    with readable_errors():
        from preceptor.datasets import load_diabetes

        table = load_diabetes()
        if write is None:
            typer.echo(table.name)
            for line in table.describe().splitlines():
                lines = textwrap.wrap(line, WIDTH - 2, subsequent_indent="  ")
                typer.echo(textwrap.indent("\n".join(lines), "  "))
            return
        if write not in EXAMPLES:
            raise InvalidInput(f"--write: {write!r} is not known; there is {', '.join(EXAMPLES)}")
        target = output or Path(f"{table.name}.csv")
        check_target(target, endings=(".csv", ".xlsx"))
        from preceptor._base.files import write_bytes

        content = io.BytesIO()
        if target.suffix.lower() == ".csv":
            table.frame.to_csv(content, index=False, lineterminator="\n")
        else:
            table.frame.to_excel(content, sheet_name=table.name, index=False, engine="openpyxl")
        write_bytes(target, content.getvalue())
        say(f"Wrote {table.rows} cases to {target}; the outcome is {table.outcome}")
