"""/v1/plans, /v1/cases and /v1/recommend: plans, cases that the service holds, advice at once."""

from __future__ import annotations

import asyncio
import hashlib
import json
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.errors import InvalidInput
from preceptor.service.access import needs
from preceptor.service.answers import REFUSALS, CasesAnswer, PlanAnswer, RecommendAnswer
from preceptor.service.guides import Guide, in_words, read_plan
from preceptor.service.live import live_of
from preceptor.service.people import plan_named
from preceptor.service.schemas import NAME, Cases, Hash, Question
from preceptor.service.views import answer
from preceptor.store import plans
from preceptor.store.plans import HeldCase

router = APIRouter(prefix="/v1", tags=["plans"], responses=REFUSALS)
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


@router.put(
    "/plans/{sha256}",
    status_code=201,
    response_model=PlanAnswer,
    responses={200: {"model": PlanAnswer, "description": "It is kept already."}},
    dependencies=[needs("admin")],
    openapi_extra=_BODY,
)
async def put_plan(request: Request, sha256: Hash) -> Response:
    """Keep a plan file under its hash, as `sha256sum plan.json` gives it."""
    live = live_of(request)
    try:
        body = (await request.body()).decode()
    except UnicodeDecodeError:
        raise InvalidInput("plan: is not text in UTF-8") from None
    if plans.sha256_of(body) != sha256:
        raise InvalidInput(f"plan: its hash is {plans.sha256_of(body)}, put it there")
    guide = await asyncio.to_thread(lambda: read_plan(body))
    _, is_new = await live.store.writing(lambda connection: plans.keep(connection, body))
    live.book.add(guide)
    return answer(plan_view(guide), 201 if is_new else 200)


@router.get("/plans/{sha256}", dependencies=[needs("read")])
async def get_plan(request: Request, sha256: Hash) -> Response:
    """The plan file, byte by byte."""
    body = await live_of(request).store.reading(lambda c: plans.body_of(c, sha256))
    return Response(body, media_type="application/json")


@router.put(
    "/cases/{name}",
    status_code=201,
    response_model=CasesAnswer,
    responses={200: {"model": CasesAnswer, "description": "They are kept already."}},
    dependencies=[needs("admin")],
)
async def put_cases(
    request: Request, name: Annotated[str, Path(pattern=NAME)], said: Cases
) -> Response:
    """Keep cases whose hidden results and truths leave the service only after an answer."""
    live = live_of(request)
    plan = plan_named(live, said.plan)
    text = json.dumps([each.model_dump() for each in said.cases], sort_keys=True)
    hashed = hashlib.sha256(text.encode()).hexdigest()
    guide = await live.store.reading(lambda connection: live.book.guide(connection, plan))
    held = await asyncio.to_thread(lambda: _held(guide, said))

    def work(connection: Connection) -> tuple[plans.CaseList, bool]:
        return plans.keep_cases(connection, name, plan, hashed, held)

    kept, is_new = await live.store.writing(work)
    said_back = {"cases": kept.name, "plan": kept.plan, "sha256": kept.sha256, "size": kept.size}
    return answer(said_back, 201 if is_new else 200)


def _held(guide: Guide, said: Cases) -> list[HeldCase]:
    """Cases column by column, all of their faults at once."""
    held, faults = [], []
    for number, case in enumerate(said.cases):
        try:
            known = {name: value for name, value in case.values.items() if value is not None}
            guide.words.columns(list(case.values), "values")
            read = guide.words.results(known)
            values = [read.get(i) for i in range(guide.problem.size)]
            held.append(HeldCase(values, guide.words.outcome(case.outcome)))
        except InvalidInput as error:
            faults += [f"case {number}, {fault}" for fault in error.faults]
    InvalidInput.raise_if(faults[:20])
    return held


def plan_view(guide: Guide) -> dict[str, object]:
    """A plan in brief."""
    world = guide.problem.world
    return {
        "plan": guide.sha256,
        "gap": guide.gap,
        "sure": guide.plan.how_sure(),
        "tests": list(world.tests),
        "outcome": "outcome" if world.units is None else world.units.outcome,
    }


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
        case = await asyncio.to_thread(partial(guide.at_hand, counts, asked.round, columns))
    return answer(
        {
            "show": list(case.names),
            "reason": in_words(case),
            "plan": guide.sha256,
            "gap": guide.gap,
            "on_plan": case.on_plan,
        }
    )
