"""Jobs: work that takes longer than a request, taken up by whoever is free.

A worker takes a job for a while (its lease) and says now and then that it is still at it. One that
died says nothing, its lease runs out, and the job is taken up again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, or_, select, update

from preceptor.store import chain
from preceptor.store.clock import later, now
from preceptor.store.refusals import NotThere
from preceptor.store.tables import job

LIVE = ("queued", "running")
# A job that took so many workers with it is not tried again.
MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Job:
    """A row of the table."""

    id: str
    kind: str
    person: str | None
    key: str
    args: dict[str, Any]
    state: str
    attempts: int
    worker: str | None
    lease_until: str | None
    result: dict[str, Any] | None
    error: str | None
    created: str
    finished: str | None


def key_of(kind: str, args: dict[str, Any]) -> str:
    """The same work has the same key."""
    return hashlib.sha256(json.dumps([kind, args], sort_keys=True).encode()).hexdigest()


def waiting(connection: Connection) -> int:
    """How many jobs nobody has taken up yet."""
    asked = select(func.count()).select_from(job).where(job.c.state == "queued")
    return int(connection.execute(asked).scalar_one())


def find(connection: Connection, id: str) -> Job:
    """The job of that id."""
    row = connection.execute(select(job).where(job.c.id == id)).first()
    if row is None:
        raise NotThere(f"job: {id!r} is not known")
    return Job(**row._mapping)


def same(connection: Connection, kind: str, args: dict[str, Any]) -> Job | None:
    """A job that was asked for in the same words and has not failed."""
    asked = select(job).where(job.c.key == key_of(kind, args), job.c.state != "failed")
    row = connection.execute(asked.order_by(job.c.created.desc())).first()
    return None if row is None else Job(**row._mapping)


def live_of(connection: Connection, who: str) -> Job | None:
    """The job that is under way for somebody."""
    row = connection.execute(select(job).where(job.c.person == who, job.c.state.in_(LIVE))).first()
    return None if row is None else Job(**row._mapping)


def enqueue(
    connection: Connection, kind: str, args: dict[str, Any], person: str | None = None
) -> Job:
    """Ask for work."""
    made = Job(
        id=secrets.token_hex(16),
        kind=kind,
        person=person,
        key=key_of(kind, args),
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
    connection.execute(insert(job).values(vars(made)))
    chain.append(connection, "job queued", person, {"job": made.id, "kind": kind})
    return made


def take(connection: Connection, worker: str, seconds: float) -> Job | None:
    """Take up the oldest job that nobody works on; None if there is none."""
    left = (job.c.state == "running") & (job.c.lease_until < now())
    asked = select(job).where(or_(job.c.state == "queued", left)).order_by(job.c.created)
    for row in connection.execute(asked.limit(8)).all():
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
    """Still at it; False if another worker has taken the job up."""
    own = update(job).where(job.c.id == id, job.c.worker == worker, job.c.state == "running")
    return connection.execute(own.values(lease_until=later(seconds))).rowcount == 1


def finish(
    connection: Connection,
    id: str,
    worker: str,
    *,
    result: dict[str, Any] | None = None,
    error: str | None = None,
) -> bool:
    """Done, or failed with a sentence; False if another worker has taken the job up."""
    found = find(connection, id)
    if found.worker != worker or found.state != "running":
        return False
    _end(connection, found, "failed" if error else "done", result, error)
    return True


def _end(
    connection: Connection, found: Job, state: str, result: dict[str, Any] | None, error: str | None
) -> None:
    fields = {"state": state, "result": result, "error": error, "finished": now()}
    connection.execute(update(job).where(job.c.id == found.id), fields)
    chain.append(connection, f"job {state}", found.person, {"job": found.id})
