"""/v1/people/{id}/replan: a plan made anew for one person, from where they are."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.service.answers import REFUSALS, JobAnswer
from preceptor.service.jobs import accepted, must_have_room
from preceptor.service.live import live_of
from preceptor.service.of_studies import must_be_free
from preceptor.service.schemas import Replanning, Who
from preceptor.service.scopes import needs
from preceptor.service.solving import check_method, check_time
from preceptor.store import jobs, people
from preceptor.store.jobs import Job
from preceptor.store.refusals import Conflict

router = APIRouter(prefix="/v1/people/{who}", tags=["people"], responses=REFUSALS)


@router.post("/replan", status_code=202, response_model=JobAnswer, dependencies=[needs("write")])
async def replan(
    request: Request, who: Who, asked: Annotated[Replanning | None, Body()] = None
) -> Response:
    """Plan anew for somebody, from what they have seen; holds from the next round on.

    One job a person: as long as it is under way, asking again gives the same.
    """
    live = live_of(request)
    how = (asked or Replanning()).model_dump()
    check_time(live, how["time_limit"])

    def work(connection: Connection) -> tuple[Job, bool]:
        person = must_be_free(people.find(connection, who, to_change=True))
        there = jobs.live_of(connection, who)
        if there is not None:
            return there, False
        if person.policy == "tutor":
            raise Conflict(f"person: {who!r} has a tutor, which plans anew by itself")
        problem = live.book.guide(connection, person.plan).problem
        if problem.horizon is not None and person.position >= problem.horizon:
            raise Conflict(
                f"person: {who!r} has been through all {problem.horizon} cases of the plan; enrol "
                "them with a plan for more"
            )
        check_method(problem, how["method"], how["objective"])
        # Somebody who has moved on is planned for anew; somebody who has not is not.
        where: dict[str, Any] = {"person": who, "plan": person.plan, "answers": person.answers}
        args = {**where, "rounds": person.rounds, **how}
        there = jobs.look_up(connection, jobs.id_of("replan", args))
        if there is None or there.state == "failed":
            must_have_room(live, connection)
        seconds = live.planner.longest(args)
        return jobs.enqueue(connection, "replan", args, who, seconds=seconds)

    return accepted(live, *await live.store.writing(work))
