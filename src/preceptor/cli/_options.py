"""Options of several commands: the table and how to read it, the person, what may be shown."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from preceptor.advice.options import RISKS
from preceptor.cli._console import argument, keyed_option, keyed_values, option
from preceptor.cli._tables import read_named_numbers
from preceptor.data.opening import TABLE_SUFFIXES, Reading
from preceptor.errors import InvalidInput
from preceptor.model.plan import OBJECTIVES
from preceptor.people.beliefs import BELIEFS
from preceptor.simulation.named import KINDS

# Formats in which a log can be written.
LOG_ENDINGS = (".csv", ".jsonl", ".ndjson", ".parquet")

# Panels of `--help-all`.
YES_NO, PERSON, MORE = "yes/no outcomes", "the person", "more about the plan"

Table = Annotated[
    Path | None,
    argument(
        "Cases, one per row: .csv, .xlsx, .tsv, .ods, .jsonl, .parquet (default: an example).",
        "[TABLE]",
    ),
]
Outcome = Annotated[str | None, option("The column to predict.", metavar="COLUMN")]
Unit = Annotated[
    str | None, option("Unit of the outcome, for the report.", metavar="TEXT", panel=MORE)
]
Tests = Annotated[
    int | None,
    option("Tests shown per case, at most (default: 3).", "--tests", "-k", min=1, metavar="N"),
]
HalfLife = Annotated[
    float | None,
    option(
        "Showings after which half of a weight's error is gone (default: 14).",
        metavar="N",
        panel=PERSON,
    ),
]
Cases = Annotated[
    float | None,
    option("Number of cases per person (default: open-ended, see --about).", metavar="N"),
]
About = Annotated[
    float | None,
    option(
        "For open-ended use: roughly how many cases matter (default: 100).", metavar="N", panel=MORE
    ),
]
Beliefs = Annotated[
    str | None,
    option(
        "Initial weights: zero (predicts the average), equal, marginal, or a .csv or .json "
        "file of name and weight, in outcome units per unit of the test (default: zero).",
        words=tuple(BELIEFS),
        metavar="zero|equal|marginal|FILE",
        panel=PERSON,
    ),
]
Costs = Annotated[
    Path | None,
    option(
        "File of name, cost and (optional) price per test: .csv, .xlsx or .json.",
        metavar="FILE",
        panel=MORE,
    ),
]
Limit = Annotated[
    float | None,
    option("Total cost of the tests shown in one case, at most.", metavar="COST", panel=MORE),
]


MissCost = Annotated[
    float | None,
    option(
        "Cost of a miss: answering no when the truth is yes (default: 1).",
        metavar="COST",
        panel=YES_NO,
    ),
]
FalseAlarmCost = Annotated[
    float | None,
    option(
        "Cost of a false alarm: answering yes when the truth is no (default: 1).",
        metavar="COST",
        panel=YES_NO,
    ),
]
Risk = Annotated[
    str | None,
    option(
        "Answers are decisions, or probabilities scored by Brier score or log loss "
        "(default: decision).",
        words=tuple(RISKS),
        panel=YES_NO,
    ),
]
AsNumber = Annotated[
    bool,
    option(
        "Treat a two-valued outcome as a number, with squared errors and a linear model.",
        "--as-number",
        panel=YES_NO,
    ),
]
Kind = Annotated[
    str | None,
    option(
        f"Kind of learner to plan for: {', '.join(KINDS)} (default: crowd, a mixture for when "
        "this is unknown).",
        words=tuple(KINDS),
        metavar="KIND",
    ),
]
Objective = Annotated[
    str | None,
    option(
        "For a crowd: minimise the worst regret over kinds (regret), the mean cost (mean), "
        "or the mean over the worst fifth (cvar) (default: regret).",
        panel=PERSON,
        words=tuple(OBJECTIVES),
    ),
]
Verify = Annotated[
    bool, option("Verify value and lower bound independently; may take minutes.", "--verify")
]
LearnerFile = Annotated[
    Path | None, option("Learner file written by `preceptor fit`.", metavar="FILE", panel=PERSON)
]
Participant = Annotated[
    str | None,
    option("Participant in the learner file or the log to plan for.", metavar="NAME", panel=PERSON),
]
Shown = Annotated[
    Path | None,
    option(
        "Exposure counts of this person: a .json object of name and count, or a .csv file "
        "with the columns name and count (default: none).",
        metavar="FILE",
    ),
]
LogSoFar = Annotated[
    Path | None,
    option(
        "Log of this person's rounds so far, as for `preceptor fit`; the plan continues from "
        "there, and cases count from now.",
        metavar="LOG",
        panel=PERSON,
    ),
]
Drop = Annotated[list[str] | None, option("Column to ignore; repeatable.", metavar="COLUMN")]
TableDrop = Annotated[
    list[str] | None, option("Column of TABLE to ignore; repeatable.", metavar="COLUMN")
]


def _pairs(columns: list[str] | None) -> list[str] | None:
    InvalidInput.raise_if(
        f"--columns: {each!r}, must be OURS=THEIRS, e.g. prediction=answer"
        for each in columns or ()
        if each.count("=") != 1 or each[0] == "=" or each[-1] == "="
    )
    return columns


Columns = Annotated[
    list[str] | None,
    option(
        "Column name used in the log, e.g. prediction=answer; repeatable.",
        metavar="OURS=THEIRS",
        callback=_pairs,
    ),
]
Cluster = Annotated[
    str | None,
    option(
        "Distribute the work on a Dask cluster: the address of its scheduler.", metavar="ADDRESS"
    ),
]
People = Annotated[int, option("Number of simulated people.", min=1)]
PlayedRounds = Annotated[
    int | None,
    option("Cases per person (default: enough for 95% of the discounted weight).", min=1),
]
AnswerNoise = Annotated[
    float, option("Standard deviation of the noise in answers, in outcome units.", min=0.0)
]
PeopleSeed = Annotated[int, option("Random seed of people, cases and answers.", min=0)]
AsJson = Annotated[bool, option("Print JSON instead of words.", "--json")]


def beliefs_from(named: str | None) -> str | dict[str, float] | None:
    """A named set of initial weights, or weights read from a file."""
    if named is None or named in BELIEFS:
        return named
    path = Path(named)
    if path.suffix.lower() not in (*TABLE_SUFFIXES, ".json"):
        known = ", ".join(BELIEFS)
        raise InvalidInput(
            f"--beliefs: {named!r}, must be {known}, or a file such as .csv, .xlsx or .json"
        )
    return read_named_numbers(path, ("weight",))["weight"]


_PANEL = "reading the table and the log"
_FILE_FORMAT = ("sheet", "separator", "decimal", "encoding")
_FileFormat = Annotated[
    list[str] | None,
    keyed_option(
        "What detection gets wrong: sheet=NAME (or its number) of a workbook; separator=';' (or "
        "',' tab '|'), decimal=',' or encoding=cp1252 of a text file; repeatable.",
        "--file-format",
        _FILE_FORMAT,
        panel=_PANEL,
    ),
]
_Missing = Annotated[
    list[str] | None,
    option(
        "Code for a missing value, e.g. 999 or -, or insulin=0 for one column; repeatable.",
        metavar="VALUE",
        panel=_PANEL,
    ),
]
_Positive = Annotated[
    str | None,
    option(
        "Value of a two-valued outcome that counts as yes (1), e.g. M.",
        metavar="VALUE",
        panel=_PANEL,
    ),
]


def _of_log(*, file_format: _FileFormat = None) -> Reading:
    return Reading(**keyed_values("--file-format", file_format))


def _of_table(
    *, file_format: _FileFormat = None, missing: _Missing = None, positive: _Positive = None
) -> Reading:
    return replace(_of_log(file_format=file_format), missing=missing or (), positive=positive)


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Add options for reading a table; the command gets them as one argument `reading`."""
    return _with_reading(command, _of_table)


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """Add only the file-format options, for commands that read a log and no table."""
    return _with_reading(command, _of_log)


def _with_reading(
    command: Callable[..., None], make: Callable[..., Reading]
) -> Callable[..., None]:
    """Extend the signature, from which Typer derives the options, by that of `make`."""
    own, more = (inspect.signature(each, eval_str=True) for each in (command, make))
    kept = [each for each in own.parameters.values() if each.name != "reading"]
    parameters = [*kept, *more.parameters.values()]

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:
        reading = make(**{name: given.pop(name) for name in more.parameters})
        command(reading=reading, **given)

    with_reading.__dict__["__signature__"] = own.replace(parameters=parameters)
    with_reading.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_reading


def typed(reading: Reading) -> list[str]:
    """The reading options as command-line arguments."""
    words = []
    for name in _FILE_FORMAT:
        value = getattr(reading, name)
        words += [] if value is None else ["--file-format", f"{name}={value}"]
    words += [word for code in reading.missing for word in ("--missing", code)]
    return words + ([] if reading.positive is None else ["--positive", reading.positive])
