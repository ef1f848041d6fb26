"""A desk: a process beside the service that plans, one task at a time.

Planning takes seconds and all of a core, so it never runs where requests are answered. The process
is started when there is something to do and stays. Tasks and answers are lines of JSON through its
pipes; when the service dies, however that may be, the pipe closes and the process ends itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from typing import Any

from preceptor.errors import InvalidInput, PreceptorError

# Bytes of an answer: a plan file may be as long as one that is uploaded.
_LONGEST = 1 << 26
# Seconds that a process may take to begin, on a machine that is busy.
TO_BEGIN = 120.0


class WorkerDied(PreceptorError):
    """The process ended in the middle of a task."""


class TookTooLong(PreceptorError):
    """The process was ended because its task took too long."""


class Desk:
    """One process, started again whenever it has died.

    Parameters
    ----------
    module
        What it runs (`python -m`).
    arguments
        What that is told.
    """

    def __init__(self, module: str = "preceptor.service.worker", *arguments: str) -> None:
        self._command = (module, *arguments)
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return None if self._process is None else self._process.pid

    async def ask(self, task: str, args: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Have a task done; whoever is cancelled while waiting for it ends the process.

        Parameters
        ----------
        task
            Its name in `tasks.TASKS`.
        args
            Plain data.
        seconds
            How long it may take, once its turn has come.

        Returns
        -------
        dict
            Plain data.

        Raises
        ------
        InvalidInput
            The task was refused, a sentence each.
        TookTooLong
            It took longer; the process was ended.
        WorkerDied
            The process ended, killed by somebody or for want of memory.
        """
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
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *self._command, stdin=PIPE, stdout=PIPE, limit=_LONGEST
            )
            async with asyncio.timeout(TO_BEGIN):
                await _exchange(self._process, {"task": "ready", "args": {}})
        return self._process

    async def end(self) -> None:
        """End the process, whatever it is doing."""
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
