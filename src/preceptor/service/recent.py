"""What a service keeps in memory of what it was asked for last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

# Plans, tutors, advice and callers that are kept in memory, of each. A training course has fewer;
# whatever was forgotten is read or worked out again.
MOST = 512


class Recent(Generic[Key, Value]):
    """Values by key, shared by threads; what was not used for longest makes room.

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
        """What is kept under a key, if anything."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep this from now on."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > MOST:
                self._values.popitem(last=False)

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Keep nothing under these keys any more."""
        with self._lock:
            for key in [key for key in self._values if is_gone(key)]:
                del self._values[key]

    def values(self) -> list[Value]:
        """All that is kept."""
        with self._lock:
            return list(self._values.values())
