"""The explorer's pages: sliders, the plan for them, its proof, and who would lose by it.

Everything works as a plain form. With JavaScript, parts of the page are requested as sliders move:
first a quick plan and then, once they rest, its proof and who would lose.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from preceptor.live.explorer.ground import (
    BELIEFS_IN_WORDS,
    FIRST,
    OWN,
    PRESETS,
    Choice,
    Ground,
    beliefs_of,
    preset,
    read_choice,
    sliders_of,
)
from preceptor.live.service.access import Buckets, Refusal
from preceptor.live.service.gate import must_name_this_host
from preceptor.live.service.pool import Pool, Unwanted
from preceptor.live.web.pages import page

_TASKS = "preceptor.live.explorer.tasks"
# Requests per second of one address, sustained and at once; moving a slider makes four a second.
_RATE, _BURST = 10.0, 60
# Tasks that may wait for a worker.
_MOST_WAITING = 16


class Explorer:
    """The explorer of one application: two worker processes, one for quick plans, one for proofs.

    Moving a slider never waits for a proof. Both workers start when first needed and end with the
    application.

    Parameters
    ----------
    own
        The ground given to `preceptor explore`, if any.
    """

    def __init__(self, own: Ground | None = None) -> None:
        self.own = own
        self.buckets = Buckets(_RATE, _BURST)
        # Visitors wait for the quick one, so it has normal priority.
        self._quick, self._slow = Pool(1, _TASKS, nice=0), Pool(1, _TASKS)

    async def ask(
        self, request: Request, task: str, args: Mapping[str, Any], *, quick: bool = False
    ) -> dict[str, Any]:
        """Run a task in the quick or the slow worker; raise `Unwanted` if the visitor has left."""
        pool = self._quick if quick else self._slow
        if pool.waiting >= _MOST_WAITING:
            raise Refusal(
                503, "explorer: too many visitors at once; try again", {"Retry-After": "2"}
            )

        async def is_wanted() -> bool:
            return not await request.is_disconnected()

        return await pool.ask(task, args, is_wanted=is_wanted)

    async def begin(self) -> None:
        """Start both workers in advance, the quick one first."""
        for pool in (self._quick, self._slow):
            await pool.ask("ready", {})

    async def end(self) -> None:
        """End both workers."""
        for pool in (self._quick, self._slow):
            await pool.end()


def exploring(own: Ground | None = None, *, at_once: bool = False) -> Any:
    """The context of an application with an explorer; `at_once` starts its workers."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        explorer = Explorer(own)
        app.state.explorer = explorer
        beginning = asyncio.create_task(explorer.begin()) if at_once else None
        try:
            yield
        finally:
            if beginning is not None:
                beginning.cancel()
                await asyncio.gather(beginning, return_exceptions=True)
            await explorer.end()

    return running


def _explorer_of(request: Request) -> Explorer:
    explorer: Explorer = request.app.state.explorer
    return explorer


async def _admitted(request: Request) -> None:
    """Refuse callers that call too often and, unless it is public, calls from elsewhere."""
    live = getattr(request.app.state, "live", None)
    if live is None or live.settings.explorer != "everybody":
        # Nothing here changes state, so the origin of a form does not matter.
        must_name_this_host(dict(request.scope["headers"]))
    caller = "-" if request.client is None else request.client.host
    said = "rate: too many requests from here; wait a moment"
    _explorer_of(request).buckets.must_not_wait(caller, said)


explore_router = APIRouter(include_in_schema=False, dependencies=[Depends(_admitted)])


@dataclass(frozen=True, eq=False)
class _Asked:
    """A request: what is explored, the slider values, and what the visitor waits for."""

    request: Request
    ground: Ground
    choice: Choice
    wants_proof: bool

    @property
    def query(self) -> str:
        return self.choice.to_query(self.ground.name)

    async def result_of(self, task: str) -> dict[str, Any]:
        """What a worker computes; only a plan without a proof is quick."""
        own = self.ground.to_json(indent=None) if self.ground.is_own else None
        args = {"preset": self.ground.name, "own": own, "said": self.choice.to_fields()}
        explorer = _explorer_of(self.request)
        return await explorer.ask(self.request, task, args, quick=task == "draw")

    async def shown(self, template: str, **context: Any) -> Response:
        """A page or a part of one, with the plan and, if wanted, who would lose by it."""
        drawn = await self.result_of("prove" if self.wants_proof else "draw")
        losing = await self.result_of("lose") if self.wants_proof else None
        return self.page(template, drawn=drawn, losing=losing, **context)

    def page(self, template: str, **context: Any) -> Response:
        link = f"{self.request.url.scheme}://{self.request.url.netloc}/explore?{self.query}"
        context |= {"ground": self.ground, "choice": self.choice}
        context["link"] = None if self.ground.is_own else link
        answer = page(self.request, template, **context)
        answer.headers["HX-Replace-Url"] = f"/explore?{self.query}"
        return answer


@explore_router.get("/explore")
async def explore(request: Request) -> Response:
    """The whole page."""
    return await _answered(request, _whole)


@explore_router.get("/explore/{part}")
async def explore_part(request: Request, part: str) -> Response:
    """A part of the page: the result, the result with its proof, or who would lose."""
    if part not in _PARTS:
        raise HTTPException(404)
    return await _answered(request, _PARTS[part])


async def _answered(request: Request, make: Callable[[_Asked], Awaitable[Response]]) -> Response:
    """A page or a part of one, unless the visitor has left."""
    said, own = dict(request.query_params), _explorer_of(request).own
    name = said.get("preset", FIRST)
    if name == OWN and own is not None:
        ground = own
    else:
        # Reads a table the first time.
        ground = await asyncio.to_thread(preset, name)
    wants_proof = said.get("proof", "no") != "no"
    try:
        return await make(_Asked(request, ground, read_choice(said, ground), wants_proof))
    except Unwanted:
        return Response(status_code=204)


async def _whole(asked: _Asked) -> Response:
    return await asked.shown(
        "explore.html.j2",
        presets={name: title for name, (title, _) in PRESETS.items()},
        own=_explorer_of(asked.request).own,
        sliders=sliders_of(asked.ground),
        beliefs={name: BELIEFS_IN_WORDS[name] for name in beliefs_of(asked.ground)},
    )


async def _part(asked: _Asked) -> Response:
    return await asked.shown("explore_part.html.j2")


async def _proven_part(asked: _Asked) -> Response:
    drawn = await asked.result_of("prove")
    return asked.page("explore_part.html.j2", drawn=drawn, losing=None)


async def _people_part(asked: _Asked) -> Response:
    losing = await asked.result_of("lose")
    return asked.page("explore_people.html.j2", losing=losing)


_PARTS = {"result": _part, "proof": _proven_part, "people": _people_part}
