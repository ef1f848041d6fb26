"""The gate before all endpoints: who calls, how often, how much they send, and a line in the log.

Addresses of callers and names of people are not written down anywhere: the log has the pattern of
the path, not the path.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preceptor.service.access import GUARDED, Refusal
from preceptor.service.live import Live
from preceptor.service.problems import problem
from preceptor.store.refusals import StoreFailure
from preceptor.store.tokens import Token

_LOG = logging.getLogger("preceptor.service")
_UPLOADS = ("/v1/plans", "/v1/cases")
_HERE = ("localhost", "127.0.0.1", "[::1]")
# Who calls while there are no tokens, on the machine itself.
OPEN_DOOR = Token("", "-", "this machine", "admin", "", None, None)


class Gate:
    """Wraps the application; everything that it refuses never gets there.

    Parameters
    ----------
    app
        What is behind the gate.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        live: Live = scope["app"].state.live
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
            response = problem(500, ["service: something happened that should not have"])
            await response(scope, receive, answer)
        finally:
            _write_down(live, scope, status, time.perf_counter() - began)

    async def _admit(self, live: Live, scope: Scope) -> None:
        """Put the caller's token into the scope, or refuse."""
        token = await token_of(live, dict(scope["headers"]))
        live.buckets.must_not_wait(token.id, "rate: too many calls with this token; slow down")
        scope["state"]["token"] = token


async def token_of(live: Live, headers: dict[bytes, bytes]) -> Token:
    """The token that a call comes with, or a `Refusal`."""
    await live.tokens.refresh()
    given = headers.get(b"authorization", b"").decode("latin-1")
    kind, _, secret = given.partition(" ")
    token = live.tokens.find(secret.strip()) if kind.lower() == "bearer" else None
    if token is None and not given and live.settings.loopback and not live.tokens.are_there:
        must_be_from_here(headers)
        token = OPEN_DOOR
    if token is None:
        said = "is not valid" if given else "is missing"
        raise Refusal(
            401,
            f"token: {said}; send Authorization: Bearer <token>, made with `preceptor serve "
            "token create`",
            {"WWW-Authenticate": "Bearer"},
        )
    return token


# What every answer says unless it says otherwise.
ALWAYS = {b"x-content-type-options": b"nosniff", b"referrer-policy": b"no-referrer"}
_HEADERS = {b"cache-control": b"no-store", **ALWAYS}


def with_defaults(
    headers: list[tuple[bytes, bytes]], defaults: Mapping[bytes, bytes]
) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, and those of `defaults` that it does not have."""
    said = {name.lower() for name, _ in headers}
    return [*headers, *(each for each in defaults.items() if each[0] not in said)]


def must_be_called_here(headers: dict[bytes, bytes]) -> str:
    """Refuse callers who know this machine by another name: that is how other sites get in."""
    host = headers.get(b"host", b"").decode("latin-1")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    _only_if(name in _HERE, host)
    return host


def must_be_from_here(headers: dict[bytes, bytes]) -> None:
    """Without tokens, no page of another site may call through somebody's browser."""
    host = must_be_called_here(headers)
    origin = headers.get(b"origin", b"").decode("latin-1")
    _only_if(not origin or origin.partition("//")[2] == host, host)


def _only_if(is_from_here: bool, host: str) -> None:
    if not is_from_here:
        raise Refusal(
            403,
            f"host: {host!r}, but without tokens this service answers localhost only; make one "
            "with `preceptor serve token create`",
        )


def _most(live: Live, path: str) -> int:
    large = path.startswith(_UPLOADS)
    return live.settings.upload_limit if large else live.settings.body_limit


def limited(receive: Receive, scope: Scope, most: int) -> Receive:
    """The body, as long as it is not too long."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    so_far = 0

    async def counted() -> Message:
        nonlocal so_far
        message = await receive()
        so_far += len(message.get("body", b""))
        if so_far > most:
            raise _too_large(most)
        return message

    return counted


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"body: larger than {most:,} bytes", {"Connection": "close"})


def _write_down(live: Live, scope: Scope, status: int, seconds: float) -> None:
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
