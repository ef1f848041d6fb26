"""`preceptor study open`: freeze a study, and let people in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from preceptor._base.files import read_json, read_text
from preceptor.cli._console import check_target, readable_errors, say, spinner
from preceptor.cli._serving import DEFAULT_DATABASE, Database, opened, shown
from preceptor.cli.study import need_extra, study_app
from preceptor.errors import InvalidFile, InvalidInput


@study_app.command("open")
def open_study(
    file: Annotated[Path, typer.Argument(help="The study.", metavar="FILE")],
    database: Database = DEFAULT_DATABASE,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for preregistration.json, .html and .md; else that of the study.",
            metavar="FOLDER",
        ),
    ] = None,
    power: Annotated[
        Path | None,
        typer.Option(
            help="What `preceptor study power --json` found, to be registered.", metavar="FILE"
        ),
    ] = None,
) -> None:
    """Freeze a study and write its pre-registration; from then on people may take part.

    Solves the plans of all arms, and writes down everything that is decided beforehand, with one
    hash. Afterwards one can close an arm, raise the number of people with a reason, and close the
    study; nothing else changes. The same file again changes nothing.
    """
    with readable_errors():
        need_extra()
        from preceptor.study import Study, opening
        from preceptor.study.freezing import unwritten
        from preceptor.study.registration_page import JSON, PAGE, TEXT, write_registration

        study = Study.load(file)
        # Before anything is opened: a draft must not leave an empty database behind.
        InvalidInput.raise_if(unwritten(study))
        found = None if power is None else read_json(power)
        folder = file.parent if output is None else output
        for name in (JSON, PAGE, TEXT):
            check_target(folder / name, file, power, option="--output")
        _refuse_another(folder / JSON, study.id)
        with opened(database) as store, spinner("Opening") as progress:
            made = opening.open_study(store, study, found, progress)
        written = write_registration(made.registration, folder, made.study.opened)
    if made.is_new:
        say(f"Study {study.id} is open: {made.study.people} people may finish it.")
    else:
        say(f"Study {study.id} was opened on {made.study.opened[:10]}; nothing has changed.")
    say(f"Wrote {', '.join(map(str, written))}. Register this hash:")
    typer.echo(made.registration.sha256)
    say(f"Let people in: preceptor study serve --database {shown(database)}")


def _refuse_another(path: Path, study: str) -> None:
    """The registration of another study is not written over."""
    if not path.exists():
        return
    try:
        there = read_json(path).get("id")
    except InvalidFile:
        there = None
    if there != study:
        whose = "something else" if there is None else f"study {there!r}"
        raise InvalidFile(
            f"{path}: holds {whose}; choose another folder with --output ({len(read_text(path)):,} "
            "letters would be lost)"
        )
