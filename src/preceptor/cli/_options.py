"""Options that several commands share: the table, whom it is about, what may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from preceptor.advice.choices import RISKS
from preceptor.advice.kinds import KINDS
from preceptor.cli._tables import read_named_numbers
from preceptor.errors import InvalidInput
from preceptor.people.beliefs import BELIEFS
from preceptor.regrets import OBJECTIVES
from preceptor.tables.opening import TABLE_SUFFIXES

# As logs are written.
LOG_ENDINGS = (".csv", ".jsonl", ".ndjson", ".parquet")

Table = Annotated[
    Path | None,
    typer.Argument(
        metavar="[TABLE]",
        help="Cases, one per row: .csv, .xlsx, .tsv, .ods, .jsonl, .parquet (default: an example).",
        show_default=False,
    ),
]
Outcome = Annotated[str | None, typer.Option(help="The column to predict.", metavar="COLUMN")]
Unit = Annotated[
    str | None, typer.Option(help="Unit of the outcome, for the report.", metavar="TEXT")
]
Tests = Annotated[
    int | None,
    typer.Option("--tests", "-k", help="How many tests may be shown per case (default: 3).", min=1),
]
HalfLife = Annotated[
    float | None,
    typer.Option(help="Showings of a test that halve the error of its weight (default: 14)."),
]
Cases = Annotated[
    float | None,
    typer.Option(
        help="How many cases there will be, then it ends (default: open-ended, see --about).",
        metavar="N",
    ),
]
About = Annotated[
    float | None,
    typer.Option(
        help="Without an end: about how many cases matter (default: 100).",
        metavar="N",
    ),
]
Beliefs = Annotated[
    str | None,
    typer.Option(
        help="First beliefs: zero (predicts the average), equal, marginal, or a .csv or .json "
        "file of name and weight, in outcome per unit of the test (default: zero).",
        metavar="zero|equal|marginal|FILE",
        autocompletion=lambda: ["zero", "equal", "marginal"],
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(
        help="A .csv, .xlsx or .json file of name, cost and (optional) price.", metavar="FILE"
    ),
]
Limit = Annotated[
    float | None, typer.Option(help="What the tests shown in one case may cost together.")
]


def _about_yes_no(*flags: str, help: str, words: Sequence[str] = (), **given: Any) -> Any:
    """An option of the panel about outcomes that are yes or no; `words` are what it may be."""
    if words:
        given |= {"metavar": "|".join(words), "autocompletion": lambda: list(words)}
    return typer.Option(*flags, help=help, rich_help_panel="Outcomes that are yes or no", **given)


MissCost = Annotated[
    float | None,
    _about_yes_no(
        help="What a miss costs: saying no when the truth is yes (default: 1).", metavar="COST"
    ),
]
FalseAlarmCost = Annotated[
    float | None,
    _about_yes_no(
        help="What a false alarm costs: saying yes when the truth is no (default: 1).",
        metavar="COST",
    ),
]
Risk = Annotated[
    str | None,
    _about_yes_no(
        help="Whether people decide, or say probabilities that are charged by the Brier score or "
        "the log loss (default: decision).",
        words=RISKS,
    ),
]
AsNumber = Annotated[
    bool,
    _about_yes_no(
        "--as-number",
        help="Read an outcome of two values as a number: squared errors, and linear readers only.",
    ),
]
Link = Annotated[
    str | None,
    _about_yes_no(
        help="How a score becomes a probability (default: probit).", words=("probit", "logistic")
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        help=f"Whom to plan for: {', '.join(KINDS)} (default: crowd, since one rarely knows "
        "how somebody learns).",
        metavar="KIND",
        autocompletion=lambda: list(KINDS),
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(
        help="For a crowd: the worst loss beyond a person's own best plan (regret), its mean, "
        "or that of the worst fifth (cvar) (default: regret).",
        metavar="|".join(OBJECTIVES),
        autocompletion=lambda: list(OBJECTIVES),
    ),
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Check value and lower bound again; takes minutes.")
]
LearnerFile = Annotated[
    Path | None,
    typer.Option(help="A learner file, as written by `preceptor fit`.", metavar="FILE"),
]
Participant = Annotated[
    str | None,
    typer.Option(help="Plan for this person in the learner file or the log.", metavar="NAME"),
]
Shown = Annotated[
    Path | None,
    typer.Option(
        help="How often this person has seen each test: a .json object of name and count, or "
        "a .csv file with the columns name and count (default: never).",
        metavar="FILE",
    ),
]
LogSoFar = Annotated[
    Path | None,
    typer.Option(
        help="What this person has seen and answered so far, as for `preceptor fit`: plan from "
        "there; cases count from now.",
        metavar="LOG",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="Column to ignore; repeatable.", metavar="COLUMN")
]
TableDrop = Annotated[
    list[str] | None, typer.Option(help="Column of TABLE to ignore; repeatable.", metavar="COLUMN")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="What the log calls a column, e.g. prediction=answer; repeatable.",
        metavar="OURS=THEIRS",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Processes among which people are divided (default: one for each core, if there are "
        "many people).",
        min=1,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Divide people among a Dask cluster instead.", metavar="ADDRESS"),
]
People = Annotated[int, typer.Option(help="How many people to simulate.", min=1)]
PlayedRounds = Annotated[
    int | None,
    typer.Option(
        help="Cases per person (default: enough for 95% of the discounted weight).", min=1
    ),
]
AnswerNoise = Annotated[
    float,
    typer.Option(
        help="Standard deviation of their answers, in units of the outcome.",
        min=0.0,
    ),
]
PeopleSeed = Annotated[int, typer.Option(help="Seed of people, cases and answers.", min=0)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]


def beliefs_from(named: str | None) -> str | dict[str, float] | None:
    """One of the names that the library knows, or the weights in a file."""
    if named is None or named in BELIEFS:
        return named
    path = Path(named)
    if path.suffix.lower() not in (*TABLE_SUFFIXES, ".json"):
        known = ", ".join(BELIEFS)
        raise InvalidInput(
            f"--beliefs: {named!r}, must be {known}, or a file such as .csv, .xlsx or .json"
        )
    return read_named_numbers(path, ("weight",))["weight"]
