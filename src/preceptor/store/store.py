"""The store: a database that is open, with one who writes and many who read."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from preceptor.store.checkpointing import Checkpointer
from preceptor.store.creating import create_tables
from preceptor.store.engines import engines_of, url_of
from preceptor.store.failures import in_words
from preceptor.store.writing import Work, Writer

Answer = TypeVar("Answer")

# Threads that read; SQLite's readers never wait for the one who writes.
_READERS = 4


class Store:
    """A database that is open.

    Work is a function of a connection; it reads and writes by the functions of this room, and
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
                create_tables(self.engines.writing)
        except BaseException:
            self._dispose()
            raise
        self._writer = Writer(self.engines.writing)
        self._checkpointer = Checkpointer(Path(str(self.url.database))) if self.is_sqlite else None
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="preceptor-reader")

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
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.read, work)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of this machine."""
        return self.url.get_backend_name() == "sqlite"

    def close(self) -> None:
        """Finish what is waiting and let go of the database."""
        self._writer.close()
        if self._checkpointer is not None:
            self._checkpointer.close()
        self._readers.shutdown()
        self._dispose()

    def _dispose(self) -> None:
        for engine in self.engines:
            engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
