"""The application: endpoints behind a gate, with a store that is open while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI

from preceptor._base.version import VERSION
from preceptor.service import (
    elsewhere,
    health,
    jobs,
    log,
    people,
    plans,
    recommend,
    replan,
    rounds,
    tokens,
)
from preceptor.service.answers import Problem
from preceptor.service.gate import Gate
from preceptor.service.live import Live
from preceptor.service.problems import answer_with_problems
from preceptor.service.scopes import describe_tokens
from preceptor.service.settings import Settings
from preceptor.service.warming import warm
from preceptor.store import Store

_LOG = logging.getLogger("preceptor.service")
# Routes are tried in this order, so those that are called most come first.
_RESOURCES = (rounds, people, recommend, elsewhere, replan, jobs, log, plans, tokens, health)


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
    for router in (*(each.router for each in _RESOURCES), *routers):
        # Flat: a router within a router is matched anew on every call, which takes longer than the
        # rest of the routing.
        app.router.routes.extend(router.routes)
    _describe_by_hand(app)
    return app


async def _get_ready(live: Live) -> None:
    try:
        await live.thinking(lambda: warm(live))
        live.ready = True
        _LOG.info({"event": "ready"})
    except Exception:
        _LOG.exception("not ready")


def _describe_by_hand(app: FastAPI) -> None:
    """Refusals and tokens are looked after by hand, so the document has to be told of them."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            parts = schema["components"]["schemas"]
            described = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            parts |= described.pop("$defs", {})
            parts["Problem"] = described
            describe_tokens(schema)
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]
