"""Check a store: does everything that is kept about people follow from what happened?

Three records say the same thing in their own way. Events are chained by hashes. Rounds must be what
their events made of them. People must be where their rounds have brought them. Whoever changes one
of them behind the others' back is found out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from preceptor.errors import PreceptorError
from preceptor.store import chain, people, plans, rounds
from preceptor.store.people import Person
from preceptor.store.rounds import Round
from preceptor.store.tables import event, participant, person, plan, round_


class Columns(NamedTuple):
    """What the world of a plan says about names: a store does not know any worlds."""

    taught: Callable[[Sequence[str]], Sequence[int]]
    """1 for each column that is among these."""
    start: Callable[[dict[str, int] | None], Sequence[int]]
    """Showings of each column, from those of tests by name."""


class Checked(NamedTuple):
    """What was found: how much there is, the last hash of the chain, a sentence for each fault."""

    people: int
    rounds: int
    events: int
    head: str
    faults: tuple[str, ...]


def check(connection: Connection, columns_of: Callable[[Connection, str], Columns]) -> Checked:
    """Rebuild everything from events and rounds, and compare.

    Parameters
    ----------
    connection
        Sees one moment, so that nobody need stop meanwhile.
    columns_of
        Gives the columns of a plan, by its hash.

    Returns
    -------
    Checked
        Without faults if everything follows.
    """
    if connection.dialect.name == "postgresql":
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
    verified = chain.verify(connection)
    faults = [*verified.faults, *_plan_faults(connection)]
    names = list(connection.execute(select(person.c.id).order_by(person.c.id)).scalars())
    held = 0
    for name in names:
        theirs = rounds.all_of(connection, name)
        held += len(theirs)
        faults += _faults_of(connection, people.find(connection, name), theirs, columns_of)
    waiting = connection.execute(select(participant.c.id)).scalars()
    faults += _strangers(connection, {*names, *waiting})
    return Checked(len(names), held, verified.events, verified.head, tuple(faults))


def _plan_faults(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(plan.c.sha256, plan.c.body)):
        if plans.sha256_of(row.body) != row.sha256:
            yield f"plan {row.sha256}: is not the file that was kept under this hash"


def _strangers(connection: Connection, known: set[str]) -> Iterator[str]:
    """Events and rounds of people who are not there: whoever is erased leaves none."""
    for what, column in (("events", event.c.subject), ("rounds", round_.c.person)):
        found = connection.execute(select(column).where(column.is_not(None)).distinct()).scalars()
        for name in sorted(set(found) - known):
            yield f"person {name!r}: has {what}, but is not there"


def _faults_of(
    connection: Connection,
    who: Person,
    theirs: Sequence[Round],
    columns_of: Callable[[Connection, str], Columns],
) -> Iterator[str]:
    asked = select(event).where(event.c.subject == who.id).order_by(event.c.seq)
    rows = connection.execute(asked).all()
    try:
        expected = _rebuilt(who.id, [(row.seq, row.kind, json.loads(row.payload)) for row in rows])
    except (KeyError, TypeError, ValueError):
        yield f"person {who.id!r}: their events make no sense"
        return
    yield from _round_faults(who.id, theirs, expected)
    try:
        columns = columns_of(connection, who.plan)
    except PreceptorError as error:
        yield f"person {who.id!r}: their plan cannot be read ({error})"
        return
    yield from _person_faults(who, theirs, expected, columns)


def _round_faults(name: str, theirs: Sequence[Round], expected: _Rebuilt) -> Iterator[str]:
    there = {each.number: each for each in theirs}
    for number in sorted(there.keys() | expected.rounds.keys()):
        where = f"person {name!r}, round {number}"
        if number not in there:
            yield f"{where}: is missing, though it was {expected.rounds[number]['status']}"
        elif number not in expected.rounds:
            yield f"{where}: is there, but nothing says that it was offered"
        else:
            row = vars(there[number])
            yield from _differences(where, row, expected.rounds[number])


def _person_faults(
    who: Person, theirs: Sequence[Round], expected: _Rebuilt, columns: Columns
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
    yield from _differences(f"person {who.id!r}", vars(who), follows)


def _differences(where: str, row: dict[str, Any], follows: dict[str, Any]) -> Iterator[str]:
    for name, value in follows.items():
        if row[name] != value:
            yield f"{where}: {name} is {row[name]!r}, but what happened makes it {value!r}"


# --- somebody once more, from nothing but what was written down as it happened ------------------

_Payload = dict[str, Any]


@dataclass
class _Rebuilt:
    """Somebody as their events make them: fields of rounds by number, and the plan."""

    plan: str | None = None
    enrolled_with: dict[str, Any] = field(default_factory=dict)
    answers: int = 0
    rounds: dict[int, dict[str, Any]] = field(default_factory=dict)


def _rebuilt(who: str, events: Iterable[tuple[int, str, _Payload]]) -> _Rebuilt:
    """Somebody after these events, each a number, a kind and what was said.

    Raises
    ------
    KeyError
        An event that does not say what its kind says, or about a round that was never offered.
    """
    person = _Rebuilt()
    for seq, kind, said in events:
        step = _STEPS.get(kind)
        if step is None:
            continue
        step(person, said)
        if "round" in said:
            person.rounds[said["round"]]["seq"] = seq
    return person


def _enrolled(person: _Rebuilt, said: _Payload) -> None:
    person.enrolled_with, person.plan = said, said.get("plan")


def _offered(person: _Rebuilt, said: _Payload) -> None:
    person.rounds[said["round"]] = {
        "status": "offered",
        "plan": said["plan"],
        "policy": said["policy"],
        "opened_with": said["asked"],
        "case_number": said["case_number"],
        "recommended": said["recommended"],
        "propensity": said["propensity"],
        "feedback": said["asked"].get("feedback", True),
        **dict.fromkeys(("shown", "values", "override_reason", "prediction", "outcome")),
        "answered": None,
        "heard": None,
    }


def _shown(person: _Rebuilt, said: _Payload) -> None:
    person.rounds[said["round"]] |= {
        "status": "shown",
        "shown": said["shown"],
        "values": said["values"],
        "override_reason": said["reason"],
    }


def _predicted(person: _Rebuilt, said: _Payload) -> None:
    person.answers += 1
    person.rounds[said["round"]] |= {
        "status": said["status"],
        "prediction": said["prediction"],
        "outcome": said["outcome"],
        "answered": person.answers,
        "heard": person.answers if said["status"] == "told" else None,
    }


def _truth(person: _Rebuilt, said: _Payload) -> None:
    told = said["told"]
    there = person.rounds[said["round"]]
    there |= {
        "status": "told" if told else "untold",
        "outcome": said["outcome"],
        "feedback": told,
        "heard": person.answers if told else there["heard"],
    }


def _left(person: _Rebuilt, said: _Payload) -> None:
    person.rounds[said["round"]]["status"] = "abandoned"


_STEPS: dict[str, Callable[[_Rebuilt, _Payload], None]] = {
    "enrolled": _enrolled,
    "offered": _offered,
    "shown": _shown,
    "predicted": _predicted,
    "told": _truth,
    "untold": _truth,
    "abandoned": _left,
}
