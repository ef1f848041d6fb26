"""The gate in front of all endpoints: tokens, limits, the access log, and errors as problem+json.

Error responses (RFC 9457) have the library's messages in `errors`. Addresses of callers and names
of people are never logged: the log has the pattern of the path, not the path.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preceptor.errors import InvalidInput, NotApplicable, PreceptorError, UnknownMethod
from preceptor.live.service.access import GUARDED, Refusal
from preceptor.live.service.live import Live, live_of, round_view
from preceptor.live.service.pool import TookTooLong, Unwanted, WorkerDied
from preceptor.live.service.schemas import fields_of, sentences
from preceptor.live.store.rounds import StoredRound
from preceptor.live.store.tables import Conflict, NotFound, StoreFailure, StoreFull
from preceptor.live.store.tokens import Token

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("preceptor.service")
_STATUS: dict[type[PreceptorError], int] = {
    NotFound: 404,
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


class ErrorParts(NamedTuple):
    """An error as a response: HTTP status, a sentence for each fault, headers."""

    status: int
    sentences: Sequence[str]
    headers: Mapping[str, str]


def as_refused(error: PreceptorError) -> ErrorParts:
    """Map an error of the library to a response; 500 if it is unexpected."""
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)
    sentences = error.faults if isinstance(error, InvalidInput) else (str(error),)
    return ErrorParts(status, sentences, {"Retry-After": "1"} if status == 503 else {})


def problem(
    status: int, errors: Sequence[str], headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Make an error response."""
    said = list(errors)
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": said[0] if said else HTTPStatus(status).phrase,
        "errors": said,
        **more,
    }
    # Non-ASCII characters are escaped: what callers send need not be valid text.
    return Response(json.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def answer_with_problems(app: FastAPI) -> None:
    """Register the handlers of all errors."""

    @app.exception_handler(PreceptorError)
    async def _refused(request: Request, error: PreceptorError) -> Response:
        refused = as_refused(error)
        if refused.status == 500:
            _LOG.error("unforeseen", exc_info=error)
        more = {}
        if isinstance(error, Conflict) and isinstance(error.current, StoredRound):
            guide = live_of(request).guides.known(error.current.plan)
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
        if status == 400:  # FastAPI's status for a body that is not text
            status, said = 422, "body: cannot be read; send JSON in UTF-8"
        return problem(status, [said], headers)


_UPLOADS = ("/v1/plans", "/v1/cases")
_HERE = ("localhost", "127.0.0.1", "[::1]")
# Stands for calls from this machine while there are no tokens.
NO_TOKEN_NEEDED = Token("", "-", "this machine", "admin", "", None, None)


class Gate:
    """Wraps the application; what it refuses never reaches the endpoints.

    Parameters
    ----------
    app
        The application behind the gate.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        live: Live = scope["app"].state.live
        scope = _as_called(scope, live.settings.public_url)
        began, status, begun = time.perf_counter(), 500, False
        scope.setdefault("state", {})

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = with_defaults(message["headers"], _HEADERS)
            await send(message)

        try:
            if scope["path"].startswith(GUARDED):
                await self._admit(live, scope)
                receive = limited(receive, scope, _most(live, scope["path"]))
            await self._app(scope, receive, answer)
        except Refusal as refused:
            response = problem(refused.status_code, [refused.detail], refused.headers)
            await response(scope, receive, answer)
        except StoreFailure as failed:
            response = problem(503, [str(failed)], {"Retry-After": "1"})
            await response(scope, receive, answer)
        except Exception:
            _LOG.exception("unforeseen")
            if begun:
                raise
            response = problem(500, ["service: internal error"])
            await response(scope, receive, answer)
        finally:
            _log(live, scope, status, time.perf_counter() - began)

    async def _admit(self, live: Live, scope: Scope) -> None:
        """Put the caller's token into the scope, or refuse."""
        token = await token_of(live, dict(scope["headers"]))
        live.buckets.must_not_wait(token.id, "rate: too many calls with this token; slow down")
        scope["state"]["token"] = token


def _as_called(scope: Scope, public_url: str | None) -> Scope:
    """The call as the browser made it: a proxy may have changed its scheme and host name."""
    if public_url is None:
        return scope
    url = urlsplit(public_url)
    headers = [each for each in scope["headers"] if each[0] != b"host"]
    host = (b"host", url.netloc.encode("ascii"))
    return {**scope, "scheme": url.scheme, "headers": [host, *headers]}


async def token_of(live: Live, headers: dict[bytes, bytes]) -> Token:
    """Return the token of a call, or raise a `Refusal`."""
    await live.tokens.refresh()
    given = headers.get(b"authorization", b"").decode("latin-1")
    kind, _, secret = given.partition(" ")
    token = live.tokens.find(secret.strip()) if kind.lower() == "bearer" else None
    if token is None and not given and live.needs_no_token:
        must_be_same_origin(headers)
        token = NO_TOKEN_NEEDED
    if token is None:
        said = "is not valid" if given else "is missing"
        raise Refusal(
            401,
            f"token: {said}; send Authorization: Bearer <token>, created with `preceptor "
            "serve token create`",
            {"WWW-Authenticate": "Bearer"},
        )
    return token


# Headers of every response that does not set them itself.
ALWAYS = {b"x-content-type-options": b"nosniff", b"referrer-policy": b"no-referrer"}
_HEADERS = {b"cache-control": b"no-store", **ALWAYS}


def with_defaults(
    headers: list[tuple[bytes, bytes]], defaults: Mapping[bytes, bytes]
) -> list[tuple[bytes, bytes]]:
    """Headers of a response, with those of `defaults` that it lacks."""
    said = {name.lower() for name, _ in headers}
    return [*headers, *(each for each in defaults.items() if each[0] not in said)]


def must_name_this_host(headers: dict[bytes, bytes]) -> str:
    """Refuse calls to another host name, which is how other sites get in (DNS rebinding)."""
    host = headers.get(b"host", b"").decode("latin-1")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    _only_if(name in _HERE, host)
    return host


def must_be_same_origin(headers: dict[bytes, bytes]) -> None:
    """Without tokens, refuse calls that a page of another site makes through a browser."""
    host = must_name_this_host(headers)
    origin = headers.get(b"origin", b"").decode("latin-1")
    is_ours = not origin or origin.partition("//")[2] == host
    # Pages without a referrer send forms with the origin null; browsers let no page forge this.
    is_ours |= headers.get(b"sec-fetch-site") == b"same-origin"
    _only_if(is_ours, host)


def _only_if(is_from_here: bool, host: str) -> None:
    if not is_from_here:
        raise Refusal(
            403,
            f"host: {host!r}, but without tokens this service answers localhost only; create one "
            "with `preceptor serve token create`",
        )


# Seconds until the next part of a body has to be there.
BODY_SECONDS = 10.0
_CLOSE = {"Connection": "close"}


def _most(live: Live, path: str) -> int:
    large = path.startswith(_UPLOADS)
    return live.settings.upload_limit if large else live.settings.body_limit


def limited(receive: Receive, scope: Scope, most: int) -> Receive:
    """Wrap `receive` so that a body that is too large or too slow is refused."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    so_far, is_coming = 0, True

    async def counted() -> Message:
        nonlocal so_far, is_coming
        try:
            message = await asyncio.wait_for(receive(), BODY_SECONDS if is_coming else None)
        except TimeoutError:
            raise Refusal(408, f"body: did not come within {BODY_SECONDS:g} s", _CLOSE) from None
        is_coming = message.get("more_body", False)
        so_far += len(message.get("body", b""))
        if so_far > most:
            raise _too_large(most)
        return message

    return counted


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"body: larger than {most:,} bytes", _CLOSE)


def _log(live: Live, scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", None) or "-"
    live.metrics.calls.labels(scope["method"], route, str(status)).inc()
    live.metrics.seconds.labels(scope["method"], route).observe(seconds)
    if _LOG.isEnabledFor(logging.INFO):
        token: Any = scope["state"].get("token")
        line = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(1000.0 * seconds, 2),
            "token": None if token is None else token.id,
        }
        _LOG.info(line)
