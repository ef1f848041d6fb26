"""What the endpoints share: the store, plans and tutors in memory, and a pool of processes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from fastapi import Request

from preceptor.service.access import Buckets, KnownTokens
from preceptor.service.advising import Advising
from preceptor.service.guides import Book
from preceptor.service.metrics import Metrics
from preceptor.service.pool import Pool
from preceptor.service.settings import Settings
from preceptor.service.tutors import Tutors
from preceptor.store import Store


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
        self.pool = Pool(settings.planners)
        self.advising = Advising(settings, self.pool)
        self.ready = False
        self._asides: set[asyncio.Task[None]] = set()

    def aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that no caller waits for."""
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    def forget(self, who: str) -> None:
        """Nothing about somebody who was erased stays in memory."""
        self.tutors.forget(who)
        self.advising.forget(who)

    async def close(self) -> None:
        """Finish what is under way, and let go of the database."""
        for task in self._asides:
            task.cancel()
        await asyncio.gather(*self._asides, return_exceptions=True)
        await self.advising.stop()
        await self.pool.end()
        self.store.close()


def live_of(request: Request) -> Live:
    """The service that answers this request."""
    live: Live = request.app.state.live
    return live
