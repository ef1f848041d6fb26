"""Who is there: a link's secret in a cookie, and a token in every form that only its pages know.

Nothing else is used to tell people apart, and neither address nor browser is written down.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.service.access import Refusal
from preceptor.service.gate import token_of
from preceptor.service.live import Live, live_of
from preceptor.store import participants, rounds
from preceptor.store.participants import Participant
from preceptor.store.refusals import NotThere
from preceptor.store.rounds import Round
from preceptor.web.studies_live import LiveStudy, studies_of

_COOKIE = "participant"


@dataclass(frozen=True)
class Visit:
    """Somebody who is known: the study, their secret, where they are, and their round there."""

    live: Live
    here: LiveStudy
    secret: str
    who: Participant
    round: Round | None = None

    @property
    def csrf(self) -> str:
        """What every form of theirs carries; other sites cannot know it."""
        said = f"preceptor form {self.here.id}"
        return hmac.new(self.secret.encode(), said.encode(), hashlib.sha256).hexdigest()


async def visit_of(request: Request, study: str) -> Visit | None:
    """Whoever has the cookie of this request; None if nobody is known by it."""
    live = live_of(request)
    here = await studies_of(request).find(study)
    secret = request.cookies.get(_COOKIE, "")
    must_wait(live, hashlib.sha256(secret.encode()).hexdigest() if secret else "nobody")
    return None if not secret else await live.store.reading(lambda c: look(c, live, here, secret))


def look(connection: Connection, live: Live, here: LiveStudy, secret: str) -> Visit | None:
    """Whoever has this secret, and their round if their step is about one."""
    who = participants.by_link(connection, secret)
    if who is None or who.study != here.id:
        return None
    step = here.step(who.stage)
    if who.arm is None or step.kind not in ("ask", "told"):
        return Visit(live, here, secret, who)
    try:
        return Visit(live, here, secret, who, rounds.find(connection, who.id, step.index))
    except NotThere:
        return Visit(live, here, secret, who)


def must_wait(live: Live, who: str) -> None:
    """Raise a `Refusal` for a link that calls too often."""
    said = "That was very fast. Wait a moment, then load the page again; nothing is lost."
    live.buckets.must_not_wait(f"link {who}", said)


def must_be_ours(request: Request) -> None:
    """Refuse forms of other sites where there is no token of a form yet."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Refusal(403, "This form was sent from another site; begin on the study's own page.")


async def may_be_bot(request: Request) -> bool:
    """Whether the caller has a token that may write, as those who run bots have."""
    token = await token_of(live_of(request), dict(request.scope["headers"]))
    return token.may("write")


def is_valid(visit: Visit, csrf: object) -> bool:
    """Whether a form is one of ours."""
    return isinstance(csrf, str) and hmac.compare_digest(csrf.encode(), visit.csrf.encode())


def now_path(study: str, note: str | None = None) -> str:
    """Where a participant's step is; `note` names a sentence of `study_pages.NOTES`."""
    return f"/s/{study}/now" + ("" if note is None else f"?note={note}")


def go_on(study: str, note: str | None = None) -> Response:
    """To the step that somebody is at; after a form, so that reloading sends nothing again."""
    return RedirectResponse(now_path(study, note), 303)


def remember(request: Request, answer: Response, study: str, secret: str) -> Response:
    """Give the browser the secret; pages cannot read it, other sites cannot use it."""
    answer.set_cookie(
        _COOKIE,
        secret,
        max_age=int(timedelta(days=90).total_seconds()),  # some studies last for weeks
        path=f"/s/{study}",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return answer


def forget(answer: Response, study: str) -> Response:
    """Take the secret from the browser."""
    answer.delete_cookie(_COOKIE, path=f"/s/{study}")
    return answer
