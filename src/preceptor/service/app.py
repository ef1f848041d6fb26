"""The application: endpoints behind a gate, with a store that is open while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from sqlalchemy import text
from starlette.responses import PlainTextResponse, Response

from preceptor._base.version import VERSION
from preceptor.service import people, plans, rounds
from preceptor.service.answers import Problem
from preceptor.service.gate import Gate
from preceptor.service.live import Live, live_of
from preceptor.service.problems import answer_with_problems, problem
from preceptor.service.settings import Settings
from preceptor.store import Store
from preceptor.tutoring import Tutor

_LOG = logging.getLogger("preceptor.service")
# For whoever keeps the service running; no token is needed.
_health = APIRouter(tags=["health"])


# What begins with an application and ends with it.
Alongside = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def make_app(
    settings: Settings,
    routers: Sequence[APIRouter] = (),
    alongside: Sequence[Alongside] = (),
) -> FastAPI:
    """The service, not yet started: the database is opened when the server starts it.

    Parameters
    ----------
    settings
        How it runs.
    routers
        Further paths, such as pages for people; their routes are tried after the service's own.
    alongside
        What these need while the application runs: begun once the store is open, ended before it
        is closed.

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
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(Gate)
    answer_with_problems(app)
    # Routes are tried in this order, so those that are called most come first.
    for router in (rounds.router, people.router, plans.router, _health, *routers):
        # Flat: a router within a router is matched anew on every call, which takes longer than the
        # rest of the routing.
        app.router.routes.extend(router.routes)
    _describe_by_hand(app)
    return app


async def _get_ready(live: Live) -> None:
    try:
        await asyncio.to_thread(_warm, live)
        live.ready = True
        _LOG.info({"event": "ready"})
    except Exception:
        _LOG.exception("not ready")


def _warm(live: Live) -> None:
    """Do once what the first call would have to wait for: read the plan, compile kernels."""
    named = live.settings.plan
    if named is not None:
        guide = live.store.read(lambda connection: live.book.guide(connection, named))
        guide.wanted([0] * guide.problem.size, 0)
        Tutor(guide.problem).recommendation()


@_health.get("/livez", response_class=PlainTextResponse)
async def livez() -> Response:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


@_health.get("/readyz", response_class=PlainTextResponse)
async def readyz(request: Request) -> Response:
    """Whether tables are there, kernels are compiled, and the database answers."""
    live = live_of(request)
    if not live.ready:
        return problem(503, ["service: still starting"], {"Retry-After": "1"})
    await live.store.reading(lambda c: c.execute(text("SELECT 1")).scalar())
    return PlainTextResponse("ok\n")


@_health.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    return Response(live_of(request).metrics.text(), media_type="text/plain; version=0.0.4")


def _describe_by_hand(app: FastAPI) -> None:
    """Refusals are answered by hand, so the document has to be told of them."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            parts = schema["components"]["schemas"]
            described = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            parts |= described.pop("$defs", {})
            parts["Problem"] = described
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]
