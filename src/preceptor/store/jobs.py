"""Jobs: work that takes longer than a request, taken up by whoever is free.

A job's id is the hash of what is asked, so the same words give the same job. A worker takes a job
for a while (its lease) and says now and then that it is still at it. One that died says nothing,
its lease runs out, and the job is taken up again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from preceptor.store import chain
from preceptor.store.clock import later, now
from preceptor.store.refusals import NotThere
from preceptor.store.tables import job

LIVE = ("queued", "running")
STATES = (*LIVE, "done", "failed")
# A job that took so many workers with it is not tried again.
MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Job:
    """A row of the table."""

    id: str
    kind: str
    person: str | None
    args: dict[str, Any]
    state: str
    attempts: int
    worker: str | None
    lease_until: str | None
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
    rows = connection.execute(select(job.c.state, func.count()).group_by(job.c.state))
    return dict.fromkeys(STATES, 0) | {state: int(count) for state, count in rows}


def waiting(connection: Connection) -> int:
    """How many jobs nobody has taken up yet."""
    asked = select(func.count()).select_from(job).where(job.c.state == "queued")
    return int(connection.execute(asked).scalar_one())


def look_up(connection: Connection, id: str) -> Job | None:
    """The job of that id, if it is there."""
    row = connection.execute(select(job).where(job.c.id == id)).first()
    return None if row is None else Job(**row._mapping)


def find(connection: Connection, id: str) -> Job:
    """The job of that id."""
    found = look_up(connection, id)
    if found is None:
        raise NotThere(f"job: {id!r} is not known")
    return found


def live_of(connection: Connection, who: str) -> Job | None:
    """The job that is under way for somebody."""
    row = connection.execute(select(job).where(job.c.person == who, job.c.state.in_(LIVE))).first()
    return None if row is None else Job(**row._mapping)


def enqueue(
    connection: Connection, kind: str, args: dict[str, Any], person: str | None = None
) -> Job:
    """Ask for work; work that was asked for before stays as it is, unless it failed."""
    made = Job(
        id=id_of(kind, args),
        kind=kind,
        person=person,
        args=args,
        state="queued",
        attempts=0,
        worker=None,
        lease_until=None,
        result=None,
        error=None,
        created=now(),
        finished=None,
    )
    there = look_up(connection, made.id)
    if there is not None and there.state != "failed":
        return there
    connection.execute(delete(job).where(job.c.id == made.id))
    connection.execute(insert(job).values(vars(made)))
    chain.append(connection, "job queued", person, {"job": made.id, "kind": kind})
    return made


def is_left(connection: Connection) -> bool:
    """Whether there is a job that nobody works on."""
    return connection.execute(_left().limit(1)).first() is not None


def take(connection: Connection, worker: str, seconds: float) -> Job | None:
    """Take up the oldest job that nobody works on; None if there is none."""
    for row in connection.execute(_left().limit(8)).all():
        found = Job(**row._mapping)
        if found.attempts >= MOST_ATTEMPTS:
            _end(connection, found, "failed", None, "its workers died; it is not tried again")
            continue
        fields = {
            "state": "running",
            "worker": worker,
            "attempts": found.attempts + 1,
            "lease_until": later(seconds),
        }
        connection.execute(update(job).where(job.c.id == found.id), fields)
        return Job(**{**row._mapping, **fields})
    return None


def prolong(connection: Connection, id: str, worker: str, seconds: float) -> bool:
    """Still at it; False if another worker has taken the job up, or nobody wants it any more."""
    return _own(connection, id, worker, {"lease_until": later(seconds)})


def give_back(connection: Connection, id: str, worker: str, *, tried: bool) -> bool:
    """Let somebody else do it; `tried` if it took a worker with it, which is not done for ever."""
    attempts = job.c.attempts if tried else job.c.attempts - 1
    fields = {"state": "queued", "worker": None, "lease_until": None, "attempts": attempts}
    return _own(connection, id, worker, fields)


def finish(
    connection: Connection,
    id: str,
    worker: str,
    *,
    result: dict[str, Any] | None = None,
    error: str | None = None,
) -> bool:
    """Done, or failed with a sentence; False if it is no longer this worker's."""
    found = look_up(connection, id)
    if found is None or found.worker != worker or found.state != "running":
        return False
    _end(connection, found, "failed" if error else "done", result, error)
    return True


def _left() -> Any:
    left = (job.c.state == "running") & (job.c.lease_until < now())
    return select(job).where(or_(job.c.state == "queued", left)).order_by(job.c.created)


def _own(connection: Connection, id: str, worker: str, fields: dict[str, Any]) -> bool:
    own = update(job).where(job.c.id == id, job.c.worker == worker, job.c.state == "running")
    return connection.execute(own.values(fields)).rowcount == 1


def _end(
    connection: Connection, found: Job, state: str, result: dict[str, Any] | None, error: str | None
) -> None:
    fields = {"state": state, "result": result, "error": error, "finished": now()}
    connection.execute(update(job).where(job.c.id == found.id), fields)
    chain.append(connection, f"job {state}", found.person, {"job": found.id})
