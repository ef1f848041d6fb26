"""`preceptor next`: what to show one person now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.words import counted, first_few
from preceptor.cli._app import app
from preceptor.cli._console import check_target, readable_errors, say, spinner
from preceptor.cli._plans import load_plan
from preceptor.cli._tables import read_named_numbers, renamed_columns
from preceptor.errors import InvalidFile, InvalidInput

_EXAMPLES = """[bold]Examples[/bold]

  preceptor next plan.json

  preceptor next plan.json --shown counts.json

with, for instance, {"abdomen": 12, "wrist": 7} in counts.json; or, where answers were logged:

  preceptor next plan.json --log log.csv --participant ann
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
    log: Annotated[
        Path | None,
        typer.Option(
            help="What this person answered so far, as for `preceptor fit`; then a tutor works out "
            "who they are and what suits them now.",
            metavar="LOG",
        ),
    ] = None,
    participant: Annotated[
        str | None,
        typer.Option(help="Who in the log, if there are several.", metavar="NAME"),
    ] = None,
    columns: _options.Columns = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page that shows the run in the log.", metavar="FILE"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
) -> None:
    """Say what to show one person next, given how often they have seen each test.

    With a log of their answers, it says what suits whoever they turn out to be, and who that is.
    """
    with readable_errors():
        if log is not None:
            if shown is not None:
                raise InvalidInput("--shown: --log says already what was shown; leave one out")
            if report is not None:
                check_target(report, plan, log, endings=(".html", ".htm"))
            _by_tutor(plan, log, participant, columns, report, as_json=as_json)
            return
        for option, value in (("participant", participant), ("columns", columns)):
            if value:
                raise InvalidInput(f"--{option}: is about a log; give --log too")
        if report is not None:
            raise InvalidInput("--report: shows the run in a log; give --log too")
        found = load_plan(plan)
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


def _by_tutor(
    plan: Path,
    log: Path,
    participant: str | None,
    columns: list[str] | None,
    report: Path | None,
    *,
    as_json: bool,
) -> None:
    """What a tutor advises who has seen all answers of one person."""
    from preceptor.cli._summary import kind_lines
    from preceptor.logs import Log
    from preceptor.tutoring import Tutor

    problem = preceptor.Plan.load(plan).problem
    rounds = Log.read(log, problem.world, columns=renamed_columns(columns or []))
    if participant is not None:
        rounds = rounds.for_participant(participant)
    elif len(rounds.participants) > 1:
        people = first_few(rounds.participants, 8)
        raise InvalidInput(f"--participant: say who; in {log} are {people}")
    name = rounds.participants[0]
    with spinner("following the log"):
        tutor = Tutor(problem).through(rounds)
        advice = tutor.recommendation()
    if report is not None:
        from preceptor.report.session import write_session

        write_session(tutor, report, name=name)
        say(f"Wrote the page of this run to {report}")
    if as_json:
        data = {
            "show": list(advice.names),
            "reason": advice.reason,
            "probe": advice.probe,
            "kinds": advice.kinds,
            "participant": name,
            "rounds": tutor.rounds,
            "scatter": tutor.scatter,
            "doubts": list(tutor.doubts()),
        }
        typer.echo(json.dumps(data, ensure_ascii=False))
        return
    typer.echo(advice.reason)
    typer.echo(f"\nWho {name} may be, after {counted(tutor.rounds, 'round')}:")
    for line in (*kind_lines(tutor), *(f"Doubt: {doubt}" for doubt in tutor.doubts())):
        typer.echo(line)


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
    wrong = [n for n, count in found.items() if count != int(count) or not 0 <= count <= 1e9]
    InvalidFile.raise_if(
        f"{path}, {name!r}: {found[name]:g}, must be a whole number of at least 0"
        + (" and at most 1,000,000,000" if found[name] > 0 else "")
        for name in wrong
    )
    return {name: int(count) for name, count in found.items()}
