"""/v1/recommend: what to show somebody about whom nothing is kept."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.service.answers import REFUSALS, RecommendAnswer
from preceptor.service.guides import Guide, in_words
from preceptor.service.live import live_of
from preceptor.service.people import plan_named
from preceptor.service.schemas import Question
from preceptor.service.scopes import needs
from preceptor.service.views import answer

router = APIRouter(prefix="/v1", tags=["recommend"], responses=REFUSALS)


@router.post("/recommend", response_model=RecommendAnswer, dependencies=[needs("read")])
async def recommend(request: Request, asked: Question) -> Response:
    """Say what to show next; nothing is written."""
    live = live_of(request)
    plan = plan_named(live, asked.plan)

    def look(connection: Connection) -> Guide:
        return live.book.guide(connection, plan)

    known = live.book.known(plan)
    guide = await live.store.reading(look) if known is None else known
    counts = guide.words.counts(asked.counts, "counts")
    if asked.available is None:
        case = guide.wanted(counts, asked.round)
    else:
        columns = guide.words.columns(asked.available, "available")
        case = await live.thinking(partial(guide.at_hand, counts, asked.round, columns))
    return answer(
        {
            "show": list(case.names),
            "reason": in_words(case),
            "plan": guide.sha256,
            "gap": guide.gap,
            "on_plan": case.on_plan,
        }
    )
