"""What surrounds all pages: errors as pages, size limits of forms, and security headers.

Pages load nothing from other sites and have no inline scripts or styles, so the content security
policy needs no exceptions. Text that a visitor typed can then never become a script, even if
escaping it was forgotten.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preceptor.errors import PreceptorError
from preceptor.live.service.access import GUARDED, Refusal
from preceptor.live.service.gate import ALWAYS, as_refused, limited, with_defaults
from preceptor.live.web.course_access import course_page
from preceptor.live.web.pages import page
from preceptor.live.web.study_access import studies_of
from preceptor.live.web.study_pages import anonymous, notice
from preceptor.live.wording import words_in

# Messages of a status: its title, and what participants and trainees are told.
_MESSAGES = {
    403: ("other_site", "other_site_why"),
    404: ("no_page", "no_page_why"),
    409: ("meanwhile", "meanwhile_why"),
    413: ("too_large", "too_large_why"),
    422: ("unfit", "unfit_why"),
    429: ("too_fast", "wait_why"),
    500: ("failed", "failed_why"),
    503: ("busy", "wait_why"),
    507: ("busy", "wait_why"),
}
_FAILED = "It is not your fault. Try again; if it happens again, tell the operator of this service."
_OF_STUDY = re.compile(r"/s/([^/]+)")
# Header of requests for a part of a page.
_HTMX = "hx-request"
_Handler = Callable[[Request, Any], Awaitable[Response]]


async def refusal(
    request: Request,
    status: int,
    sentences: Sequence[str],
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A page that says what is wrong, with a link back; for participants in their language."""
    is_part = _HTMX in request.headers
    answer = None if is_part else await _in_their_language(request, status)
    if answer is None:
        title = HTTPStatus(status).phrase
        if status in _MESSAGES and status != 403:  # owners are refused for other reasons
            title = words_in("en").say(_MESSAGES[status][0])
        template = "refusal_part.html.j2" if is_part else "refusal.html.j2"
        answer = page(request, template, status, title=title, sentences=list(sentences))
    if is_part:
        # Keep the element, so that the next response finds it.
        answer.headers["HX-Reswap"] = "innerHTML"
    answer.headers.update(headers or {})
    return answer


async def _in_their_language(request: Request, status: int) -> Response | None:
    """The page of an error for a participant or a trainee; None if the address is of neither."""
    title, why = _MESSAGES.get(status, _MESSAGES[422])
    state, path = request.app.state, request.url.path
    of_study = _OF_STUDY.match(path)
    if of_study and hasattr(state, "live"):
        try:
            study = (await studies_of(request).find(of_study[1])).study
        except PreceptorError:  # there is no such study, or it cannot be read now
            return None
        say, again = study.words.say, {"again": f"/s/{study.id}"}
        return notice(request, anonymous(study) | again, say(title), say(why), status=status)
    if hasattr(state, "course") and (path == "/c" or path.startswith("/c/")):
        say = state.course.words.say
        own = {"title": say(title), "text": say(why), "picture": None}
        return course_page(request, state.course, "course_notice.html.j2", status, **own)
    return None


def answer_with_pages(app: FastAPI) -> None:
    """Send errors to browsers as pages, on all paths except those of the API."""
    for kind in (PreceptorError, HTTPException):
        app.add_exception_handler(kind, _chosen(app.exception_handlers.get(kind)))


def _chosen(otherwise: Any) -> _Handler:
    async def answer(request: Request, error: Any) -> Response:
        if otherwise is not None and not _wants_page(request):
            answered: Response = await otherwise(request, error)
            return answered
        status, sentences, headers = _said(error)
        return await refusal(request, status, sentences, headers)

    return answer


def _wants_page(request: Request) -> bool:
    if request.url.path.startswith(GUARDED):
        return False
    return _HTMX in request.headers or "text/html" in request.headers.get("accept", "")


def _said(error: Exception) -> tuple[int, Sequence[str], Mapping[str, str]]:
    if isinstance(error, HTTPException):
        is_plain = error.detail == HTTPStatus(error.status_code).phrase
        said = [] if is_plain else [error.detail]
        return error.status_code, said, error.headers or {}
    assert isinstance(error, PreceptorError)
    refused = as_refused(error)
    if refused.status == 500:
        raise error
    return refused


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
_LOG = logging.getLogger("preceptor.live.web")


class AroundPages:
    """Limits forms, adds headers, and shows a page for unexpected errors.

    Parameters
    ----------
    app
        The application.
    form_limit
        Bytes of a form, at most.
    """

    def __init__(self, app: ASGIApp, form_limit: int) -> None:
        self._app, self._form_limit = app, form_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; the gate handles those of the API."""
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
            await self._app(scope, limited(receive, scope, self._form_limit), answer)
        except Refusal as refused:
            said = (refused.status_code, [refused.detail], refused.headers)
            await (await refusal(Request(scope), *said))(scope, receive, answer)
        except Exception:
            if begun:
                raise
            _LOG.exception("unforeseen")
            await (await refusal(Request(scope), 500, [_FAILED]))(scope, receive, answer)


def _added(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kind = {name.lower(): value for name, value in headers}.get(b"content-type", b"")
    return with_defaults(headers, ALWAYS | (_OF_PAGES if kind.startswith(b"text/html") else {}))
