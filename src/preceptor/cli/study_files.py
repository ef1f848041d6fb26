"""`preceptor study new`, `check`, `power` and `open`: from a study file to a study that is open."""

from __future__ import annotations

import re
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor._base.files import read_json, write_bytes, write_text
from preceptor.cli._app import examples
from preceptor.cli._console import check_target, echo_json, readable_errors, say, spinner
from preceptor.cli._serving import DEFAULT_DATABASE, Database, need_extra, opened, shown
from preceptor.cli.study import study_app
from preceptor.errors import InvalidFile, InvalidInput

StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="A study file.")]

_NEW = examples(
    "preceptor study new --list",
    "preceptor study new study.toml --template decisive",
)


@study_app.command("new", epilog=_NEW)
def new(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The study file to write (.toml).")
    ] = None,
    template: Annotated[
        str, typer.Option(help="Which study to begin with; --list says what there is.")
    ] = "plan-or-fixed",
    seed: Annotated[
        int | None,
        typer.Option(help="Of cases and arms (default: a random one).", min=0, max=2**53 - 1),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Say what templates there are.")] = False,
) -> None:
    """Write a study file, with comments, that can be run as it is once it is filled in."""
    with readable_errors():
        need_extra("study")
        from preceptor.study import Study
        from preceptor.study.beginning import begun, headline, placeholders, template_names

        if list_all:
            for name in template_names():
                typer.echo(f"{name:<20} {headline(name)}")
            return
        if file is None:
            raise InvalidInput("FILE: missing; name the file to write, or use --list")
        check_target(file, endings=(".toml",))
        if file.exists():
            raise InvalidInput(f"{file}: is there already; choose another name, or remove it first")
        drawn = secrets.randbelow(2**31) if seed is None else seed
        text = begun(template, _id_of(file), drawn)
        write_text(file, text)
        left = len(placeholders(Study.load(file)))
        say(f"Wrote {file}. Fill in what stands in [[double brackets]] ({left} places), then run:")
        say(f"  preceptor study check {file}")


def _id_of(file: Path) -> str:
    """The file's name as far as an address can hold it."""
    return re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:64] or "study"


@study_app.command("check")
def check(
    file: StudyFile,
    as_json: _options.AsJson = False,
) -> None:
    """Read a study file: all faults at once, or what it comes to and what to look at.

    Ends with 0 if the study can be run, whatever there is to look at.
    """
    with readable_errors():
        need_extra("study")
        from preceptor.study import Study
        from preceptor.study.arms import make_arms
        from preceptor.study.checking import overview

        study = Study.load(file)
        with spinner("solving") as tell:
            arms = make_arms(study, tell)
        found = overview(study, arms)
    if as_json:
        echo_json({"sha256": study.sha256, **asdict(found)})
    else:
        typer.echo(found.in_words())


_POWER = examples(
    "preceptor study power study.toml --people 10,20,40,80",
    "preceptor study power study.toml --people 20 --simulations 500 --plot power.svg",
)


@study_app.command("power", epilog=_POWER)
def power(
    file: StudyFile,
    people: Annotated[
        str, typer.Option(help="People an arm who finish; several sizes with commas.")
    ] = "10,20,40",
    simulations: Annotated[
        int, typer.Option(help="Studies to simulate, for every kind and for everybody.", min=10)
    ] = 200,
    target: Annotated[float, typer.Option(help="The power that is wanted.")] = 0.8,
    seed: Annotated[int, typer.Option(help="Of simulated people.", min=0)] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Processes (default: one for each core).", min=1)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw power against people: .svg, .png or .pdf.")
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Play the study with simulated people of every kind, and run its registered analysis.

    Same trials, matched cases, allocation, checks and exclusions as in the study itself. Whom
    people are taken for stands under \\[assumed] in the file.
    """
    with readable_errors():
        need_extra("study")
        from preceptor.report.plots import picture_of
        from preceptor.study import Study
        from preceptor.study import power_report as report
        from preceptor.study.power import power as find

        sizes = sizes_in(people)
        if plot is not None:
            check_target(plot, file, endings=(".svg", ".png", ".pdf"))
        study = Study.load(file)
        with spinner("simulating") as tell:
            found = find(
                study,
                sizes,
                simulations=simulations,
                target=target,
                seed=seed,
                workers=workers,
                progress=tell,
            )
        if plot is not None:
            write_bytes(plot, picture_of(report.plot(found), plot.suffix))
            say(f"Wrote {plot}")
    if as_json:
        echo_json(found.to_dict())
    else:
        typer.echo(report.in_words(found))


def sizes_in(people: str) -> list[int]:
    """Whole numbers with commas between."""
    try:
        return [int(part) for part in people.split(",") if part.strip()]
    except ValueError:
        raise InvalidInput(
            f"--people: {people!r}, must be whole numbers with commas between, as in 10,20,40"
        ) from None


@study_app.command("open")
def open_study(
    file: StudyFile,
    database: Database = DEFAULT_DATABASE,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for preregistration.json and .md; else that of the study.",
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
        need_extra("study")
        from preceptor.study import Study, opening
        from preceptor.study.freezing import unwritten
        from preceptor.study.registered_words import JSON, TEXT, write_registration

        study = Study.load(file)
        # Before anything is opened: a draft must not leave an empty database behind.
        InvalidInput.raise_if(unwritten(study))
        found = None if power is None else read_json(power)
        folder = file.parent if output is None else output
        for name in (JSON, TEXT):
            check_target(folder / name, file, power, option="--output")
        _refuse_another(folder / JSON, study.id)
        with opened(database) as store, spinner("Opening") as progress:
            made = opening.open_study(store, study, found, progress)
        written = write_registration(made.registration, folder)
    if made.is_new:
        say(f"Study {study.id} is open: {made.study.people} people may finish it.")
    else:
        say(f"Study {study.id} was opened on {made.study.opened[:10]}; nothing has changed.")
    say(f"Wrote {', '.join(map(str, written))}. Register this hash:")
    typer.echo(made.registration.sha256)
    say(f"Let people in: preceptor study serve --database {shown(database)}")


def _refuse_another(path: Path, study: str) -> None:
    """The registration of another study is not written over."""
    try:
        there = read_json(path).get("id") if path.exists() else study
    except InvalidFile:
        there = None
    if there != study:
        raise InvalidFile(
            f"{path}: holds {'something else' if there is None else f'study {there!r}'}; choose "
            "another folder with --output"
        )
