"""Studies in memory, and how their participants are recognised.

An open study never changes, so each is read once. What does change (whether it is open, the planned
number of participants, closed arms) is read from the store in the transaction that depends on it.

A participant is recognised by the secret of a link, in a cookie, and by a CSRF token in forms.
Nothing else identifies them, and neither address nor browser is recorded.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from preceptor.live.service.access import Refusal, needs
from preceptor.live.service.gate import token_of
from preceptor.live.service.guides import PlanGuide
from preceptor.live.service.live import Live, answer, live_of
from preceptor.live.store import participants, plans, rounds, studies
from preceptor.live.store.participants import Participant
from preceptor.live.store.rounds import StoredRound
from preceptor.live.store.studies import KeptArm, KeptStudy
from preceptor.live.store.tables import NotFound
from preceptor.live.study.arms import kept_arms
from preceptor.live.study.study import Study
from preceptor.live.study.taking_part import LiveStudy
from preceptor.model.plan import Plan

api_router = APIRouter(include_in_schema=False)


class Studies:
    """Studies by name, each read when it is first needed.

    Parameters
    ----------
    live
        The running service.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._known: dict[str, LiveStudy] = {}
        self._reading = asyncio.Lock()

    async def find(self, name: str) -> LiveStudy:
        """Return a study; raise `NotFound` if there is none."""
        found = self._known.get(name)
        if found is not None:
            return found
        async with self._reading:
            if name not in self._known:
                row, arms, bodies = await self._live.store.reading(lambda c: _read(c, name))
                made = await asyncio.to_thread(lambda: _made(self._live, row, arms, bodies))
                self._known[name] = made
        return self._known[name]


def _read(connection: Connection, name: str) -> tuple[KeptStudy, list[KeptArm], dict[str, str]]:
    row, arms = studies.find(connection, name), studies.arms_of(connection, name)
    return row, arms, {arm.name: plans.body_of(connection, arm.plan) for arm in arms}


def _made(live: Live, row: KeptStudy, arms: list[KeptArm], bodies: dict[str, str]) -> LiveStudy:
    study = Study.from_json(row.config)
    own = {arm.name: arm for arm in kept_arms(study, bodies)}
    first = arms[0].plan
    guide = live.guides.known(first)
    if guide is None:
        guide = PlanGuide(Plan.from_json(bodies[arms[0].name]), first)
        live.guides.add(guide)
    return LiveStudy(study, own, {arm.name: arm.plan for arm in arms}, guide, row.key)


def studies_of(request: Request) -> Studies:
    """The studies of the service that handles a request."""
    state = request.app.state
    if not hasattr(state, "studies"):
        state.studies = Studies(state.live)
    studies_here: Studies = state.studies
    return studies_here


# Fields of an arm that programs see.
_OF_ARMS = ("name", "policy", "plan", "cap", "is_open")


@api_router.get("/v1/studies/{study}", dependencies=[needs("read")])
async def read(request: Request, study: str) -> Response:
    """A study as frozen, for programs; it includes the right answers of quiz and checks."""

    def look(connection: Connection) -> dict[str, Any]:
        kept, arms = studies.find(connection, study), studies.arms_of(connection, study)
        return {
            "study": kept.id,
            "state": kept.state,
            "people": kept.people,
            "sha256": kept.sha256,
            "config": kept.config,
            "arms": [{name: getattr(arm, name) for name in _OF_ARMS} for arm in arms],
        }

    return answer(await live_of(request).store.reading(look))


_COOKIE = "participant"


@dataclass(frozen=True)
class Visit:
    """A request of a known participant: the study, their secret, their state, their round."""

    live: Live
    here: LiveStudy
    secret: str
    who: Participant
    round: StoredRound | None = None

    @property
    def csrf(self) -> str:
        """Token in every form of the participant; other sites cannot know it."""
        said = f"preceptor form {self.here.id}"
        return hmac.new(self.secret.encode(), said.encode(), hashlib.sha256).hexdigest()


class Elsewhere(Exception):
    """The browser has to go to another page of the study; the argument is its path."""


async def go_elsewhere(request: Request, error: Exception) -> Response:
    """Handle `Elsewhere`."""
    return RedirectResponse(str(error), 303)


async def participant_of(request: Request, study: str) -> Visit:
    """The participant of a request; others are sent to the landing page."""
    visit = await visit_of(request, study)
    if visit is None:
        raise Elsewhere(f"/s/{study}")
    return visit


async def form_of(request: Request, visit: Visit) -> FormData:
    """The form of a request; one without the participant's token is dropped."""
    form = await request.form()
    csrf = form.get("csrf")
    if not isinstance(csrf, str) or not hmac.compare_digest(csrf.encode(), visit.csrf.encode()):
        raise Elsewhere(now_path(visit.here.id, "again"))
    return form


async def visit_of(request: Request, study: str) -> Visit | None:
    """The participant of a request, by its cookie; None if unknown."""
    live = live_of(request)
    here = await studies_of(request).find(study)
    secret = request.cookies.get(_COOKIE, "")
    limit_rate(live, plans.sha256_of(secret) if secret else "unknown")
    return (
        None
        if not secret
        else await live.store.reading(lambda c: find_visit(c, live, here, secret))
    )


def find_visit(connection: Connection, live: Live, here: LiveStudy, secret: str) -> Visit | None:
    """The participant with this secret, and their round if their step is about one."""
    who = participants.by_link(connection, secret)
    if who is None or who.study != here.id:
        return None
    step = here.step(who.stage)
    if who.arm is None or step.kind not in ("ask", "told"):
        return Visit(live, here, secret, who)
    try:
        return Visit(live, here, secret, who, rounds.find(connection, who.id, step.index))
    except NotFound:
        return Visit(live, here, secret, who)


def limit_rate(live: Live, who: str) -> None:
    """Refuse a link that sends too many requests."""
    said = "Too many requests. Wait a moment, then load the page again; nothing is lost."
    live.buckets.must_not_wait(f"link {who}", said)


def must_be_same_site(request: Request) -> None:
    """Refuse forms of other sites where there is no CSRF token yet."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Refusal(403, "This form was sent from another site; start on the page of the study.")


async def may_run_bots(request: Request) -> bool:
    """Whether the caller has a token that may write, which bots need."""
    token = await token_of(live_of(request), dict(request.scope["headers"]))
    return token.may("write")


def now_path(study: str, note: str | None = None) -> str:
    """Path of the current step; `note` names a sentence of `study_pages`."""
    return f"/s/{study}/now" + ("" if note is None else f"?note={note}")


def to_current_step(study: str, note: str | None = None) -> Response:
    """Redirect to the current step, so that reloading does not send a form again."""
    return RedirectResponse(now_path(study, note), 303)


def let_in(request: Request, study: str, secret: str) -> Response:
    """Redirect to the current step, with the secret in a cookie."""
    path = f"/s/{study}"  # some studies last for weeks
    return with_secret(request, to_current_step(study), _COOKIE, secret, path, days=90)


def with_secret(
    request: Request, answer: Response, name: str, secret: str, path: str, days: int
) -> Response:
    """Store a secret in a cookie; scripts cannot read it, other sites cannot use it."""
    age, is_https = 86_400 * days, request.url.scheme == "https"
    answer.set_cookie(name, secret, age, path=path, secure=is_https, httponly=True, samesite="lax")
    return answer


def delete_cookie(answer: Response, study: str) -> Response:
    """Delete the cookie."""
    answer.delete_cookie(_COOKIE, path=f"/s/{study}")
    return answer
