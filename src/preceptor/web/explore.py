"""The explorer's pages: sliders, what a plan for them shows, its proof, who would lose by it.

Everything works as a plain form. With JavaScript, parts of the page are asked for as sliders move:
first a plan of a moment, then, once they rest, its proof and who would lose.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from preceptor.errors import InvalidInput
from preceptor.explorer import PRESETS, Choice, Ground, preset, read_choice, sliders_of
from preceptor.explorer.choice import BELIEFS_IN_WORDS, beliefs_of
from preceptor.explorer.ground import MOST_BYTES, OWN, as_text, from_text
from preceptor.explorer.presets import FIRST
from preceptor.service.access import Buckets, Refusal
from preceptor.service.gate import must_be_called_here
from preceptor.service.pool import Pool, Unwanted
from preceptor.web.pages import page

_TASKS = "preceptor.explorer.tasks"
# Pages a second that one address may ask for, for long and at once: a hand at a slider asks for
# four a second.
_RATE, _BURST = 10.0, 60
# Tasks that may wait for a process.
_MOST_WAITING = 16


class Explorer:
    """The explorer of one application: two processes, one quick, one that proves.

    Whoever moves a slider never waits for somebody's proof. Both processes begin when they are
    first needed and end with the application.

    Parameters
    ----------
    own
        What `preceptor explore` was told to explore, if anything.
    """

    def __init__(self, own: Ground | None = None) -> None:
        self.own = own
        self.buckets = Buckets(_RATE, _BURST)
        # Somebody waits for the quick one, so it takes as much of the machine as who answers.
        self._quick, self._slow = Pool(1, _TASKS, nice=0), Pool(1, _TASKS)

    async def ask(
        self, request: Request, task: str, args: Mapping[str, Any], *, quick: bool = False
    ) -> dict[str, Any]:
        """Have something done, in a moment or in seconds.

        `Unwanted` if whoever asked went away while others had their turn.
        """
        pool = self._quick if quick else self._slow
        if pool.waiting >= _MOST_WAITING:
            raise Refusal(503, "explorer: too many people at once; try again", {"Retry-After": "2"})

        async def is_wanted() -> bool:
            return not await request.is_disconnected()

        return await pool.ask(task, args, is_wanted=is_wanted)

    async def begin(self) -> None:
        """Start both processes before somebody waits for them, first the one they will wait for."""
        for pool in (self._quick, self._slow):
            await pool.ask("ready", {})

    async def end(self) -> None:
        """End both processes."""
        for pool in (self._quick, self._slow):
            await pool.end()


def exploring(own: Ground | None = None, *, at_once: bool = False) -> Any:
    """What runs alongside an application with an explorer; `at_once` starts its processes."""

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
    """Refuse callers who ask too often and, unless everybody may come, those from elsewhere."""
    live = getattr(request.app.state, "live", None)
    if live is None or live.settings.explorer != "everybody":
        # Nothing here changes anything, so it does not matter which page a form was on; and pages
        # that send no referrer have no origin to look at.
        must_be_called_here(dict(request.scope["headers"]))
    caller = "-" if request.client is None else request.client.host
    said = "rate: too many requests from here; wait a moment"
    _explorer_of(request).buckets.must_not_wait(caller, said)


router = APIRouter(include_in_schema=False, dependencies=[Depends(_admitted)])
_BOTH = ["GET", "POST"]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What an address or a form says: what is explored, and where its sliders are."""

    ground: Ground
    choice: Choice
    carried: str | None
    is_sent: bool
    wants_proof: bool

    @property
    def query(self) -> str:
        return self.choice.to_query(self.ground.name)

    @property
    def args(self) -> dict[str, Any]:
        """For a process that plans."""
        said = self.choice.to_fields()
        return {"preset": self.ground.name, "carried": self.carried, "said": said}


@router.api_route("/explore", methods=_BOTH)
async def explore(request: Request) -> Response:
    """The whole page."""
    return await _answered(request, _whole)


@router.post("/explore/table")
async def table(request: Request) -> Response:
    """A table that somebody brings: their page carries what was made of it, nothing is kept."""
    form = await request.form()
    file, outcome = form.get("file"), form.get("outcome")
    faults = []
    if not isinstance(file, UploadFile) or not file.filename:
        faults.append("table: missing; choose a file")
    if not isinstance(outcome, str) or not outcome.strip():
        faults.append("outcome: missing; name the column that is to be predicted")
    InvalidInput.raise_if(faults)
    assert isinstance(file, UploadFile)
    content = base64.b64encode(await file.read()).decode("ascii")
    ignored = str(form.get("drop", "")).split(",")
    args = {
        "name": file.filename,
        "content": content,
        "outcome": str(outcome).strip(),
        "drop": [column.strip() for column in ignored if column.strip()],
    }
    carried = (await _explorer_of(request).ask(request, "read", args))["carried"]
    return await _answered(request, _whole, {"preset": OWN, "table": carried})


@router.api_route("/explore/{part}", methods=_BOTH)
async def explore_part(request: Request, part: str) -> Response:
    """What a slider changes, the same with its proof once it rests, or who would lose by that."""
    if part not in _PARTS:
        raise HTTPException(404)
    return await _answered(request, _PARTS[part])


async def _answered(request: Request, make: Any, said: Mapping[str, str] | None = None) -> Response:
    """A page or a part of one, if somebody is still there to read it."""
    try:
        made: Response = await make(request, await _read(request, said))
        return made
    except Unwanted:
        return Response(status_code=204)


async def _read(request: Request, said: Mapping[str, str] | None) -> _Asked:
    if said is None:
        given = request.query_params if request.method == "GET" else await request.form()
        said = {name: value for name, value in given.items() if isinstance(value, str)}
    name = said.get("preset", FIRST)
    own = _explorer_of(request).own
    carried = said.get("table")
    if name == OWN and carried is None and own is None:
        raise InvalidInput("preset: 'own' is a table that nobody brought; bring it again")
    if name == OWN:
        is_sent = carried is not None
        ground = from_text(carried) if carried is not None else own
        assert ground is not None
        carried = as_text(ground)
    else:
        is_sent, carried = False, None
        # The first time it reads a table.
        ground = await asyncio.to_thread(preset, name)
    wants_proof = said.get("proof", "no") != "no"
    return _Asked(ground, read_choice(said, ground), carried, is_sent, wants_proof)


async def _whole(request: Request, asked: _Asked) -> Response:
    drawn = await _drawn(request, asked)
    losing = await _losing(request, asked) if asked.wants_proof else None
    return page(
        request,
        "explore.html.j2",
        **_shared(request, asked),
        presets={name: title for name, (title, _) in PRESETS.items()},
        own=_explorer_of(request).own,
        sliders=sliders_of(asked.ground),
        beliefs={name: BELIEFS_IN_WORDS[name] for name in beliefs_of(asked.ground)},
        most_bytes=MOST_BYTES,
        drawn=drawn,
        losing=losing,
    )


async def _part(request: Request, asked: _Asked) -> Response:
    drawn = await _drawn(request, asked)
    losing = await _losing(request, asked) if asked.wants_proof else None
    return _fragment(request, asked, drawn=drawn, losing=losing)


async def _proven_part(request: Request, asked: _Asked) -> Response:
    drawn = await _explorer_of(request).ask(request, "prove", asked.args)
    return _fragment(request, asked, drawn=drawn, losing=None)


async def _people_part(request: Request, asked: _Asked) -> Response:
    losing = await _losing(request, asked)
    return page(request, "explore_people.html.j2", losing=losing)


_PARTS = {"result": _part, "proof": _proven_part, "people": _people_part}


async def _drawn(request: Request, asked: _Asked) -> dict[str, Any]:
    explorer, is_quick = _explorer_of(request), not asked.wants_proof
    return await explorer.ask(request, "draw" if is_quick else "prove", asked.args, quick=is_quick)


async def _losing(request: Request, asked: _Asked) -> dict[str, Any]:
    return await _explorer_of(request).ask(request, "lose", asked.args)


def _fragment(request: Request, asked: _Asked, **context: Any) -> Response:
    answer = page(request, "explore_part.html.j2", **_shared(request, asked), **context)
    if not asked.is_sent:
        answer.headers["HX-Replace-Url"] = f"/explore?{asked.query}"
    return answer


def _shared(request: Request, asked: _Asked) -> dict[str, Any]:
    link = f"{request.url.scheme}://{request.url.netloc}/explore?{asked.query}"
    return {
        "ground": asked.ground,
        "choice": asked.choice,
        "carried": asked.carried if asked.is_sent else None,
        "method": "post" if asked.is_sent else "get",
        "link": None if asked.ground.is_own else link,
    }
