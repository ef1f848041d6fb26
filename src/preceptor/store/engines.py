"""Connections to a database: SQLite in a file by default, Postgres by its address.

SQLite writes ahead (WAL) and waits for the disk before it says that something is written
(synchronous FULL): what was acknowledged survives a power cut. Every writing transaction begins
IMMEDIATE, because one that begins by reading and then writes fails at once when another was
quicker, and no waiting cures that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from preceptor.errors import InvalidInput, MissingExtra

# Seconds that one process waits for another that writes.
_PATIENCE = 10
# Any number will do, as long as nobody else takes it: whoever holds this lock of Postgres writes.
WRITERS = 7_302_118


class Engines(NamedTuple):
    """Two ways into one database: for the one who writes, and for those who read."""

    writing: Engine
    reading: Engine


def url_of(database: str) -> URL:
    """The address of a database; a plain path is a file of SQLite.

    Parameters
    ----------
    database
        A path, `sqlite:///path`, or `postgresql://user@host/name`.

    Returns
    -------
    sqlalchemy.engine.URL
        With the driver that we use.

    Raises
    ------
    InvalidInput
        Another kind of database.
    """
    if "://" not in database:
        return URL.create("sqlite", database=str(Path(database).absolute()))
    try:
        url = make_url(database)
    except ArgumentError:
        raise _unknown(database) from None
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        return url.set(drivername="sqlite")
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise _unknown(database)


def _unknown(database: str) -> InvalidInput:
    shown = database.split("@")[-1]  # a password stays out of messages
    return InvalidInput(
        f"database: {shown!r}, must be the path of a file or postgresql://user@host/name"
    )


def engines_of(url: URL) -> Engines:
    """Engines for an address as `url_of` gives it; nothing is connected yet."""
    if url.get_backend_name() == "sqlite":
        return Engines(_sqlite(url, writes=True), _sqlite(url, writes=False))
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "A Postgres database") from None
    writing = create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True)
    reading = create_engine(url, pool_size=8, pool_pre_ping=True)
    event.listen(writing, "begin", _take_turns)
    return Engines(writing, reading)


def _take_turns(connection: Connection) -> None:
    """As BEGIN IMMEDIATE does: who writes, writes alone, so the chain of events has one end."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS})")


def _sqlite(url: URL, *, writes: bool) -> Engine:
    # Statements are prepared once and kept, so a hundred of them is plenty.
    arguments = {"timeout": _PATIENCE, "check_same_thread": False, "cached_statements": 256}
    size = {"pool_size": 1, "max_overflow": 0} if writes else {"pool_size": 8}
    engine = create_engine(url, connect_args=arguments, **size)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        if not writes:
            cursor.execute("PRAGMA query_only = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
