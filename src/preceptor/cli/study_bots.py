"""`preceptor study bots`: simulated people take part in a study, over HTTP."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor.cli._options as _options
from preceptor.cli._bots import (
    Check,
    Connections,
    Human,
    compare,
    conclude,
    everybody,
    in_words,
    speed,
)
from preceptor.cli._console import readable_errors, spinner
from preceptor.cli._own_site import own_site
from preceptor.cli.study import need_extra, study_app
from preceptor.simulation.named import human_named

if TYPE_CHECKING:
    from preceptor.bots import Attended

_LOG = "the log of training"
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
    human: Human = None,
    noise: _options.AnswerNoise = 0.0,
    drop_out: Annotated[
        float, typer.Option(help="Share of them who leave after some case.", min=0.0, max=0.99)
    ] = 0.0,
    connections: Connections = 8,
    prefix: Annotated[
        str, typer.Option(help="Begins the recruiter's names of them, before five digits.")
    ] = "bot-",
    check: Check = False,
    token: Annotated[
        str | None,
        typer.Option(help="May write.", envvar="PRECEPTOR_TOKEN", metavar="TOKEN"),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Let simulated people go through a study's own pages: consent, quiz, cases, checks, code.

    They are marked as simulated and never count. If it is stopped, the same command goes on where
    they were.
    """
    with readable_errors():
        need_extra()
        from preceptor.bots import StudyBots
        from preceptor.study import Study

        is_address = study.startswith(("http://", "https://"))
        with nullcontext(study) if is_address else own_site(Study.load(study)) as url:
            crowd = StudyBots(url, people, None, token, prefix, drop_out)
            crowd = replace(crowd, human=human_named(crowd.study.problem, human, noise))
            with spinner("bots") as tell:
                attended = crowd.play(connections, tell)
            faults = compare(_LOG, lambda: crowd.check(attended)) if check else None
    conclude(_summary(attended), _sentences, _LOG, faults, as_json)


def _summary(attended: Attended) -> dict[str, Any]:
    return {
        "people": len(attended.names),
        "finished": sum(attended.finished),
        "arms": attended.arms,
        "answers": sum(attended.answers),
        "names": [attended.names[0], attended.names[-1]],
        **speed("pages", attended.calls, attended.seconds),
    }


def _sentences(found: dict[str, Any]) -> list[str]:
    arms = ", ".join(f"{arm} {people:,}" for arm, people in found["arms"].items()) or "none"
    return [
        f"{everybody(found)}: {found['finished']:,} finished, {found['answers']:,} cases answered. "
        f"Arms: {arms}.",
        f"{in_words('pages', found)}.",
    ]
