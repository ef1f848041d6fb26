"""`preceptor study design`: which world and length show most clearly how kinds of people differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor._base.files import write_text
from preceptor._base.typed import number_in
from preceptor.cli._console import check_target, readable_errors, say, spinner
from preceptor.cli.study import need_extra, study_app
from preceptor.errors import InvalidInput

_EXAMPLES = """[bold]Examples[/bold]

  preceptor study design study.toml --correlation .6,.8,.9 --weight=-.2,-.1,0

  preceptor study design study.toml --rounds 20,30,60 --output better.toml
"""


@study_app.command("design", epilog=_EXAMPLES)
def design(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study file.")],
    correlation: Annotated[
        str, typer.Option(help="Between every two tests, with commas (default: as it is).")
    ] = "",
    weight: Annotated[
        str,
        typer.Option(
            help="Of the probed test, or the first, as shares of the largest other weight."
        ),
    ] = "",
    noise: Annotated[
        str, typer.Option(help="Shares of the outcome's variance that no test explains.")
    ] = "",
    rounds: Annotated[str, typer.Option(help="Rounds of training.")] = "",
    people: Annotated[
        int, typer.Option(help="Simulated people of every kind, in each arm.", min=5)
    ] = 60,
    seed: Annotated[int, typer.Option(help="Of simulated people.", min=0)] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Processes (default: one for each core).", min=1)
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the study with the best setting (.toml).")
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Vary the world and the length of a study, and try every setting on people of every kind."""
    with readable_errors():
        need_extra()
        from preceptor.study import Study
        from preceptor.study.design import design as search
        from preceptor.study.variations import varied

        if output is not None:
            check_target(output, file, endings=(".toml",))
        study = Study.load(file)
        with spinner("trying settings") as tell:
            found = search(
                study,
                correlations=_numbers("--correlation", correlation),
                weights=_numbers("--weight", weight),
                noises=_numbers("--noise", noise),
                rounds=[int(each) for each in _numbers("--rounds", rounds)],
                people=people,
                seed=seed,
                workers=workers,
                progress=tell,
            )
        if output is not None:
            made = varied(study, found.best.setting)
            write_text(output, _text(made, file))
            say(f"Wrote {output}")
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else found.in_words())


def _text(study: object, file: Path) -> str:
    import tomli_w

    from preceptor._base.values import plain
    from preceptor.study import Study

    assert isinstance(study, Study)
    head = f"# The best setting that `preceptor study design` found for {file.name}.\n\n"
    return head + tomli_w.dumps(plain(study.to_dict()), multiline_strings=True)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [number_in(part, ".") for part in text.split(",") if part.strip()]
    except ValueError:
        raise InvalidInput(f"{option}: {text!r}, must be numbers with commas between") from None
