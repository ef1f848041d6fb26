"""Rounds that were done elsewhere: written down as they were, by their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, insert

from preceptor.store import chain, people, rounds
from preceptor.store.clock import now
from preceptor.store.people import Person
from preceptor.store.refusals import Conflict
from preceptor.store.rounds import Round, added
from preceptor.store.tables import round_


@dataclass(frozen=True)
class Done:
    """A round of the library's log; `taught` is 1 for each column that was shown."""

    number: int
    shown: list[str]
    values: list[float]
    prediction: float
    outcome: float | None
    feedback: bool
    when: str | None
    taught: Sequence[int]


def add(connection: Connection, who: Person, done: Sequence[Done]) -> tuple[int, Person]:
    """Add rounds in the order of their numbers; gives how many are new, and the person after them.

    Raises
    ------
    Conflict
        A round of that number is there and says something else, or later rounds are there.
    """
    there = {each.number: each for each in rounds.all_of(connection, who.id)}
    new = 0
    for each in sorted(done, key=lambda one: one.number):
        known = there.get(each.number)
        if known is not None:
            if _said(known) != (each.shown, each.values, each.prediction, each.outcome):
                raise Conflict(f"round {each.number}: is there and says something else", known)
            continue
        if each.number < who.rounds:
            raise Conflict(f"round {each.number}: comes before rounds that are there already")
        who = _written(connection, who, each)
        new += 1
    return new, who


def _said(known: Round) -> tuple[object, ...]:
    return known.shown, known.values, known.prediction, known.outcome


def _written(connection: Connection, who: Person, done: Done) -> Person:
    answers = who.answers + 1
    made = Round(
        person=who.id,
        number=done.number,
        status="told" if done.feedback else "untold",
        plan=who.plan,
        policy="elsewhere",
        opened_with={"feedback": done.feedback},
        shown=done.shown,
        values=done.values,
        prediction=done.prediction,
        outcome=done.outcome,
        feedback=done.feedback,
        answered=answers,
        heard=answers if done.feedback else None,
        predicted_at=done.when,
        ended_at=now(),
    )
    said = {"shown": done.shown, "values": done.values, "prediction": done.prediction}
    payload = {"round": done.number, **said, "outcome": done.outcome, "told": done.feedback}
    payload["plan"] = who.plan
    seq = chain.append(connection, "done elsewhere", who.id, payload)
    connection.execute(insert(round_), vars(replace(made, seq=seq)))
    moved: dict[str, Any] = {"answers": answers, "rounds": done.number + 1}
    if done.feedback:
        moved |= {"counts": added(who.counts, done.taught, 1), "position": who.position + 1}
    people.change(connection, who, **moved)
    return replace(who, **moved, version=who.version + 1)
