"""`preceptor people`: how people of published experiments learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import preceptor.cli._options as _options
from preceptor.cli._app import app, examples
from preceptor.cli._console import argument, say, show, spinner

_EXAMPLES = examples("preceptor people data", "preceptor people data --json > people.json")


@app.command(epilog=_EXAMPLES)
def people(
    folder: Annotated[
        Path,
        argument(
            "Folder with albrecht2019.csv, lin2020_compas.csv or weather_prediction.csv.", "DIR"
        ),
    ],
    as_json: _options.AsJson = False,
) -> None:
    """Fit published experiments again, and compare how their participants learn.

    The data are not part of this package; docs/published_people.md names sources and
    terms.
    """
    from preceptor.data.public_experiments import EXPERIMENTS, arms_in
    from preceptor.learners.published_people import measure
    from preceptor.report.people_tables import people_tables

    found = arms_in(folder)
    for each in EXPERIMENTS:
        if each.file in found:
            say(f"{each.file}: {each.title}. {each.source} ({each.terms}).")
    results = []
    for arm in (arm for arms in found.values() for arm in arms):
        with spinner(arm.name) as tell:
            results.append(measure(arm, progress=tell))
    show(
        lambda: [each.to_dict() for each in results],
        lambda: people_tables(results),
        as_json=as_json,
    )
