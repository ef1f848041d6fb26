"""The one who writes: a thread that commits what is waiting together.

Waiting for the disk is what a small transaction spends its time on. So whatever has arrived while
the last commit was on its way shares the next one. Each piece of work has a savepoint of its own,
so that one that is refused takes nothing else with it, and nobody is answered before the commit is
done. A piece of work may be run again and must be nothing but reads and writes of its connection.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from preceptor.store.refusals import StoreFailure, in_words

Answer = TypeVar("Answer")
Work = Callable[[Connection], Answer]
_Item = tuple[Work[Any], "Future[Any]"]

# Pieces of work that share a commit: more would only make the first of them wait.
_MOST = 64


class Writer:
    """Takes work from any thread and does it, in the order in which it came.

    Parameters
    ----------
    engine
        Whose transactions may write.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="preceptor-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[Answer]) -> Future[Answer]:
        """Do this soon; the future has the answer once it is on the disk."""
        future: Future[Answer] = Future()
        with self._closing:
            if self._closed:
                raise StoreFailure("database: this process is shutting down")
            self._waiting.put((work, future))
        return future

    def close(self) -> None:
        """Finish what is waiting, then stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        going_on = True
        while going_on:
            batch, going_on = self._next_batch()
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
        """One transaction; False if the database failed on one of several, which undoes them all.

        If it cannot even begin, all are told at once: alone, each would wait as long as this did.
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
                said = in_words(error)
            answers = [(None, said)] * len(batch)
        for (_, future), (answer, refused) in zip(batch, answers, strict=True):
            _resolve(future, answer, refused)
        return True


def _done(connection: Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    """What a piece of work answers, or why it was refused, which leaves nothing of it."""
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
    """Tell whoever waits; somebody who has gone away hears nothing."""
    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
