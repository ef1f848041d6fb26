"""`preceptor study new`: a study file to begin with."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Annotated

import typer

from preceptor._base.files import write_text
from preceptor.cli._console import check_target, readable_errors, say
from preceptor.cli.study import need_extra, study_app
from preceptor.errors import InvalidInput

_EXAMPLES = """[bold]Examples[/bold]

  preceptor study new --list

  preceptor study new study.toml --template decisive
"""


@study_app.command("new", epilog=_EXAMPLES)
def new(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The study file to write (.toml).")
    ] = None,
    template: Annotated[
        str, typer.Option(help="Which study to begin with; --list says what there is.")
    ] = "plan-or-fixed",
    id: Annotated[
        str | None,
        typer.Option(help="Of the study, in its address (default: as the file is named)."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Of cases and arms (default: a random one).", min=0, max=2**53 - 1),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="Say what templates there are.")] = False,
) -> None:
    """Write a study file, with comments, that can be run as it is once it is filled in."""
    with readable_errors():
        need_extra()
        from preceptor.study import Study
        from preceptor.study.beginning import begun, headline, placeholders, template_names

        if list_all:
            for name in template_names():
                typer.echo(f"{name:<20} {headline(name)}")
            return
        if file is None:
            raise InvalidInput("FILE: missing; name the file to write, or use --list")
        check_target(file, endings=(".toml",))
        if file.exists() and not force:
            raise InvalidInput(f"{file}: is there already; --force replaces it")
        drawn = secrets.randbelow(2**31) if seed is None else seed
        text = begun(template, id or _id_of(file), drawn)
        write_text(file, text)
        left = len(placeholders(Study.load(file)))
        say(f"Wrote {file}. Fill in what stands in [[double brackets]] ({left} places), then run:")
        say(f"  preceptor study check {file}")


def _id_of(file: Path) -> str:
    """The file's name as far as an address can hold it."""
    return re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:64] or "study"
