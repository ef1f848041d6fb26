"""The log of events: append-only, each tied to the one before by a hash.

The chain covers the hash of what happened, not what happened. So when somebody is erased, the
payloads of their events are emptied and the chain still holds. Each payload is hashed with a salt
of its own that is erased with it: an answer of two digits could otherwise be found by trying.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from preceptor.store.clock import now
from preceptor.store.tables import event

# Before the first event.
FIRST = "0" * 64
_HEAD = select(event.c.seq, event.c.sha256).order_by(event.c.seq.desc()).limit(1)
_APPEND = insert(event)
_ALL = select(event).order_by(event.c.seq).execution_options(yield_per=1000)


def append(
    connection: Connection, kind: str, subject: str | None, payload: Mapping[str, Any]
) -> int:
    """Write down that something happened; gives its number, from 1."""
    head = connection.execute(_HEAD).first()
    seq, before = (1, FIRST) if head is None else (head[0] + 1, head[1])
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    salt, at = secrets.token_hex(16), now()
    hidden = _hash(salt, subject or "", text)
    row = {
        "seq": seq,
        "at": at,
        "kind": kind,
        "subject": subject,
        "salt": salt,
        "payload": text,
        "payload_sha256": hidden,
        "prev_sha256": before,
        "sha256": _hash(before, str(seq), at, kind, hidden),
    }
    connection.execute(_APPEND, row)
    return int(seq)


def has(connection: Connection, sha256: str) -> bool:
    """Whether one of the events has this hash; before the first there is one of zeros."""
    found = select(event.c.seq).where(event.c.sha256 == sha256).limit(1)
    return sha256 == FIRST or connection.execute(found).first() is not None


class Verified(NamedTuple):
    """What was found: how many events, the last hash, and what is wrong, a sentence each."""

    events: int
    head: str
    faults: tuple[str, ...]


def verify(connection: Connection) -> Verified:
    """Walk along the whole chain and compare every hash.

    The last hash, kept elsewhere, shows later whether events were cut off at the end.
    """
    expected, before, faults = 1, FIRST, []
    for row in connection.execute(_ALL):
        if row.seq != expected:
            faults.append(f"event {expected}: is missing")
        if row.prev_sha256 != before:
            faults.append(f"event {row.seq}: does not follow from the one before")
        if row.sha256 != _hash(row.prev_sha256, str(row.seq), row.at, row.kind, row.payload_sha256):
            faults.append(f"event {row.seq}: was changed")
        if row.payload is not None and row.payload_sha256 != _hash(
            row.salt, row.subject or "", row.payload
        ):
            faults.append(f"event {row.seq}: its payload was changed")
        expected, before = row.seq + 1, row.sha256
    return Verified(expected - 1, before, tuple(faults))


def _hash(*parts: str) -> str:
    """Parts are told apart by their lengths, so that no two lists of them read the same."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()
