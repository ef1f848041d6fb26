"""`preceptor study export`: all data of a study, in a form that others can use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say, spinner
from preceptor.cli._serving import DEFAULT_DATABASE, Database
from preceptor.cli._study_store import Which, existing_store, named
from preceptor.cli.study import study_app
from preceptor.cli.study_status import Kind, check_kind


@study_app.command("export")
def export(
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Where nothing is yet; else a name with the study's id, here.", metavar="PATH"
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="With times of day, comments and codes; not to be passed on."),
    ] = False,
    zipped: Annotated[bool, typer.Option("--zip", help="One file instead of a folder.")] = False,
    kind: Kind = "real",
) -> None:
    """Write data, log, codebook, registration and analysis as a Psych-DS folder.

    People have new random names, and times of day and comments are left out, unless it is --full.
    analysis/analysis.py in it carries out the registered analysis with numpy, scipy, pandas and
    statsmodels alone. Data of people can be had once the study is unblinded; bots' always.
    """
    with readable_errors(), existing_store(database) as store:
        from preceptor.study.export import export as export_all

        check_kind(kind)
        kept = named(store, study)
        name = f"{kept.id}-{'full' if full else 'data'}{'.zip' if zipped else ''}"
        with spinner("Exporting") as progress:
            made = export_all(
                store,
                kept.id,
                Path(name) if output is None else output,
                who="command line",
                kind=kind,
                full=full,
                zipped=zipped,
                progress=progress,
            )
    typer.echo(made.result)
    say(f"Wrote {made.path}: {made.people} participants, {made.rounds:,} rounds.")
