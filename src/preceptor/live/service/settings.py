"""What the parts of a service share: its options, and a cache of recently used values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from preceptor.live.store.database import PATIENCE


@dataclass(frozen=True)
class Settings:
    """Options of one service.

    Attributes
    ----------
    database
        A path, or the URL of a Postgres database.
    plan
        Hash of the default plan; None if each enrolment must name one.
    rate
        Sustained calls per second of a token; 0 for no limit.
    burst
        Calls of a token at once.
    body_limit
        Bytes of an ordinary body, at most.
    upload_limit
        Bytes of a plan or a list of cases, at most.
    loopback
        Whether it listens on this machine only.
    trusts_loopback
        Whether programs on this machine need no token while none exists. Behind a proxy every
        call seems to come from this machine.
    public_url
        Where browsers find the service, such as "https://study.example.org"; None if they call it
        directly.
    owner_secret
        Signs the owner in, once; empty for an admin token only.
    planners
        Worker processes in which tutors plan.
    patience
        Seconds that opening a round waits for a tutor.
    explorer
        Who may use the explorer without a token: "everybody", callers on this machine ("here"), or
        "nobody".
    """

    database: str
    plan: str | None = None
    rate: float = 200.0
    burst: int = 400
    body_limit: int = 65_536
    upload_limit: int = 16_777_216
    loopback: bool = True
    trusts_loopback: bool = False
    public_url: str | None = None
    owner_secret: str = ""
    planners: int = 2
    patience: float = PATIENCE
    explorer: str = "here"


Key = TypeVar("Key")
Value = TypeVar("Value")

# Entries per cache, more than a training course has people; evicted values are read or computed
# again.
MOST = 512


class Recent(Generic[Key, Value]):
    """Values by key, shared by threads; the least recently used is evicted.

    Examples
    --------
    >>> recent = Recent()
    >>> recent.put("ann", 1)
    >>> recent.get("ann"), recent.get("bob")
    (1, None)
    """

    def __init__(self) -> None:
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Store a value."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > MOST:
                self._values.popitem(last=False)

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Drop all keys for which `is_gone` holds."""
        with self._lock:
            for key in [key for key in self._values if is_gone(key)]:
                del self._values[key]

    def values(self) -> list[Value]:
        """All values."""
        with self._lock:
            return list(self._values.values())
