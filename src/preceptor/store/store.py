"""The store: a database that is open, with one who writes and many who read."""

from __future__ import annotations

import asyncio
from typing import Self, TypeVar

from sqlalchemy import Engine, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from preceptor.errors import InvalidFile
from preceptor.store.engines import engines_of, url_of
from preceptor.store.refusals import in_words
from preceptor.store.tables import VERSION, metadata, tables_version
from preceptor.store.writing import Work, Writer

Answer = TypeVar("Answer")


class Store:
    """A database that is open.

    Work is a function of a connection; it reads and writes by the functions of this package, and
    nothing it writes is there before all of it is. `write` and `read` wait for their answer;
    `writing` and `reading` are the same for whoever must not block.

    Parameters
    ----------
    database
        A path, `sqlite:///path`, or `postgresql://user@host/name`.
    creates
        Whether the tables are created where there are none, and those of another version refused.

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
                _create_tables(self.engines.writing)
        except BaseException:
            self._dispose()
            raise
        self._writer = Writer(self.engines.writing)

    def write(self, work: Work[Answer]) -> Answer:
        """Do this in a transaction that may write, and wait until it is on the disk."""
        return self._writer.submit(work).result()

    async def writing(self, work: Work[Answer]) -> Answer:
        """The same without blocking."""
        return await asyncio.wrap_future(self._writer.submit(work))

    def read(self, work: Work[Answer]) -> Answer:
        """Do this in a transaction that sees one moment and cannot write."""
        try:
            with self.engines.reading.connect() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise in_words(error) from error

    async def reading(self, work: Work[Answer]) -> Answer:
        """The same without blocking."""
        return await asyncio.to_thread(self.read, work)

    def close(self) -> None:
        """Finish what is waiting and let go of the database."""
        self._writer.close()
        self._dispose()

    def _dispose(self) -> None:
        for engine in self.engines:
            engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _create_tables(engine: Engine) -> None:
    """Create the tables of an empty database, and refuse a database of another version.

    All of it is one transaction that excludes other writers: a process that starts at the same time
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
        raise in_words(error) from error
    if found != VERSION:
        said = "has no version" if found is None else f"is of version {found}"
        raise InvalidFile(
            f"database: {said}, this program needs version {VERSION}; start a new database, or "
            "open this one with the version of preceptor that made it"
        )
