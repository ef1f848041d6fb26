"""Jobs: work that takes longer than a request, done by the service that was asked for it.

A job's id is the hash of what is asked, so the same words give the same job. It says by when it
has ended, whatever happens: one that has not was lost with its service. It counts as failed from
then on, and whoever asks for it again gets it done.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, case, delete, func, insert, select, update

from preceptor.store import chain
from preceptor.store.clock import later, now
from preceptor.store.refusals import NotThere
from preceptor.store.tables import job

LIVE = ("queued", "running")
STATES = (*LIVE, "done", "failed")
_LOST = "was lost with the service that worked on it; ask for it again"


@dataclass(frozen=True)
class Job:
    """A row of the table."""

    id: str
    kind: str
    person: str | None
    args: dict[str, Any]
    state: str
    ends_by: str
    result: dict[str, Any] | None
    error: str | None
    created: str
    finished: str | None

    @property
    def is_live(self) -> bool:
        """Whether it is still to be done."""
        return self.state in LIVE


def id_of(kind: str, args: dict[str, Any]) -> str:
    """The same work has the same id."""
    return hashlib.sha256(json.dumps([kind, args], sort_keys=True).encode()).hexdigest()[:32]


def by_state(connection: Connection) -> dict[str, int]:
    """How many jobs there are in each state."""
    state = case((_is_lost(), "failed"), else_=job.c.state).label("counted")
    rows = connection.execute(select(state, func.count()).group_by("counted"))
    return dict.fromkeys(STATES, 0) | {state: int(count) for state, count in rows}


def waiting(connection: Connection) -> int:
    """How many jobs wait for their turn."""
    waits = (job.c.state == "queued") & (job.c.ends_by >= now())
    asked = select(func.count()).select_from(job).where(waits)
    return int(connection.execute(asked).scalar_one())


def look_up(connection: Connection, id: str) -> Job | None:
    """The job of that id, if it is there."""
    row = connection.execute(select(job).where(job.c.id == id)).first()
    return None if row is None else _read(row)


def find(connection: Connection, id: str) -> Job:
    """The job of that id."""
    found = look_up(connection, id)
    if found is None:
        raise NotThere(f"job: {id!r} is not known")
    return found


def live_of(connection: Connection, who: str) -> Job | None:
    """The job that is under way for somebody."""
    row = connection.execute(select(job).where(job.c.person == who, job.c.state.in_(LIVE))).first()
    found = None if row is None else _read(row)
    return found if found is not None and found.is_live else None


def enqueue(
    connection: Connection,
    kind: str,
    args: dict[str, Any],
    person: str | None = None,
    *,
    seconds: float,
) -> tuple[Job, bool]:
    """Ask for work that has ended in so many seconds, and say whether it is new.

    Work that was asked for before stays as it is, unless it failed.
    """
    _end_lost(connection)
    made = Job(
        id=id_of(kind, args),
        kind=kind,
        person=person,
        args=args,
        state="queued",
        ends_by=later(seconds),
        result=None,
        error=None,
        created=now(),
        finished=None,
    )
    there = look_up(connection, made.id)
    if there is not None and there.state != "failed":
        return there, False
    connection.execute(delete(job).where(job.c.id == made.id))
    connection.execute(insert(job).values(vars(made)))
    chain.append(connection, "job queued", person, {"job": made.id, "kind": kind})
    return made, True


def begin(connection: Connection, id: str, seconds: float) -> bool:
    """Say that a job is being worked on, for at most so long; False if it is no longer wanted."""
    waits = update(job).where(job.c.id == id, job.c.state == "queued")
    fields = {"state": "running", "ends_by": later(seconds)}
    return connection.execute(waits.values(fields)).rowcount == 1


def finish(
    connection: Connection,
    id: str,
    *,
    result: dict[str, Any] | None = None,
    error: str | None = None,
) -> bool:
    """Done, or failed with a sentence; False if it is gone or has ended."""
    row = connection.execute(select(job).where(job.c.id == id, job.c.state.in_(LIVE))).first()
    if row is None:
        return False
    _end(connection, row, "failed" if error else "done", result, error)
    return True


def _end_lost(connection: Connection) -> None:
    """Write down that jobs have failed whose time is over."""
    for row in connection.execute(select(job).where(_is_lost())).all():
        _end(connection, row, "failed", None, _LOST)


def _is_lost() -> ColumnElement[bool]:
    return job.c.state.in_(LIVE) & (job.c.ends_by < now())


def _read(row: Row[Any]) -> Job:
    """A row of the table; one whose time is over has failed."""
    found = Job(**row._mapping)
    if found.is_live and found.ends_by < now():
        return replace(found, state="failed", error=_LOST)
    return found


def _end(
    connection: Connection,
    row: Row[Any],
    state: str,
    result: dict[str, Any] | None,
    error: str | None,
) -> None:
    fields = {"state": state, "result": result, "error": error, "finished": now()}
    connection.execute(update(job).where(job.c.id == row.id), fields)
    chain.append(connection, f"job {state}", row.person, {"job": row.id})
