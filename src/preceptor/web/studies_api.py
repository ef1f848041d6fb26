"""/v1/studies/{id}: a study for programs that may read: what was frozen, and its arms."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.service.live import live_of
from preceptor.service.scopes import needs
from preceptor.service.views import answer
from preceptor.store import studies

router = APIRouter(include_in_schema=False)


@router.get("/v1/studies/{study}", dependencies=[needs("read")])
async def read(request: Request, study: str) -> Response:
    """A study as it was frozen; quiz and checks with their answers are in it."""

    def look(connection: Connection) -> dict[str, Any]:
        kept, arms = studies.find(connection, study), studies.arms_of(connection, study)
        return {
            "study": kept.id,
            "state": kept.state,
            "people": kept.people,
            "sha256": kept.sha256,
            "config": kept.config,
            "arms": [
                {
                    "name": arm.name,
                    "policy": arm.policy,
                    "plan": arm.plan,
                    "cap": arm.cap,
                    "is_open": arm.is_open,
                }
                for arm in arms
            ],
        }

    return answer(await live_of(request).store.reading(look))
