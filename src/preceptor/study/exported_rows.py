"""What was kept of a study, as rows of tables: people, their rounds, and what happened."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
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
from preceptor.study.records import Records
from preceptor.study.standing import block_of
from preceptor.study.study import Study

Row = dict[str, Any]
# How those stand who finished, in tables.
FINISHED = "finished"


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
class _Kept:
    who: Participant
    answers: Sequence[Answer]
    rounds: Sequence[Round]


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
    everyone = _everyone(connection, kept, kind)
    names = {each.who.id: each.who.id if full else secrets.token_hex(6) for each in everyone}
    everyone.sort(key=lambda each: each.who.created if full else names[each.who.id])
    words = Wording(study.problem)
    people = [_person(study, each, names[each.who.id], full=full) for each in everyone]
    rounds = [
        _round(study, words, each.who, one, names[each.who.id], full=full)
        for each in everyone
        for one in each.rounds
        if one.prediction is not None
    ]
    assigned = [row for row in people if row["arm"] and row["place"] is not None]
    there = {row["participant"] for row in assigned}
    records = Records.from_rows(study, assigned, [r for r in rounds if r["participant"] in there])
    result = analyse(study, records, progress=progress)
    _add_analysis(study, people, rounds, records, result)
    events = list(_events(connection, kept, names, full=full))
    return Tables(people, rounds, events, records, result)


def _everyone(connection: Connection, kept: KeptStudy, kind: str) -> list[_Kept]:
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
    return [
        _Kept(who, said.get(who.id, ()), played.get(who.id, ()))
        for who in participants.everyone(connection, kept.id, kind)
    ]


def _person(study: Study, each: _Kept, name: str, *, full: bool) -> Row:
    who, blocks = each.who, study.configuration.block
    block = block_of(study.protocol, who.stage)
    checks = [said for said in each.answers if said.what == "check"]
    times = [t for t in map(_seconds, each.rounds) if t is not None]
    row: Row = {
        "participant": name,
        "arm": who.arm or "",
        "place": who.place,
        "status": FINISHED if who.status == "completed" else who.status,
        "block": None if who.status == "completed" else block + 1,
        "block_title": "" if block >= len(blocks) else blocks[block].title,
        "quizzes_failed": who.quizzes,
        "checks": len(checks),
        "failed_checks": sum(said.is_right is False for said in checks),
        "rounds": sum(one.prediction is not None for one in each.rounds),
        "seconds": _between(who.created, who.ended_at or who.seen_at),
        "median_seconds": float(np.median(times)) if times else None,
    }
    if full:
        comments = [str(said.answer) for said in each.answers if said.what == "comment"]
        row |= {
            "draw": who.draw,
            "comment": " ".join(comments),
            "code": who.code or "",
            "began": who.created,
            "ended": who.ended_at or "",
        }
    return row


def _round(
    study: Study, words: Wording, who: Participant, one: Round, name: str, *, full: bool
) -> Row:
    trial = study.protocol.trials[one.number]
    assert one.prediction is not None
    spoken = words.spoken(one.shown or (), one.values or ())
    row: Row = {
        "row_id": f"{name}-{one.number}",
        "participant": name,
        "arm": who.arm,
        "place": who.place,
        "block": trial.block + 1,
        "trial": one.number,
        "round": trial.place + 1,
        "training_round": None if trial.training is None else trial.training + 1,
        "shown": ";".join(one.shown or ()),
        "values": ";".join(repr(float(value)) for value in one.values or ()),
        **{column: spoken.get(test) for test, column in test_columns(study).items()},
        "prediction": one.prediction,
        "outcome": one.outcome,
        "error": None if one.outcome is None else one.prediction - one.outcome,
        "feedback": "yes" if one.feedback else "no",
        "seconds": _seconds(one),
        "recommended": ";".join(one.recommended or ()),
        "policy": one.policy,
        "propensity": one.propensity,
    }
    if full:
        row |= {"shown_at": one.shown_at, "predicted_at": one.predicted_at, "plan": one.plan}
    return row


def test_columns(study: Study) -> dict[str, str]:
    """The column of each test: its name, unless another column is called so."""
    return {
        test: f"test_{test}" if test in ROUND_COLUMNS else test
        for test in study.problem.world.tests
    }


ROUND_COLUMNS = frozenset(
    (
        *("row_id", "participant", "arm", "place", "block", "trial", "round", "training_round"),
        *("shown", "values", "prediction", "outcome", "error", "charge", "feedback", "seconds"),
        *("recommended", "policy", "propensity", "excluded", "shown_at", "predicted_at", "plan"),
    )
)
"""Columns of a round, but for those of tests."""


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


def _events(
    connection: Connection, kept: KeptStudy, names: Mapping[str, str], *, full: bool
) -> Iterator[Row]:
    began: dict[str, str] = {}
    found: list[tuple[str, float, Row]] = []
    for row in connection.execute(select(event).order_by(event.c.seq)):
        said = {} if row.payload is None else json.loads(row.payload)
        if row.subject not in names and not (row.subject is None and said.get("study") == kept.id):
            continue
        whose = row.subject or ""
        first = began.setdefault(whose, row.at if whose else kept.opened)
        seconds = _between(first, row.at) or 0.0
        made: Row = {
            "participant": names.get(whose, ""),
            "event": row.kind,
            "seconds": seconds if whose else None,
            "day": None if whose else int(seconds // 86_400),
            "detail": _detail(row.kind, said),
        }
        if full:
            made |= {"seq": row.seq, "at": row.at, "payload": row.payload or ""}
        found.append((made["participant"], float(row.seq), made))
    # By person, so that nothing tells who was there at the same time.
    yield from (row for _, _, row in (found if full else sorted(found, key=lambda each: each[:2])))


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
