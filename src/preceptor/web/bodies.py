"""How much a form may send; most send a few words."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from preceptor.service.gate import limited
from preceptor.service.refusal import Refusal
from preceptor.service.scopes import GUARDED
from preceptor.web.failing import refusal

_FORM = 65_536


class Bodies:
    """Around the application: forms that are too long are refused before they are read.

    Parameters
    ----------
    app
        What answers.
    uploads
        Bytes that certain paths may be sent, where that is more than an ordinary form.
    """

    def __init__(self, app: ASGIApp, uploads: Mapping[str, int]) -> None:
        self._app, self._uploads = app, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call; those of programs have limits of their own."""
        if scope["type"] != "http" or scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        try:
            most = self._uploads.get(scope["path"], _FORM)
            await self._app(scope, limited(receive, scope, most), send)
        except Refusal as refused:
            answer = refusal(Request(scope), refused.status_code, [refused.detail], refused.headers)
            await answer(scope, receive, send)
