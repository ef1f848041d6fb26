"""What a database says when it cannot write, in the words of this package."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from preceptor.store.refusals import StoreBusy, StoreFailure, StoreFull

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
