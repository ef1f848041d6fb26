"""Joining a study and leaving it: its first page, personal links, withdrawing.

Opening an address changes nothing, since mail programs and messengers open addresses too; whoever
presses the button joins. A recruiter's name of somebody in the address says who they are, but does
not prove it: it leads back to somebody only while they have nothing to lose.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.service.access import Refusal
from preceptor.service.live import live_of
from preceptor.store import erasing, participants, studies
from preceptor.store.participants import Participant
from preceptor.web.pages import page
from preceptor.web.studies_live import LiveStudy, studies_of
from preceptor.web.study_access import (
    Visit,
    forget,
    go_on,
    is_valid,
    look,
    may_be_bot,
    must_be_ours,
    must_wait,
    remember,
    visit_of,
)
from preceptor.web.study_forms import text_of
from preceptor.web.study_moves import begin
from preceptor.web.study_pages import common, notice

router = APIRouter(include_in_schema=False)
_KEPT = "What you have answered so far is kept, and nothing in it leads to you any more."
_ERASED = "Everything that you have answered has been erased."


@router.get("/s/{study}")
async def landing(request: Request, study: str) -> Response:
    """What the study is, and a button to begin or to go on."""
    visit = await visit_of(request, study)
    here = await studies_of(request).find(study)
    said = here.study.configuration
    parameter = said.recruiting.parameter
    recruiter = "" if parameter is None else request.query_params.get(parameter, "")
    if visit is not None and not _is_other(here, visit.who, recruiter):
        return _landing(request, here, goes_on=True, recruiter="")
    if not await _is_open(request, here):
        return _closed(request, here)
    if said.recruiting.entry == "links":
        return _needs_link(request, here)
    return _landing(request, here, goes_on=False, recruiter=recruiter)


def _landing(request: Request, here: LiveStudy, *, goes_on: bool, recruiter: str) -> Response:
    own = {"goes_on": goes_on, "recruiter": recruiter}
    return page(request, "study_landing.html.j2", 200, **_nobody(here), **own)


def _nobody(here: LiveStudy) -> dict[str, Any]:
    """What pages share that nobody in particular sees."""
    return {"study": here.study.configuration, "who": None, "note": "", "faults": {}}


def _is_other(here: LiveStudy, who: Participant, recruiter: str) -> bool:
    """Whether an address names somebody else than this browser knows."""
    if not recruiter:
        return False
    return who.recruiter != participants.recruiters_name(here.key, recruiter)


async def _is_open(request: Request, here: LiveStudy) -> bool:
    kept = await live_of(request).store.reading(lambda c: studies.find(c, here.id))
    return kept.is_open


def _closed(request: Request, here: LiveStudy) -> Response:
    said = "Nobody can begin any more. Thank you for your interest."
    return notice(request, here.study.configuration, "This study is over", said)


def _needs_link(request: Request, here: LiveStudy) -> Response:
    said = "To take part you need the personal link that you were sent. Open it in this browser."
    return notice(request, here.study.configuration, "A study by invitation", said)


@router.post("/s/{study}")
async def join(request: Request, study: str) -> Response:
    """Somebody begins, or comes back."""
    must_be_ours(request)
    live, here = live_of(request), await studies_of(request).find(study)
    form = await request.form()
    kind = "bot" if text_of(form, "kind") == "bot" else "real"
    if kind == "bot":
        if not await may_be_bot(request):
            raise Refusal(403, "token: may only read, but bots need one that may write")
    else:
        must_wait(live, f"joining {study}")
    recruiter = text_of(form, "recruiter")
    visit = await visit_of(request, study)
    if visit is not None and visit.who.kind == kind and not _is_other(here, visit.who, recruiter):
        return go_on(study)
    if kind == "real" and here.study.configuration.recruiting.entry == "links":
        return _needs_link(request, here)
    name = participants.recruiters_name(here.key, recruiter) if recruiter else None
    found = await live.store.writing(lambda c: _joined(c, here, kind, name))
    if found is None:
        return _closed(request, here)
    if found == "elsewhere":
        said = (
            "You have begun this study already. Go on in the browser in which you began, or open "
            "your personal link here."
        )
        return notice(request, here.study.configuration, "You have begun already", said, status=409)
    return remember(request, go_on(study), study, found)


def _joined(connection: Connection, here: LiveStudy, kind: str, name: str | None) -> str | None:
    """A secret for whoever joins; "elsewhere" if they have begun, None if nobody may begin."""
    there = None
    if name is not None:
        there = participants.by_recruiter(connection, here.id, kind, name)
    if there is not None:
        if kind == "real" and (there.arm is not None or not there.is_active):
            return "elsewhere"
        return participants.new_link(connection, there)
    if not studies.find(connection, here.id).is_open:
        return None
    made, _ = participants.join(connection, here.id, kind=kind, recruiter=name)
    return participants.new_link(connection, begin(connection, here, made))


@router.get("/s/{study}/p/{secret}")
async def personal(request: Request, study: str, secret: str) -> Response:
    """A personal link: a button that goes on."""
    live, here = live_of(request), await studies_of(request).find(study)
    must_wait(live, "links")
    if await live.store.reading(lambda c: look(c, live, here, secret)) is None:
        return _unknown(request, here)
    return page(request, "study_personal.html.j2", 200, **_nobody(here), secret=secret)


@router.post("/s/{study}/p/{secret}")
async def enter(request: Request, study: str, secret: str) -> Response:
    """The secret goes from the address into a cookie."""
    must_be_ours(request)
    live, here = live_of(request), await studies_of(request).find(study)
    must_wait(live, "links")
    if await live.store.reading(lambda c: look(c, live, here, secret)) is None:
        return _unknown(request, here)
    return remember(request, go_on(study), study, secret)


def _unknown(request: Request, here: LiveStudy) -> Response:
    said = "It may have been replaced by a newer one, or a part of it is missing."
    title = "This link does not lead anywhere"
    return notice(request, here.study.configuration, title, said, status=404)


@router.get("/s/{study}/link")
async def offer_link(request: Request, study: str) -> Response:
    """A button that makes a link for another device."""
    visit = await visit_of(request, study)
    if visit is None:
        return RedirectResponse(f"/s/{study}", 303)
    return _link_page(request, visit, None)


@router.post("/s/{study}/link")
async def make_link(request: Request, study: str) -> Response:
    """A new personal link, shown once."""
    visit = await visit_of(request, study)
    if visit is None:
        return RedirectResponse(f"/s/{study}", 303)
    form = await request.form()
    if not is_valid(visit, form.get("csrf")):
        return go_on(study, "again")
    who = visit.who
    secret = await visit.live.store.writing(lambda c: participants.new_link(c, who))
    return _link_page(request, visit, f"{request.base_url}s/{study}/p/{secret}")


def _link_page(request: Request, visit: Visit, address: str | None) -> Response:
    return page(request, "study_link.html.j2", **common(visit), address=address)


@router.get("/s/{study}/withdraw")
async def ask_whether(request: Request, study: str) -> Response:
    """Whether they are sure, and what becomes of their answers."""
    visit = await visit_of(request, study)
    if visit is None:
        return RedirectResponse(f"/s/{study}", 303)
    return page(request, "study_withdraw.html.j2", **common(visit), erases=_erases(visit))


@router.post("/s/{study}/withdraw")
async def withdraw(request: Request, study: str) -> Response:
    """Forget them: what they said, or who said it."""
    visit = await visit_of(request, study)
    if visit is None:
        return RedirectResponse(f"/s/{study}", 303)
    form = await request.form()
    if not is_valid(visit, form.get("csrf")):
        return go_on(study, "again")
    live, who = visit.live, visit.who.id
    if _erases(visit):
        await live.store.writing(lambda c: erasing.erase(c, who))
        live.forget(who)
    else:
        await live.store.writing(lambda c: _make_anonymous(c, who))
    return forget(RedirectResponse(f"/s/{study}/withdrawn", 303), study)


@router.get("/s/{study}/withdrawn")
async def withdrawn(request: Request, study: str) -> Response:
    """It is done."""
    here = await studies_of(request).find(study)
    said = here.study.configuration
    kept = _ERASED if said.privacy.withdrawal == "erase" else _KEPT
    return notice(request, said, "You have withdrawn", kept, "You can close this page.")


def _erases(visit: Visit) -> bool:
    return visit.here.study.configuration.privacy.withdrawal == "erase"


def _make_anonymous(connection: Connection, who: str) -> None:
    """They are gone; what they did stays, and no link and no recruiter's name leads to it."""
    found = participants.find(connection, who, to_change=True)
    if found.status != "withdrawn":
        participants.end(connection, found, "withdrawn")
    found = participants.find(connection, who, to_change=True)
    participants.change(connection, found, recruiter=None, code=None)
    participants.revoke_links(connection, found)
