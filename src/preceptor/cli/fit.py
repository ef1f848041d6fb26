"""`preceptor fit`: estimate how people learn from a log of their predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import preceptor.cli._options as _options
from preceptor.cli._app import BriefCommand, app, examples
from preceptor.cli._console import argument, check_target, fail, option, say, spinner
from preceptor.cli._options import reads_table
from preceptor.cli._tables import Cases, logged
from preceptor.data.opening import Reading

_EXAMPLES = examples(
    "preceptor fit log.csv --data cases.csv --outcome y",
    "preceptor fit log.csv --data cases.csv --outcome y --columns prediction=answer",
    "preceptor fit log.csv --data cases.csv --outcome y --answers t     (robust to slips)",
    "preceptor plan cases.csv --outcome y --learner learner.json",
    "preceptor plan cases.csv --outcome y --learner learner.json --log log.csv --participant p07",
)


@app.command(cls=BriefCommand, epilog=_EXAMPLES)
@reads_table
def fit(
    log: Annotated[
        Path,
        argument(
            "One row per round: participant, round, shown, values, prediction, outcome "
            "(.csv, .txt, .tsv, .xlsx, .xls, .ods, .jsonl or .parquet).",
            "LOG",
        ),
    ],
    data: Annotated[
        Path | None, option("Table of cases (default: a built-in example).", metavar="TABLE")
    ] = None,
    outcome: Annotated[str | None, option("Column that was predicted.", metavar="COLUMN")] = None,
    columns: _options.Columns = None,
    drop: _options.TableDrop = None,
    as_number: _options.AsNumber = False,
    output: Annotated[Path, option("The learner file to write.", "--output", "-o")] = Path(
        "learner.json"
    ),
    answers: Annotated[
        str, option("Noise model of answers: gaussian, t (robust to slips), or choices (0 or 1).")
    ] = "gaussian",
    cluster: _options.Cluster = None,
    dry_run: Annotated[bool, option("Write no file.", "--dry-run")] = False,
    seed: Annotated[int, option("Random seed.", min=0)] = 0,
    as_json: _options.AsJson = False,
    *,
    reading: Reading,
) -> None:
    """Estimate from a log how people learn and what they initially believe.

    If the log does not match the table (other units, another outcome) or is uninformative about
    learning, no learner file is written and the reason is given (exit code 1).
    """
    if not dry_run:
        check_target(output, log, data, endings=(".json",))
    from preceptor._base.files import write_text
    from preceptor.advice.options import learner_to_dict
    from preceptor.learners.learner_estimator import fit_learner
    from preceptor.learners.learner_report import log_refusals

    found = Cases.read(data, outcome, drop, reading, seed=seed, as_number=as_number)
    estimate, world = found.estimate, found.estimate.world
    rounds = logged(log, world, columns, reading.for_log(log))
    foreign = log_refusals(estimate, rounds)
    if foreign:
        fail(_refused([f"{log}, {each}" for each in foreign]), code=1)
    with spinner("fitting"):
        fitted = fit_learner(world, rounds, answers=answers, cluster=cluster)
        said = fitted.summary()
    written = json.dumps(learner_to_dict(fitted.to_dict(), world), indent=2)
    typer.echo(written if as_json else said)
    if fitted.refusal_:
        remedy = "plan without --learner until there is a more informative log"
        fail(_refused([f"{log}: {fitted.refusal_}; {remedy}"]), code=1)
    if not dry_run:
        write_text(output, written + "\n", private=True)
        say(f"Wrote the learner to {output}. Next: preceptor plan ... --learner {output}")


def _refused(reasons: list[str]) -> str:
    """Explain why no learner file was written."""
    if len(reasons) == 1:
        return f"no learner was written. {reasons[0]}"
    return "no learner was written:\n" + "\n".join(f"  - {reason}" for reason in reasons)
