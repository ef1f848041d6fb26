"""/v1/people/{id}/rounds: open one, say what was shown, answered and true, or leave it.

/v1/log gives all that were answered, in the library's log format, as JSON lines with a cursor.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.errors import InvalidInput
from preceptor.service.access import needs
from preceptor.service.answers import REFUSALS, RoundAnswer
from preceptor.service.guides import Guide
from preceptor.service.live import Live, live_of
from preceptor.service.opening import open_round, think_ahead
from preceptor.service.schemas import NAME, Answered, Opening, Shown, Truth, Which, Who
from preceptor.service.views import answer, log_row, must_be_free, round_view
from preceptor.service.wording import Seen
from preceptor.store import people, plans, rounds
from preceptor.store.people import Person
from preceptor.store.rounds import Round

router = APIRouter(prefix="/v1", tags=["rounds"], responses=REFUSALS)
_ROUNDS = "/people/{who}/rounds"
_LOG = "application/jsonl"
Step = Callable[[Connection, Person, Guide, Round], Round]


@router.post(
    _ROUNDS,
    status_code=201,
    response_model=RoundAnswer,
    responses={200: {"model": RoundAnswer, "description": "The round that is open already."}},
    dependencies=[needs("write")],
)
async def open_next(
    request: Request, who: Who, asked: Annotated[Opening | None, Body()] = None
) -> Response:
    """Open the next round, or return the open one."""
    live = live_of(request)
    opened = await open_round(live, who, asked or Opening())
    if opened.is_new:
        live.metrics.rounds.labels("offered").inc()
    return answer(round_view(opened.guide, opened.round), 201 if opened.is_new else 200)


@router.get(f"{_ROUNDS}/{{number}}", response_model=RoundAnswer, dependencies=[needs("read")])
async def read(request: Request, who: Who, number: Which) -> Response:
    """A round as it stands."""
    live = live_of(request)

    def look(connection: Connection) -> tuple[Guide, Round]:
        there = rounds.find(connection, must_be_free(people.find(connection, who)).id, number)
        return live.book.guide(connection, there.plan), there

    return answer(round_view(*await live.store.reading(look)))


@router.put(
    f"{_ROUNDS}/{{number}}/shown", response_model=RoundAnswer, dependencies=[needs("write")]
)
async def put_shown(
    request: Request, who: Who, number: Which, said: Annotated[Shown | None, Body()] = None
) -> Response:
    """Say what the person really saw; as recommended if nothing else is said."""
    told = said or Shown()

    def step(connection: Connection, person: Person, guide: Guide, there: Round) -> Round:
        seen = _seen(connection, person, guide, there, told)
        return rounds.show(connection, person, there, seen.labels, seen.values, told.reason)

    return await _take(live_of(request), who, number, step)


@router.put(
    f"{_ROUNDS}/{{number}}/prediction", response_model=RoundAnswer, dependencies=[needs("write")]
)
async def put_prediction(request: Request, who: Who, number: Which, said: Answered) -> Response:
    """Say what the person answered; where the service holds the truth, it comes back."""

    def step(connection: Connection, person: Person, guide: Guide, there: Round) -> Round:
        truth = None
        if there.case_number is not None and person.case_list is not None:
            truth = plans.case_of(connection, person.case_list, there.case_number).outcome
        given = guide.words.answer(said.prediction)
        taught = guide.words.counted(there.shown or ())
        return rounds.predict(connection, person, there, given, taught, truth)

    return await _take(live_of(request), who, number, step)


@router.put(
    f"{_ROUNDS}/{{number}}/outcome", response_model=RoundAnswer, dependencies=[needs("write")]
)
async def put_outcome(request: Request, who: Who, number: Which, said: Truth) -> Response:
    """Say what was true, perhaps days later, and whether the person has heard it."""
    if said.outcome is None and said.told:
        raise InvalidInput("outcome: null, but told; say what they were told, or told: false")

    def step(connection: Connection, person: Person, guide: Guide, there: Round) -> Round:
        truth = None if said.outcome is None else guide.words.outcome(said.outcome)
        taught = guide.words.counted(there.shown or ())
        return rounds.tell(connection, person, there, truth, taught, told=said.told)

    return await _take(live_of(request), who, number, step)


@router.delete(f"{_ROUNDS}/{{number}}", response_model=RoundAnswer, dependencies=[needs("write")])
async def leave(request: Request, who: Who, number: Which) -> Response:
    """Abandon a round that waits for the person; the row stays."""

    def step(connection: Connection, person: Person, guide: Guide, there: Round) -> Round:
        return rounds.abandon(connection, person, there)

    return await _take(live_of(request), who, number, step)


async def _take(live: Live, who: str, number: int, step: Step) -> Response:
    """One step of a round: one transaction that holds the person."""

    def work(connection: Connection) -> tuple[Guide, Round]:
        person = must_be_free(people.find(connection, who, to_change=True))
        there = rounds.find(connection, who, number)
        guide = live.book.guide(connection, there.plan)
        return guide, step(connection, person, guide, there)

    guide, after = await live.store.writing(work)
    live.metrics.rounds.labels(after.status).inc()
    if after.policy == "tutor" and after.status in ("told", "untold"):
        live.aside(think_ahead(live, who))
    return answer(round_view(guide, after))


def _seen(connection: Connection, person: Person, guide: Guide, there: Round, said: Shown) -> Seen:
    """What was shown: of a case that the service holds, or in the caller's words."""
    words = guide.words
    names = words.tests(there.recommended or ()) if said.tests is None else said.tests
    if there.case_number is None or person.case_list is None:
        if said.values is None and names:
            raise InvalidInput("values: missing; send the result of each test that was shown")
        return words.seen(names, said.values or {})
    if said.values is not None:
        raise InvalidInput("values: the service holds this case; leave them out")
    columns = words.columns(names, "tests")
    if not guide.problem.budget.allows(columns):
        raise InvalidInput(
            f"tests: {', '.join(names)}; {guide.problem.budget_in_words()} may be shown"
        )
    values = plans.case_of(connection, person.case_list, there.case_number).values
    missing = words.tests([words.labels[i] for i in columns if values[i] is None])
    if missing:
        raise InvalidInput(f"tests: {', '.join(missing)} of this case is not known; show others")
    return Seen(words.labels_of(columns), [float(values[i] or 0.0) for i in columns])


@router.get(
    "/log",
    dependencies=[needs("read")],
    response_class=Response,
    responses={200: {"content": {_LOG: {}}, "description": "One round a line."}},
)
async def read_log(
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
        found = rounds.changed_after(connection, after, limit, person)
        return [
            log_row(live.book.guide(connection, each.plan), each, is_bot=is_bot)
            for each, is_bot in found
        ]

    rows = await live.store.reading(look)
    text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    last = rows[-1]["seq"] if rows else after
    return Response(text, media_type=_LOG, headers={"X-Next-After": str(last)})
