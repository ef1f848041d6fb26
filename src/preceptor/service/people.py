"""/v1/people/{id}: enrol somebody, look at them, hand over or erase all that is kept of them."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.errors import InvalidInput
from preceptor.service.access import needs
from preceptor.service.advising import record_of
from preceptor.service.answers import REFUSALS, PersonAnswer
from preceptor.service.guides import Guide
from preceptor.service.live import Live, live_of
from preceptor.service.opening import think_ahead
from preceptor.service.schemas import Enrolment, Who
from preceptor.service.views import answer, must_be_free, person_view
from preceptor.store import erasing, people, plans, rounds
from preceptor.store.people import Person
from preceptor.store.rounds import Round

router = APIRouter(prefix="/v1/people/{who}", tags=["people"], responses=REFUSALS)


def plan_named(live: Live, named: str | None) -> str:
    """The plan that was named, or the service's own."""
    if named is not None:
        return named
    if live.settings.plan is None:
        raise InvalidInput("plan: missing, and this service has none of its own; name one")
    return live.settings.plan


@router.put(
    "",
    status_code=201,
    response_model=PersonAnswer,
    responses={200: {"model": PersonAnswer, "description": "They are enrolled already."}},
    dependencies=[needs("write")],
)
async def enrol(request: Request, who: Who, said: Enrolment) -> Response:
    """Enrol somebody under a pseudonym of your own."""
    live = live_of(request)
    plan = plan_named(live, said.plan)

    def work(connection: Connection) -> tuple[Guide, Person, Round | None, bool]:
        guide = live.book.guide(connection, plan)
        if said.cases is not None:
            held = plans.case_list_of(connection, said.cases)
            theirs = live.book.guide(connection, held.plan).words.labels
            if theirs != guide.words.labels:
                raise InvalidInput(f"cases: {said.cases!r} has other tests than the plan")
        person, is_new = people.enrol(
            connection,
            who,
            plan=plan,
            policy=said.policy,
            counts=guide.words.counts(said.start, "start"),
            case_list=said.cases,
            is_bot=said.is_bot,
            enrolled_with={**said.model_dump(exclude_none=True), "plan": plan},
        )
        return guide, person, None if is_new else rounds.open_of(connection, who), is_new

    guide, person, there, is_new = await live.store.writing(work)
    if is_new and person.policy == "tutor":
        live.aside(think_ahead(live, who))
    return answer(person_view(guide, person, there), 201 if is_new else 200)


@router.get("", response_model=PersonAnswer, dependencies=[needs("read")])
async def read(request: Request, who: Who) -> Response:
    """Somebody as they stand: counts, what they seem to believe, the open round."""
    live = live_of(request)

    def look(connection: Connection) -> tuple[Guide, Person, list[Round]]:
        person = must_be_free(people.find(connection, who))
        guide = live.book.guide(connection, person.plan)
        return guide, person, rounds.all_of(connection, who)

    guide, person, all_rounds = await live.store.reading(look)
    there = next((each for each in all_rounds if each.is_open), None)
    said = person_view(guide, person, there)
    said |= await asyncio.to_thread(lambda: _believed(live, guide, person, all_rounds))
    return answer(said)


def _believed(live: Live, guide: Guide, person: Person, all_rounds: list[Round]) -> dict[str, Any]:
    """Weights with intervals and kinds, once there is an answer to go by."""
    record = record_of(guide, all_rounds)
    if not record:
        return {"weights": None, "kinds": None}
    tutor = live.tutors.of(lambda: guide.problem, guide.sha256, person.id, record)
    ends = tutor.intervals().tolist()
    means = tutor.coefficients.tolist()
    weights = [
        {"name": name, "mean": mean, "low": low, "high": high}
        for name, mean, (low, high) in zip(guide.words.labels, means, ends, strict=True)
    ]
    return {"weights": weights, "kinds": tutor.kinds}


@router.get("/export", dependencies=[needs("admin")])
async def export(request: Request, who: Who) -> Response:
    """Everything that is kept about somebody."""
    live = live_of(request)
    return answer(await live.store.reading(lambda connection: erasing.export(connection, who)))


@router.delete("", status_code=204, dependencies=[needs("admin")])
async def erase(request: Request, who: Who) -> Response:
    """Erase everything that is kept about somebody; the chain of events stays whole."""
    live = live_of(request)
    await live.store.writing(lambda connection: erasing.erase(connection, who))
    live.forget(who)
    return Response(status_code=204)
