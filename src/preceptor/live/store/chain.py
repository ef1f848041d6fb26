"""The event log: append-only, each event chained to the one before by a hash.

The chain covers the hash of each payload, not the payload. When a person is erased, the payloads
of their events are emptied and the chain still verifies. Each payload is hashed with its own
salt, which is erased with it: a two-digit answer could otherwise be found by trying all of them.

Times are written in ISO 8601, in UTC, to the microsecond, so that they sort as text. They are for
people to read: the clock of a machine can be set, so order is that of the numbers of events, and
durations come from ticks of a clock that only runs forward.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select

from preceptor.live.store.tables import event


def now() -> str:
    """The current time.

    >>> len(now()), now()[-1]
    (27, 'Z')
    """
    return written(datetime.now(UTC))


def later(seconds: float) -> str:
    """The time this many seconds from now; negative for the past."""
    return written(datetime.now(UTC) + timedelta(seconds=seconds))


def written(moment: datetime) -> str:
    """Format a time that has a time zone."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def seconds_until(moment: str) -> float:
    """Seconds from now until a stored time; negative if it has passed."""
    return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()


def _clock() -> str:
    """Name of the clock of this machine since it was started; it runs on if the service restarts.

    Where the system has no such name, the clock is that of this process.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip().replace("-", "")
    except OSError:
        return secrets.token_hex(16)


_CLOCK = _clock()


def tick() -> str:
    """This moment by a clock that cannot be set: its name, and its nanoseconds."""
    return f"{_CLOCK}:{time.monotonic_ns():x}"


def seconds_between(begin: str, end: str) -> float | None:
    """Seconds from one tick to another; None if they are of different clocks.

    >>> seconds_between("a:0", "a:59682f00"), seconds_between("a:0", "b:59682f00")
    (1.5, None)
    """
    (clock, since), (other, until) = begin.split(":"), end.split(":")
    if clock != other:
        return None
    return round((int(until, 16) - int(since, 16)) / 1e9, 3)


# Stands for the event before the first.
FIRST = "0" * 64
_HEAD = select(event.c.seq, event.c.sha256).order_by(event.c.seq.desc()).limit(1)
_TICK = select(event.c.tick).where(event.c.seq == bindparam("which"))
_APPEND = insert(event)
_ALL = select(event).order_by(event.c.seq).execution_options(yield_per=1000)


def append(
    connection: Connection, kind: str, subject: str | None, payload: Mapping[str, Any]
) -> int:
    """Append an event; return its number, from 1."""
    head = connection.execute(_HEAD).first()
    seq, before = (1, FIRST) if head is None else (head[0] + 1, head[1])
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    salt, at, ticked = secrets.token_hex(16), now(), tick()
    hidden = _hash(salt, subject or "", text)
    row = {
        "seq": seq,
        "at": at,
        "tick": ticked,
        "kind": kind,
        "subject": subject,
        "salt": salt,
        "payload": text,
        "payload_sha256": hidden,
        "prev_sha256": before,
        "sha256": _hash(before, str(seq), at, ticked, kind, hidden),
    }
    connection.execute(_APPEND, row)
    return int(seq)


def seconds_since(connection: Connection, seq: int) -> float | None:
    """Seconds since an event; None if the machine was restarted in between."""
    return seconds_between(connection.execute(_TICK, {"which": seq}).scalar_one(), tick())


def has(connection: Connection, sha256: str) -> bool:
    """Whether an event has this hash; all zeros stand for the start of the chain."""
    found = select(event.c.seq).where(event.c.sha256 == sha256).limit(1)
    return sha256 == FIRST or connection.execute(found).first() is not None


class ChainCheck(NamedTuple):
    """Number of events, hash of the last one, and a sentence for each fault."""

    events: int
    head: str
    faults: tuple[str, ...]


def verify(connection: Connection) -> ChainCheck:
    """Recompute every hash of the chain.

    Keep the last hash elsewhere: it shows later whether events were cut off at the end.
    """
    expected, before, faults = 1, FIRST, []
    for row in connection.execute(_ALL):
        if row.seq != expected:
            faults.append(f"event {expected}: is missing")
        if row.prev_sha256 != before:
            faults.append(f"event {row.seq}: does not follow from the one before")
        own = (str(row.seq), row.at, row.tick, row.kind, row.payload_sha256)
        if row.sha256 != _hash(row.prev_sha256, *own):
            faults.append(f"event {row.seq}: was changed")
        if row.payload is not None and row.payload_sha256 != _hash(
            row.salt, row.subject or "", row.payload
        ):
            faults.append(f"event {row.seq}: its payload was changed")
        expected, before = row.seq + 1, row.sha256
    return ChainCheck(expected - 1, before, tuple(faults))


def _hash(*parts: str) -> str:
    """Hash several strings; lengths are included, so different lists never collide."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()
