"""What is kept about one person: all of it for them, or none of it any more."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, delete, select, update

from preceptor.store import chain, participants, people, rounds
from preceptor.store.tables import event, participant, person, round_


def export(connection: Connection, who: str) -> dict[str, Any]:
    """Everything that is kept about somebody: person, rounds, events.

    Of a participant of a study also where they are and what they said at steps that are no rounds.
    Whoever has no arm yet is no person.
    """
    row = connection.execute(select(participant).where(participant.c.id == who)).first()
    taking_part = None if row is None else dict(row._mapping)
    found = people.look_up(connection, who) if row is not None else people.find(connection, who)
    rows = connection.execute(select(event).where(event.c.subject == who).order_by(event.c.seq))
    events = [
        {"seq": row.seq, "at": row.at, "kind": row.kind, "payload": json.loads(row.payload)}
        for row in rows
    ]
    return {
        "person": None if found is None else asdict(found),
        "participant": taking_part,
        "said": [asdict(each) for each in participants.answers_of(connection, who)],
        "rounds": [asdict(each) for each in rounds.all_of(connection, who)],
        "events": events,
    }


def erase(connection: Connection, who: str) -> None:
    """Forget somebody; the chain of events stays whole, with nothing about them in it."""
    own = connection.execute(select(participant.c.id).where(participant.c.id == who)).first()
    if own is None:
        people.find(connection, who, to_change=True)
    else:
        participants.forget(connection, who)
    connection.execute(delete(round_).where(round_.c.person == who))
    connection.execute(delete(person).where(person.c.id == who))
    nothing = {"subject": None, "salt": None, "payload": None}
    connection.execute(update(event).where(event.c.subject == who).values(nothing))
    chain.append(connection, "erased", None, {})
