"""Everything kept about people: export it, erase it, and check that it follows from the event log.

Events are chained by hashes, rounds must be what their events made of them, and the state of each
person must follow from their rounds. A change to one of the three alone is detected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, update

from preceptor.errors import PreceptorError
from preceptor.live.store import chain, participants, people, plans, rounds
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.rounds import StoredRound
from preceptor.live.store.tables import NotFound, event, person, plan, round_


def export(connection: Connection, who: str) -> dict[str, Any]:
    """Return everything kept about a person: how they are advised, their rounds and events.

    For a participant of a study also where they are and what they said at steps that are no cases.
    A participant without an arm is not advised yet, so `person` is None.
    """
    is_participant = _is_participant(connection, who)
    found = people.look_up(connection, who)
    rows = connection.execute(select(event).where(event.c.subject == who).order_by(event.c.seq))
    events = [
        {"seq": row.seq, "at": row.at, "kind": row.kind, "payload": json.loads(row.payload)}
        for row in rows
    ]
    return {
        "person": None if found is None else {**asdict(found), "is_bot": found.is_bot},
        "participant": asdict(participants.find(connection, who)) if is_participant else None,
        "said": [asdict(each) for each in participants.answers_of(connection, who)],
        "rounds": [asdict(each) for each in rounds.all_of(connection, who)],
        "events": events,
    }


def erase(connection: Connection, who: str) -> None:
    """Erase a person; the chain of events still verifies, with nothing about them in it."""
    is_participant = _is_participant(connection, who)
    connection.execute(delete(round_).where(round_.c.person == who))
    if is_participant:
        participants.forget(connection, who)
    else:
        connection.execute(delete(person).where(person.c.id == who))
    nothing = {"subject": None, "salt": None, "payload": None}
    connection.execute(update(event).where(event.c.subject == who).values(nothing))
    chain.append(connection, "erased", None, {})


def _is_participant(connection: Connection, who: str) -> bool:
    """Whether a person is in a study; raise `NotFound` if there is no such person."""
    row = connection.execute(select(person.c.study).where(person.c.id == who)).first()
    if row is None:
        raise NotFound(f"person: {who!r} is not enrolled")
    return row.study is not None


# Fields that a round has only after it was offered.
_LATER = (
    "shown",
    "values",
    "override_reason",
    "prediction",
    "outcome",
    "answered",
    "outcome_known_at",
    "seconds",
    "sent_with",
)


class PlanColumns(NamedTuple):
    """How names map to columns of a plan's world, which the store does not know."""

    taught: Callable[[Sequence[str]], Sequence[int]]
    """1 for each column that is among these names."""
    start: Callable[[dict[str, int] | None], Sequence[int]]
    """Exposure count of each column, from counts by name of test."""


class Checked(NamedTuple):
    """Numbers of people, rounds and events, the last hash, and a sentence for each fault."""

    people: int
    rounds: int
    events: int
    head: str
    faults: tuple[str, ...]


def check(connection: Connection, columns_of: Callable[[Connection, str], PlanColumns]) -> Checked:
    """Rebuild everything from events and rounds, and compare it with the store.

    Parameters
    ----------
    connection
        Sees one moment, so that the service can keep running.
    columns_of
        Returns the columns of a plan, by its hash.

    Returns
    -------
    Checked
        Without faults if everything follows.
    """
    if connection.dialect.name == "postgresql":
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
    verified = chain.verify(connection)
    faults = [*verified.faults, *_plan_faults(connection)]
    everyone = select(person.c.id).order_by(person.c.id)
    advised = everyone.where(person.c.plan.is_not(None))
    names = list(connection.execute(advised).scalars())
    held = 0
    for name in names:
        theirs = rounds.all_of(connection, name)
        held += len(theirs)
        faults += _faults_of(connection, people.find(connection, name), theirs, columns_of)
    faults += _strangers(connection, set(connection.execute(everyone).scalars()))
    return Checked(len(names), held, verified.events, verified.head, tuple(faults))


def _plan_faults(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(plan.c.sha256, plan.c.body)):
        if plans.sha256_of(row.body) != row.sha256:
            yield f"plan {row.sha256}: is not the file that was stored under this hash"


def _strangers(connection: Connection, known: set[str]) -> Iterator[str]:
    """Events and rounds of people who are not in the store; erasing leaves none behind."""
    for what, column in (("events", event.c.subject), ("rounds", round_.c.person)):
        found = connection.execute(select(column).where(column.is_not(None)).distinct()).scalars()
        for name in sorted(set(found) - known):
            yield f"person {name!r}: has {what}, but is not in the store"


def _faults_of(
    connection: Connection,
    who: AdvisedPerson,
    theirs: Sequence[StoredRound],
    columns_of: Callable[[Connection, str], PlanColumns],
) -> Iterator[str]:
    asked = select(event).where(event.c.subject == who.id).order_by(event.c.seq)
    rows, expected = connection.execute(asked).all(), _Rebuilt()
    try:
        for row in rows:
            expected.apply(row.seq, row.kind, json.loads(row.payload))
    except (KeyError, TypeError, ValueError):
        yield f"person {who.id!r}: their events are inconsistent"
        return
    yield from _round_faults(who.id, theirs, expected)
    try:
        columns = columns_of(connection, who.plan)
    except PreceptorError as error:
        yield f"person {who.id!r}: their plan cannot be read ({error})"
        return
    yield from _person_faults(who, theirs, expected, columns)


def _round_faults(name: str, theirs: Sequence[StoredRound], expected: _Rebuilt) -> Iterator[str]:
    there = {each.number: each for each in theirs}
    for number in sorted(there.keys() | expected.rounds.keys()):
        where = f"person {name!r}, round {number}"
        if number not in there:
            yield f"{where}: is missing, though it was {expected.rounds[number]['status']}"
        elif number not in expected.rounds:
            yield f"{where}: is there, but no event offered it"
        else:
            row = vars(there[number])
            yield from differences(where, row, expected.rounds[number])


def _person_faults(
    who: AdvisedPerson, theirs: Sequence[StoredRound], expected: _Rebuilt, columns: PlanColumns
) -> Iterator[str]:
    start = columns.start(who.enrolled_with.get("start"))
    counts, position = rounds.counted(theirs, columns.taught, start)
    follows = {
        "plan": expected.plan,
        "enrolled_with": expected.enrolled_with,
        "counts": counts,
        "position": position,
        "answers": sum(each.answered is not None for each in theirs),
        "rounds": max((each.number for each in theirs), default=-1) + 1,
    }
    yield from differences(f"person {who.id!r}", vars(who), follows)


def differences(where: str, row: dict[str, Any], follows: dict[str, Any]) -> Iterator[str]:
    """A sentence for each field that is not what the events make it."""
    for name, value in follows.items():
        if row[name] != value:
            yield f"{where}: {name} is {row[name]!r}, but the events make it {value!r}"


@dataclass
class _Rebuilt:
    """A person as their events make them: fields of each round by number, and the plan."""

    plan: str | None = None
    enrolled_with: dict[str, Any] = field(default_factory=dict)
    answers: int = 0
    rounds: dict[int, dict[str, Any]] = field(default_factory=dict)

    def apply(self, seq: int, kind: str, said: dict[str, Any]) -> None:
        """Apply one event.

        Raises
        ------
        KeyError
            The payload lacks a field of its kind, or names a round that was never offered.
        """
        match kind:
            case "enrolled":
                self.enrolled_with, self.plan = said, said.get("plan")
            case "offered":
                self.rounds[said["round"]] = {
                    "status": "offered",
                    "plan": said["plan"],
                    "policy": said["policy"],
                    "opened_with": said["asked"],
                    "case_number": said["case_number"],
                    "recommended": said["recommended"],
                    "propensity": said["propensity"],
                    "feedback": said["asked"].get("feedback", True),
                    **dict.fromkeys(_LATER),
                }
            case "shown":
                self.rounds[said["round"]] |= {
                    "status": "shown",
                    "shown": said["shown"],
                    "values": said["values"],
                    "override_reason": said["reason"],
                }
            case "predicted":
                self.answers += 1
                self.rounds[said["round"]] |= {
                    "status": said["status"],
                    "prediction": said["prediction"],
                    "outcome": said["outcome"],
                    "answered": self.answers,
                    "seconds": said["seconds"],
                    "sent_with": said["sent_with"],
                    "outcome_known_at": self.answers if said["status"] == "told" else None,
                }
            case "told" | "untold":
                told = said["told"]
                there = self.rounds[said["round"]]
                there |= {"status": kind, "outcome": said["outcome"], "feedback": told}
                there["outcome_known_at"] = self.answers if told else there["outcome_known_at"]
            case "abandoned":
                self.rounds[said["round"]]["status"] = "abandoned"
            case _:
                return
        if kind != "enrolled":
            self.rounds[said["round"]]["seq"] = seq
