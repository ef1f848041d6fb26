"""The owner of studies: who that is, signing in and out, and which studies there are.

An admin token is exchanged for a cookie that pages cannot read and other sites cannot send. On this
machine, as long as there are no tokens, the owner's pages are as open as the service itself. They
only watch: what may change once a study is open is changed by commands.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.service.gate import must_be_from_here
from preceptor.service.live import Live, live_of
from preceptor.store import participants, studies
from preceptor.store.studies import KeptStudy
from preceptor.web.pages import page
from preceptor.web.studies_live import studies_of

router = APIRouter(include_in_schema=False)

ENTER = "/studies/enter"
_COOKIE, _PATH = "owner", "/studies"
_BACK = re.compile(r"/studies(?:/[a-z0-9][a-z0-9/-]*)?")


class Owner(NamedTuple):
    """Somebody who may see studies."""

    name: str
    """What the log calls them: the id of their token."""
    has_token: bool
    """Whether they signed in; else nobody needs to."""


class NotSignedIn(Exception):
    """Nobody is known by the cookie of this request."""


async def owner_of(request: Request) -> Owner:
    """The owner who asks; `NotSignedIn` if it is somebody else."""
    live = live_of(request)
    await live.tokens.refresh()
    if is_open_door(live):
        must_be_from_here(dict(request.scope["headers"]))
        return Owner("this machine", has_token=False)
    token = live.tokens.find(request.cookies.get(_COOKIE, ""))
    if token is None or not token.may("admin"):
        raise NotSignedIn
    return Owner(f"token {token.id}", has_token=True)


def is_open_door(live: Live) -> bool:
    """Whether nobody needs a token: only this machine can call, and there are none."""
    return live.settings.loopback and not live.tokens.are_there


async def enter_first(request: Request, error: Exception | None = None) -> Response:
    """What answers `NotSignedIn`: to the page on which one signs in, and back from there."""
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": ENTER})
    return RedirectResponse(f"{ENTER}?back={quote(request.url.path)}", 303)


def way_back(given: str) -> str:
    """Where to go after signing in: a page of the owner's, and nowhere else."""
    return given if _BACK.fullmatch(given) and given != ENTER else _PATH


def owners_page(request: Request, owner: Owner, template: str, **context: Any) -> Response:
    """A page of the owner's."""
    return page(request, template, owner=owner, **context)


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
    answer = RedirectResponse(back, 303)
    is_https = request.url.scheme == "https"
    answer.set_cookie(
        _COOKIE, secret, path=_PATH, secure=is_https, httponly=True, samesite="strict"
    )
    return answer


@router.post("/studies/leave")
async def leave(request: Request) -> Response:
    """Sign out."""
    answer = RedirectResponse(ENTER, 303)
    answer.delete_cookie(_COOKIE, path=_PATH)
    return answer
