"""Owner's pages about one study: how it stands, and whether all is in order.

What moves is a part of the page that asks for itself every few seconds and is sent only when it has
changed; without JavaScript it is the same page, reloaded.
"""

from __future__ import annotations

import hashlib
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.service.live import live_of
from preceptor.store import studies
from preceptor.store.studies import KeptStudy
from preceptor.study.allocated import Assignment, assignments
from preceptor.study.error_course import ErrorCourse, error_course
from preceptor.study.standing import Standing, standing
from preceptor.study.verifying import verify
from preceptor.web.owner import owner_of, owners_page
from preceptor.web.owner_pictures import arms_picture, errors_picture, minutes_picture
from preceptor.web.pages import page, templates
from preceptor.web.studies_live import studies_of

router = APIRouter(include_in_schema=False)

KINDS = {"real": "People", "bot": "Bots", "preview": "Previews"}
# Assignments on the page itself; a page of their own has all of them.
_LATEST = 12


def kind_of(request: Request) -> str:
    """Whom the page counts."""
    asked = request.query_params.get("kind", "real")
    return asked if asked in KINDS else "real"


async def _seen(request: Request, name: str, kind: str) -> dict[str, Any]:
    """What the part of the page that moves needs."""
    here = await studies_of(request).find(name)

    def look(
        connection: Connection,
    ) -> tuple[KeptStudy, Standing, ErrorCourse, list[Assignment]]:
        kept = studies.find(connection, name)
        return (
            kept,
            standing(connection, kept, here.study, kind),
            error_course(connection, kept, here.study, kind),
            assignments(connection, here.study, kind),
        )

    kept, found, course, drawn = await live_of(request).store.reading(look)
    return {
        "kept": kept,
        "here": here,
        "found": found,
        "kind": kind,
        "course": course,
        "drawn": drawn[-_LATEST:][::-1],
        "pictures": {
            "arms": arms_picture(found),
            "minutes": minutes_picture(found),
            "errors": errors_picture(course),
        },
    }


def _moving(request: Request, seen: dict[str, Any]) -> tuple[str, str]:
    """The part that moves, and a hash of it."""
    template = templates().get_template("owner_now.html.j2")
    inside = template.render(request=request, **seen)
    return inside, hashlib.sha256(inside.encode()).hexdigest()[:16]


@router.get("/studies/{name}")
async def one(request: Request, name: str) -> Response:
    """How a study stands."""
    owner = await owner_of(request)
    seen = await _seen(request, name, kind_of(request))
    inside, version = _moving(request, seen)
    moving = {"inside": inside, "version": version}
    return owners_page(request, owner, "owner_study.html.j2", **seen, **moving, kinds=KINDS)


@router.get("/studies/{name}/now")
async def now(request: Request, name: str) -> Response:
    """The part that moves; nothing if it is what the browser has."""
    await owner_of(request)
    kind = kind_of(request)
    seen = await _seen(request, name, kind)
    inside, version = _moving(request, seen)
    if request.query_params.get("seen") == version:
        return Response(status_code=204)
    return page(
        request,
        "owner_moving.html.j2",
        inside=inside,
        version=version,
        kept=seen["kept"],
        kind=kind,
    )


@router.get("/studies/{name}/allocation")
async def allocation(request: Request, name: str) -> Response:
    """Who was assigned to what, in which order, and from which permuted block."""
    owner = await owner_of(request)
    here, kind = await studies_of(request).find(name), kind_of(request)
    found = await live_of(request).store.reading(lambda c: assignments(c, here.study, kind))
    title = here.study.configuration.title
    return owners_page(
        request,
        owner,
        "owner_allocation.html.j2",
        drawn=found,
        kind=KINDS[kind],
        name=name,
        title=title,
        seed=here.study.configuration.seed,
    )


@router.get("/studies/{name}/check")
async def check(request: Request, name: str) -> Response:
    """Recompute the hash, follow the chain, rebuild rounds, people and assignments."""
    owner = await owner_of(request)
    live = live_of(request)

    def look(connection: Connection) -> Any:
        kept = studies.find(connection, name)
        return kept, verify(connection, kept, live.book.columns_of)

    kept, found = await live.store.reading(look)
    return owners_page(request, owner, "owner_check.html.j2", kept=kept, found=found)
