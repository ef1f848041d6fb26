"""/v1/log: the library's log out of the store, as JSON lines with a cursor."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.service.answers import REFUSALS
from preceptor.service.live import live_of
from preceptor.service.schemas import NAME
from preceptor.service.scopes import needs
from preceptor.service.views import log_row
from preceptor.store import answered

router = APIRouter(prefix="/v1", tags=["log"], responses=REFUSALS)
MEDIA_TYPE = "application/jsonl"


@router.get(
    "/log",
    dependencies=[needs("read")],
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "One round a line."}},
)
async def read(
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**62, description="The last `seq` that you have.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    person: Annotated[str | None, Query(pattern=NAME)] = None,
) -> Response:
    """Answered rounds in the order of their last change.

    A round whose truth comes later comes again, with a higher `seq`; its last line holds.
    """
    live = live_of(request)

    def look(connection: Connection) -> list[dict[str, Any]]:
        found = answered.changed_after(connection, after, limit, person)
        return [
            log_row(live.book.guide(connection, each.plan), each, is_bot=is_bot)
            for each, is_bot in found
        ]

    rows = await live.store.reading(look)
    text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    last = rows[-1]["seq"] if rows else after
    return Response(text, media_type=MEDIA_TYPE, headers={"X-Next-After": str(last)})
