"""`preceptor serve bots`: simulated people go through a running service, over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from preceptor._base.files import read_text
from preceptor.advice.kinds import EVERYBODY
from preceptor.cli._console import fail, readable_errors, say, spinner
from preceptor.cli._plans import load_plan
from preceptor.cli._serving import serve_app
from preceptor.cli.simulate import rounds_worth_playing

if TYPE_CHECKING:
    from preceptor.bots import Bots, Played

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
    people: Annotated[int, typer.Option(help="How many people to simulate.", min=1)] = 200,
    human: Annotated[
        str | None,
        typer.Option(
            help=f"How they learn: {', '.join(EVERYBODY)} (default: as those that the plan was "
            "made for).",
            metavar="NAME",
            autocompletion=lambda: list(EVERYBODY),
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Cases per person (default: enough for 95% of the discounted weight).", min=1
        ),
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            help="Standard deviation of their answers, in units of the outcome (not for sgd).",
            min=0.0,
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of people, cases and answers.", min=0)] = 0,
    connections: Annotated[
        int, typer.Option(help="How many people play at once.", min=1, max=256)
    ] = 8,
    prefix: Annotated[
        str, typer.Option(help="Begins their pseudonyms, before a number of five digits.")
    ] = "p",
    policy: Annotated[
        str,
        typer.Option(help="Follow the plan, or let the tutor adapt.", metavar="plan|tutor"),
    ] = "plan",
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Compare the service's log with a simulation, to the last bit."
        ),
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(
            help="May write (and do everything, if the plan is new to the service).",
            envvar="PRECEPTOR_TOKEN",
            metavar="TOKEN",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
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
        found = load_plan(plan)
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
            faults = _checked(crowd, client) if check else None
    found_out = _summary(crowd, played) | ({} if faults is None else {"same_bits": not faults})
    if as_json:
        typer.echo(json.dumps(found_out, indent=2))
    else:
        _print(found_out)
    if faults:
        fail("\n".join(["the log of the service is not that of a simulation:", *faults]), code=1)


def _checked(crowd: Bots, client: Any) -> list[str]:
    with spinner("checking"):
        faults: list[str] = crowd.check(client)
    if not faults:
        say("Checked: the service's log is that of a simulation with this seed, to the last bit.")
    return faults


def _summary(crowd: Bots, played: Played) -> dict[str, Any]:
    import numpy as np

    calls = played.calls
    return {
        "people": crowd.people,
        "rounds": crowd.rounds,
        "played": played.rounds,
        "names": [played.names[0], played.names[-1]],
        "plan": crowd.sha256,
        "seed": crowd.seed,
        "seconds": round(played.seconds, 3),
        "calls": int(calls.size),
        "calls_per_second": round(calls.size / played.seconds, 1),
        "median_ms": round(1000.0 * float(np.median(calls)), 2),
        "p99_ms": round(1000.0 * float(np.quantile(calls, 0.99)), 2),
        "repeated": played.repeated,
    }


def _print(found: dict[str, Any]) -> None:
    first, last = found["names"]
    typer.echo(
        f"{found['people']:,} simulated people ({first} to {last}) played {found['played']:,} "
        f"rounds in {found['seconds']:.1f} s."
    )
    typer.echo(
        f"{found['calls']:,} calls, {found['calls_per_second']:.0f} a second; half of them took "
        f"{found['median_ms']:.1f} ms or less, 99% {found['p99_ms']:.1f} ms or less; "
        f"{found['repeated']:,} were repeated."
    )
