"""`preceptor serve bots`: simulated people go through a running service, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor.cli._options as _options
from preceptor._base.files import read_text
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
from preceptor.cli._serving import serve_app
from preceptor.cli.simulate import rounds_worth_playing
from preceptor.plan import Plan

if TYPE_CHECKING:
    from preceptor.bots import Bots, Played

_LOG = "the log of the service"
_EXAMPLES = """[bold]Examples[/bold]

  preceptor serve bots http://127.0.0.1:8000 --plan plan.json --people 10 --rounds 20 --check

  preceptor serve bots http://127.0.0.1:8000 --plan plan.json --people 200 --human delta-rule
"""


@serve_app.command("bots", epilog=_EXAMPLES)
def bots(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the service listens.")],
    plan: Annotated[
        Path, typer.Option(help="The plan; sent to the service if it is new.", metavar="PLAN")
    ],
    people: _options.People = 200,
    human: Human = None,
    rounds: _options.PlayedRounds = None,
    noise: _options.AnswerNoise = 0.0,
    seed: _options.PeopleSeed = 0,
    connections: Connections = 8,
    prefix: Annotated[
        str, typer.Option(help="Begins their pseudonyms, before a number of five digits.")
    ] = "p",
    policy: Annotated[
        str,
        typer.Option(help="Follow the plan, or let the tutor adapt.", metavar="plan|tutor"),
    ] = "plan",
    check: Check = False,
    token: Annotated[
        str | None,
        typer.Option(
            help="May write (and do everything, if the plan is new to the service).",
            envvar="PRECEPTOR_TOKEN",
            metavar="TOKEN",
        ),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Let simulated people go through a running service, as real ones do.

    They answer as `preceptor simulate` would have them answer with the same seed, and they are
    marked as simulated. If it is stopped, the same command goes on where they were.
    """
    with readable_errors():
        from preceptor.bots import Bots
        from preceptor.client import Client
        from preceptor.errors import InvalidInput
        from preceptor.simulation.named import human_named

        if policy not in ("plan", "tutor"):
            raise InvalidInput(f"--policy: {policy!r}, must be plan or tutor")
        if check and policy == "tutor":
            raise InvalidInput("--check: a simulation follows the plan; leave out --policy tutor")
        found = Plan.load(plan)
        crowd = Bots(
            read_text(plan),
            people,
            rounds_worth_playing(found) if rounds is None else rounds,
            human_named(found.problem, human, noise),
            seed,
            prefix,
            policy,
        )
        with Client(url, token, connections=connections) as client:
            with spinner(f"waiting for {url}"):
                client.check_ready()
            with spinner("bots") as tell:
                played = crowd.play(client, connections, tell)
            faults = compare(_LOG, lambda: crowd.check(client)) if check else None
    conclude(_summary(crowd, played), _sentences, _LOG, faults, as_json)


def _summary(crowd: Bots, played: Played) -> dict[str, Any]:
    import numpy as np

    return {
        "people": crowd.people,
        "rounds": crowd.rounds,
        "played": played.rounds,
        "names": [played.names[0], played.names[-1]],
        "plan": crowd.sha256,
        "seed": crowd.seed,
        **speed("calls", played.calls, played.seconds),
        "p99_ms": round(1000.0 * float(np.quantile(played.calls, 0.99)), 2),
        "repeated": played.repeated,
    }


def _sentences(found: dict[str, Any]) -> list[str]:
    return [
        f"{everybody(found)} played {found['played']:,} rounds.",
        f"{in_words('calls', found)}, 99% {found['p99_ms']:.1f} ms or less; "
        f"{found['repeated']:,} were repeated.",
    ]
