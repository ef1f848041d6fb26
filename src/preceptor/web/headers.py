"""What pages tell browsers: load nothing from elsewhere, run nothing that stands in the page.

Pages have no scripts and no styles within them, so the policy needs no exceptions. Words that
somebody typed can then never become a script, even where escaping them was forgotten.
"""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preceptor.service.scopes import GUARDED
from preceptor.web.failing import failed

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)

_ALWAYS = {b"x-content-type-options": b"nosniff", b"referrer-policy": b"no-referrer"}
_OF_PAGES = {
    b"content-security-policy": POLICY.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
}
_LOG = logging.getLogger("preceptor.web")


class Headers:
    """Around the application: headers of pages and files, and a page where something broke.

    Parameters
    ----------
    app
        What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call; those of programs pass as they are."""
        if scope["type"] != "http" or scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = _added(message["headers"])
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception:
            if begun:
                raise
            _LOG.exception("unforeseen")
            await failed(Request(scope))(scope, receive, answer)


def _added(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    said = {name.lower(): value for name, value in headers}
    wanted = dict(_ALWAYS)
    if said.get(b"content-type", b"").startswith(b"text/html"):
        wanted |= _OF_PAGES
    return [*headers, *((name, value) for name, value in wanted.items() if name not in said)]
