"""The explorer's pages: sliders, what a plan for them shows, its proof, who would lose by it.

Everything works as a plain form. With JavaScript, parts of the page are asked for as sliders move:
first a plan of a moment, then, once they rest, its proof and who would lose.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import UploadFile
from starlette.responses import Response

from preceptor.errors import InvalidInput
from preceptor.explorer import PRESETS, Choice, Ground, preset, read_choice, sliders_of
from preceptor.explorer.carrying import as_text, from_text
from preceptor.explorer.choice import BELIEFS_IN_WORDS, beliefs_of
from preceptor.explorer.ground import OWN
from preceptor.explorer.presets import FIRST
from preceptor.service.gate import must_be_called_here
from preceptor.service.refusal import Refusal
from preceptor.web.explorer_desks import Gone, desks_of
from preceptor.web.pages import page

# Bytes of a table that somebody sends: what is larger would be kept on disk while it is read.
UPLOAD = "/explore/table"
MOST_BYTES = 1_000_000


async def _admitted(request: Request) -> None:
    """Refuse callers who ask too often and, unless everybody may come, those from elsewhere."""
    live = getattr(request.app.state, "live", None)
    if live is None or live.settings.explorer != "everybody":
        # Nothing here changes anything, so it does not matter which page a form was on; and pages
        # that send no referrer have no origin to look at.
        must_be_called_here(dict(request.scope["headers"]))
    caller = "-" if request.client is None else request.client.host
    wait = desks_of(request).buckets.wait(caller)
    if wait:
        said = f"rate: too many requests from here; wait {wait} s"
        raise Refusal(429, said, {"Retry-After": str(wait)})


router = APIRouter(include_in_schema=False, dependencies=[Depends(_admitted)])


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
        """For a desk."""
        said = self.choice.to_fields()
        return {"preset": self.ground.name, "carried": self.carried, "said": said}


@router.get("/explore")
@router.post("/explore")
async def explore(request: Request) -> Response:
    """The whole page."""
    return await _answered(request, _whole)


@router.get("/explore/result")
@router.post("/explore/result")
async def result(request: Request) -> Response:
    """What a slider changes."""
    return await _answered(request, _part)


@router.get("/explore/proof")
@router.post("/explore/proof")
async def proof(request: Request) -> Response:
    """The same with its proof, for sliders that rest."""
    return await _answered(request, _proven_part)


@router.get("/explore/people")
@router.post("/explore/people")
async def people(request: Request) -> Response:
    """Who would lose by the plan that was proven."""
    return await _answered(request, _people_part)


@router.post(UPLOAD)
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
    carried = (await desks_of(request).slow(request, "read", args))["carried"]
    return await _answered(request, _whole, {"preset": OWN, "table": carried})


async def _answered(request: Request, make: Any, said: Mapping[str, str] | None = None) -> Response:
    """A page or a part of one, if somebody is still there to read it."""
    try:
        made: Response = await make(request, await _read(request, said))
        return made
    except Gone:
        return Response(status_code=204)


async def _read(request: Request, said: Mapping[str, str] | None) -> _Asked:
    if said is None:
        given = request.query_params if request.method == "GET" else await request.form()
        said = {name: value for name, value in given.items() if isinstance(value, str)}
    name = said.get("preset", FIRST)
    own = desks_of(request).own
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
        own=desks_of(request).own,
        sliders=sliders_of(asked.ground),
        beliefs={name: BELIEFS_IN_WORDS[name] for name in beliefs_of(asked.ground)},
        most_bytes=MOST_BYTES,
        drawn=drawn,
        losing=losing,
    )


async def _part(request: Request, asked: _Asked) -> Response:
    began = time.perf_counter()
    drawn = await _drawn(request, asked)
    losing = await _losing(request, asked) if asked.wants_proof else None
    answer = _fragment(request, asked, drawn=drawn, losing=losing)
    seconds = drawn.get("seconds", {})
    parts = {"answer": time.perf_counter() - began, **seconds}
    answer.headers["Server-Timing"] = ", ".join(
        f"{name};dur={1000.0 * each:.1f}" for name, each in parts.items()
    )
    return answer


async def _proven_part(request: Request, asked: _Asked) -> Response:
    drawn = await desks_of(request).slow(request, "prove", asked.args)
    return _fragment(request, asked, drawn=drawn, losing=None)


async def _people_part(request: Request, asked: _Asked) -> Response:
    losing = await _losing(request, asked)
    return page(request, "explore_people.html.j2", losing=losing)


async def _drawn(request: Request, asked: _Asked) -> dict[str, Any]:
    desks = desks_of(request)
    if asked.wants_proof:
        return await desks.slow(request, "prove", asked.args)
    return await desks.quick(request, "draw", asked.args)


async def _losing(request: Request, asked: _Asked) -> dict[str, Any]:
    return await desks_of(request).slow(request, "lose", asked.args)


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
