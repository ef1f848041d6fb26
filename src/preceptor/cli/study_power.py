"""`preceptor study power`: what a study can show, and how many people it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor.cli._console import check_target, readable_errors, say, spinner
from preceptor.cli.study import need_extra, study_app
from preceptor.errors import InvalidInput

_EXAMPLES = """[bold]Examples[/bold]

  preceptor study power study.toml --people 10,20,40,80

  preceptor study power study.toml --people 20 --simulations 500 --plot power.svg
"""


@study_app.command("power", epilog=_EXAMPLES)
def power(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study file.")],
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
        need_extra()
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
            report.plot(found, plot)
            say(f"Wrote {plot}")
        text = json.dumps(found.to_dict(), indent=2) if as_json else report.in_words(found)
    typer.echo(text)


def sizes_in(people: str) -> list[int]:
    """Whole numbers with commas between."""
    try:
        return [int(part) for part in people.split(",") if part.strip()]
    except ValueError:
        raise InvalidInput(
            f"--people: {people!r}, must be whole numbers with commas between, as in 10,20,40"
        ) from None
