"""`preceptor next`: what to show one person now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor
import preceptor.cli._options as _options
from preceptor._base.words import counted, first_few, match_names
from preceptor.cli._app import app, examples
from preceptor.cli._console import argument, check_target, echo_json, option, say, show, spinner
from preceptor.cli._options import reads_log
from preceptor.cli._tables import logged, read_counts
from preceptor.data.log import Log
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.advice.next_case import NextCase, SeenSoFar

_EXAMPLES = examples(
    "preceptor next plan.json                                  (first case of a new person)",
    "preceptor next plan.json --log log.csv --participant p07",
    "preceptor next plan.json --log log.csv --participant p07 --available abdomen,wrist,weight",
    'preceptor next plan.json --shown counts.json         (e.g. {"abdomen": 12})',
    "preceptor next plan.json --log log.csv --participant p07 --tutor",
)


@app.command(name="next", epilog=_EXAMPLES)
@reads_log
def next_tests(
    plan: Annotated[Path, argument("Plan file.", "PLAN")],
    shown: _options.Shown = None,
    log: Annotated[
        Path | None,
        option(
            "Log of rounds so far, as for `preceptor fit`; locates the person on the plan.",
            metavar="LOG",
        ),
    ] = None,
    participant: Annotated[
        str | None, option("Participant in the log, if there are several.", metavar="NAME")
    ] = None,
    available: Annotated[
        str | None, option("Tests that are available now, if not all are.", metavar="NAME,NAME,...")
    ] = None,
    tutor: Annotated[
        bool,
        option(
            "Instead of following the plan, infer from the log how this person learns and "
            "choose accordingly.",
            "--tutor",
        ),
    ] = False,
    columns: _options.Columns = None,
    report: Annotated[
        Path | None, option("With --tutor: write an HTML page about the session.", metavar="FILE")
    ] = None,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Recommend what to show one person next, given what they have seen so far.

    Exposure counts come from --shown or from a log. A person who is off the plan is replanned
    from their current counts.
    """
    _check_together(shown, log, participant, columns, report, tutor=tutor)
    found = preceptor.Plan.load(plan)
    world = found.problem.world
    rounds, who = None, ""
    if log is not None:
        rounds = logged(log, world, columns, reading)
        who = _who(participant, rounds, log)
    if tutor:
        assert rounds is not None
        if available is not None:
            raise InvalidInput("--available: applies to the plan; leave out --available or --tutor")
        check_target(report, plan, log, endings=(".html", ".htm"))
        _by_tutor(found.problem, rounds.for_participant(who), report, as_json=as_json)
        return
    from preceptor.advice.next_case import (
        SeenSoFar,
        after_log,
        next_case,
        seen_since_plan,
        so_far_from,
    )
    from preceptor.advice.options import PersonOptions

    if rounds is None:
        counts = None if shown is None else read_counts(shown)
        seen = so_far_from(world, PersonOptions(shown=counts)) or SeenSoFar.nothing(world)
        so_far = _since(found, seen)
    else:
        known = who in rounds.participants
        past = after_log(rounds.for_participant(who)) if known else SeenSoFar.nothing(world)
        so_far = seen_since_plan(found, past)
    usable = None if available is None else _columns_of(found, available)
    with spinner("choosing tests"):
        chosen = next_case(found, so_far, usable)
    # Without a log the number of the case is unknown.
    numbered = chosen if log is not None else replace(chosen, case=None)
    show(lambda: _as_data(found, chosen), lambda: _in_words(found, numbered), as_json=as_json)


def _check_together(
    shown: Path | None,
    log: Path | None,
    participant: str | None,
    columns: list[str] | None,
    report: Path | None,
    *,
    tutor: bool,
) -> None:
    """Refuse options that do not go together."""
    if log is not None and shown is not None:
        raise InvalidInput("--shown: --log already says what was shown; leave one out")
    if log is None:
        about = {"participant": participant, "columns": columns, "tutor": tutor, "report": report}
        InvalidInput.raise_if(
            f"--{option}: requires --log" for option, value in about.items() if value
        )
    elif report is not None and not tutor:
        raise InvalidInput("--report: describes a tutoring session; add --tutor")


def _who(participant: str | None, rounds: Log, log: Path) -> str:
    there = first_few(rounds.participants)
    if participant is not None:
        if participant not in rounds.participants:
            say(f"Note: {participant} is not in {log} (it has {there}); treated as a new person")
        return participant
    if len(rounds.participants) > 1:
        raise InvalidInput(f"--participant: required, since {log} has several: {there}")
    return rounds.participants[0]


def _since(plan: preceptor.Plan, so_far: SeenSoFar) -> SeenSoFar:
    """Subtract showings before the plan from total counts."""
    before = plan.problem.start_counts if plan.seen_before is None else plan.seen_before
    left = [max(c - b, 0) for c, b in zip(so_far.counts, before, strict=True)]
    return replace(so_far, counts=tuple(left))


def _by_tutor(
    problem: preceptor.Problem, rounds: Log, report: Path | None, *, as_json: bool
) -> None:
    """Recommend by a tutor that has followed one person's log."""
    from preceptor.cli._session import kind_lines
    from preceptor.learners.tutor import Tutor

    (name,) = rounds.participants
    with spinner("following the log"):
        tutor = Tutor(problem).through(rounds)
        advice = tutor.recommendation()
    if report is not None:
        from preceptor.report.session import write_session

        write_session(tutor, report, name=name)
        say(f"Wrote the session page to {report}")
    if as_json:
        data = {
            "show": list(advice.names),
            "reason": advice.reason,
            "kinds": advice.kinds,
            "groups": tutor.groups,
            "participant": name,
            "rounds": tutor.rounds,
            "scatter": tutor.scatter,
            "doubts": list(tutor.doubts()),
        }
        echo_json(data)
        return
    typer.echo(advice.reason)
    typer.echo(f"\nHow {name} seems to learn, after {counted(tutor.rounds, 'round')}:")
    typer.echo("\n".join(kind_lines(tutor)))


def _columns_of(plan: preceptor.Plan, available: str) -> tuple[int, ...]:
    """Columns of the tests that are available now."""
    world = plan.problem.world
    names = [name.strip() for name in available.split(",") if name.strip()]
    if not names:
        raise InvalidInput("--available: empty; name at least one test")
    called, faults = match_names("--available", dict.fromkeys(names), world.tests)
    InvalidInput.raise_if(faults)
    return world.columns_of(list(called.values()))


def _as_data(plan: preceptor.Plan, chosen: NextCase) -> dict[str, Any]:
    from preceptor.report.phrases import scale_of

    scale = scale_of(plan.problem)
    return {
        "show": list(chosen.names),
        "expected_loss": chosen.loss,
        "expected": None if chosen.loss is None else float(scale.of(chosen.loss)),
        "scale": scale.axis,
        "forever": chosen.shown == plan.policy.commit,
        "case": chosen.case,
        "of": chosen.of,
        "on_plan": chosen.on_plan,
        "reasons": list(chosen.reasons),
    }


def _in_words(plan: preceptor.Plan, chosen: NextCase) -> str:
    from preceptor.report.phrases import scale_of

    lines = [chosen.in_words(), *chosen.reasons]
    if chosen.loss is not None:
        scale = scale_of(plan.problem)
        unit = f" ({scale.unit})" if scale.unit else ""
        label = scale.label.removeprefix("expected ")
        number = f"{float(scale.of(chosen.loss)):.3g}{unit}"
        if scale.per == 1:
            lines.append(f"Expected {label} of this case: {number}.")
        else:
            label = label.replace("cases", "cases like this one")
            lines.append(f"Expected {label}: {number}.")
    return "\n".join(lines)
