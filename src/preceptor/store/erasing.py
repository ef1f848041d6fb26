"""What is kept about one person: all of it for them, or none of it any more."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, delete, select, update

from preceptor.store import chain, people, rounds
from preceptor.store.tables import event, job, person, round_


def export(connection: Connection, who: str) -> dict[str, Any]:
    """Everything that is kept about somebody: the person, their rounds, their events."""
    found = people.find(connection, who)
    rows = connection.execute(select(event).where(event.c.subject == who).order_by(event.c.seq))
    events = [
        {"seq": row.seq, "at": row.at, "kind": row.kind, "payload": json.loads(row.payload)}
        for row in rows
    ]
    return {
        "person": asdict(found),
        "rounds": [asdict(each) for each in rounds.all_of(connection, who)],
        "events": events,
    }


def erase(connection: Connection, who: str) -> None:
    """Forget somebody; the chain of events stays whole, with nothing about them in it."""
    people.find(connection, who, to_change=True)
    connection.execute(delete(job).where(job.c.person == who))
    connection.execute(delete(round_).where(round_.c.person == who))
    connection.execute(delete(person).where(person.c.id == who))
    nothing = {"subject": None, "salt": None, "payload": None}
    connection.execute(update(event).where(event.c.subject == who).values(nothing))
    chain.append(connection, "erased", None, {})
