"""What each column of an export means: one description, for people and for Psych-DS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from preceptor.study.exported_rows import test_columns
from preceptor.study.registered_words import MEASURES
from preceptor.study.study import Study


@dataclass(frozen=True)
class Column:
    """A column: its name, what it says, in which unit, and which words may stand in it."""

    name: str
    description: str
    unit: str = ""
    levels: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As a `PropertyValue` of schema.org, which is how Psych-DS describes a variable."""
        made: dict[str, Any] = {
            "@type": "PropertyValue",
            "name": self.name,
            "description": self.description,
        }
        if self.unit:
            made["unitText"] = self.unit
        if self.levels:
            made["valueReference"] = list(self.levels)
        return made


_YES_NO = ("yes", "no")


def round_columns(study: Study, *, full: bool) -> list[Column]:
    """Columns of the files in data/: one row for each answered round."""
    look, said = study.configuration.outcome, study.configuration
    name = look.name or "the outcome"
    answers = {
        "yes or no": "1 for yes, 0 for no",
        "percent": "as a probability from 0 to 1",
    }.get(study.answer, "as people read it")
    arms = tuple(arm.name for arm in said.arm)
    tests = []
    for test, column in test_columns(study).items():
        shown = said.tests.get(test)
        label = test if shown is None or shown.label is None else shown.label
        unit = "" if shown is None else shown.unit
        tests.append(Column(column, f"Result of {label} as people read it; empty if hidden", unit))
    blocks = [f"{i}: {block.title} ({block.kind})" for i, block in enumerate(said.block, start=1)]
    made = [
        Column("row_id", "Name of the row, unique in all files"),
        Column("participant", "Who; the same name in all files of this export"),
        Column("arm", "Who decided what was shown in training", levels=arms),
        Column("place", "Whoever has the same place in another arm met the same cases"),
        Column("block", f"Block of the study, from 1; {'; '.join(blocks)}"),
        Column("trial", "Round over all blocks, from 0"),
        Column("round", "Round within its block, from 1"),
        Column("training_round", "Round of training, from 1; empty outside of it"),
        Column("shown", "Tests that were shown, separated by semicolons"),
        Column("values", "Their results, in the same order"),
        *tests,
        Column("prediction", f"What the person said about {name}, {answers}", look.unit),
        Column("outcome", f"What was true of {name}, whether told or not", look.unit),
        Column("error", "prediction minus outcome", look.unit),
        Column("charge", "What the answer costs by the risk of the study's problem"),
        Column("feedback", "Whether the person was told the outcome", levels=_YES_NO),
        Column("seconds", "From when the case was shown to the answer", "s"),
        Column("recommended", "Tests that the arm wanted to show, separated by semicolons"),
        Column("policy", "The arm's policy; tutor where it adapts"),
        Column("propensity", "Probability with which this set was chosen; 1 without chance"),
        Column("excluded", "Whether the registered analysis leaves the person out", levels=_YES_NO),
    ]
    if full:
        made += [
            Column("shown_at", "When the case was shown, UTC"),
            Column("predicted_at", "When the answer came, UTC"),
            Column("plan", "SHA-256 of the plan that was followed"),
        ]
    return made


def person_columns(study: Study, *, full: bool) -> list[Column]:
    """Columns of participants.csv."""
    said = study.configuration
    measure = MEASURES[said.analysis.measure].format(probe=said.analysis.probe)
    statuses = ("finished", "active", "withdrawn", "screened out", "no consent")
    made = [
        Column("participant", "Who; the same name in all files of this export"),
        Column("arm", "Their arm; empty if they left before they had one"),
        Column("place", "Whoever has the same place in another arm met the same cases"),
        Column("status", "How they stand", levels=statuses),
        Column("block", "Block where they are or left, from 1; empty if they finished"),
        Column("block_title", "Its title"),
        Column("quizzes_failed", "How often they took the quiz and failed"),
        Column("checks", "Attention checks that they answered"),
        Column("failed_checks", "How many of those were wrong"),
        Column("rounds", "Rounds that they answered"),
        Column("seconds", "From their first page to their last", "s"),
        Column("median_seconds", "Median time of an answer", "s"),
        Column("excluded", "Whether the registered analysis leaves them out", levels=_YES_NO),
        Column("why_excluded", "By which registered rules"),
        Column("measure", f"The registered measure: {measure}"),
    ]
    if full:
        made += [
            Column("draw", "How many were assigned before them"),
            Column("comment", "What they wrote at the end"),
            Column("code", "Their completion code"),
            Column("began", "When they came, UTC"),
            Column("ended", "When it ended for them, UTC"),
        ]
    return made


def event_columns(*, full: bool) -> list[Column]:
    """Columns of events.csv."""
    made = [
        Column("participant", "Who; empty where it is about the study"),
        Column("event", "What happened"),
        Column("seconds", "Since this person came; empty where it is about the study", "s"),
        Column("day", "Since the study was opened, from 0; empty where it is about a person"),
        Column("detail", "More about it"),
    ]
    if full:
        made += [
            Column("seq", "Number of the event in the chain"),
            Column("at", "When, UTC"),
            Column("payload", "What the chain has hashed, as JSON"),
        ]
    return made


def codebook_text(study: Study, parts: Mapping[str, Sequence[Column]]) -> str:
    """The codebook as Markdown: a table for each kind of file."""
    lines = [f"# Codebook of {study.configuration.title}"]
    for title, columns in parts.items():
        lines += ["", f"## {title}", "", "| column | meaning | unit | values |"]
        lines.append("| --- | --- | --- | --- |")
        lines += [
            f"| `{each.name}` | {each.description} | {each.unit} | {', '.join(each.levels)} |"
            for each in columns
        ]
    return "\n".join(lines) + "\n"
