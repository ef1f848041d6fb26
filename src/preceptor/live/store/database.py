"""The store: an open database with one thread that writes and several connections that read.

SQLite is used in a file by default, Postgres by its address. SQLite uses a write-ahead log (WAL)
and waits for the disk before it reports a commit (synchronous FULL): what was acknowledged survives
a power cut. Every writing transaction begins IMMEDIATE: one that begins by reading and then writes
fails at once if another writer was faster, however long it waits.

A small transaction spends its time waiting for the disk, so all work that arrives during one commit
shares the next. Each piece of work has its own savepoint: one that is refused does not undo the
others, and no caller is answered before the commit is done. Work may be run again, so it must do
nothing but read and write through its connection.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from preceptor.errors import InvalidFile, InvalidInput, MissingExtra
from preceptor.live.store.tables import (
    VERSION,
    StoreFailure,
    explain_failure,
    metadata,
    tables_version,
)

# Seconds that one process waits for another that writes, and that a call waits for a tutor.
PATIENCE = 10.0
# Mode of files with answers of people: their owner may read and write.
PRIVATE = 0o600


class Engines(NamedTuple):
    """Two engines for one database: one connection that writes, several that read."""

    writing: Engine
    reading: Engine


def url_of(database: str) -> URL:
    """Parse the address of a database; a plain path is a SQLite file.

    Parameters
    ----------
    database
        A path, `sqlite:///path`, or `postgresql://user@host/name`.

    Returns
    -------
    sqlalchemy.engine.URL
        With the driver filled in.

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
    shown = database.split("@")[-1]  # keep passwords out of messages
    return InvalidInput(
        f"database: {shown!r}, must be the path of a file or postgresql://user@host/name"
    )


def engines_of(url: URL) -> Engines:
    """Make engines for an address from `url_of`; nothing connects yet."""
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
    """Allow one writer at a time, as BEGIN IMMEDIATE does, so the event chain has one end."""
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('preceptor'))")


def _sqlite(url: URL, *, writes: bool) -> Engine:
    # Statements are prepared once and kept, so a hundred of them is plenty.
    arguments = {"timeout": PATIENCE, "check_same_thread": False, "cached_statements": 256}
    size = {"pool_size": 1, "max_overflow": 0} if writes else {"pool_size": 8}
    engine = create_engine(url, connect_args=arguments, **size)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy begins transactions
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


Answer = TypeVar("Answer")
Work = Callable[[Connection], Answer]
_Item = tuple[Work[Any], "Future[Any]"]

# Largest batch; with more, the first piece of work would wait too long.
_MOST = 64


class Writer:
    """Takes work from any thread and runs it in the order of arrival.

    Parameters
    ----------
    engine
        For transactions that may write.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="preceptor-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[Answer]) -> Future[Answer]:
        """Queue work; the future has its result once it is on the disk."""
        future: Future[Answer] = Future()
        with self._closing:
            if self._closed:
                raise StoreFailure("database: this process is shutting down")
            self._waiting.put((work, future))
        return future

    def close(self) -> None:
        """Finish pending work, then stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch, is_open = self._next_batch()
            if not self._commit(batch):
                for item in batch:
                    self._commit([item])

    def _next_batch(self) -> tuple[list[_Item], bool]:
        batch: list[_Item] = []
        item = self._waiting.get()
        while item is not None:
            batch.append(item)
            if len(batch) == _MOST or self._waiting.empty():
                return batch, True
            item = self._waiting.get()
        return batch, False

    def _commit(self, batch: list[_Item]) -> bool:
        """Commit a batch; False if the database failed on one of several, which undoes them all.

        If the transaction cannot begin, all fail at once: alone, each would wait as long as this.
        """
        answers: list[tuple[Any, BaseException | None]] = []
        begun = False
        try:
            with self._engine.begin() as connection:
                begun = True
                answers = [_done(connection, work) for work, _ in batch]
        except Exception as error:
            if begun and len(batch) > 1:
                return False
            said: Exception = error
            if isinstance(error, SQLAlchemyError) and not isinstance(error, IntegrityError):
                said = explain_failure(error)
            answers = [(None, said)] * len(batch)
        for (_, future), (answer, refused) in zip(batch, answers, strict=True):
            _resolve(future, answer, refused)
        return True


def _done(connection: Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    """Result of a piece of work, or the error that undid it."""
    connection.exec_driver_sql("SAVEPOINT piece")
    answer, refused = None, None
    try:
        answer = work(connection)
    except SQLAlchemyError:
        raise
    except Exception as error:
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT piece")
        refused = error
    connection.exec_driver_sql("RELEASE SAVEPOINT piece")
    return answer, refused


def _resolve(future: Future[Any], answer: Any, error: BaseException | None) -> None:
    """Complete a future, unless its caller has cancelled it."""
    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)


class Store:
    """An open database.

    Work is a function of a connection that calls the functions of this package; all of its writes
    are committed together. `write` and `read` block until done; `writing` and `reading` are the
    asynchronous forms.

    Parameters
    ----------
    database
        A path, `sqlite:///path`, or `postgresql://user@host/name`.
    creates
        Whether to create missing tables and refuse tables of another version.

    Raises
    ------
    InvalidInput
        Another kind of database, or one of another version.
    StoreFailure
        It cannot be opened.
    """

    def __init__(self, database: str, *, creates: bool = True) -> None:
        self.url = url_of(database)
        self.engines = engines_of(self.url)
        try:
            if creates:
                _create_file(self.url)
                _create_tables(self.engines.writing)
        except BaseException:
            self._dispose()
            raise
        self._writer = Writer(self.engines.writing)

    def write(self, work: Work[Answer]) -> Answer:
        """Run work in a transaction that may write; return once it is on the disk."""
        return self._writer.submit(work).result()

    async def writing(self, work: Work[Answer]) -> Answer:
        """`write` without blocking."""
        return await asyncio.wrap_future(self._writer.submit(work))

    def read(self, work: Work[Answer]) -> Answer:
        """Run work in a read-only transaction that sees one moment."""
        try:
            with self.engines.reading.connect() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise explain_failure(error) from error

    async def reading(self, work: Work[Answer]) -> Answer:
        """`read` without blocking."""
        return await asyncio.to_thread(self.read, work)

    def close(self) -> None:
        """Finish pending work and close the database."""
        self._writer.close()
        self._dispose()

    def _dispose(self) -> None:
        for engine in self.engines:
            engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _create_file(url: URL) -> None:
    """Create the file of a SQLite database for its owner only; SQLite's files next to it follow."""
    if url.get_backend_name() == "sqlite":
        with suppress(OSError):  # SQLite says what is wrong
            Path(url.database or "").touch(PRIVATE)


def _create_tables(engine: Engine) -> None:
    """Create the tables of an empty database, and refuse a database of another version.

    This is one transaction that excludes other writers: a process that starts at the same time
    waits, and then finds the tables.
    """
    try:
        with engine.begin() as connection:
            present = metadata.tables.keys() & set(inspect(connection).get_table_names())
            if not present:
                metadata.create_all(connection)
                connection.execute(insert(tables_version).values(version=VERSION))
                return
            found = None
            if tables_version.name in present:
                found = connection.execute(select(tables_version.c.version)).scalar()
    except SQLAlchemyError as error:
        raise explain_failure(error) from error
    if found != VERSION:
        said = "has no version" if found is None else f"is of version {found}"
        raise InvalidFile(
            f"database: {said}, this program needs version {VERSION}; start a new database, or "
            "open this one with the version of preceptor that made it"
        )


def back_up(url: URL, path: Path) -> int:
    """Write a copy of a SQLite database while it is in use; return its size in bytes.

    It is one consistent moment. SQLite writes the copy itself; copying the file would miss changes
    that are still in its write-ahead log. Postgres has its own program, pg_dump.

    Parameters
    ----------
    url
        Address of the database, from `url_of`.
    path
        A file that does not exist yet. The whole copy is there and was read back, or nothing is.

    Raises
    ------
    InvalidInput
        The file exists, or the database is not SQLite.
    StoreFailure
        The database cannot be read, or the copy cannot be written.
    """
    if url.get_backend_name() != "sqlite":
        shown = url.set(drivername="postgresql", password=None).render_as_string()
        raise InvalidInput(
            "backup: this database is Postgres, which has its own program; run\n"
            f"  pg_dump --format=custom --file={path} '{shown}'"
        )
    if path.exists():
        raise _in_the_way(path)
    if not path.parent.is_dir():
        raise InvalidInput(f"backup: the folder {path.parent} does not exist; create it first")
    source = Path(url.database or "")
    if not source.exists():
        raise InvalidInput(f"database: {source} does not exist")
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
            copy = Path(folder) / "copy.db"
            copy.touch(PRIVATE)
            address = f"{source.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as there:
                there.execute("VACUUM INTO ?", [str(copy)])
            with closing(sqlite3.connect(copy)) as written:
                found = written.execute("PRAGMA integrity_check").fetchone()[0]
            if found != "ok":
                raise StoreFailure(f"backup: the copy is damaged ({found}), and so is the database")
            with copy.open("rb") as file:
                os.fsync(file.fileno())
            os.link(copy, path)  # unlike a rename, fails if the name is taken
    except FileExistsError:
        raise _in_the_way(path) from None
    except (OSError, sqlite3.Error) as error:
        raise StoreFailure(f"backup: {error}; nothing was written") from error
    return path.stat().st_size


def _in_the_way(path: Path) -> InvalidInput:
    return InvalidInput(f"backup: {path} exists already; choose another name")
