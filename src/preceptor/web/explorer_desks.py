"""Where the explorer's plans are worked out: two processes, one quick, one that proves.

Whoever moves a slider never waits for somebody's proof. Both processes begin when they are first
needed and end with the application.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request

from preceptor.errors import PreceptorError
from preceptor.explorer.ground import Ground
from preceptor.service.desk import Desk
from preceptor.service.limits import Buckets
from preceptor.service.refusal import Refusal

_WORKER = "preceptor.web.explorer_worker"
# Pages a second that one address may ask for, for long and at once: a hand at a slider asks for
# four a second.
_RATE, _BURST = 10.0, 60
# Seconds that a task may take before its process is ended, and how many may wait for one.
_LONGEST, _MOST_WAITING = 90.0, 16


class Gone(PreceptorError):
    """Whoever asked has gone; nobody reads the answer."""


class ExplorerDesks:
    """The explorer of one application.

    Parameters
    ----------
    own
        What `preceptor explore` was told to explore, if anything.
    """

    def __init__(self, own: Ground | None = None) -> None:
        self.own = own
        self.buckets = Buckets(_RATE, _BURST)
        self._quick, self._slow = _Turns(Desk(_WORKER, "quick")), _Turns(Desk(_WORKER))

    async def quick(self, request: Request, task: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Have something done at the quick desk."""
        return await self._quick.ask(request, task, args)

    async def slow(self, request: Request, task: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Have something done at the one that may take seconds."""
        return await self._slow.ask(request, task, args)

    async def begin(self) -> None:
        """Start both processes before somebody waits for them, first the one they will wait for."""
        await self._quick.begin()
        await self._slow.begin()

    async def end(self) -> None:
        """End both processes."""
        await self._quick.desk.end()
        await self._slow.desk.end()


class _Turns:
    """One desk and those who wait for it; those who went away meanwhile lose their turn."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def ask(self, request: Request, task: str, args: Mapping[str, Any]) -> dict[str, Any]:
        if self._waiting >= _MOST_WAITING:
            raise Refusal(503, "explorer: too many people at once; try again", {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._turn:
                if await request.is_disconnected():
                    raise Gone("whoever asked has gone")
                return await self.desk.ask(task, args, _LONGEST)
        finally:
            self._waiting -= 1

    async def begin(self) -> None:
        async with self._turn:
            await self.desk.ask("ready", {}, _LONGEST)


def exploring(own: Ground | None = None, *, at_once: bool = False) -> Any:
    """What runs alongside an application with an explorer; `at_once` starts its processes."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        desks = ExplorerDesks(own)
        app.state.explorer = desks
        beginning = asyncio.create_task(desks.begin()) if at_once else None
        try:
            yield
        finally:
            if beginning is not None:
                beginning.cancel()
                await asyncio.gather(beginning, return_exceptions=True)
            await desks.end()

    return running


def desks_of(request: Request) -> ExplorerDesks:
    """The explorer that answers this request."""
    desks: ExplorerDesks = request.app.state.explorer
    return desks
