"""The HTTP API: people, their rounds and the log, stored plans and cases, stateless advice.

/v1/people/{id}: enrol a person, read their state, export or erase everything about them.
/v1/people/{id}/rounds: open a round, record what was shown, the answer and the outcome.
/v1/log: all answered rounds in the library's log format, as JSON lines with a cursor.
/v1/plans, /v1/cases, /v1/recommend: stored plans and cases, and advice without a stored person.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.errors import InvalidInput
from preceptor.learners.tutor import Tutor
from preceptor.live.service.access import creating, needs
from preceptor.live.service.answers import (
    REFUSALS,
    CasesAnswer,
    PersonAnswer,
    PlanAnswer,
    RecommendAnswer,
    RoundAnswer,
)
from preceptor.live.service.guides import PlanGuide, Seen, read_plan, reason_in_words
from preceptor.live.service.live import (
    Live,
    Snapshot,
    answer,
    live_of,
    log_row,
    must_be_in_no_study,
    open_round,
    person_view,
    round_view,
    start_advice,
)
from preceptor.live.service.records import PersonRecord
from preceptor.live.service.schemas import (
    NAME,
    AdviceRequest,
    Answered,
    CaseUpload,
    Enrolment,
    Hash,
    Opening,
    Shown,
    Truth,
    Which,
    Who,
)
from preceptor.live.service.tutors import beliefs_of
from preceptor.live.store import people, plans, rounds
from preceptor.live.store.checking import erase, export
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.plans import HeldCase
from preceptor.live.store.rounds import StoredRound

people_router = APIRouter(prefix="/v1/people/{who}", tags=["people"], responses=REFUSALS)


def plan_named(live: Live, named: str | None) -> str:
    """Return the plan that was named, or the service's default."""
    if named is not None:
        return named
    if live.settings.plan is None:
        raise InvalidInput("plan: missing, and this service has no default plan; name one")
    return live.settings.plan


@people_router.put("", **creating(PersonAnswer, "They are enrolled already.", "write"))
async def enrol_person(request: Request, who: Who, said: Enrolment) -> Response:
    """Enrol a person under a pseudonym."""
    live = live_of(request)
    plan = plan_named(live, said.plan)

    def work(connection: Connection) -> tuple[PlanGuide, AdvisedPerson, StoredRound | None, bool]:
        guide = live.guides.guide(connection, plan)
        if said.cases is not None:
            held = plans.case_list_of(connection, said.cases)
            theirs = live.guides.guide(connection, held.plan).words.labels
            if theirs != guide.words.labels:
                raise InvalidInput(f"cases: {said.cases!r} has different tests from the plan")
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
        live.aside(start_advice(live, who))
    return answer(person_view(guide, person, there), 201 if is_new else 200)


@people_router.get("", response_model=PersonAnswer, dependencies=[needs("read")])
async def read_person(request: Request, who: Who) -> Response:
    """State of a person: exposure counts, estimated weights, the open round."""
    live = live_of(request)

    def look(
        connection: Connection,
    ) -> tuple[PlanGuide, AdvisedPerson, StoredRound | None, PersonRecord]:
        person = must_be_in_no_study(people.find(connection, who))
        guide = live.guides.guide(connection, person.plan)
        record = live.records.of(connection, guide, person)
        return guide, person, rounds.open_of(connection, who), record

    guide, person, there, record = await live.store.reading(look)
    return answer(person_view(guide, person, there) | await _believed(live, guide, person, record))


# Rounds up to which estimates are computed in this process: replaying so many takes a fifth of a
# second on a busy machine. A longer record would hold up the other calls.
_MOST_HERE = 100


async def _believed(
    live: Live, guide: PlanGuide, person: AdvisedPerson, record: PersonRecord
) -> dict[str, Any]:
    """Estimated weights with intervals, and kinds, once there is an answer."""
    if not record.rounds:
        return {"weights": None, "kinds": None}
    if len(record.rounds) > _MOST_HERE:
        said = await live.advising.beliefs(Snapshot(guide, person, record, None))
    else:
        own = (lambda: Tutor(guide.problem), guide.sha256, person.id, record.rounds)
        said = await asyncio.to_thread(lambda: beliefs_of(live.tutors.of(*own)))
    weights = [
        {"name": name, "mean": mean, "low": low, "high": high}
        for name, mean, (low, high) in zip(
            guide.words.labels, said["means"], said["intervals"], strict=True
        )
    ]
    return {"weights": weights, "kinds": said["kinds"]}


@people_router.get("/export", dependencies=[needs("admin")])
async def export_person(request: Request, who: Who) -> Response:
    """Everything stored about a person."""
    live = live_of(request)
    return answer(await live.store.reading(lambda connection: export(connection, who)))


@people_router.delete("", status_code=204, dependencies=[needs("admin")])
async def erase_person(request: Request, who: Who) -> Response:
    """Erase everything stored about a person; the event chain still verifies."""
    live = live_of(request)
    await live.store.writing(lambda connection: erase(connection, who))
    live.forget(who)
    return Response(status_code=204)


plans_router = APIRouter(prefix="/v1", tags=["plans"], responses=REFUSALS)
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": {}}}}}


@plans_router.put(
    "/plans/{sha256}",
    **creating(PlanAnswer, "It is stored already.", "admin"),
    openapi_extra=_BODY,
)
async def put_plan(request: Request, sha256: Hash) -> Response:
    """Store a plan file under its hash, as `sha256sum plan.json` prints it."""
    live = live_of(request)
    try:
        body = (await request.body()).decode()
    except UnicodeDecodeError:
        raise InvalidInput("plan: is not UTF-8 text") from None
    if plans.sha256_of(body) != sha256:
        raise InvalidInput(f"plan: its hash is {plans.sha256_of(body)}; upload it under that name")
    guide = await asyncio.to_thread(lambda: read_plan(body))
    _, is_new = await live.store.writing(lambda connection: plans.keep(connection, body))
    live.guides.add(guide)
    return answer(plan_view(guide), 201 if is_new else 200)


@plans_router.get("/plans/{sha256}", dependencies=[needs("read")])
async def get_plan(request: Request, sha256: Hash) -> Response:
    """The plan file, unchanged."""
    body = await live_of(request).store.reading(lambda c: plans.body_of(c, sha256))
    return Response(body, media_type="application/json")


@plans_router.put("/cases/{name}", **creating(CasesAnswer, "They are stored already.", "admin"))
async def put_cases(
    request: Request, name: Annotated[str, Path(pattern=NAME)], said: CaseUpload
) -> Response:
    """Store cases; hidden results and outcomes are not revealed before an answer."""
    live = live_of(request)
    plan = plan_named(live, said.plan)
    text = json.dumps([each.model_dump() for each in said.cases], sort_keys=True)
    hashed = plans.sha256_of(text)
    guide = await live.store.reading(lambda connection: live.guides.guide(connection, plan))
    held = await asyncio.to_thread(lambda: _held(guide, said))

    def work(connection: Connection) -> tuple[plans.CaseList, bool]:
        return plans.keep_cases(connection, name, plan, hashed, held)

    kept, is_new = await live.store.writing(work)
    said_back = {"cases": kept.name, "plan": kept.plan, "sha256": kept.sha256, "size": kept.size}
    return answer(said_back, 201 if is_new else 200)


def _held(guide: PlanGuide, said: CaseUpload) -> list[HeldCase]:
    """Cases as columns; all faults are reported at once."""
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


def plan_view(guide: PlanGuide) -> dict[str, object]:
    """Summary of a plan."""
    world = guide.problem.world
    return {
        "plan": guide.sha256,
        "gap": guide.gap,
        "sure": guide.plan.how_sure(),
        "tests": list(world.tests),
        "outcome": "outcome" if world.units is None else world.units.outcome,
    }


@plans_router.post("/recommend", response_model=RecommendAnswer, dependencies=[needs("read")])
async def recommend(request: Request, asked: AdviceRequest) -> Response:
    """Recommend what to show next; nothing is stored."""
    live = live_of(request)
    plan = plan_named(live, asked.plan)

    def look(connection: Connection) -> PlanGuide:
        return live.guides.guide(connection, plan)

    known = live.guides.known(plan)
    guide = await live.store.reading(look) if known is None else known
    counts = guide.words.counts(asked.counts, "counts")
    if asked.available is None:
        case = guide.wanted(counts, asked.round)
    else:
        columns = guide.words.columns(asked.available, "available")
        case = await asyncio.to_thread(partial(guide.best_available, counts, asked.round, columns))
    return answer(
        {
            "show": list(case.names),
            "reason": reason_in_words(case),
            "plan": guide.sha256,
            "gap": guide.gap,
            "on_plan": case.on_plan,
        }
    )


rounds_router = APIRouter(prefix="/v1", tags=["rounds"], responses=REFUSALS)
_ROUNDS = "/people/{who}/rounds"
_ROUND = f"{_ROUNDS}/{{number}}"
_LOG = "application/jsonl"
_STEP: dict[str, Any] = {"response_model": RoundAnswer, "dependencies": [needs("write")]}


@rounds_router.post(_ROUNDS, **creating(RoundAnswer, "The round that is already open.", "write"))
async def open_next_round(
    request: Request, who: Who, asked: Annotated[Opening | None, Body()] = None
) -> Response:
    """Open the next round, or return the open one."""
    live = live_of(request)
    opened = await open_round(live, who, asked or Opening())
    if opened.is_new:
        live.metrics.rounds.labels("offered").inc()
    return answer(round_view(opened.guide, opened.round), 201 if opened.is_new else 200)


@rounds_router.get(_ROUND, response_model=RoundAnswer, dependencies=[needs("read")])
async def read_round(request: Request, who: Who, number: Which) -> Response:
    """State of a round."""
    live = live_of(request)

    def look(connection: Connection) -> tuple[PlanGuide, StoredRound]:
        there = rounds.find(
            connection, must_be_in_no_study(people.find(connection, who)).id, number
        )
        return live.guides.guide(connection, there.plan), there

    return answer(round_view(*await live.store.reading(look)))


@rounds_router.put(f"{_ROUND}/shown", **_STEP)
async def put_shown(
    request: Request, who: Who, number: Which, said: Annotated[Shown | None, Body()] = None
) -> Response:
    """Record what the person actually saw; by default what was recommended."""
    told = said or Shown()

    def step(turn: _Turn) -> StoredRound:
        return rounds.show(*turn.row, *_seen(turn, told), told.reason)

    return await _take(live_of(request), who, number, step)


@rounds_router.put(f"{_ROUND}/prediction", **_STEP)
async def put_prediction(request: Request, who: Who, number: Which, said: Answered) -> Response:
    """Record the person's answer; where the service holds the case, return its outcome."""

    def step(turn: _Turn) -> StoredRound:
        case = turn.case
        outcome = None if case is None else case.outcome
        given = turn.guide.words.answer(said.prediction)
        return rounds.predict(*turn.row, given, turn.taught, outcome)

    return await _take(live_of(request), who, number, step)


@rounds_router.put(f"{_ROUND}/outcome", **_STEP)
async def put_outcome(request: Request, who: Who, number: Which, said: Truth) -> Response:
    """Record the outcome, perhaps days later, and whether the person was told."""
    if said.outcome is None and said.told:
        raise InvalidInput("outcome: null, but told; send what they were told, or told: false")

    def step(turn: _Turn) -> StoredRound:
        outcome = None if said.outcome is None else turn.guide.words.outcome(said.outcome)
        return rounds.tell(*turn.row, outcome, turn.taught, told=said.told)

    return await _take(live_of(request), who, number, step)


@rounds_router.delete(_ROUND, **_STEP)
async def abandon_round(request: Request, who: Who, number: Which) -> Response:
    """Abandon a round that has not been answered; the row stays."""
    return await _take(live_of(request), who, number, lambda turn: rounds.abandon(*turn.row))


@dataclass(frozen=True)
class _Turn:
    """A step of a round within its transaction, which has locked the person."""

    connection: Connection
    person: AdvisedPerson
    guide: PlanGuide
    there: StoredRound

    @property
    def row(self) -> tuple[Connection, AdvisedPerson, StoredRound]:
        """What every step of the store takes first."""
        return self.connection, self.person, self.there

    @property
    def case(self) -> HeldCase | None:
        """The case, if the service holds it."""
        if self.there.case_number is None or self.person.case_list is None:
            return None
        return plans.case_of(self.connection, self.person.case_list, self.there.case_number)

    @property
    def taught(self) -> list[int]:
        """1 for each column that was shown."""
        return self.guide.words.counted(self.there.shown or ())


async def _take(
    live: Live, who: str, number: int, step: Callable[[_Turn], StoredRound]
) -> Response:
    """One step of a round, in one transaction."""

    def work(connection: Connection) -> tuple[PlanGuide, StoredRound]:
        person = must_be_in_no_study(people.find(connection, who, to_change=True))
        there = rounds.find(connection, who, number)
        guide = live.guides.guide(connection, there.plan)
        return guide, step(_Turn(connection, person, guide, there))

    guide, after = await live.store.writing(work)
    live.metrics.rounds.labels(after.status).inc()
    if after.policy == "tutor" and after.status in ("told", "untold"):
        live.aside(start_advice(live, who))
    return answer(round_view(guide, after))


def _seen(turn: _Turn, said: Shown) -> Seen:
    """What was shown: from the case that the service holds, or as the caller says."""
    words, problem, case = turn.guide.words, turn.guide.problem, turn.case
    names = words.tests(turn.there.recommended or ()) if said.tests is None else said.tests
    if case is None:
        if said.values is None and names:
            raise InvalidInput("values: missing; send the result of each test that was shown")
        return words.seen(names, said.values or {})
    if said.values is not None:
        raise InvalidInput("values: the service holds this case; leave them out")
    columns = words.columns(names, "tests")
    if not problem.budget.allows(columns):
        raise InvalidInput(f"tests: {', '.join(names)}; {problem.budget_in_words()} may be shown")
    missing = words.tests([words.labels[i] for i in columns if case.values[i] is None])
    if missing:
        raise InvalidInput(f"tests: {', '.join(missing)} of this case is missing; show other tests")
    return Seen(words.labels_of(columns), [float(case.values[i] or 0.0) for i in columns])


@rounds_router.get(
    "/log",
    dependencies=[needs("read")],
    response_class=Response,
    responses={200: {"content": {_LOG: {}}, "description": "One round per line."}},
)
async def read_log(
    request: Request,
    after: Annotated[
        int, Query(ge=0, le=2**62, description="The last `seq` you have received.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    person: Annotated[str | None, Query(pattern=NAME)] = None,
) -> Response:
    """Answered rounds in the order of their last change.

    A round whose outcome comes later is repeated with a higher `seq`; its last line holds.
    """
    live = live_of(request)

    def look(connection: Connection) -> list[dict[str, Any]]:
        found = rounds.changed_after(connection, after, limit, person)
        return [
            log_row(live.guides.guide(connection, each.plan), each, is_bot=is_bot)
            for each, is_bot in found
        ]

    rows = await live.store.reading(look)
    text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    last = rows[-1]["seq"] if rows else after
    return Response(text, media_type=_LOG, headers={"X-Next-After": str(last)})
