"""Withdrawing: from any page, with one question first; then as the study file says."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.store import erasing, participants
from preceptor.web.pages import page
from preceptor.web.studies_live import studies_of
from preceptor.web.study_access import Visit, forget, go_on, is_valid, visit_of
from preceptor.web.study_pages import common, notice

router = APIRouter(include_in_schema=False)
_KEPT = "What you have answered so far is kept, and nothing in it leads to you any more."
_ERASED = "Everything that you have answered has been erased."


@router.get("/s/{study}/withdraw")
async def ask(request: Request, study: str) -> Response:
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
        gone = await live.store.writing(lambda c: erasing.erase(c, who))
        live.tutors.forget(who)
        live.advising.forget(who)
        live.book.forget(gone)
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
