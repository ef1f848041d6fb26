"""`preceptor study check`: is a study file right, and what does it come to?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor.cli._console import readable_errors, spinner
from preceptor.cli.study import need_extra, study_app


@study_app.command("check")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study file.")],
    as_json: _options.AsJson = False,
) -> None:
    """Read a study file: all faults at once, or what it comes to and what to look at.

    Ends with 0 if the study can be run, whatever there is to look at.
    """
    with readable_errors():
        need_extra()
        from preceptor.study import Study
        from preceptor.study.arms import make_arms
        from preceptor.study.checking import overview

        study = Study.load(file)
        with spinner("solving") as tell:
            arms = make_arms(study, tell)
        found = overview(study, arms)
    if as_json:
        typer.echo(json.dumps({"sha256": study.sha256, **found.__dict__}, indent=2))
    else:
        typer.echo(found.in_words())
