"""`preceptor study bots`: simulated people take part in a study, over HTTP."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor.cli._options as _options
from preceptor.advice.kinds import EVERYBODY
from preceptor.cli._console import fail, readable_errors, say, spinner
from preceptor.cli._own_site import own_site
from preceptor.cli._serving import need_extra
from preceptor.cli.study import study_app
from preceptor.simulation.named import human_named

if TYPE_CHECKING:
    from preceptor.bots import Attended

_EXAMPLES = """[bold]Examples[/bold]

  preceptor study bots study.toml --people 20 --check

  preceptor study bots http://127.0.0.1:8000/s/decisive --people 50 --human delta-rule --noise 0.6
"""


@study_app.command("bots", epilog=_EXAMPLES)
def bots(
    study: Annotated[
        str,
        typer.Argument(
            metavar="FILE|URL",
            help="A study file, tried on a site that is thrown away; or the address of a study "
            "that is open, as participants get it.",
        ),
    ],
    people: _options.People = 200,
    human: Annotated[
        str | None,
        typer.Option(
            help=f"How they learn: {', '.join(EVERYBODY)} (default: as the study's own person).",
            metavar="NAME",
            autocompletion=lambda: list(EVERYBODY),
        ),
    ] = None,
    noise: _options.AnswerNoise = 0.0,
    drop_out: Annotated[
        float, typer.Option(help="Share of them who leave after some case.", min=0.0, max=0.99)
    ] = 0.0,
    connections: Annotated[int, typer.Option(help="How many people at once.", min=1, max=256)] = 8,
    prefix: Annotated[
        str, typer.Option(help="Begins the recruiter's names of them, before five digits.")
    ] = "bot-",
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare the log with a simulation, to the last bit."),
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(help="May write.", envvar="PRECEPTOR_TOKEN", metavar="TOKEN"),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Let simulated people go through a study's own pages: consent, quiz, cases, checks, code.

    They are marked as simulated and never count. Another --prefix begins another crowd.
    """
    faults: list[str] = []
    with readable_errors():
        need_extra("study")
        from preceptor.bots import StudyBots
        from preceptor.study import Study

        is_address = study.startswith(("http://", "https://"))
        with nullcontext(study) if is_address else own_site(Study.load(study)) as url:
            crowd = StudyBots(url, people, None, token, prefix, drop_out)
            crowd = replace(crowd, human=human_named(crowd.study.problem, human, noise))
            with spinner("bots") as tell:
                attended = crowd.play(connections, tell)
            if check:
                with spinner("checking"):
                    faults = crowd.check(attended)
    found = _summary(attended) | ({"same_bits": not faults} if check else {})
    typer.echo(json.dumps(found, indent=2) if as_json else _in_words(found))
    if faults:
        fail("\n".join(["the log of training is not that of a simulation:", *faults]), code=1)
    if check:
        say("Checked: the log of training is that of a simulation with this seed, to the last bit.")


def _summary(attended: Attended) -> dict[str, Any]:
    import numpy as np

    pages, seconds = attended.calls, attended.seconds
    return {
        "people": len(attended.names),
        "finished": sum(attended.finished),
        "arms": attended.arms,
        "answers": sum(attended.answers),
        "names": [attended.names[0], attended.names[-1]],
        "seconds": round(seconds, 3),
        "pages": int(pages.size),
        "pages_per_second": round(pages.size / seconds, 1),
        "median_ms": round(1000.0 * float(np.median(pages)), 2),
    }


def _in_words(found: dict[str, Any]) -> str:
    first, last = found["names"]
    arms = ", ".join(f"{arm} {people:,}" for arm, people in found["arms"].items()) or "none"
    return (
        f"{found['people']:,} simulated people ({first} to {last}): "
        f"{found['finished']:,} finished, {found['answers']:,} cases answered. Arms: {arms}.\n"
        f"{found['pages']:,} pages in {found['seconds']:.1f} s, {found['pages_per_second']:.0f} a "
        f"second; half of them took {found['median_ms']:.1f} ms or less."
    )
