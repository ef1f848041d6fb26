"""The tables of an export: people, their rounds and what happened; each column is written once.

A column has its description, for people and for Psych-DS, and says where its cells come from.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from preceptor._base.progress import Progress
from preceptor.service.wording import Wording
from preceptor.store import participants
from preceptor.store.participants import Answer, Participant
from preceptor.store.rounds import Round
from preceptor.store.studies import KeptStudy
from preceptor.store.tables import event, given_answer, participant, round_
from preceptor.study.analysis import analyse
from preceptor.study.analysis_result import Result
from preceptor.study.measures import charged
from preceptor.study.protocol import Trial
from preceptor.study.records import Records
from preceptor.study.registered_words import MEASURES
from preceptor.study.standing import block_of
from preceptor.study.study import Study

Row = dict[str, Any]
# How those stand who finished, in tables.
FINISHED = "finished"
_YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Column:
    """A column: its name, what it says, where it comes from, its unit and the words in it.

    `of` is None where the analysis fills it in. `is_private` is left out of anonymous exports.
    """

    name: str
    description: str
    of: Callable[[Any], Any] | None = None
    unit: str = ""
    levels: tuple[str, ...] = ()
    is_private: bool = False

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


@dataclass(frozen=True)
class Columns:
    """The columns of the files in data/, of participants.csv and of events.csv."""

    rounds: list[Column]
    people: list[Column]
    events: list[Column]

    @classmethod
    def of(cls, study: Study, *, full: bool) -> Columns:
        """Those of a study; private ones only if the export is `full`."""
        several = (_round_columns(study), _person_columns(study), _event_columns())
        return cls(*([c for c in part if full or not c.is_private] for part in several))


@dataclass(frozen=True)
class Tables:
    """Rows of one export.

    Attributes
    ----------
    people, rounds, events
        One row a participant, an answered round, an event; in an order that says nothing about
        who came when if the export is anonymous.
    records
        People and rounds as the analysis takes them.
    result
        What the registered analysis found; None before there is anything to analyse.
    """

    people: list[Row]
    rounds: list[Row]
    events: list[Row]
    records: Records
    result: Result


@dataclass(frozen=True)
class _Person:
    """A participant under the name that the export gives them."""

    name: str
    who: Participant
    answers: Sequence[Answer]
    rounds: Sequence[Round]

    def said(self, what: str) -> list[Answer]:
        return [answer for answer in self.answers if answer.what == what]


@dataclass(frozen=True)
class _Played:
    """An answered round; `spoken` has results by test as people read them."""

    person: _Person
    one: Round
    trial: Trial
    spoken: Mapping[str, Any]


def tables(
    connection: Connection,
    kept: KeptStudy,
    study: Study,
    *,
    kind: str,
    full: bool,
    progress: Progress | None = None,
) -> Tables:
    """All rows of a study, for one kind of participant.

    Parameters
    ----------
    connection
        Sees one moment.
    kept
        The study's row.
    study
        What its file says.
    kind
        Of participants.
    full
        With names, times and comments as they are kept; else people get new random names, and
        times of day and comments are left out.
    progress
        Told how far the analysis is.

    Returns
    -------
    Tables
        With everybody who has ever begun.
    """
    columns = Columns.of(study, full=full)
    everyone = _everyone(connection, kept, kind, full=full)
    words = Wording(study.problem)
    played = [
        _Played(
            each,
            one,
            study.protocol.trials[one.number],
            words.spoken(one.shown or (), one.values or ()),
        )
        for each in everyone
        for one in each.rounds
        if one.prediction is not None
    ]
    people, rounds = _rows(columns.people, everyone), _rows(columns.rounds, played)
    assigned = [row for row in people if row["arm"] and row["place"] is not None]
    there = {row["participant"] for row in assigned}
    records = Records.from_rows(study, assigned, [r for r in rounds if r["participant"] in there])
    result = analyse(study, records, progress=progress)
    _add_analysis(study, people, rounds, records, result)
    names = {each.who.id: each.name for each in everyone}
    events = _rows(columns.events, _events(connection, kept, names, full=full))
    return Tables(people, rounds, events, records, result)


def _rows(columns: Sequence[Column], items: Sequence[Any]) -> list[Row]:
    return [{c.name: c.of(item) for c in columns if c.of is not None} for item in items]


def _everyone(connection: Connection, kept: KeptStudy, kind: str, *, full: bool) -> list[_Person]:
    own = (participant.c.study == kept.id) & (participant.c.kind == kind)
    said: dict[str, list[Answer]] = {}
    asked = select(given_answer).join(participant, participant.c.id == given_answer.c.participant)
    ordered = asked.where(own).order_by(given_answer.c.stage, given_answer.c.attempt)
    for row in connection.execute(ordered):
        said.setdefault(row.participant, []).append(Answer(*row))
    played: dict[str, list[Round]] = {}
    asked = select(round_).join(participant, participant.c.id == round_.c.person)
    for row in connection.execute(asked.where(own).order_by(round_.c.number)):
        played.setdefault(row.person, []).append(Round(*row))
    found = [
        _Person(
            who.id if full else secrets.token_hex(6),
            who,
            said.get(who.id, ()),
            played.get(who.id, ()),
        )
        for who in participants.everyone(connection, kept.id, kind)
    ]
    return sorted(found, key=lambda each: each.who.created if full else each.name)


def _round_columns(study: Study) -> list[Column]:
    look, said = study.configuration.outcome, study.configuration
    name = look.name or "the outcome"
    answers = {
        "yes or no": "1 for yes, 0 for no",
        "percent": "as a probability from 0 to 1",
    }.get(study.answer, "as people read it")
    arms = tuple(arm.name for arm in said.arm)
    blocks = [f"{i}: {block.title} ({block.kind})" for i, block in enumerate(said.block, start=1)]
    before = [
        Column(
            "row_id",
            "Name of the row, unique in all files",
            lambda r: f"{r.person.name}-{r.one.number}",
        ),
        Column(
            "participant",
            "Who; the same name in all files of this export",
            lambda r: r.person.name,
        ),
        Column("arm", "Who decided what was shown in training", lambda r: r.person.who.arm,
               levels=arms),
        Column("place", "Whoever has the same place in another arm met the same cases",
               lambda r: r.person.who.place),
        Column("block", f"Block of the study, from 1; {'; '.join(blocks)}",
               lambda r: r.trial.block + 1),
        Column("trial", "Round over all blocks, from 0", lambda r: r.one.number),
        Column("round", "Round within its block, from 1", lambda r: r.trial.place + 1),
        Column("training_round", "Round of training, from 1; empty outside of it",
               lambda r: None if r.trial.training is None else r.trial.training + 1),
        Column("shown", "Tests that were shown, separated by semicolons",
               lambda r: ";".join(r.one.shown or ())),
        Column("values", "Their results, in the same order",
               lambda r: ";".join(repr(float(value)) for value in r.one.values or ())),
    ]  # fmt: skip
    after = [
        Column("prediction", f"What the person said about {name}, {answers}",
               lambda r: r.one.prediction, look.unit),
        Column("outcome", f"What was true of {name}, whether told or not",
               lambda r: r.one.outcome, look.unit),
        Column("error", "prediction minus outcome",
               lambda r: None if r.one.outcome is None else r.one.prediction - r.one.outcome,
               look.unit),
        Column("charge", "What the answer costs by the risk of the study's problem"),
        Column("feedback", "Whether the person was told the outcome",
               lambda r: "yes" if r.one.feedback else "no", levels=_YES_NO),
        Column("seconds", "From when the case was shown to the answer",
               lambda r: _seconds(r.one), "s"),
        Column("recommended", "Tests that the arm wanted to show, separated by semicolons",
               lambda r: ";".join(r.one.recommended or ())),
        Column("policy", "The arm's policy; tutor where it adapts", lambda r: r.one.policy),
        Column("propensity", "Probability with which this set was chosen; 1 without chance",
               lambda r: r.one.propensity),
        Column("excluded", "Whether the registered analysis leaves the person out", levels=_YES_NO),
        Column("shown_at", "When the case was shown, UTC", lambda r: r.one.shown_at,
               is_private=True),
        Column("predicted_at", "When the answer came, UTC", lambda r: r.one.predicted_at,
               is_private=True),
        Column("plan", "SHA-256 of the plan that was followed", lambda r: r.one.plan,
               is_private=True),
    ]  # fmt: skip
    taken = {column.name for column in (*before, *after)}
    tests = [_test_column(study, test, taken) for test in study.problem.world.tests]
    return [*before, *tests, *after]


def _test_column(study: Study, test: str, taken: set[str]) -> Column:
    """The column of a test: its name, unless another column is called so."""
    shown = study.configuration.tests.get(test)
    label = test if shown is None or shown.label is None else shown.label
    return Column(
        f"test_{test}" if test in taken else test,
        f"Result of {label} as people read it; empty if hidden",
        lambda r: r.spoken.get(test),
        "" if shown is None else shown.unit,
    )


def _person_columns(study: Study) -> list[Column]:
    said = study.configuration
    measure = MEASURES[said.analysis.measure].format(probe=said.analysis.probe)
    statuses = (FINISHED, "active", "withdrawn", "screened out", "no consent")

    def block(p: _Person) -> int:
        return block_of(study.protocol, p.who.stage)

    def is_finished(p: _Person) -> bool:
        return p.who.status == "completed"

    def title(p: _Person) -> str:
        return said.block[block(p)].title if block(p) < len(said.block) else ""

    def median_seconds(p: _Person) -> float | None:
        times = [t for t in map(_seconds, p.rounds) if t is not None]
        return float(np.median(times)) if times else None

    return [
        Column("participant", "Who; the same name in all files of this export", lambda p: p.name),
        Column("arm", "Their arm; empty if they left before they had one",
               lambda p: p.who.arm or ""),
        Column("place", "Whoever has the same place in another arm met the same cases",
               lambda p: p.who.place),
        Column("status", "How they stand",
               lambda p: FINISHED if is_finished(p) else p.who.status, levels=statuses),
        Column("block", "Block where they are or left, from 1; empty if they finished",
               lambda p: None if is_finished(p) else block(p) + 1),
        Column("block_title", "Its title", title),
        Column("quizzes_failed", "How often they took the quiz and failed",
               lambda p: p.who.quizzes),
        Column("checks", "Attention checks that they answered", lambda p: len(p.said("check"))),
        Column("failed_checks", "How many of those were wrong",
               lambda p: sum(each.is_right is False for each in p.said("check"))),
        Column("rounds", "Rounds that they answered",
               lambda p: sum(one.prediction is not None for one in p.rounds)),
        Column("seconds", "From their first page to their last",
               lambda p: _between(p.who.created, p.who.ended_at or p.who.seen_at), "s"),
        Column("median_seconds", "Median time of an answer", median_seconds, "s"),
        Column("excluded", "Whether the registered analysis leaves them out", levels=_YES_NO),
        Column("why_excluded", "By which registered rules"),
        Column("measure", f"The registered measure: {measure}"),
        Column("draw", "How many were assigned before them", lambda p: p.who.draw,
               is_private=True),
        Column("comment", "What they wrote at the end",
               lambda p: " ".join(str(each.answer) for each in p.said("comment")),
               is_private=True),
        Column("code", "Their completion code", lambda p: p.who.code or "", is_private=True),
        Column("began", "When they came, UTC", lambda p: p.who.created, is_private=True),
        Column("ended", "When it ended for them, UTC", lambda p: p.who.ended_at or "",
               is_private=True),
    ]  # fmt: skip


def _event_columns() -> list[Column]:
    return [
        Column("participant", "Who; empty where it is about the study", lambda e: e.name),
        Column("event", "What happened", lambda e: e.row.kind),
        Column("seconds", "Since this person came; empty where it is about the study",
               lambda e: e.seconds if e.name else None, "s"),
        Column("day", "Since the study was opened, from 0; empty where it is about a person",
               lambda e: None if e.name else int(e.seconds // 86_400)),
        Column("detail", "More about it", lambda e: e.detail),
        Column("seq", "Number of the event in the chain", lambda e: e.row.seq, is_private=True),
        Column("at", "When, UTC", lambda e: e.row.at, is_private=True),
        Column("payload", "What the chain has hashed, as JSON", lambda e: e.row.payload or "",
               is_private=True),
    ]  # fmt: skip


def _seconds(one: Round) -> float | None:
    return None if one.predicted_at is None else _between(one.shown_at, one.predicted_at)


def _between(begin: str | None, end: str | None) -> float | None:
    if begin is None or end is None:
        return None
    passed = datetime.fromisoformat(end) - datetime.fromisoformat(begin)
    return round(passed.total_seconds(), 3)


def _add_analysis(
    study: Study, people: list[Row], rounds: list[Row], records: Records, result: Result
) -> None:
    """What the analysis makes of it: costs of answers, who is left out and why, the measure."""
    position = {name: i for i, name in enumerate(records.participants)}
    costs = charged(study, records)
    for row in people:
        i = position.get(row["participant"])
        why = "no arm" if i is None else result.excluded[i]
        number = None if i is None else float(result.numbers[i])
        row["excluded"] = "yes" if why else "no"
        row["why_excluded"] = why
        row["measure"] = None if number is None or not np.isfinite(number) else number
    for row in rounds:
        i = position.get(row["participant"])
        cost = np.nan if i is None else costs[i, row["trial"]]
        row["charge"] = float(cost) if np.isfinite(cost) else None
        row["excluded"] = "yes" if i is None or result.excluded[i] else "no"


@dataclass(frozen=True)
class _Happened:
    """An event; `seconds` since the person came, or since the study was opened."""

    name: str
    row: Any
    seconds: float
    detail: str


def _events(
    connection: Connection, kept: KeptStudy, names: Mapping[str, str], *, full: bool
) -> list[_Happened]:
    began: dict[str, str] = {}
    found: list[_Happened] = []
    for row in connection.execute(select(event).order_by(event.c.seq)):
        said = {} if row.payload is None else json.loads(row.payload)
        if row.subject not in names and not (row.subject is None and said.get("study") == kept.id):
            continue
        whose = row.subject or ""
        first = began.setdefault(whose, row.at if whose else kept.opened)
        passed = _between(first, row.at) or 0.0
        found.append(_Happened(names.get(whose, ""), row, passed, _detail(row.kind, said)))
    # By person, so that nothing tells who was there at the same time.
    return found if full else sorted(found, key=lambda each: each.name)


_DETAILS = {
    "assigned": ("arm", "place"),
    "said": ("what", "is_right"),
    "offered": ("round",),
    "shown": ("round",),
    "predicted": ("round",),
    "told": ("round",),
    "untold": ("round",),
    "lapsed": ("minutes",),
    "people raised": ("from", "to", "reason"),
    "arm closed": ("arm", "reason"),
    "study closed": ("reason",),
    "unblinded": ("reason",),
    "study opened": ("registration",),
    "exported": ("kind", "full"),
}


def _detail(kind: str, said: Mapping[str, Any]) -> str:
    """What may be told of an event without telling who it was or what they wrote."""
    parts = [f"{key} {said[key]}" for key in _DETAILS.get(kind, ()) if said.get(key) is not None]
    return ", ".join(parts)
