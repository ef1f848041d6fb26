"""Jobs get done: each desk takes one from the store, says now and then that it is at it, ends it.

Any number of services may share a store. A desk that dies has its job given back at once; with a
service that dies the lease runs out, and whoever looks next takes the job up again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from typing import Any

from sqlalchemy import Connection

from preceptor.errors import InvalidInput
from preceptor.service.book import Book
from preceptor.service.desk import Desk, TookTooLong, WorkerDied
from preceptor.service.errands import ERRANDS, Sent
from preceptor.service.settings import Settings
from preceptor.store import Store, jobs
from preceptor.store.jobs import Job
from preceptor.store.refusals import NotThere

_LOG = logging.getLogger("preceptor.service")
# Seconds after which a desk without work looks again: other services put jobs into the store, too.
_LOOK = 1.0


class _Lost(Exception):
    """Somebody else has taken the job up, or nobody wants it any more."""


class Foreman:
    """Has the jobs of a store done at a few desks.

    Parameters
    ----------
    store
        Where jobs wait.
    settings
        How many desks there are, how long a lease is, and what a job may take.
    book
        Plans in memory.
    """

    def __init__(self, store: Store, settings: Settings, book: Book) -> None:
        self._store, self._settings, self._book = store, settings, book
        self._desks = [Desk() for _ in range(settings.job_workers)]
        self._tasks: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()

    def start(self) -> None:
        """Begin to take jobs up."""
        self._tasks = [asyncio.create_task(self._work(desk)) for desk in self._desks]

    def wake(self) -> None:
        """There is something to do."""
        self._news.set()

    @property
    def pids(self) -> list[int]:
        """The processes that are there at the moment."""
        return [desk.pid for desk in self._desks if desk.pid is not None]

    async def stop(self) -> None:
        """End all desks; what they were at is given back, as if it had not been tried."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, desk: Desk) -> None:
        worker = secrets.token_hex(8)
        try:
            while True:
                job = None
                try:
                    job = await self._next(worker)
                    if job is not None:
                        await self._do(desk, worker, job)
                except Exception:
                    # The lease runs out, and the job is taken up again.
                    _LOG.exception("a job could not be worked on")
                    job = None
                if job is None:
                    self._news.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._news.wait(), _LOOK)
        finally:
            await desk.end()

    async def _next(self, worker: str) -> Job | None:
        """The next job, if there is one; looking costs nobody who writes a turn."""
        if not await self._store.reading(jobs.is_left):
            return None
        lease = self._settings.job_lease
        return await self._store.writing(lambda connection: jobs.take(connection, worker, lease))

    async def _do(self, desk: Desk, worker: str, job: Job) -> None:
        """One job from beginning to end, whatever happens."""
        errand = ERRANDS[job.kind]
        try:
            sent = await self._store.reading(lambda c: errand.sent(c, self._book, job))
            answer = await self._at_desk(desk, worker, job, sent)

            def keep(connection: Connection) -> None:
                result = errand.kept(connection, self._book, job, sent, answer)
                if not jobs.finish(connection, job.id, worker, result=result):
                    raise _Lost

            await self._store.writing(keep)
            _say(job, "done")
        except asyncio.CancelledError:
            try:
                await self._give_back(worker, job, tried=False)
            except Exception:  # then the lease runs out
                _LOG.exception("a job could not be given back")
            raise
        except WorkerDied:
            await self._give_back(worker, job, tried=True)
        except (InvalidInput, TookTooLong) as refused:
            await self._fail(worker, job, str(refused))
        except (_Lost, NotThere):
            _say(job, "lost")

    async def _at_desk(self, desk: Desk, worker: str, job: Job, sent: Sent) -> dict[str, Any]:
        """The desk's answer; the lease is prolonged until it is there."""
        lease = self._settings.job_lease
        cap = float(job.args["time_limit"]) + self._settings.job_grace
        args = {name: value for name, value in sent.items() if name != "since"}
        asked = asyncio.create_task(desk.ask(ERRANDS[job.kind].task, args, cap))
        try:
            while not (await asyncio.wait({asked}, timeout=lease / 3.0))[0]:
                still = await self._store.writing(
                    lambda connection: jobs.prolong(connection, job.id, worker, lease)
                )
                if not still:
                    raise _Lost
            return asked.result()
        finally:
            asked.cancel()
            await asyncio.wait({asked})

    async def _give_back(self, worker: str, job: Job, *, tried: bool) -> None:
        await self._store.writing(lambda c: jobs.give_back(c, job.id, worker, tried=tried))
        _say(job, "worker died" if tried else "given back")

    async def _fail(self, worker: str, job: Job, error: str) -> None:
        await self._store.writing(lambda c: jobs.finish(c, job.id, worker, error=error))
        _say(job, "failed")


def _say(job: Job, event: str) -> None:
    _LOG.info({"event": f"job {event}", "job": job.id, "kind": job.kind})
