"""The application: endpoints behind a gate, a store that is open while it runs, its server."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, cast

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from sqlalchemy import update
from starlette.responses import PlainTextResponse, Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from preceptor._base.version import VERSION
from preceptor.learners.tutor import Tutor
from preceptor.live.service.endpoints import people_router, plans_router, rounds_router
from preceptor.live.service.gate import Gate, answer_with_problems, problem
from preceptor.live.service.live import Live, live_of
from preceptor.live.service.settings import Settings
from preceptor.live.store.chain import now
from preceptor.live.store.database import PATIENCE, Store
from preceptor.live.store.tables import tables_version

_LOG = logging.getLogger("preceptor.service")
# For operators; no token is needed.
_health = APIRouter(tags=["health"])


# A context that is entered when the application starts and left when it stops.
Alongside = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def make_app(
    settings: Settings, routers: Sequence[APIRouter] = (), alongside: Sequence[Alongside] = ()
) -> FastAPI:
    """Make the service; the database is opened when the server starts it.

    Parameters
    ----------
    settings
        Options of the service.
    routers
        Further routes, such as pages; they are tried after the service's own.
    alongside
        Contexts that these need while the application runs: entered once the store is open, left
        before it is closed.

    Returns
    -------
    fastapi.FastAPI
        For any ASGI server; `preceptor serve` uses uvicorn.
    """

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        live = Live(settings, Store(settings.database))
        app.state.live = live
        warming = asyncio.create_task(_get_ready(live))
        try:
            async with AsyncExitStack() as stack:
                for begin in alongside:
                    await stack.enter_async_context(begin(app))
                yield
        finally:
            warming.cancel()
            await live.close()

    app = FastAPI(
        title="Preceptor",
        version=VERSION,
        summary="What should this person see now? Recommends tests, round by round.",
        lifespan=running,
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
    )
    app.add_middleware(Gate)
    answer_with_problems(app)
    # Routes are tried in this order, so the most frequent come first.
    for router in (rounds_router, people_router, plans_router, _health, *routers):
        # Flattened: matching a router within a router takes longer than the rest of the routing.
        app.router.routes.extend(router.routes)
    return app


async def _get_ready(live: Live) -> None:
    try:
        await asyncio.to_thread(_warm, live)
        live.ready = True
        _LOG.info({"event": "ready"})
    except Exception:
        _LOG.exception("not ready")


def _warm(live: Live) -> None:
    """Read the plan and compile kernels, so that the first call need not wait for it."""
    named = live.settings.plan
    if named is not None:
        guide = live.store.read(lambda connection: live.guides.guide(connection, named))
        guide.wanted([0] * guide.problem.size, 0)
        Tutor(guide.problem).recommendation()


@_health.get("/livez", response_class=PlainTextResponse)
async def livez() -> Response:
    """Whether the process responds."""
    return PlainTextResponse("ok\n")


@_health.get("/readyz", response_class=PlainTextResponse)
async def readyz(request: Request) -> Response:
    """Whether the tables exist, kernels are compiled, and the database can be written to."""
    live = live_of(request)
    if not live.ready:
        return problem(503, ["service: still starting"], {"Retry-After": "1"})
    same = update(tables_version).values(version=tables_version.c.version)
    await live.store.writing(lambda c: c.execute(same).rowcount)
    return PlainTextResponse("ok\n")


@_health.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    return Response(live_of(request).metrics.text(), media_type="text/plain; version=0.0.4")


# All of ours, and warnings of the web server.
_LEVELS = {
    "preceptor.service": logging.INFO,
    "preceptor.live.web": logging.INFO,
    "uvicorn.error": logging.WARNING,
}


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    # Calls wait while the service starts, instead of being refused.
    made.listen(socket.SOMAXCONN)
    made.set_inheritable(True)
    return made


def address_of(made: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# Connections at once; further ones are answered with 503. A lab has hundreds of browsers, and a
# process may have 1,024 files open.
_MOST_AT_ONCE = 800


# Seconds until the headers of a call have to be there, from its first byte or the connection on.
HEADER_SECONDS = 10.0


class PunctualHttp(HttpToolsProtocol):
    """HTTP that closes connections whose headers do not come; uvicorn would wait for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first call."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers, however slowly they drip in."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _watch(self) -> None:
        waits = self.cycle is None or self.cycle.response_complete
        if waits and self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)
        elif not waits and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def run(app: FastAPI, made: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; running calls are finished first."""
    log_to_stderr()
    # uvicorn raises the signal again at its end; being stopped is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    config = uvicorn.Config(
        app,
        http=PunctualHttp,
        log_config=None,
        access_log=False,  # it would log addresses of callers
        server_header=False,
        limit_concurrency=_MOST_AT_ONCE,
        timeout_graceful_shutdown=int(2 * PATIENCE),  # a call may wait for a tutor,
    )
    uvicorn.Server(config).run(sockets=[made])


class Lines(logging.Formatter):
    """Formats a log record as a line of JSON.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": {"event": "ready"}, "levelname": "INFO"})
    >>> list(json.loads(Lines().format(record)))
    ['at', 'level', 'event']
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; the keys of a mapping become fields."""
        said: dict[str, Any] = {"at": now(), "level": record.levelname.lower()}
        if isinstance(record.msg, dict):
            said |= record.msg
        else:
            said["message"] = record.getMessage()
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said)


def log_to_stderr() -> None:
    """Log to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name, level in _LEVELS.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
