"""What the endpoints share: the store, plans and tutors in memory, and threads that may think."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request

from preceptor.service.advising import Advising
from preceptor.service.book import Book
from preceptor.service.limits import Buckets
from preceptor.service.metrics import Metrics
from preceptor.service.planner import Planner
from preceptor.service.pool import Pool
from preceptor.service.settings import Settings
from preceptor.service.tokens_known import KnownTokens
from preceptor.service.tutors import Tutors
from preceptor.store import Store

Answer = TypeVar("Answer")

# Threads that work out recommendations which take longer than a look-up.
_THINKERS = 2


class Live:
    """One service at work.

    Parameters
    ----------
    settings
        How it runs.
    store
        Its database, open.
    """

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        self.book, self.tutors = Book(), Tutors()
        self.metrics = Metrics()
        self.buckets = Buckets(settings.rate, settings.burst)
        self.tokens = KnownTokens(store)
        self.pool = Pool(settings.job_workers + 1)
        self.advising = Advising(settings, self.pool)
        self.planner = Planner(store, settings, self.book, self.pool)
        self.ready = False
        self._asides: set[asyncio.Task[None]] = set()
        self._thinkers = ThreadPoolExecutor(_THINKERS, thread_name_prefix="preceptor-thinker")

    async def thinking(self, work: Callable[[], Answer]) -> Answer:
        """Work out something that takes a while, beside the requests."""
        return await asyncio.get_running_loop().run_in_executor(self._thinkers, work)

    def aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that no caller waits for."""
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    async def close(self) -> None:
        """End jobs, finish what is under way, and let go of the database."""
        for task in self._asides:
            task.cancel()
        await asyncio.gather(*self._asides, return_exceptions=True)
        await self.planner.stop()
        await self.advising.stop()
        await self.pool.end()
        self._thinkers.shutdown()
        self.store.close()


def live_of(request: Request) -> Live:
    """The service that answers this request."""
    live: Live = request.app.state.live
    return live
