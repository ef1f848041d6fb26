"""The first page: what is here."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from preceptor.web.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/")
async def start(request: Request) -> Response:
    """What is here, with links."""
    has_explorer = hasattr(request.app.state, "explorer")
    return page(request, "start.html.j2", has_explorer=has_explorer)
