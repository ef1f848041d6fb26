"""Around all pages: how much a form may send, and what browsers are told.

They load nothing from elsewhere and run nothing that stands in the page.

Pages have no scripts and no styles within them, so the policy needs no exceptions. Words that
somebody typed can then never become a script, even where escaping them was forgotten.
"""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preceptor.service.access import GUARDED, Refusal
from preceptor.service.gate import ALWAYS, limited, with_defaults
from preceptor.web.failing import failed, refusal

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

_OF_PAGES = {
    b"content-security-policy": POLICY.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
}
_LOG = logging.getLogger("preceptor.web")


class AroundPages:
    """Around the application: forms of bearable length, headers, a page where something broke.

    Parameters
    ----------
    app
        What answers.
    form_limit
        Bytes of an ordinary form.
    table_limit
        Bytes that the explorer may be sent, whose forms may hold a table.
    """

    def __init__(self, app: ASGIApp, form_limit: int, table_limit: int) -> None:
        self._app, self._form_limit, self._table_limit = app, form_limit, table_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call; those of programs have the gate."""
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
            is_explorer = scope["path"].startswith("/explore")
            most = self._table_limit if is_explorer else self._form_limit
            await self._app(scope, limited(receive, scope, most), answer)
        except Refusal as refused:
            said = refusal(Request(scope), refused.status_code, [refused.detail], refused.headers)
            await said(scope, receive, answer)
        except Exception:
            if begun:
                raise
            _LOG.exception("unforeseen")
            await failed(Request(scope))(scope, receive, answer)


def _added(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kind = {name.lower(): value for name, value in headers}.get(b"content-type", b"")
    return with_defaults(headers, ALWAYS | (_OF_PAGES if kind.startswith(b"text/html") else {}))
