"""Why the store refuses; services turn each into an answer.

PreceptorError
├── NotThere                       nobody and nothing of that name
├── Conflict                       it is there already and says something else
└── StoreFailure                   the database cannot do it now; nothing was written
    ├── StoreBusy                  another process is writing; try again
    └── StoreFull                  no room on the disk
"""

from __future__ import annotations

from typing import Any

from preceptor.errors import PreceptorError


class NotThere(PreceptorError):
    """Nobody and nothing of that name."""


class Conflict(PreceptorError):
    """It is there already and says something else.

    Parameters
    ----------
    message
        What is there, and what to do.
    current
        What is there: a round, say, so that a second tab can draw it.
    """

    def __init__(self, message: str, current: Any = None) -> None:
        super().__init__(message)
        self.current = current


class StoreFailure(PreceptorError):
    """The database cannot do it now; nothing was written."""


class StoreBusy(StoreFailure):
    """Somebody else is writing."""


class StoreFull(StoreFailure):
    """There is no room on the disk."""
