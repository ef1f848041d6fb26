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

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

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


# By the beginning of SQLite's name of the error.
_SQLITE: dict[str, tuple[type[StoreFailure], str]] = {
    "SQLITE_BUSY": (StoreBusy, "another process is writing to it; try again"),
    "SQLITE_LOCKED": (StoreBusy, "another process is writing to it; try again"),
    "SQLITE_FULL": (StoreFull, "the disk is full; make room and send this again"),
    "SQLITE_READONLY": (StoreFailure, "it may only be read; give this process the right to write"),
    "SQLITE_CORRUPT": (StoreFailure, "its file is damaged; stop, and restore a backup"),
    "SQLITE_NOTADB": (StoreFailure, "its file is not a database of SQLite"),
    "SQLITE_CANTOPEN": (StoreFailure, "its file cannot be opened"),
    "SQLITE_IOERR": (StoreFailure, "its file cannot be read or written"),
}
# By the beginning of Postgres' code (SQLSTATE).
_POSTGRES: dict[str, tuple[type[StoreFailure], str]] = {
    "53100": (StoreFull, "the disk is full; make room and send this again"),
    "40": (StoreBusy, "two transactions were in each other's way; try again"),
    "55P03": (StoreBusy, "another process is writing to it; try again"),
    "25006": (StoreFailure, "it may only be read; connect to the primary server"),
    "57P": (StoreFailure, "it is being shut down"),
    "08": (StoreFailure, "it does not answer"),
}


def in_words(error: SQLAlchemyError) -> StoreFailure:
    """What went wrong; nothing was written."""
    original = getattr(error, "orig", None) if isinstance(error, DBAPIError) else None
    name = str(getattr(original, "sqlite_errorname", "") or "")
    code = str(getattr(original, "sqlstate", "") or "")
    for table, key in ((_SQLITE, name), (_POSTGRES, code)):
        for begins, (kind, sentence) in table.items():
            if key.startswith(begins):
                return kind(f"database: {sentence}")
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return StoreFailure("database: it does not answer")
    return StoreFailure(f"database: {type(original or error).__name__}; nothing was written")
