"""`preceptor fit`: a person, or people, from a log of what they predicted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor.cli._app import app, examples
from preceptor.cli._console import (
    check_target,
    fail,
    note_all,
    readable_errors,
    say,
    spinner,
)
from preceptor.cli._reading import reads_table
from preceptor.cli._tables import renamed_columns, source_of
from preceptor.tables import Reading

_EXAMPLES = examples(
    "preceptor fit log.csv --data cases.csv --outcome y",
    "preceptor fit log.csv --data cases.csv --outcome y --columns prediction=answer",
    "preceptor fit log.csv --data cases.csv --outcome y --answers t     (with slips now and then)",
    "preceptor plan cases.csv --outcome y --learner learner.json",
    "preceptor plan cases.csv --outcome y --learner learner.json --log log.csv --participant p07",
)


@app.command(epilog=_EXAMPLES)
@reads_table
def fit(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="One row per round: participant, round, shown, values, prediction, outcome "
            "(.csv, .txt, .tsv, .xlsx, .xls, .ods, .jsonl or .parquet).",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The table of cases (default: a built-in example).", metavar="TABLE"),
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="The column that was to be predicted.", metavar="COLUMN")
    ] = None,
    columns: _options.Columns = None,
    drop: _options.TableDrop = None,
    as_number: _options.AsNumber = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The learner file to write.")
    ] = Path("learner.json"),
    answers: Annotated[
        str,
        typer.Option(
            help="How answers scatter: gaussian, t (with slips now and then), or choices (0 or 1).",
        ),
    ] = "gaussian",
    workers: _options.Workers = None,
    cluster: _options.Cluster = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write no file.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the cross-validation folds.", min=0)] = 0,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Find out from a log how people learn, what they believe at first, and whom to plan for.

    Where the log cannot be about the table (other units, another outcome), or says nothing about
    learning, no learner is written, and it says why (exit code 1).
    """
    with readable_errors():
        if not dry_run:
            check_target(output, log, data, endings=(".json",))
        renamed = renamed_columns(columns or [])
        from preceptor._base.files import write_text
        from preceptor.advice.choices import reading_as
        from preceptor.advice.learner_file import learner_to_dict
        from preceptor.estimation import fit_learner
        from preceptor.estimation.learner_refusals import log_refusals
        from preceptor.estimation.world import fit_source
        from preceptor.logs import Log

        estimate = fit_source(
            source_of(data), outcome, drop=drop or (), reading=reading, seed=seed,
            **reading_as(None, as_number),
        )  # fmt: skip
        note_all(*estimate.warnings)
        world = estimate.world
        rounds = Log.read(log, world, columns=renamed, reading=reading.for_log(log))
        note_all(*rounds.notes)
        foreign = log_refusals(estimate, rounds)
        if foreign:
            fail(_refused([f"{log}, {each}" for each in foreign]), code=1)
        with spinner("fitting"):
            fitted = fit_learner(
                world, rounds, random_state=seed, answers=answers, workers=workers, cluster=cluster
            )
            said = fitted.summary()
        written = json.dumps(learner_to_dict(fitted.to_dict(), world), indent=2)
        typer.echo(written if as_json else said)
        if fitted.refusal_:
            remedy = "until there is a better log, plan without --learner"
            fail(_refused([f"{log}: {fitted.refusal_}; {remedy}"]), code=1)
        if not dry_run:
            write_text(output, written + "\n", private=True)
            say(f"Wrote what was found to {output}. Next: preceptor plan ... --learner {output}")


def _refused(reasons: list[str]) -> str:
    """Why nothing was written."""
    if len(reasons) == 1:
        return f"no learner was written. {reasons[0]}"
    return "no learner was written:\n" + "\n".join(f"  - {reason}" for reason in reasons)
