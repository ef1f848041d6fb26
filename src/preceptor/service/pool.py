"""Processes beside the service that plan, one task at a time each.

Planning takes seconds and all of a core, so it never runs where requests are answered. A process
is started when there is something to do and stays. Tasks and answers are lines of JSON through its
pipes; when the service dies, however that may be, the pipe closes and the process ends itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import zlib
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from preceptor.errors import InvalidInput, PreceptorError

# Seconds that a process may take to begin or for a task; one that takes longer is ended.
LONGEST = 300.0


class WorkerDied(PreceptorError):
    """The process ended in the middle of a task."""


class TookTooLong(PreceptorError):
    """The process was ended because its task took too long."""


class Unwanted(PreceptorError):
    """Whoever asked has gone before it was their turn."""


class Pool:
    """Processes that do one task at a time each; they are started when they are needed.

    Parameters
    ----------
    size
        How many there are at most.
    module
        What they do: its `TASKS` are functions by name, plain data in, plain data out.
    nice
        How far they stand back for other processes of the machine.
    """

    def __init__(self, size: int, module: str = "preceptor.service.tutors", nice: int = 5) -> None:
        self._workers = [_Worker(module, nice) for _ in range(size)]
        self._idle = list(self._workers)
        self._places = asyncio.Semaphore(size)
        self.waiting = 0

    async def ask(
        self,
        task: str,
        args: Mapping[str, Any],
        seconds: float = LONGEST,
        *,
        who: str | None = None,
        is_wanted: Callable[[], Awaitable[bool]] | None = None,
    ) -> dict[str, Any]:
        """Have a task done as soon as a process is idle.

        Whoever is cancelled in the middle of a task ends its process.

        Parameters
        ----------
        task
            Its name.
        args
            Plain data.
        seconds
            How long it may take, once its turn has come.
        who
            The person it is about: they get the same process again if it is idle, because it
            knows their tutor.
        is_wanted
            Asked when its turn has come.

        Returns
        -------
        dict
            The task's answer.

        Raises
        ------
        InvalidInput
            The task was refused, a sentence each.
        TookTooLong
            It took longer; the process was ended.
        WorkerDied
            The process ended, killed by somebody or for want of memory.
        Unwanted
            Nobody wanted it any more.
        """
        self.waiting += 1
        try:
            async with self._places:
                if is_wanted is not None and not await is_wanted():
                    raise Unwanted("whoever asked has gone")
                worker = self._preferred(who)
                self._idle.remove(worker)
                try:
                    return await worker.ask(task, args, seconds)
                finally:
                    self._idle.append(worker)
        finally:
            self.waiting -= 1

    def _preferred(self, who: str | None) -> _Worker:
        if who is not None:
            own = self._workers[zlib.crc32(who.encode()) % len(self._workers)]
            if own in self._idle:
                return own
        return next((each for each in self._idle if each.pid is not None), self._idle[0])

    async def tell_all(self, task: str, args: Mapping[str, Any]) -> None:
        """Have every process that has been started do a task; nothing is started for it."""
        started = [each for each in self._workers if each.pid is not None]
        asked = (each.ask(task, args, LONGEST) for each in started)
        await asyncio.gather(*asked, return_exceptions=True)

    @property
    def pids(self) -> list[int]:
        """The processes that have been started."""
        return [each.pid for each in self._workers if each.pid is not None]

    async def end(self) -> None:
        """End all processes, whatever they are doing."""
        for each in self._workers:
            await each.end()


class _Worker:
    """One process, started again whenever it has died."""

    def __init__(self, module: str, nice: int) -> None:
        self._command = ("preceptor.service.worker", module, str(nice))
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def ask(self, task: str, args: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        async with self._turn:
            try:
                process = await self._begun()
                async with asyncio.timeout(seconds):
                    said = await _exchange(process, {"task": task, "args": args})
            except TimeoutError:
                await self.end()
                raise TookTooLong(f"took longer than {seconds:g} seconds") from None
            except BaseException:
                await self.end()
                raise
        if "refused" in said:
            raise InvalidInput(said["refused"])
        answer: dict[str, Any] = said["answer"]
        return answer

    async def _begun(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            # An answer may be long: a page with its pictures is one line.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *self._command, stdin=PIPE, stdout=PIPE, limit=1 << 26
            )
            async with asyncio.timeout(LONGEST):
                await _exchange(self._process, {"task": "ready", "args": {}})
        return self._process

    async def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


async def _exchange(process: Process, said: Mapping[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    line = b""
    with contextlib.suppress(ConnectionError):
        process.stdin.write(json.dumps(said).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
    if not line.endswith(b"\n"):
        raise WorkerDied("the process that worked on it died")
    answer: dict[str, Any] = json.loads(line)
    return answer
