"""The owner of studies: who may see how they stand, and a token in every form of theirs.

An admin token is exchanged for a cookie that pages cannot read and other sites cannot send. On this
machine, as long as there are no tokens, the owner's pages are as open as the service itself.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from preceptor.service.gate import must_be_from_here
from preceptor.service.live import Live, live_of
from preceptor.service.refusal import Refusal
from preceptor.web.pages import page

ENTER = "/studies/enter"
_COOKIE, _PATH = "owner", "/studies"
_BACK = re.compile(r"/studies(?:/[a-z0-9][a-z0-9/-]*)?")


@dataclass(frozen=True)
class Owner:
    """Somebody who may see and change studies.

    Attributes
    ----------
    name
        What the log calls them: the id of their token.
    secret
        What their cookie holds.
    is_new
        Whether the cookie must still be given to the browser.
    has_token
        Whether they signed in; else nobody needs to.
    """

    name: str
    secret: str
    is_new: bool
    has_token: bool

    @property
    def csrf(self) -> str:
        """What every form carries; other sites cannot know it."""
        return hmac.new(self.secret.encode(), b"preceptor owner", hashlib.sha256).hexdigest()


class NotSignedIn(Exception):
    """Nobody is known by the cookie of this request."""


async def owner_of(request: Request) -> Owner:
    """The owner who asks; `NotSignedIn` if it is somebody else."""
    live = live_of(request)
    await live.tokens.refresh()
    secret = request.cookies.get(_COOKIE, "")
    if is_open_door(live):
        _must_be_from_here(request)
        known = secret or secrets.token_urlsafe(16)
        return Owner("this machine", known, is_new=not secret, has_token=False)
    token = live.tokens.find(secret) if secret else None
    if token is None or not token.may("admin"):
        raise NotSignedIn
    return Owner(f"token {token.id}", secret, is_new=False, has_token=True)


def _must_be_from_here(request: Request) -> None:
    """As the gate asks for it; but pages without a referrer send forms of theirs as from "null"."""
    headers = dict(request.scope["headers"])
    own = headers.get(b"sec-fetch-site") in (b"same-origin", b"none")
    if own and headers.get(b"origin") == b"null":
        del headers[b"origin"]
    must_be_from_here(headers)


def is_open_door(live: Live) -> bool:
    """Whether nobody needs a token: only this machine can call, and there are none."""
    return live.settings.loopback and not live.tokens.are_there


async def sender_of(request: Request) -> tuple[Owner, dict[str, str]]:
    """The owner who sent a form, and its fields; a form of another site is refused."""
    owner = await owner_of(request)
    form = {key: str(value) for key, value in (await request.form()).items()}
    if not hmac.compare_digest(form.get("csrf", "").encode(), owner.csrf.encode()):
        raise Refusal(403, "form: is too old, or was sent from another site; load the page again")
    return owner, form


async def enter_first(request: Request, error: Exception | None = None) -> Response:
    """What answers `NotSignedIn`: to the page on which one signs in, and back from there."""
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": ENTER})
    back = request.url.path if request.method == "GET" else _PATH
    return RedirectResponse(f"{ENTER}?back={quote(back)}", 303)


def way_back(given: str) -> str:
    """Where to go after signing in: a page of the owner's, and nowhere else."""
    return given if _BACK.fullmatch(given) and given != ENTER else _PATH


def remember(request: Request, answer: Response, secret: str) -> Response:
    """Give the browser the cookie, until it is closed."""
    answer.set_cookie(
        _COOKIE,
        secret,
        path=_PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer


def forget(answer: Response) -> Response:
    """Take the cookie from the browser."""
    answer.delete_cookie(_COOKIE, path=_PATH)
    return answer


def owners_page(
    request: Request, owner: Owner, template: str, status: int = 200, **context: Any
) -> Response:
    """A page of the owner's."""
    answer = page(request, template, status, owner=owner, csrf=owner.csrf, **context)
    return remember(request, answer, owner.secret) if owner.is_new else answer
