"""What commands that send simulated people over HTTP share: options, and what they say after."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from preceptor._base.values import FloatArray
from preceptor.advice.kinds import EVERYBODY
from preceptor.cli._console import fail, say, spinner

Human = Annotated[
    str | None,
    typer.Option(
        help=f"How they learn: {', '.join(EVERYBODY)} (default: as those that plans are made for).",
        metavar="NAME",
        autocompletion=lambda: list(EVERYBODY),
    ),
]
Connections = Annotated[int, typer.Option(help="How many people at once.", min=1, max=256)]
Check = Annotated[
    bool,
    typer.Option("--check", help="Compare the log with a simulation, to the last bit."),
]


def speed(what: str, calls: FloatArray, seconds: float) -> dict[str, Any]:
    """How many calls there were, and how long they took: entries of what is printed as JSON."""
    import numpy as np

    return {
        "seconds": round(seconds, 3),
        what: int(calls.size),
        f"{what}_per_second": round(calls.size / seconds, 1),
        "median_ms": round(1000.0 * float(np.median(calls)), 2),
    }


def in_words(what: str, found: dict[str, Any]) -> str:
    """The same as a sentence without its end."""
    return (
        f"{found[what]:,} {what} in {found['seconds']:.1f} s, {found[f'{what}_per_second']:.0f} a "
        f"second; half of them took {found['median_ms']:.1f} ms or less"
    )


def everybody(found: dict[str, Any]) -> str:
    """Who they were."""
    first, last = found["names"]
    return f"{found['people']:,} simulated people ({first} to {last})"


def compare(log: str, check: Callable[[], list[str]]) -> list[str]:
    """In what a log differs from a simulation."""
    with spinner("checking"):
        faults = check()
    if not faults:
        say(f"Checked: {log} is that of a simulation with this seed, to the last bit.")
    return faults


def conclude(
    found: dict[str, Any],
    sentences: Callable[[dict[str, Any]], list[str]],
    log: str,
    faults: list[str] | None,
    as_json: bool,
) -> None:
    """Print what was found; a log that is not that of a simulation ends in failure.

    `faults` is None if nobody compared.
    """
    if as_json:
        checked = {} if faults is None else {"same_bits": not faults}
        typer.echo(json.dumps(found | checked, indent=2))
    else:
        typer.echo("\n".join(sentences(found)))
    if faults:
        fail("\n".join([f"{log} is not that of a simulation:", *faults]), code=1)
