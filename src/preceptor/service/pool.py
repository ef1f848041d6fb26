"""The processes that plan beside a service, shared by jobs and tutors."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from typing import Any

from preceptor.service.desk import Desk


class Pool:
    """Processes that do one task at a time each; they are started when they are needed.

    Parameters
    ----------
    size
        How many there are at most.
    """

    def __init__(self, size: int) -> None:
        self._workers = [Desk() for _ in range(size)]
        self._idle = list(self._workers)
        self._places = asyncio.Semaphore(size)

    async def ask(
        self, task: str, args: Mapping[str, Any], seconds: float, who: str | None = None
    ) -> dict[str, Any]:
        """Have a task done as soon as a process is idle.

        Parameters
        ----------
        task, args, seconds
            As for `Desk.ask`, which says what may be raised.
        who
            The person it is about: they get the same process again if it is idle, because it
            knows their tutor.

        Returns
        -------
        dict
            The task's answer.
        """
        async with self._places:
            worker = self._preferred(who)
            self._idle.remove(worker)
            try:
                return await worker.ask(task, args, seconds)
            finally:
                self._idle.append(worker)

    def _preferred(self, who: str | None) -> Desk:
        if who is not None:
            own = self._workers[zlib.crc32(who.encode()) % len(self._workers)]
            if own in self._idle:
                return own
        return next((each for each in self._idle if each.pid is not None), self._idle[0])

    async def tell_all(self, task: str, args: Mapping[str, Any], seconds: float) -> None:
        """Have every process that has been started do a task; nothing is started for it."""
        started = [each for each in self._workers if each.pid is not None]
        asked = (each.ask(task, args, seconds) for each in started)
        await asyncio.gather(*asked, return_exceptions=True)

    @property
    def pids(self) -> list[int]:
        """The processes that have been started."""
        return [each.pid for each in self._workers if each.pid is not None]

    async def end(self) -> None:
        """End all processes, whatever they are doing."""
        for each in self._workers:
            await each.end()
