"""`preceptor next`: what to show one person now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import preceptor
from preceptor.cli._app import app
from preceptor.cli._console import readable_errors
from preceptor.cli._tables import read_named_numbers
from preceptor.errors import InvalidFile

_EXAMPLES = """[bold]Examples[/bold]

  preceptor next plan.json

  preceptor next plan.json --shown counts.json

with, for instance, {"abdomen": 12, "wrist": 7} in counts.json
"""


@app.command(name="next", epilog=_EXAMPLES)
def next_tests(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan file.")],
    shown: Annotated[
        Path | None,
        typer.Option(
            help="How often this person has seen each test: a .json object of name and count, or "
            "a .csv file with the columns name and count (default: never).",
            metavar="FILE",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
) -> None:
    """Say what to show one person next, given how often they have seen each test."""
    with readable_errors():
        found = preceptor.Plan.load(plan)
        problem, world = found.problem, found.problem.world
        counts = list(problem.start_counts)
        if shown is not None:
            for name, count in _counts(shown).items():
                for column in world.columns_of([name]):
                    counts[column] = count
        chosen = found.policy.recommend(counts)
        loss = _expected_loss(problem, counts, chosen)
        names = list(world.name_of(chosen))
    from preceptor.report.scale import scale_of

    scale = scale_of(problem)
    expected = None if loss is None else float(scale.of(loss))
    if as_json:
        data = {"show": names, "expected_loss": loss, "expected": expected, "scale": scale.axis}
        typer.echo(json.dumps(data | {"forever": chosen == found.policy.commit}))
        return
    from preceptor._base.words import sentence
    from preceptor.report.phrases import joined

    typer.echo(sentence(f"show {joined(found, chosen)}"))
    if expected is None:
        return
    unit = f" ({scale.unit})" if scale.unit else ""
    label = scale.label.removeprefix("expected ")
    typer.echo(f"Expected {label} of this case: {expected:.3g}{unit}.")


def _expected_loss(
    problem: preceptor.Problem, counts: list[int], chosen: tuple[int, ...]
) -> float | None:
    """What the next case costs; None where counts alone do not say what somebody knows by now."""
    if problem.learns_by_showings:
        errors = problem.by_showings.errors(problem.world, counts)[None, :]
        return float(problem.oracle.loss_of(errors, chosen)[0])
    if tuple(counts) != tuple(problem.start_counts):
        return None
    from preceptor.evaluation.value import losses_along

    return float(losses_along(problem, [chosen])[0])


def _counts(path: Path) -> dict[str, int]:
    found = read_named_numbers(path, ("count",))["count"]
    wrong = [name for name, count in found.items() if count < 0 or count != int(count)]
    InvalidFile.raise_if(
        f"{path}, {name!r}: {found[name]:g}, must be a whole number of at least 0" for name in wrong
    )
    return {name: int(count) for name, count in found.items()}
