"""/s/{study}/now: the page of the step that somebody is at, and what they answer there.

Every form names its step. What is sent twice, from another tab or after the back button finds that
the step is over; then nothing is written, and the answer is the way to where they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.store import participants, rounds
from preceptor.store.participants import Participant
from preceptor.store.refusals import Conflict, NotThere
from preceptor.web.study_access import Visit, go_on, is_valid, visit_of
from preceptor.web.study_forms import READ, WRITE, Form, Unfit, text_of
from preceptor.web.study_moves import arrive, is_back
from preceptor.web.study_pages import Wrong, prepare, step_page

router = APIRouter(include_in_schema=False)
# How a form names its step; no study has more of them.
_STEP = re.compile(r"[0-9]{1,6}")


@router.get("/s/{study}/now")
async def now(request: Request, study: str) -> Response:
    """The page of the step."""
    visit = await visit_of(request, study)
    if visit is None:
        return RedirectResponse(f"/s/{study}", 303)
    note = request.query_params.get("note", "")
    if is_back(visit.here, visit.who):
        back = await visit.live.store.writing(partial(_arrived, visit=visit))
        visit = replace(visit, who=back)
    return await step_page(request, visit, note)


def _arrived(connection: Connection, visit: Visit) -> Participant:
    who = participants.find(connection, visit.who.id, to_change=True)
    return arrive(connection, visit.here, who)


@router.post("/s/{study}/now")
async def answer(request: Request, study: str) -> Response:
    """An answer to the step that the form names."""
    visit = await visit_of(request, study)
    if visit is None:
        return RedirectResponse(f"/s/{study}", 303)
    form = await request.form()
    named = text_of(form, "step")
    if not is_valid(visit, form.get("csrf")) or not _STEP.fullmatch(named):
        return go_on(study, "again")
    stage = int(named)
    if not visit.who.is_active or stage != visit.who.stage:
        return go_on(study, await _late(visit, stage, form))
    step = visit.here.step(stage)
    try:
        said = READ[step.kind](visit.here, step, form)
    except Unfit as unfit:
        typed = {name: text_of(form, name) for name in form}
        return await step_page(request, visit, wrong=Wrong(unfit.faults, typed))
    try:
        done = await visit.live.store.writing(lambda c: _take(c, visit, stage, said))
    except (Conflict, NotThere):
        return go_on(study, await _late(visit, stage, form))
    if step.kind == "ask":
        status = "told" if visit.here.trial(step).feedback else "untold"
        visit.live.metrics.rounds.labels(status).inc()
    if step.kind == "ask" or done.arm != visit.who.arm:
        prepare(visit, done)
    return go_on(study)


def _take(connection: Connection, visit: Visit, stage: int, said: Any) -> Participant:
    """Write down what was said at a step and move on; `Conflict` if they are elsewhere."""
    here = visit.here
    who = participants.find(connection, visit.who.id, to_change=True)
    participants.must_be_at(who, stage)
    if is_back(here, who):
        who = arrive(connection, here, who)
        if not who.is_active:
            return who
    step = here.step(stage)
    return WRITE[step.kind](connection, here, who, step, said)


@dataclass(frozen=True)
class _Late:
    """Somebody as they are now, and what they answered in the round that a late form is about."""

    who: Participant
    said: float | None


async def _late(visit: Visit, stage: int, form: Form) -> str | None:
    """What to say about a form for a step that is over: nothing, if it says the same once more."""
    here = visit.here
    if stage >= len(here.protocol.steps):
        return "again"
    step = here.step(stage)

    def look(connection: Connection) -> _Late:
        who = participants.find(connection, visit.who.id)
        try:
            return _Late(who, rounds.find(connection, who.id, step.index).prediction)
        except NotThere:
            return _Late(who, None)

    found = await visit.live.store.reading(look)
    if found.who.stage != stage + 1:
        return "already" if stage != found.who.stage else None
    if step.kind != "ask":
        return None
    try:
        same = READ["ask"](here, step, form) == found.said
    except Unfit:
        same = False
    return None if same else "already"
