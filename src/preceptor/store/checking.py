"""Check a store: does everything that is kept about people follow from what happened?

Three records say the same thing in their own way. Events are chained by hashes. Rounds must be what
their events made of them. People must be where their rounds have brought them. Whoever changes one
of them behind the others' back is found out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from preceptor.errors import PreceptorError
from preceptor.store import chain, people, plans, rounds
from preceptor.store.people import Person
from preceptor.store.rebuilding import Rebuilt, rebuilt
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
        expected = rebuilt(who.id, [(row.seq, row.kind, json.loads(row.payload)) for row in rows])
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


def _round_faults(name: str, theirs: Sequence[Round], expected: Rebuilt) -> Iterator[str]:
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
    who: Person, theirs: Sequence[Round], expected: Rebuilt, columns: Columns
) -> Iterator[str]:
    first = people.is_on_first_plan(who)
    none = columns.start(None)
    start = columns.start(who.enrolled_with.get("start")) if first else none
    counts, position = rounds.counted(theirs, who.plan_since, columns.taught, start)
    follows = {
        "plan": expected.plan,
        "plan_since": expected.plan_since,
        "enrolled_with": expected.enrolled_with,
        "counts": counts,
        "position": position,
        "answers": sum(each.answered is not None for each in theirs),
        "rounds": max((each.number for each in theirs), default=-1) + 1,
    }
    yield from _differences(f"person {who.id!r}", vars(who), follows)


def _differences(where: str, row: dict[str, Any], follows: dict[str, Any]) -> Iterator[str]:
    for field, value in follows.items():
        if row[field] != value:
            yield f"{where}: {field} is {row[field]!r}, but what happened makes it {value!r}"
