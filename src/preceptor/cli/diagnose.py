"""`preceptor diagnose`: a block of rounds that finds out how somebody learns, and what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import preceptor.cli._options as _options
from preceptor.cli._app import app, examples
from preceptor.cli._console import (
    check_target,
    echo_json,
    note_all,
    readable_errors,
    say,
    spinner,
)
from preceptor.cli._reading import reads_table
from preceptor.cli._tables import renamed_columns, source_of
from preceptor.errors import InvalidInput
from preceptor.tables import Reading

_EXAMPLES = examples(
    "preceptor diagnose",
    "preceptor diagnose cases.csv --outcome y --tests 2 --rounds 40 -o block.csv",
    "preceptor diagnose --read log.csv --data cases.csv --outcome y",
    "preceptor diagnose block.csv --read log.csv --data cases.csv --outcome y",
)


@app.command(epilog=_EXAMPLES)
@reads_table
def diagnose(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TABLE]",
            help="Cases, one per row (default: an example). With --read: the schedule that was "
            "followed, to be told where people did not.",
            show_default=False,
        ),
    ] = None,
    outcome: _options.Outcome = None,
    tests: Annotated[
        int | None,
        typer.Option(
            "--tests", "-k", help="How many tests a teaching round may show (default: 2).", min=1
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(help="How many rounds, probes included.")] = 40,
    scatter: Annotated[
        float | None,
        typer.Option(
            help="How far answers scatter, in standard deviations of the outcome (default: 0.6)."
        ),
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option(help="Read this log of answers instead of planning a block.", metavar="LOG"),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="With --read: the table of cases.", metavar="TABLE")
    ] = None,
    columns: _options.Columns = None,
    drop: _options.TableDrop = None,
    as_number: _options.AsNumber = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The schedule to write (.csv or .json).")
    ] = Path("block.csv"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write no file.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything random.", min=0)] = 0,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Plan a short block of rounds that finds out how somebody learns, or read its log.

    The schedule has the columns of a log: add who (participant), what they said (prediction), the
    results of each case (values) and, where it was told, what was true (outcome).
    """
    with readable_errors():
        if read is None:
            refused = {"--data": data, "--columns": columns}
            InvalidInput.raise_if(
                f"{name}: goes with --read; name the table as the argument"
                for name, given in refused.items()
                if given
            )
            if not dry_run:
                check_target(output, source, endings=(".csv",))
        from preceptor.advice.choices import reading_as
        from preceptor.estimation.world import fit_source

        table = source if read is None else data
        estimate = fit_source(
            source_of(table), outcome, drop=drop or (), reading=reading, seed=seed,
            **reading_as(None, as_number),
        )  # fmt: skip
        note_all(*estimate.warnings)
        world = estimate.world
        spread = None if scatter is None else scatter * world.outcome_variance**0.5
        if read is not None:
            from preceptor.diagnosis.blocks import Block
            from preceptor.diagnosis.log_reading import read_log
            from preceptor.logs import Log

            block = None if source is None else Block.read(source, world.labels)
            renamed = renamed_columns(columns or [])
            log = Log.read(read, world, columns=renamed, reading=reading.for_log(read))
            note_all(*log.notes)
            with spinner("reading") as tell:
                told = read_log(world, log, scatter=spread, block=block, progress=tell)
            _print(told, as_json=as_json)
            return
        from preceptor.diagnosis.diagnosing import diagnose as choose

        if tests is not None and tests > len(world.tests):
            raise InvalidInput(
                f"--tests: {tests}, but the table has {len(world.tests)} tests; show fewer"
            )
        with spinner("choosing a block"):
            found = choose(
                world,
                rounds=rounds,
                budget=min(2, len(world.tests)) if tests is None else tests,
                scatter=spread,
                seed=seed,
            )
        if not dry_run:
            found.block.write(output)
            say(
                f"Wrote the schedule to {output}. Once answered: preceptor diagnose {output} "
                "--read log.csv --data ..."
            )
        _print(found, as_json=as_json)


def _print(found: Any, *, as_json: bool) -> None:
    if as_json:
        echo_json(found.to_dict())
    else:
        typer.echo(found.in_words())
