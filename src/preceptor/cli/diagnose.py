"""`preceptor diagnose`: plan a diagnostic block of rounds, or analyse its log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import preceptor.cli._options as _options
from preceptor.cli._app import BriefCommand, app, examples
from preceptor.cli._console import argument, check_target, option, say, show, spinner
from preceptor.cli._options import reads_table
from preceptor.cli._tables import Cases, logged
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput

_EXAMPLES = examples(
    "preceptor diagnose",
    "preceptor diagnose cases.csv --outcome y --tests 2 --rounds 40 -o block.csv",
    "preceptor diagnose --read log.csv --data cases.csv --outcome y",
    "preceptor diagnose block.csv --read log.csv --data cases.csv --outcome y",
)


@app.command(cls=BriefCommand, epilog=_EXAMPLES)
@reads_table
def diagnose(
    source: Annotated[
        Path | None,
        argument(
            "Cases, one per row (default: an example). With --read: the planned schedule, to "
            "report deviations from it.",
            "[TABLE]",
        ),
    ] = None,
    outcome: _options.Outcome = None,
    tests: Annotated[
        int | None,
        option("Tests shown per teaching round, at most (default: 2).", "--tests", "-k", min=1),
    ] = None,
    rounds: Annotated[int, option("Number of rounds, probes included.")] = 40,
    scatter: Annotated[
        float | None,
        option(
            "Standard deviation of answer noise, in standard deviations of the outcome "
            "(default: 0.6)."
        ),
    ] = None,
    read: Annotated[
        Path | None,
        option("Analyse this log of answers instead of planning a block.", metavar="LOG"),
    ] = None,
    data: Annotated[
        Path | None, option("With --read: the table of cases.", metavar="TABLE")
    ] = None,
    columns: _options.Columns = None,
    drop: _options.TableDrop = None,
    as_number: _options.AsNumber = False,
    output: Annotated[Path, option("Schedule file to write (.csv).", "--output", "-o")] = Path(
        "block.csv"
    ),
    dry_run: Annotated[bool, option("Write no file.", "--dry-run")] = False,
    seed: Annotated[int, option("Random seed.", min=0)] = 0,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Plan a short block of rounds that reveals how a person learns, or analyse its log.

    The schedule has the columns of a log: fill in participant, prediction, the results of each
    case (values) and, where feedback was given, the outcome.
    """
    if read is not None and scatter is not None:
        raise InvalidInput("--scatter: is for planning; with --read it is estimated, leave it out")
    # Before it is scaled: the message names the number that was typed.
    if scatter is not None and not scatter > 0:
        raise InvalidInput(f"--scatter: {scatter:g}, must be a positive standard deviation")
    if read is None:
        refused = {"--data": data, "--columns": columns}
        InvalidInput.raise_if(
            f"{name}: goes with --read; name the table as the argument"
            for name, given in refused.items()
            if given
        )
        if not dry_run:
            check_target(output, source, endings=(".csv",))
    table = source if read is None else data
    cases = Cases.read(table, outcome, drop, reading, seed=seed, as_number=as_number)
    world = cases.estimate.world
    spread = None if scatter is None else scatter * world.outcome_variance**0.5
    if read is not None:
        from preceptor.learners.diagnostic_blocks import Block
        from preceptor.learners.kind_posterior import read_log

        block = None if source is None else Block.read(source, world.labels)
        log = logged(read, world, columns, reading.for_log(read))
        with spinner("reading") as tell:
            told = read_log(world, log, block=block, progress=tell)
        show(told.to_dict, told.in_words, as_json=as_json)
        return
    from preceptor.learners.diagnosis import diagnose as choose

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
    show(found.to_dict, found.in_words, as_json=as_json)
