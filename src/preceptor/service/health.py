"""/livez, /readyz and /metrics: for whoever keeps the service running; no token is needed."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy import Connection, text
from starlette.responses import PlainTextResponse, Response

from preceptor.service.live import live_of
from preceptor.service.problems import problem
from preceptor.store import jobs
from preceptor.store.refusals import StoreFailure

router = APIRouter(tags=["health"])


@router.get("/livez", response_class=PlainTextResponse)
async def livez() -> Response:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", response_class=PlainTextResponse)
async def readyz(request: Request) -> Response:
    """Whether tables are there, kernels are compiled, and the database answers."""
    live = live_of(request)
    if not live.ready:
        return problem(503, ["service: still starting"], {"Retry-After": "1"})
    await live.store.reading(_ask)
    return PlainTextResponse("ok\n")


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus, of all processes that answer here."""
    live = live_of(request)
    try:
        counted = await live.store.reading(jobs.by_state)
    except StoreFailure:
        counted = None  # the other numbers say so, too
    return Response(live.metrics.text(counted), media_type="text/plain; version=0.0.4")


def _ask(connection: Connection) -> None:
    connection.execute(text("SELECT 1"))
