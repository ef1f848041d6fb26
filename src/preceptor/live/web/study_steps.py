"""What participants request: joining, the page of their step and their answers to it, leaving.

Opening an address changes nothing, since mail programs and messengers open addresses, too; pressing
the button joins. A recruiter's name in the address identifies a participant but proves nothing: it
leads back to them only while they have no arm.

/s/{study}/now is the page of the step that a participant is at, and takes the answer they send.
Every form names its step. A form that is sent twice, from another tab or after the back button
finds that the step is over; then nothing is written, and the browser is sent to the current step.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.live.service.access import Refusal
from preceptor.live.service.live import compute_advice, live_of, snapshot_of, start_advice
from preceptor.live.store import participants, rounds, studies
from preceptor.live.store.checking import erase
from preceptor.live.store.participants import Participant
from preceptor.live.store.tables import Conflict, NotFound, StoreFailure
from preceptor.live.study.taking_part import LiveStudy, arrive, is_back, places_left, reach, take
from preceptor.live.web import study_access as access
from preceptor.live.web.pages import page
from preceptor.live.web.study_forms import READ, Form, InvalidForm, text_of
from preceptor.live.web.study_pages import (
    RefusedForm,
    anonymous,
    common,
    notice,
    step_page,
    wait_page,
)

taking_part_router = APIRouter(include_in_schema=False)
# How a form names its step; no study has more steps.
_STEP = re.compile(r"[0-9]{1,6}")


@taking_part_router.get("/s/{study}/now")
async def now(request: Request, study: str) -> Response:
    """The page of the participant's step."""
    visit = await access.participant_of(request, study)
    here, who = visit.here, visit.who

    def come_back(connection: Connection) -> Participant:
        found = participants.find(connection, who.id, to_change=True)
        return arrive(connection, here, found)

    if is_back(here, who):
        visit = replace(visit, who=await visit.live.store.writing(come_back))
    return await _page(request, visit, request.query_params.get("note", ""))


async def _page(
    request: Request, visit: access.Visit, note: str = "", wrong: RefusedForm | None = None
) -> Response:
    """The page of a step; a case that is not open yet is opened first."""
    is_case = visit.who.is_active and visit.here.step(visit.who.stage).kind == "ask"
    if is_case and visit.round is None:
        try:
            visit = await _with_case(visit)
        except (Refusal, StoreFailure):
            return wait_page(request, visit)
        except Conflict:
            return access.to_current_step(visit.here.id)
        if visit.who.is_active and visit.round is None:
            return access.to_current_step(visit.here.id)
    return await step_page(request, visit, note, wrong)


async def _with_case(visit: access.Visit) -> access.Visit:
    """The visit after its case was opened.

    Raises a `Refusal` while the tutor is still planning, and a `Conflict` if the participant has
    moved on in another tab.
    """
    live, here, who = visit.live, visit.here, visit.who
    planned = None
    if here.needs_tutor(who):
        asked = await snapshot_of(live, who.id)
        asked = await live.store.reading(lambda c: here.looking(c, who, asked))
        planned = await compute_advice(live, asked)
    wrong = None
    if here.needs_contrast(who):
        record = await snapshot_of(live, who.id)
        wrong = await asyncio.to_thread(here.contrast, record)

    def work(connection: Connection) -> access.Visit | None:
        reach(connection, here, who.id, who.stage, planned, wrong)
        return access.find_visit(connection, live, here, visit.secret)

    opened = await live.store.writing(work) or visit
    if opened.round is not None:
        live.metrics.rounds.labels("offered").inc()
    return opened


@taking_part_router.post("/s/{study}/now")
async def answer(request: Request, study: str) -> Response:
    """Take the answer to the step that the form names."""
    visit = await access.participant_of(request, study)
    form = await access.form_of(request, visit)
    named = text_of(form, "step")
    if not _STEP.fullmatch(named):
        return access.to_current_step(study, "again")
    stage, here, who = int(named), visit.here, visit.who
    if not who.is_active or stage != who.stage:
        return access.to_current_step(study, await _late(visit, stage, form))
    step = here.step(stage)
    try:
        said = READ[step.kind](here, step, form)
    except InvalidForm as unfit:
        typed = {name: text_of(form, name) for name in form}
        return await _page(request, visit, wrong=RefusedForm(unfit.faults, typed))
    try:
        done = await visit.live.store.writing(lambda c: take(c, here, who.id, stage, said))
    except (Conflict, NotFound):
        return access.to_current_step(study, await _late(visit, stage, form))
    _after(visit, done)
    return access.to_current_step(study)


def _after(visit: access.Visit, done: Participant) -> None:
    """Count the rounds that an answer moved; let a tutor start on the next case early."""
    live, here = visit.live, visit.here
    before, now_at = here.step(visit.who.stage), here.step(done.stage)
    if before.kind == "ask":
        live.metrics.rounds.labels("told" if here.trial(before).feedback else "untold").inc()
    # An arm that looks at the case decides within milliseconds, once the case is known.
    own = None if done.arm is None else here.arms[done.arm]
    is_tutored = own is not None and own.is_adaptive and own.in_view is None and done.is_active
    if is_tutored and (before.kind == "ask" or done.arm != visit.who.arm):
        live.aside(start_advice(live, done.id))
    is_later = here.needs_tutor(done) or here.needs_contrast(done)
    if now_at.kind == "ask" and done.is_active and not is_later:
        live.metrics.rounds.labels("offered").inc()


async def _late(visit: access.Visit, stage: int, form: Form) -> str | None:
    """The note about a form for a step that is over; None if it repeats the same answer."""
    here, who = visit.here, visit.who.id
    if stage >= len(here.protocol.steps):
        return "again"
    step = here.step(stage)

    def note(connection: Connection) -> str | None:
        at = participants.find(connection, who).stage
        if at != stage + 1:
            return "already" if stage != at else None
        if step.kind != "ask":
            return None
        try:
            given = READ["ask"](here, step, form).value
            same = given == rounds.find(connection, who, step.index).prediction
            return None if same else "already"
        except (InvalidForm, NotFound):
            return "already"

    return await visit.live.store.reading(note)


@taking_part_router.get("/s/{study}")
async def landing(request: Request, study: str) -> Response:
    """Description of the study, with a button to begin or to continue."""
    visit = await access.visit_of(request, study)
    here = await access.studies_of(request).find(study)
    said = here.study.configuration
    parameter = said.recruiting.parameter
    recruiter = "" if parameter is None else request.query_params.get(parameter, "")
    if visit is not None and not _is_other(here, visit.who, recruiter):
        return _landing(request, here, goes_on=True, recruiter="")
    why = await live_of(request).store.reading(lambda c: _why_not(c, here, recruiter))
    if why is not None:
        return _notice(request, here, why)
    return _landing(request, here, goes_on=False, recruiter=recruiter)


def _landing(request: Request, here: LiveStudy, *, goes_on: bool, recruiter: str) -> Response:
    own = {"goes_on": goes_on, "recruiter": recruiter}
    return page(request, "study_landing.html.j2", 200, **anonymous(here.study), **own)


def _is_other(here: LiveStudy, who: Participant, recruiter: str) -> bool:
    """Whether an address names another participant than the cookie."""
    if not recruiter:
        return False
    return who.recruiter != _hashed(here, recruiter)


def _hashed(here: LiveStudy, recruiter: str) -> str | None:
    return participants.recruiters_name(here.key, recruiter) if recruiter else None


def _why_not(connection: Connection, here: LiveStudy, recruiter: str) -> str | None:
    """The notice for visitors that says why they cannot begin; None if they can."""
    said = here.study.configuration.recruiting
    name = _hashed(here, recruiter)
    if name is not None and participants.has_withdrawn(connection, here.id, name):
        return "withdrawn"
    if not studies.find(connection, here.id).is_open:
        return "closed"
    if places_left(connection, here, "real") <= 0:
        return "full"
    if said.entry == "links":
        return "links"
    return "unnamed" if said.parameter is not None and not recruiter else None


# Status of the answer, and messages of the title and of the reason.
_NOTICES = {
    "closed": (200, "study_over", "study_over_why"),
    "full": (200, "study_full", "study_full_why"),
    "links": (200, "by_invitation", "by_invitation_why"),
    "unnamed": (400, "no_name", "no_name_why"),
    "withdrawn": (409, "withdrawn", "withdrawn_before"),
    "elsewhere": (409, "has_begun", "has_begun_why"),
    "unknown": (404, "unknown_link", "link_unknown_why"),
}


def _notice(request: Request, here: LiveStudy, name: str) -> Response:
    status, title, why = _NOTICES[name]
    say = here.words.say
    return notice(request, anonymous(here.study), say(title), say(why), status=status)


@taking_part_router.post("/s/{study}")
async def join(request: Request, study: str) -> Response:
    """Join, or come back."""
    access.must_be_same_site(request)
    live, here = live_of(request), await access.studies_of(request).find(study)
    form = await request.form()
    kind = "bot" if text_of(form, "kind") == "bot" else "real"
    if kind == "bot":
        if not await access.may_run_bots(request):
            raise Refusal(403, "token: may only read, but bots need one that may write")
    else:
        access.limit_rate(live, f"joining {study}")
    recruiter = text_of(form, "recruiter")
    visit = await access.visit_of(request, study)
    if visit is not None and visit.who.kind == kind and not _is_other(here, visit.who, recruiter):
        return access.to_current_step(study)
    try:
        secret = await live.store.writing(lambda c: _joined(c, here, kind, recruiter))
    except _NotJoined as why:
        return _notice(request, here, str(why))
    return access.let_in(request, study, secret)


class _NotJoined(Exception):
    """The argument names the notice that says why."""


def _joined(connection: Connection, here: LiveStudy, kind: str, recruiter: str) -> str:
    """The secret of a participant who is new, or has not begun."""
    name = _hashed(here, recruiter)
    there = None
    if name is not None:
        there = participants.by_recruiter(connection, here.id, kind, name)
    if there is None:
        why = _why_not(connection, here, recruiter) if kind == "real" else None
        if kind == "bot" and not studies.find(connection, here.id).is_open:
            why = "closed"
        if why is not None:
            raise _NotJoined(why)
        there = participants.join(connection, here.id, kind=kind, recruiter=name)
    elif kind == "real" and (there.arm is not None or not there.is_active):
        raise _NotJoined("elsewhere")
    return participants.new_link(connection, there)


@taking_part_router.get("/s/{study}/p/{secret}")
async def personal(request: Request, study: str, secret: str) -> Response:
    """A personal link: a page with a button to continue."""
    here = await access.studies_of(request).find(study)
    if not await _is_known(request, here, secret):
        return _notice(request, here, "unknown")
    context = anonymous(here.study)
    return page(request, "study_personal.html.j2", 200, **context, secret=secret)


@taking_part_router.post("/s/{study}/p/{secret}")
async def enter(request: Request, study: str, secret: str) -> Response:
    """Move the secret from the address into a cookie."""
    access.must_be_same_site(request)
    here = await access.studies_of(request).find(study)
    if not await _is_known(request, here, secret):
        return _notice(request, here, "unknown")
    return access.let_in(request, study, secret)


async def _is_known(request: Request, here: LiveStudy, secret: str) -> bool:
    live = live_of(request)
    access.limit_rate(live, "links")
    return await live.store.reading(lambda c: access.find_visit(c, live, here, secret)) is not None


@taking_part_router.get("/s/{study}/link")
async def offer_link(request: Request, study: str) -> Response:
    """A button that makes a link for another device."""
    visit = await access.participant_of(request, study)
    return _link_page(request, visit, None)


@taking_part_router.post("/s/{study}/link")
async def make_link(request: Request, study: str) -> Response:
    """A new personal link, shown once."""
    visit = await access.participant_of(request, study)
    await access.form_of(request, visit)
    who = visit.who
    secret = await visit.live.store.writing(lambda c: participants.new_link(c, who))
    return _link_page(request, visit, f"{request.base_url}s/{study}/p/{secret}")


def _link_page(request: Request, visit: access.Visit, address: str | None) -> Response:
    return page(request, "study_link.html.j2", **common(visit), address=address)


@taking_part_router.get("/s/{study}/withdraw")
async def ask_whether(request: Request, study: str) -> Response:
    """Ask for confirmation, and say what happens to their answers."""
    visit = await access.participant_of(request, study)
    return page(request, "study_withdraw.html.j2", **common(visit), erases=_erases(visit))


@taking_part_router.post("/s/{study}/withdraw")
async def withdraw(request: Request, study: str) -> Response:
    """Withdraw: erase the data, or make it anonymous."""
    visit = await access.participant_of(request, study)
    await access.form_of(request, visit)
    live, who = visit.live, visit.who.id
    if _erases(visit):
        await live.store.writing(lambda c: erase(c, who))
        live.forget(who)
        visit.here.forget(who)
    else:
        await live.store.writing(lambda c: _make_anonymous(c, who))
    return access.delete_cookie(RedirectResponse(f"/s/{study}/withdrawn", 303), study)


@taking_part_router.get("/s/{study}/withdrawn")
async def withdrawn(request: Request, study: str) -> Response:
    """Confirmation of a withdrawal."""
    here = await access.studies_of(request).find(study)
    erases = here.study.configuration.privacy.withdrawal == "erase"
    keys = ("withdrawn", "withdrawn_erased" if erases else "withdrawn_kept", "close_page")
    return notice(request, anonymous(here.study), *map(here.words.say, keys))


def _erases(visit: access.Visit) -> bool:
    return visit.here.study.configuration.privacy.withdrawal == "erase"


def _make_anonymous(connection: Connection, who: str) -> None:
    """Withdraw a participant; their data stays, without links and recruiter's name."""
    found = participants.find(connection, who, to_change=True)
    if found.status != "withdrawn":
        participants.end(connection, found, "withdrawn")
    found = participants.find(connection, who, to_change=True)
    found = participants.forget_recruiter(connection, found)
    participants.change(connection, found, code=None)
    participants.revoke_links(connection, found)
