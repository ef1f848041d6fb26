"""Export: a Psych-DS folder with data, log, codebook, registration and analysis.

Everything is written into a temporary folder next to the target, which is then renamed in one step:
the export is complete, or there is none. Each column of participants, rounds and events is
defined once, with its description for readers and for Psych-DS and the function that fills it.
"""

from __future__ import annotations

import json
import math
import pprint
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from preceptor._base.files import naming
from preceptor._base.version import VERSION
from preceptor._base.words import csv_text, safe_cell
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.learners.families import SURE
from preceptor.live.service.guides import Wording
from preceptor.live.store import chain, participants, studies
from preceptor.live.store.database import PRIVATE, Store
from preceptor.live.store.participants import Participant, StepAnswer
from preceptor.live.store.rounds import StoredRound
from preceptor.live.store.studies import KeptStudy
from preceptor.live.store.tables import event, given_answer, person, round_
from preceptor.live.study.analysis import RESAMPLES, AnalysisResult, analyse
from preceptor.live.study.config import (
    ChoiceQuestion,
    LikertQuestion,
    LookOfTest,
    NumberQuestion,
    Survey,
    SurveyQuestion,
    Testing,
    TextQuestion,
)
from preceptor.live.study.measures import Records, answer_costs, trials_of
from preceptor.live.study.registration import MEASURES, Registration, canonical, markdown, public
from preceptor.live.study.status import block_of
from preceptor.live.study.study import Study, Trial

Row = dict[str, Any]
# Status of participants who completed the study, in tables.
FINISHED = "finished"
_YES_NO = ("yes", "no")
_WHO = "Participant; the same name in all files of this export"
_TRUST = ("possible", "impossible", "unchecked")
# The server's time contains the browser's. Clocks of two machines differ by far less than this in
# the time that a case takes.
_SLACK = 1.0
_UNTIMED = "Whether that time is unknown, because the server was restarted in between"
_ROW = "Name of the row, unique in all files"
_ARM = "What decided what was shown in training"
# Columns of a survey before its answers: row_id, participant, arm, block.
_NOT_ANSWERS = 4
_PLACE = "Participants at the same place of different arms have the same cases"


@dataclass(frozen=True)
class Variable:
    """A column: name, description, function that fills it, unit and levels.

    `of` is None if the analysis fills it in. Private columns are left out of anonymous exports.
    Participants type free text, which must not become a formula in a spreadsheet.
    """

    name: str
    description: str
    of: Callable[[Any], Any] | None = None
    unit: str = ""
    levels: tuple[str, ...] = ()
    is_private: bool = False
    is_free_text: bool = False

    def to_dict(self) -> dict[str, Any]:
        """A schema.org `PropertyValue`, as Psych-DS describes a variable."""
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
class Variables:
    """The columns of the files of rounds, of participants.csv, of events.csv and of surveys.

    `surveys` has the columns of each block of kind survey, by its number.
    """

    rounds: list[Variable]
    people: list[Variable]
    events: list[Variable]
    surveys: dict[int, list[Variable]]

    @classmethod
    def of(cls, study: Study, *, full: bool) -> Variables:
        """The columns of a study; private ones only if the export is `full`."""

        def shared(columns: Sequence[Variable]) -> list[Variable]:
            return [each for each in columns if full or not each.is_private]

        rounds = _round_columns(study)
        taken = {column.name for column in rounds}
        surveys = {
            number: shared(_survey_columns(block, number, taken))
            for number, block in enumerate(study.configuration.block, start=1)
            if isinstance(block, Survey)
        }
        people, events = _person_columns(study), _event_columns()
        return cls(shared(rounds), shared(people), shared(events), surveys)


@dataclass(frozen=True)
class Tables:
    """Rows of one export.

    Attributes
    ----------
    people, rounds, events
        One row per participant, answered round, and event; in an anonymous export, in an order that
        does not reveal when participants came.
    surveys
        One row per participant who answered, by number of the block.
    records
        Participants and rounds as arrays for the analysis.
    result
        Result of the registered analysis.
    """

    people: list[Row]
    rounds: list[Row]
    events: list[Row]
    surveys: dict[int, list[Row]]
    records: Records
    result: AnalysisResult


@dataclass(frozen=True)
class _Person:
    """A participant, under their name in the export."""

    name: str
    who: Participant
    answers: Sequence[StepAnswer]
    rounds: Sequence[StoredRound]
    seconds: float | None

    def said(self, what: str) -> list[StepAnswer]:
        return [answer for answer in self.answers if answer.what == what]

    def surveyed(self) -> dict[str, Any]:
        """Answers of all surveys, by name of the question."""
        return {name: given for each in self.said("survey") for name, given in each.answer.items()}


@dataclass(frozen=True)
class _Played:
    """An answered round; `spoken` has results by test, in the units that people read."""

    person: _Person
    one: StoredRound
    trial: Trial
    spoken: Mapping[str, Any]


def tables(
    connection: Connection, kept: KeptStudy, study: Study, *, kind: str, full: bool
) -> Tables:
    """Make the tables of a study, for one kind of participant.

    Parameters
    ----------
    connection
        Sees one moment.
    kept
        The row of the study.
    study
        The study.
    kind
        Of participants.
    full
        Include names, times and comments; otherwise participants get new random names.

    Returns
    -------
    Tables
        With all participants who ever joined.
    """
    columns = Variables.of(study, full=full)
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
    result = analyse(study, records)
    _add_analysis(study, people, rounds, records, result)
    names = {each.who.id: each.name for each in everyone}
    events = _rows(columns.events, _events(connection, kept, names, full=full))
    surveys = {
        number: _rows(own, [p for p in everyone if _has_answered(study, p, number)])
        for number, own in columns.surveys.items()
    }
    return Tables(people, rounds, events, surveys, records, result)


def _has_answered(study: Study, person: _Person, survey: int) -> bool:
    said = person.said("survey")
    return any(study.protocol.steps[each.stage].block == survey - 1 for each in said)


def _rows(columns: Sequence[Variable], items: Sequence[Any]) -> list[Row]:
    return [{c.name: c.of(item) for c in columns if c.of is not None} for item in items]


def _everyone(connection: Connection, kept: KeptStudy, kind: str, *, full: bool) -> list[_Person]:
    own = participants.in_study(kept.id, kind)
    said: dict[str, list[StepAnswer]] = {}
    asked = select(given_answer).join(person, person.c.id == given_answer.c.participant)
    ordered = asked.where(own).order_by(given_answer.c.stage, given_answer.c.attempt)
    for row in connection.execute(ordered):
        said.setdefault(row.participant, []).append(StepAnswer(*row))
    played: dict[str, list[StoredRound]] = {}
    asked = select(round_).join(person, person.c.id == round_.c.person)
    for row in connection.execute(asked.where(own).order_by(round_.c.number)):
        played.setdefault(row.person, []).append(StoredRound(*row))
    ticks: dict[str, list[str]] = {}
    asked = select(event.c.subject, event.c.tick).join(person, person.c.id == event.c.subject)
    # A place is given away while its participant does nothing.
    acted = asked.where(own, event.c.kind != "lapsed").order_by(event.c.seq)
    for row in connection.execute(acted):
        ticks.setdefault(row.subject, []).append(row.tick)
    found = [
        _Person(
            who.id if full else secrets.token_hex(6),
            who,
            said.get(who.id, ()),
            played.get(who.id, ()),
            chain.seconds_between(ticks[who.id][0], ticks[who.id][-1]) if who.id in ticks else None,
        )
        for who in participants.everyone(connection, kept.id, kind)
    ]
    if not full:
        return sorted(found, key=lambda each: each.name)
    # Events are in the order in which they happened, whatever the clock said.
    joined = {name: number for number, name in enumerate(ticks)}
    return sorted(found, key=lambda each: joined.get(each.who.id, len(joined)))


def _round_columns(study: Study) -> list[Variable]:
    look, said = study.configuration.outcome, study.configuration
    name = look.name or "the outcome"
    answers = {
        "yes or no": "1 for yes, 0 for no",
        "percent": "as a probability from 0 to 1",
    }.get(study.answer, "in the units that people read")
    arms = tuple(arm.name for arm in said.arm)
    blocks = [f"{i}: {block.title} ({block.kind})" for i, block in enumerate(said.block, start=1)]
    before = [
        Variable("row_id", _ROW,
                 lambda r: f"{r.person.name}-{r.one.number}"),
        Variable("participant", _WHO, lambda r: r.person.name),
        Variable("arm", _ARM, lambda r: r.person.who.arm,
                 levels=arms),
        Variable("place", _PLACE, lambda r: r.person.who.place),
        Variable("block", f"Block of the study, from 1; {'; '.join(blocks)}",
                 lambda r: r.trial.block + 1),
        Variable("trial", "Round over all blocks, from 0", lambda r: r.one.number),
        Variable("round", "Round within its block, from 1", lambda r: r.trial.place + 1),
        Variable("training_round", "Round of training, from 1; empty outside training",
                 lambda r: None if r.trial.training is None else r.trial.training + 1),
        Variable("case", "Number of the case in the list of the place, which all arms share",
                 lambda r: r.one.case_number),
        Variable("shown", "Tests that were shown, separated by semicolons",
                 lambda r: ";".join(r.one.shown or ())),
        Variable("values", "Their results, in the same order",
                 lambda r: ";".join(repr(float(value)) for value in r.one.values or ())),
    ]  # fmt: skip

    def told(r: _Played) -> Any:
        if not r.one.feedback or r.one.outcome is None or study.problem.is_binary:
            return r.one.outcome if r.one.feedback else None
        return _as_read(r.one.outcome, look.decimals)

    after = [
        Variable("prediction", f"The answer about {name}, {answers}",
                 lambda r: r.one.prediction, look.unit),
        Variable("outcome", f"The true value of {name}, whether told or not",
                 lambda r: r.one.outcome, look.unit),
        Variable("outcome_told", "The outcome as the participant read it; empty if not told", told,
                 look.unit),
        Variable("error", "prediction minus outcome",
                 lambda r: None if r.one.outcome is None else r.one.prediction - r.one.outcome,
                 look.unit),
        Variable("charge", "Cost of the answer by the risk of the study's problem"),
        Variable("feedback", "Whether the participant was told the outcome",
                 lambda r: _flag(r.one.feedback), levels=_YES_NO),
        Variable("seconds", "From showing the case to the answer, by a clock that cannot be set",
                 lambda r: r.one.seconds, "s"),
        Variable("browser_seconds", "From displaying the case to the answer, by the participant's "
                 "browser; empty without JavaScript", lambda r: _browser_time(r.one)[0], "s"),
        Variable("browser_time", "Whether that can be: not below 0, and not more than "
                 f"{_SLACK:g} s longer than by the server's clock; empty without JavaScript",
                 lambda r: _browser_time(r.one)[1], levels=_TRUST),
        *_confidence_columns(study),
        *_advice_columns(study),
        Variable("untimed", _UNTIMED, lambda r: _flag(r.one.seconds is None), levels=_YES_NO),
        Variable("recommended", "Tests that the arm recommended, separated by semicolons",
                 lambda r: ";".join(r.one.recommended or ())),
        Variable("policy", "The arm's policy; tutor where it adapts", lambda r: r.one.policy),
        Variable("propensity", "Probability of choosing this set; 1 unless chance decides",
                 lambda r: r.one.propensity),
        Variable("excluded", "Whether the analysis excludes the participant", levels=_YES_NO),
        Variable("shown_at", "When the case was shown, UTC", lambda r: r.one.shown_at,
                 is_private=True),
        Variable("predicted_at", "When the answer was given, UTC", lambda r: r.one.predicted_at,
                 is_private=True),
        Variable("plan", "SHA-256 of the plan that was followed", lambda r: r.one.plan,
                 is_private=True),
    ]  # fmt: skip
    taken = {column.name for column in (*before, *after)}
    tests = [c for test in study.problem.world.tests for c in _test_columns(study, test, taken)]
    return [*before, *tests, *after]


def _test_columns(study: Study, test: str, taken: set[str]) -> list[Variable]:
    """The result of a test as the participant read it, and exactly.

    The column has the name of the test, unless another column has it.
    """
    look = study.configuration.tests.get(test, LookOfTest())
    name, label = f"test_{test}" if test in taken else test, look.label or test

    def read(r: _Played) -> Any:
        value = r.spoken.get(test)
        if not isinstance(value, float):
            return value
        return _as_read(value, look.decimals)

    return [
        Variable(name, f"Result of {label} as the participant read it; empty if hidden", read,
                 look.unit),
        Variable(f"{name}_exact", f"The same before it was rounded to {look.decimals} decimals",
                 lambda r: r.spoken.get(test), look.unit),
    ]  # fmt: skip


def _survey_columns(block: Survey, number: int, taken: set[str]) -> list[Variable]:
    """Who answered a survey, and a column for each question; `taken` are other columns of data/."""
    return [
        Variable("row_id", _ROW, lambda p: f"{p.name}-survey-{number}"),
        Variable("participant", _WHO, lambda p: p.name),
        Variable("arm", _ARM, lambda p: p.who.arm or ""),
        Variable("block", "Block of the study, from 1", lambda p: number),
        *(_survey_column(each, taken) for each in block.question),
    ]


def _survey_column(question: SurveyQuestion, taken: set[str]) -> Variable:
    name, unit = question.name, ""
    while name in taken:
        name = f"survey_{name}"
    about = f"Answer to: {' '.join(question.text.split())}"
    choices = question.choices if isinstance(question, ChoiceQuestion) else []

    def of(p: _Person) -> Any:
        given = p.surveyed().get(question.name)
        return choices[given - 1] if choices and given is not None else given

    if isinstance(question, LikertQuestion):
        low, high = question.ends
        about += f" (1: {low}, {question.points}: {high})"
    if isinstance(question, NumberQuestion):
        unit = question.unit
    is_text = isinstance(question, TextQuestion)
    return Variable(name, about, of, unit, tuple(choices), question.private, is_text)


def _person_columns(study: Study) -> list[Variable]:
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
        times = [one.seconds for one in p.rounds if one.seconds is not None]
        return float(np.median(times)) if times else None

    return [
        Variable("participant", _WHO, lambda p: p.name),
        Variable("arm", "Arm; empty if not assigned", lambda p: p.who.arm or ""),
        Variable("place", _PLACE, lambda p: p.who.place),
        Variable("status", "Status",
                 lambda p: FINISHED if is_finished(p) else p.who.status, levels=statuses),
        Variable("block", "Current or last block, from 1; empty if finished",
                 lambda p: None if is_finished(p) else block(p) + 1),
        Variable("block_title", "Its title", title),
        Variable("quizzes_failed", "Failed attempts at the quiz", lambda p: p.who.quizzes),
        Variable("checks", "Attention checks answered", lambda p: len(p.said("check"))),
        Variable("failed_checks", "Attention checks failed",
                 lambda p: sum(each.is_right is False for each in p.said("check"))),
        Variable("rounds", "Rounds answered",
                 lambda p: sum(one.prediction is not None for one in p.rounds)),
        Variable("seconds", "From joining to the last answer, by a clock that cannot be set",
                 lambda p: p.seconds, "s"),
        Variable("untimed", _UNTIMED, lambda p: _flag(p.seconds is None), levels=_YES_NO),
        Variable("median_seconds", "Median time of an answer", median_seconds, "s"),
        Variable("excluded", "Whether the analysis excludes the participant", levels=_YES_NO),
        Variable("why_excluded", "Registered rules that exclude the participant"),
        Variable("measure", f"The registered measure: {measure}"),
        Variable("draw", "Participants assigned before", lambda p: p.who.draw,
                 is_private=True),
        Variable("comment", "Comment at the end",
                 lambda p: " ".join(str(each.answer) for each in p.said("comment")),
                 is_private=True, is_free_text=True),
        Variable("code", "Completion code", lambda p: p.who.code or "", is_private=True),
        Variable("began", "When they joined, UTC", lambda p: p.who.created, is_private=True),
        Variable("ended", "When the study ended for them, UTC", lambda p: p.who.ended_at or "",
                 is_private=True),
    ]  # fmt: skip


def _event_columns() -> list[Variable]:
    return [
        Variable("participant", "Participant; empty for events of the study", lambda e: e.name),
        Variable("event", "Kind of event", lambda e: e.row.kind),
        Variable("seconds", "Since the participant joined; empty for events of the study",
                 lambda e: e.seconds if e.name else None, "s"),
        Variable("day", "Since the study was opened, from 0; empty for events of participants",
                 lambda e: None if e.name else e.day),
        Variable("detail", "Details", lambda e: e.detail),
        Variable("seq", "Number of the event in the chain", lambda e: e.row.seq, is_private=True),
        Variable("at", "When, UTC", lambda e: e.row.at, is_private=True),
        Variable("payload", "Payload of the event, as JSON", lambda e: e.row.payload or "",
                 is_private=True),
    ]  # fmt: skip


def _as_read(value: float, decimals: int) -> str:
    return f"{round(value, decimals) + 0.0:.{decimals}f}"  # no minus before zero


def _flag(holds: bool) -> str:
    return "yes" if holds else "no"


def _browser_time(one: StoredRound) -> tuple[float | None, str]:
    """The seconds that a browser claims, and whether they can be true."""
    typed = (one.sent_with or {}).get("elapsed", "")
    if not typed:
        return None, ""
    try:
        seconds = float(typed)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        return None, "impossible"
    if seconds < 0.0 or (one.seconds is not None and seconds > one.seconds + _SLACK):
        return seconds, "impossible"
    return seconds, "unchecked" if one.seconds is None else "possible"


def _advice_columns(study: Study) -> list[Variable]:
    """Two columns if an arm gives advice."""
    kinds = tuple(dict.fromkeys(arm.advice for arm in study.configuration.arm))
    if kinds == ("none",):
        return []

    def said(r: _Played) -> dict[str, Any]:
        return dict(r.one.opened_with.get("advice") or {"kind": "none"})

    def content(r: _Played) -> str:
        told = {key: value for key, value in said(r).items() if key != "kind"}
        return json.dumps(told) if told else ""

    return [
        Variable("advice", "What the assistant said about the case", lambda r: said(r)["kind"],
                 levels=kinds),
        Variable("advice_content", "The predicted outcome; the change of the outcome for one unit "
                 "more of each test shown; or the test that the participant seemed to weigh "
                 "wrongly, and its weight as a share of the right one; as JSON", content),
    ]  # fmt: skip


def _confidence_columns(study: Study) -> list[Variable]:
    """A column if a block asks for confidence; scales may differ between blocks."""
    asked = study.configuration.confidence
    if not asked:
        return []
    scales = [f"block {number}: {scale.in_words()}" for number, scale in asked.items()]
    about = f"How sure the participant was; {'; '.join(scales)}"
    return [Variable("confidence", about, lambda r: (r.one.sent_with or {}).get("confidence"))]


def _add_analysis(
    study: Study, people: list[Row], rounds: list[Row], records: Records, result: AnalysisResult
) -> None:
    """Add columns of the analysis: costs of answers, exclusions with reasons, the measure."""
    position = {name: i for i, name in enumerate(records.participants)}
    costs = answer_costs(study, records)
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
    """An event; `seconds` since the participant joined, `day` since the study was opened."""

    name: str
    row: Any
    seconds: float | None
    day: int
    detail: str


def _events(
    connection: Connection, kept: KeptStudy, names: Mapping[str, str], *, full: bool
) -> list[_Happened]:
    began: dict[str, str] = {}
    opened = datetime.fromisoformat(kept.opened)
    found: list[_Happened] = []
    for row in connection.execute(select(event).order_by(event.c.seq)):
        said = {} if row.payload is None else json.loads(row.payload)
        if row.subject not in names and not (row.subject is None and said.get("study") == kept.id):
            continue
        whose = row.subject or ""
        passed = chain.seconds_between(began.setdefault(whose, row.tick), row.tick)
        day = max((datetime.fromisoformat(row.at) - opened).days, 0)
        found.append(_Happened(names.get(whose, ""), row, passed, day, _detail(row.kind, said)))
    # By participant, so that the order does not reveal who was active at the same time.
    return found if full else sorted(found, key=lambda each: each.name)


_DETAILS = {
    "assigned": ("arm", "place"),
    "said": ("what", "is_right"),
    "offered": ("round",),
    "shown": ("round",),
    "predicted": ("round",),
    "told": ("round",),
    "untold": ("round",),
    "people raised": ("from", "to", "reason"),
    "arm closed": ("arm", "reason"),
    "study closed": ("reason",),
    "unblinded": ("reason",),
    "study opened": ("registration",),
    "exported": ("kind", "full"),
}


def _detail(kind: str, said: Mapping[str, Any]) -> str:
    """Details of an event that reveal neither identity nor free text."""
    parts = [f"{key} {said[key]}" for key in _DETAILS.get(kind, ()) if said.get(key) is not None]
    return ", ".join(parts)


PSYCH_DS = "Psych-DS 1.5.0"


@dataclass(frozen=True)
class Exported:
    """A finished export: its path, numbers of people and rounds, and the analysis in words."""

    path: Path
    people: int
    rounds: int
    result: str


def export(
    store: Store,
    name: str,
    path: Path,
    *,
    who: str,
    kind: str = "real",
    full: bool = False,
    zipped: bool = False,
) -> Exported:
    """Export all data of a study, completely or not at all.

    Parameters
    ----------
    store
        The store with the study.
    name
        Id of the study.
    path
        A folder or, if `zipped`, a file that does not exist yet.
    who
        Who exports; recorded in the log.
    kind
        Of participants: real, bot or preview. They are never exported together.
    full
        Include names, times and comments.
    zipped
        One file instead of a folder.

    Returns
    -------
    Exported
        Path and contents.

    Raises
    ------
    InvalidInput
        The study is still blinded, or has no answers yet.
    InvalidFile
        The target exists already, or cannot be written.
    """
    kept = store.read(lambda connection: studies.find(connection, name))
    must_be_unblinded(kept, kind)
    if path.exists() or path.is_symlink():
        raise InvalidFile(f"{path}: exists already; choose another name, or remove it first")
    study = Study.from_json(kept.config)
    found = store.read(lambda c: tables(c, kept, study, kind=kind, full=full))
    if not found.rounds:
        raise InvalidInput(f"study: {name!r} has no answers of {kind} participants yet")
    with naming(path):
        scratch = Path(tempfile.mkdtemp(prefix=".preceptor-", dir=path.absolute().parent))
        try:
            folder = scratch / (path.stem if zipped else path.name)
            folder.mkdir()
            _write(folder, kept, study, found, kind=kind, full=full)
            store.write(lambda c: studies.exported(c, name, who, kind, full=full))
            if zipped:
                folder = Path(shutil.make_archive(str(folder), "zip", scratch, folder.name))
            if (
                full
            ):  # has times of day, comments and codes; until here, the scratch folder hides it
                for each in (folder, *folder.rglob("*")):
                    each.chmod(PRIVATE | stat.S_IXUSR if each.is_dir() else PRIVATE)
            folder.rename(path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return Exported(path, len(found.people), len(found.rounds), found.result.in_words())


def must_be_unblinded(kept: KeptStudy, kind: str) -> None:
    """Refuse to export data of real participants, which reveal arms, before unblinding."""
    if kind == "real" and kept.unblinded is None:
        raise InvalidInput(
            f"study: {kept.id!r} is blinded, and its data reveal arms; first record why: "
            f'preceptor study unblind {kept.id} --reason "..."'
        )


def _write(
    folder: Path, kept: KeptStudy, study: Study, found: Tables, *, kind: str, full: bool
) -> None:
    for part in ("data", "analysis", "documentation", "materials"):
        (folder / part).mkdir()
    columns = Variables.of(study, full=full)
    files = data_files(study)
    surveys: dict[str, list[Variable]] = {}
    for block, file in files.items():
        heads, own = columns.rounds, [row for row in found.rounds if row["block"] == block]
        if block in columns.surveys:
            heads, own = columns.surveys[block], found.surveys[block]
            if not own or len(heads) == _NOT_ANSWERS:
                continue
            surveys[f"data/{file}"] = heads
        if own:
            (folder / "data" / file).write_text(table(heads, own), "utf-8", newline="")
    parts = {
        "data/": columns.rounds,
        **surveys,
        "participants.csv": columns.people,
        "events.csv": columns.events,
    }
    both = [*columns.rounds, *(each for heads in surveys.values() for each in heads)]
    measured = list({column.name: column for column in reversed(both)}.values())[::-1]
    registration, result = Registration(kept.registration), found.result.to_dict()
    del result["participants"]
    texts = {
        "participants.csv": table(columns.people, found.people),
        "events.csv": table(columns.events, found.events),
        "dataset_description.json": canonical(description(study, measured, kind=kind, full=full)),
        "README.md": _readme(kept, study, found, files, kind=kind, full=full),
        "documentation/codebook.md": codebook_text(study, parts),
        "documentation/codebook.json": canonical(
            {file: [each.to_dict() for each in columns] for file, columns in parts.items()}
        ),
        "documentation/preregistration.md": markdown(registration),
        "materials/study.json": canonical(public(study)),
        "materials/preregistration.json": registration.text,
        "analysis/analysis.py": script(study),
        "analysis/result.json": canonical(result),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, "utf-8", newline="")
    found.records.log(study).write(folder / "log.csv")


def data_files(study: Study) -> dict[int, str]:
    """Data file of each block with rounds or a survey, by number of the block."""
    said, seen, made = study.configuration, dict[str, int](), {}
    for number, block in enumerate(said.block, start=1):
        if study.protocol.length_of(number - 1) or isinstance(block, Survey):
            seen[block.kind] = seen.get(block.kind, 0) + 1
            task = f"{block.kind}{seen[block.kind]}"
            made[number] = f"study-{_letters(said.id)}_task-{task}_data.csv"
    return made


def _letters(name: str) -> str:
    """Keep letters and digits, which is all that Psych-DS allows in file names."""
    return re.sub(r"[^A-Za-z0-9]", "", name)


def table(columns: Sequence[Variable], rows: Iterable[Row]) -> str:
    """A table as CSV; free text is made safe for spreadsheets."""

    def cell(column: Variable, row: Row) -> Any:
        value = row[column.name]
        return safe_cell(value) if column.is_free_text and value is not None else value

    head = [column.name for column in columns]
    return csv_text([head, *([cell(column, row) for column in columns] for row in rows)])


def description(
    study: Study, columns: Sequence[Variable], *, kind: str, full: bool
) -> dict[str, Any]:
    """Content of `dataset_description.json`, as Psych-DS specifies it."""
    said = study.configuration
    what = "Simulated people" if kind == "bot" else "Participants"
    about = (
        f"{what} predicted {said.outcome.name or 'an outcome'} from tests of which some were "
        "hidden, round by round; one row a round."
    )
    made = dataset_description(
        said.title, f"{said.description} {about}".strip(), said.language, columns
    )
    made |= {"identifier": study.sha256, "isAccessibleForFree": not full}
    if said.contact:
        made["creator"] = {"@type": "Person", "name": said.contact}
    return made


def dataset_description(
    name: str, about: str, language: str, columns: Sequence[Variable]
) -> dict[str, Any]:
    """What every `dataset_description.json` says."""
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": name,
        "description": about,
        "schemaVersion": PSYCH_DS,
        "inLanguage": language,
        "keywords": ["decision support", "learning", "hidden features"],
        "variableMeasured": [column.to_dict() for column in columns],
        "version": f"preceptor {VERSION}",
    }


def codebook_text(study: Study, parts: Mapping[str, Sequence[Variable]]) -> str:
    """The codebook as Markdown, with a table for each kind of file."""
    lines = [f"# Codebook of {study.configuration.title}"]
    for title, columns in parts.items():
        lines += ["", f"## {title}", "", "| column | meaning | unit | values |"]
        lines.append("| --- | --- | --- | --- |")
        lines += [
            f"| `{each.name}` | {each.description} | {each.unit} | {', '.join(each.levels)} |"
            for each in columns
        ]
    return "\n".join(lines) + "\n"


def script(study: Study) -> str:
    """Text of `analysis.py` for a study."""
    text = (resources.files("preceptor.live.study") / "templates" / "analysis.py.txt").read_text(
        "utf-8"
    )
    title = json.dumps(study.configuration.title, ensure_ascii=False)[1:-1]
    values = pprint.pformat(registered(study), width=96, sort_dicts=False)
    return text.replace("@TITLE@", title.replace('\\"', "'")).replace("@REGISTERED@", values)


def registered(study: Study) -> dict[str, Any]:
    """Values that the script needs."""
    said = study.configuration
    tested = [i for i, block in enumerate(said.block, start=1) if isinstance(block, Testing)]
    measured = (
        np.flatnonzero(trials_of(study, said.analysis.measure)).tolist()
        if "error" in said.analysis.measure
        else []
    )
    return {
        **said.analysis.model_dump(mode="json"),
        "seed": said.seed,
        "resamples": RESAMPLES,
        "exclusions": said.exclusions.model_dump(mode="json"),
        "trials": len(study.protocol.trials),
        "measured_trials": measured,
        "first_test_block": tested[0] if tested else None,
        "last_test_block": tested[-1] if tested else None,
        "sure": SURE,
    }


def _readme(
    kept: KeptStudy, study: Study, found: Tables, files: Mapping[int, str], *, kind: str, full: bool
) -> str:
    said = study.configuration
    people = {"real": "people", "bot": "simulated people (bots)", "preview": "previews"}[kind]
    private = (
        "This export is full: it has times of day, comments and completion codes. Do not share it; "
        "`preceptor study export` without --full makes one that you can share."
        if full
        else "This export is anonymous: participants have new random names, used in no other "
        "export; times of day and comments are left out."
    )
    changes = [
        f"- day {row['day']}: {row['event']} ({row['detail']})"
        for row in found.events
        if not row["participant"] and row["event"] not in ("study opened", "exported")
    ]
    lines = [
        f"# {said.title}",
        "",
        said.description,
        "",
        f"{len(found.people)} {people}, {len(found.rounds)} answered rounds. {private}",
        "",
        "The study was frozen before the first participant. SHA-256 of "
        f"materials/preregistration.json: `{kept.registration_sha256}`",
        "",
        "## Files",
        "",
        *(f"- `data/{file}`: {said.block[number - 1].title}" for number, file in files.items()),
        "- `participants.csv`: one row per participant, with arm, status and reasons for exclusion",
        "- `events.csv`: what happened, person by person",
        "- `log.csv`: all rounds as `preceptor.Log.read` reads them",
        "- `documentation/codebook.md`: what each column means",
        "- `materials/`: the study as it was frozen, and what was registered",
        "- `analysis/analysis.py`: the registered analysis, with numpy, scipy, pandas",
        "- `analysis/result.json`: what it found when this was written",
        "",
        "The folder is in Psych-DS form (https://psych-ds.github.io).",
        "",
        "## Result of the registered analysis",
        "",
        *found.result.in_words().splitlines(),
        "",
        "## What changed after it was opened",
        "",
        *(changes or ["Nothing."]),
    ]
    return "\n".join(lines) + "\n"
