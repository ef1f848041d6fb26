"""Owner's pages: sign in, sign out, and which studies there are."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.service.live import live_of
from preceptor.store import participants, studies
from preceptor.store.studies import KeptStudy
from preceptor.web.owner_access import (
    ENTER,
    forget,
    is_open_door,
    owner_of,
    owners_page,
    remember,
    sender_of,
    way_back,
)
from preceptor.web.pages import page
from preceptor.web.studies_live import studies_of

router = APIRouter(include_in_schema=False)


@router.get("/studies")
async def every(request: Request) -> Response:
    """All studies, the latest first."""
    owner = await owner_of(request)
    live = live_of(request)

    def look(connection: Connection) -> list[tuple[KeptStudy, int]]:
        found = []
        for each in studies.everyone(connection):
            people = participants.everyone(connection, each.id, "real")
            found.append((each, sum(who.status == "completed" for who in people)))
        return found

    rows = []
    for kept, finished in await live.store.reading(look):
        here = await studies_of(request).find(kept.id)
        rows.append((kept, here.study.configuration.title, finished))
    return owners_page(request, owner, "owner_studies.html.j2", studies=rows)


@router.get(ENTER)
async def enter(request: Request) -> Response:
    """Where one signs in."""
    live = live_of(request)
    await live.tokens.refresh()
    back = way_back(request.query_params.get("back", ""))
    if is_open_door(live):
        return RedirectResponse(back, 303)
    return page(request, "owner_enter.html.j2", back=back, fault="")


@router.post(ENTER)
async def entered(request: Request) -> Response:
    """A token for a cookie; a form that was sent from another site changes nothing of anybody's."""
    form = await request.form()
    secret, back = str(form.get("token", "")).strip(), way_back(str(form.get("back", "")))
    live = live_of(request)
    await live.tokens.refresh(now=True)
    token = live.tokens.find(secret)
    if token is None or not token.may("admin"):
        fault = (
            "This token is not known; perhaps it was revoked."
            if token is None
            else f"This token may only {token.scope}; the owner's pages need an admin token."
        )
        return page(request, "owner_enter.html.j2", 403, back=back, fault=fault)
    return remember(request, RedirectResponse(back, 303), secret)


@router.post("/studies/leave")
async def leave(request: Request) -> Response:
    """Sign out."""
    await sender_of(request)
    return forget(RedirectResponse(ENTER, 303))
