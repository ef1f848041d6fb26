"""Worker processes that plan, one task at a time each.

Planning takes seconds and a whole core, so it never runs in the process that answers requests. A
worker is started when it is first needed, and stays. Tasks and results are lines of JSON through
pipes; when the service dies for any reason, the pipe closes and the worker exits.
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

# Seconds that a worker may take to start or to do a task; after that it is killed.
LONGEST = 300.0


class WorkerDied(PreceptorError):
    """The worker died during a task."""


class TookTooLong(PreceptorError):
    """The worker was killed because its task took too long."""


class Unwanted(PreceptorError):
    """The caller went away before the task was started."""


class Pool:
    """Workers that do one task at a time each; they are started when needed.

    Parameters
    ----------
    size
        Number of workers, at most.
    module
        Its `TASKS` are functions by name that take and return plain data.
    nice
        Niceness of the workers.
    """

    def __init__(
        self, size: int, module: str = "preceptor.live.service.tutors", nice: int = 5
    ) -> None:
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
        """Run a task as soon as a worker is idle; cancelling it kills the worker.

        A task may return `more`, the arguments with which it goes on after other tasks.

        Parameters
        ----------
        task
            Its name.
        args
            Plain data.
        seconds
            Time limit of the task, once it has started, or of each part of it.
        who
            The person it is about: it goes to the same worker as before if that is idle, because
            their tutor is cached there.
        is_wanted
            Called before the task starts; False drops it.

        Returns
        -------
        dict
            Result of the task.

        Raises
        ------
        InvalidInput
            The task refused its arguments.
        TookTooLong
            The time limit passed; the worker was killed.
        WorkerDied
            The worker died, perhaps for lack of memory.
        Unwanted
            `is_wanted` returned False.
        """
        self.waiting += 1
        try:
            async with self._places:
                if is_wanted is not None and not await is_wanted():
                    raise Unwanted("the caller has gone")
                worker = self._preferred(who)
                self._idle.remove(worker)
                try:
                    said = await worker.ask(task, args, seconds)
                finally:
                    self._idle.append(worker)
            while "more" in said:  # other tasks that wait for this worker have their turn first
                said = await worker.ask(task, {**args, **said["more"]}, seconds)
            return said
        finally:
            self.waiting -= 1

    def _preferred(self, who: str | None) -> _Worker:
        if who is not None:
            own = self._workers[zlib.crc32(who.encode()) % len(self._workers)]
            if own in self._idle and not own.is_busy:
                return own
        started = [each for each in self._idle if each.pid is not None]
        return next((each for each in started if not each.is_busy), self._idle[0])

    async def tell_all(self, task: str, args: Mapping[str, Any]) -> None:
        """Run a task in every worker that is running; none is started for it."""
        started = [each for each in self._workers if each.pid is not None]
        asked = (each.ask(task, args, LONGEST) for each in started)
        await asyncio.gather(*asked, return_exceptions=True)

    @property
    def pids(self) -> list[int]:
        """Process ids of running workers."""
        return [each.pid for each in self._workers if each.pid is not None]

    async def end(self) -> None:
        """Kill all workers."""
        for each in self._workers:
            await each.end()


class _Worker:
    """One worker process, restarted whenever it has died."""

    def __init__(self, module: str, nice: int) -> None:
        self._command = ("preceptor.live.service.worker", module, str(nice))
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def is_busy(self) -> bool:
        return self._turn.locked()

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
            # A result may be long: a page with its figures is one line.
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
        raise WorkerDied("the worker process died")
    answer: dict[str, Any] = json.loads(line)
    return answer
