"""Refusals as pages: what is wrong, a sentence each, for whoever came with a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from preceptor.errors import PreceptorError
from preceptor.service.access import GUARDED
from preceptor.service.problems import as_refused
from preceptor.web.pages import page

_TITLES = {
    422: "That does not fit",
    404: "There is no such page",
    409: "Something else happened meanwhile",
    413: "That is too large",
    429: "Too many requests",
    500: "Something went wrong here",
    503: "Busy just now",
}
# What a part of a page is asked for with.
_HTMX = "hx-request"
_Handler = Callable[[Request, Any], Awaitable[Response]]


def refusal(
    request: Request,
    status: int,
    sentences: Sequence[str],
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A page that says what is wrong and leads back."""
    title = _TITLES.get(status, HTTPStatus(status).phrase)
    is_part = _HTMX in request.headers
    template = "refusal_part.html.j2" if is_part else "refusal.html.j2"
    answer = page(request, template, status, title=title, sentences=list(sentences))
    if is_part:
        # The part that was asked for keeps its place, so that the next answer finds it.
        answer.headers["HX-Reswap"] = "innerHTML"
    answer.headers.update(headers or {})
    return answer


def failed(request: Request) -> Response:
    """A page where something happened that should not have."""
    said = "It is not your fault. Try again; if it happens again, tell whoever runs this service."
    return refusal(request, 500, [said])


def answer_with_pages(app: FastAPI) -> None:
    """Browsers get pages where programs get problems: on all paths but those of the interface."""
    for kind in (PreceptorError, HTTPException):
        app.add_exception_handler(kind, _chosen(app.exception_handlers.get(kind)))


def _chosen(otherwise: Any) -> _Handler:
    async def answer(request: Request, error: Any) -> Response:
        if otherwise is not None and not _wants_page(request):
            answered: Response = await otherwise(request, error)
            return answered
        status, sentences, headers = _said(error)
        return refusal(request, status, sentences, headers)

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
