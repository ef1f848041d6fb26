"""Every refusal as problem+json (RFC 9457), with the library's own sentences in `errors`."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from preceptor.errors import InvalidInput, NotApplicable, PreceptorError, UnknownMethod
from preceptor.service.faults import fields_of, sentences
from preceptor.service.live import live_of
from preceptor.service.pool import TookTooLong, Unwanted, WorkerDied
from preceptor.service.views import round_view
from preceptor.store.refusals import Conflict, NotThere, StoreFailure, StoreFull
from preceptor.store.rounds import Round

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("preceptor.service")
_STATUS: dict[type[PreceptorError], int] = {
    NotThere: 404,
    Conflict: 409,
    InvalidInput: 422,
    UnknownMethod: 422,
    NotApplicable: 422,
    StoreFull: 507,
    StoreFailure: 503,
    TookTooLong: 503,
    Unwanted: 503,
    WorkerDied: 503,
}


class Refused(NamedTuple):
    """An error as it is answered: a status of HTTP, a sentence for each fault, headers."""

    status: int
    sentences: Sequence[str]
    headers: Mapping[str, str]


def as_refused(error: PreceptorError) -> Refused:
    """How an error of ours is answered, to programs and to browsers; 500 if nobody foresaw it."""
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)
    sentences = error.faults if isinstance(error, InvalidInput) else (str(error),)
    return Refused(status, sentences, {"Retry-After": "1"} if status == 503 else {})


def problem(
    status: int,
    errors: Sequence[str],
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """The answer to a call that is refused."""
    said = list(errors)
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": said[0] if said else HTTPStatus(status).phrase,
        "errors": said,
        **more,
    }
    # Letters beyond ASCII are escaped: what callers send need not be text at all.
    return Response(json.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def answer_with_problems(app: FastAPI) -> None:
    """Register what becomes of each kind of error."""

    @app.exception_handler(PreceptorError)
    async def _refused(request: Request, error: PreceptorError) -> Response:
        refused = as_refused(error)
        if refused.status == 500:
            _LOG.error("unforeseen", exc_info=error)
        more = {}
        if isinstance(error, Conflict) and isinstance(error.current, Round):
            guide = live_of(request).book.known(error.current.plan)
            if guide is not None:
                more["round"] = round_view(guide, error.current)
        status, said, headers = refused
        return problem(status, said, headers, **more)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        endpoint = getattr(request.scope.get("route"), "endpoint", None)
        known = [] if endpoint is None else fields_of(endpoint)
        return problem(422, sentences(error.errors(), known))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        status, said, headers = error.status_code, str(error.detail), dict(error.headers or {})
        if status == 400:  # FastAPI's word for a body that is not even text
            status, said = 422, "body: cannot be read; send JSON in UTF-8"
        return problem(status, [said], headers)
