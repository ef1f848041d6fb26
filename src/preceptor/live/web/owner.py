"""The owner's pages: signing in and out, the list of studies, and the pages about one study.

The secret of the link that is printed at the start, or an admin token, is exchanged for a session:
a cookie that scripts cannot read and other sites cannot send, and that can be revoked. They only
show studies, except that a participant who lost their link gets a new one: commands change an open
study. The part of a study's status that changes is requested every few seconds and sent only if it
is different; without JavaScript the whole page is reloaded.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, RedirectResponse, Response

from preceptor.live.service.gate import must_be_same_origin
from preceptor.live.service.live import live_of
from preceptor.live.store import participants, studies, tokens
from preceptor.live.store.plans import sha256_of
from preceptor.live.store.studies import KeptStudy
from preceptor.live.store.tables import NotFound
from preceptor.live.study.export import export, must_be_unblinded
from preceptor.live.study.registration import JSON, TEXT, Registration, markdown, sections
from preceptor.live.study.status import (
    ErrorCourse,
    StudyStatus,
    assignments,
    error_course,
    participant_rows,
    standing,
    verify,
)
from preceptor.live.web.pages import page, templates
from preceptor.live.web.study_access import must_be_same_site, studies_of
from preceptor.live.web.study_forms import text_of
from preceptor.live.wording import words_in
from preceptor.report.charts import DASHES, Axis, Dots, Line, line_chart, row_chart
from preceptor.report.palette import ACCENT, TESTS

owner_router = APIRouter(include_in_schema=False)

ENTER = "/studies/enter"
_COOKIE, _PATH = "owner", "/studies"
# The cookie also opens the class page of a course.
_COOKIE_PATH = "/"
_BACK = re.compile(r"/(?:studies|class)(?:/[a-z0-9][a-z0-9/-]*)?")


class Owner(NamedTuple):
    """A user who may see studies."""

    name: str
    """Name in the log: the id of their session."""
    has_session: bool
    """Whether they signed in; a service that trusts this machine needs none."""


class NotSignedIn(Exception):
    """The request has no valid cookie."""


async def owner_of(request: Request) -> Owner:
    """Return the owner who sent a request; raise `NotSignedIn` if there is none."""
    live = live_of(request)
    await live.tokens.refresh()
    if live.needs_no_token:
        must_be_same_origin(dict(request.scope["headers"]))
        return Owner("this machine", has_session=False)
    session = live.tokens.session(request.cookies.get(_COOKIE, ""))
    if session is None:
        raise NotSignedIn
    return Owner(f"session {session.id}", has_session=True)


async def enter_first(request: Request, error: Exception | None = None) -> Response:
    """Handle `NotSignedIn`: redirect to the sign-in page, which leads back."""
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": ENTER})
    return RedirectResponse(f"{ENTER}?back={quote(request.url.path)}", 303)


def way_back(given: str) -> str:
    """Where to go after signing in: only to a page of the owner."""
    return given if _BACK.fullmatch(given) and given != ENTER else _PATH


def owners_page(request: Request, owner: Owner, template: str, **context: Any) -> Response:
    """Render a page of the owner."""
    return page(request, template, owner=owner, **context)


@owner_router.get("/studies")
async def every(request: Request) -> Response:
    """All studies, the latest first."""
    owner = await owner_of(request)
    live = live_of(request)

    def look(connection: Connection) -> list[tuple[KeptStudy, int]]:
        found = []
        for each in studies.everyone(connection):
            people = participants.everyone(connection, each.id, "real")
            found.append((each, sum(who.status == "completed" for who in people)))
        return found

    rows = []
    for kept, finished in await live.store.reading(look):
        here = await studies_of(request).find(kept.id)
        rows.append((kept, here.study.configuration.title, finished))
    return owners_page(request, owner, "owner_studies.html.j2", studies=rows)


@owner_router.get(ENTER)
async def enter(request: Request) -> Response:
    """The sign-in page."""
    live = live_of(request)
    await live.tokens.refresh()
    back = way_back(request.query_params.get("back", ""))
    if live.needs_no_token:
        return RedirectResponse(back, 303)
    # Opening an address signs nobody in: mail programs and messengers open addresses, too.
    secret = request.query_params.get("secret", "")
    return page(request, "owner_enter.html.j2", back=back, secret=secret, fault="")


@owner_router.post(ENTER)
async def entered(request: Request) -> Response:
    """Exchange a secret for a session; a form from another site cannot do harm here."""
    form = await request.form()
    secret, back = str(form.get("token", "")).strip(), way_back(str(form.get("back", "")))
    live = live_of(request)
    await live.tokens.refresh(now=True)
    token = live.tokens.find(secret)
    if token is not None and not token.may("admin"):
        fault = f"This token may only {token.scope}; the owner's pages need an admin token."
    elif token is None and not live.take_owner_secret(secret):
        fault = "This is not known; perhaps it was revoked, or the link was used already."
    else:
        origin = "the link of the start" if token is None else token.id
        session, _ = await live.store.writing(lambda c: tokens.begin_session(c, origin))
        await live.tokens.refresh(now=True)
        answer = RedirectResponse(back, 303)
        is_https = request.url.scheme == "https"
        answer.set_cookie(
            _COOKIE, session, path=_COOKIE_PATH, secure=is_https, httponly=True, samesite="strict"
        )
        return answer
    return page(request, "owner_enter.html.j2", 403, back=back, secret="", fault=fault)


@owner_router.post("/studies/leave")
async def leave(request: Request) -> Response:
    """Sign out: the session ends, wherever its cookie is."""
    live = live_of(request)
    await live.tokens.refresh()
    session = live.tokens.session(request.cookies.get(_COOKIE, ""))
    if session is not None:
        await live.store.writing(lambda c: tokens.revoke(c, session.id))
        await live.tokens.refresh(now=True)
    answer = RedirectResponse(ENTER, 303)
    answer.delete_cookie(_COOKIE, path=_COOKIE_PATH)
    return answer


def arms_picture(found: StudyStatus) -> Markup:
    """Completed and active participants of each arm."""
    said = "; ".join(
        f"{arm.name}: {arm.completed} finished, {arm.active} active" for arm in found.arms
    )
    finished = [float(arm.completed) for arm in found.arms]
    begun = [float(arm.filled) for arm in found.arms]
    return Markup(
        row_chart(
            "arms",
            said,
            [f"{arm.name}: {arm.completed} of {arm.filled}" for arm in found.arms],
            [
                Dots("finished", finished, ACCENT.light, "circle"),
                Dots("finished or active", begun, ACCENT.light, "square"),
            ],
            x_axis=Axis.covering([0.0, *begun]),
            x_label="people",
        )
    )


def minutes_picture(found: StudyStatus) -> Markup:
    """Answers per minute in the last hour."""
    ago = [float(minute + 1 - len(found.per_minute)) for minute in range(len(found.per_minute))]
    line = Line("answers a minute", ago, found.per_minute, ACCENT.light, is_stepped=True)
    said = f"Answers a minute: {found.per_minute[-1]} now, at most {max(found.per_minute)}"
    return Markup(
        line_chart(
            "minutes",
            f"{said} in the last {len(ago)} minutes.",
            [line],
            x_axis=Axis.counting(ago[0], 0.5),
            x_label="minutes from now",
            y_label="answers a minute",
            height=90.0,
        )
    )


def errors_picture(course: ErrorCourse) -> Markup | None:
    """Mean errors by round; None before the first answer."""
    lines = [
        Line(
            name,
            [number for number, _, _ in line],
            [error for _, error, _ in line],
            TESTS[position % len(TESTS)].light,
            DASHES[position % len(DASHES)],
        )
        for position, (name, line) in enumerate(course.lines.items())
        if line
    ]
    if not lines:
        return None
    last = max(line.x[-1] for line in lines)
    said = "; ".join(
        f"{line.name}: {line.y[0]:.3g} in the first round, {line.y[-1]:.3g} in round "
        f"{line.x[-1]:.0f}"
        for line in lines
    )
    return Markup(
        line_chart(
            "errors",
            f"{course.measure.capitalize()} by round. {said}.",
            lines,
            x_axis=Axis.counting(0.5, float(last) + 0.5),
            x_label="round",
            y_label=course.measure,
        )
    )


KINDS = {"real": "People", "bot": "Bots", "preview": "Previews"}
# Latest assignments on the page; another page has all of them.
_LATEST = 12


def kind_of(request: Request) -> str:
    """The kind of participants that the page counts."""
    asked = request.query_params.get("kind", "real")
    return asked if asked in KINDS else "real"


async def _seen(request: Request, name: str, kind: str) -> dict[str, Any]:
    """Context of the part of the page that changes."""
    here = await studies_of(request).find(name)

    def look(connection: Connection) -> dict[str, Any]:
        kept = studies.find(connection, name)
        return {
            "kept": kept,
            "found": standing(connection, kept, here.study, kind),
            "course": error_course(connection, kept, here.study, kind),
            "drawn": assignments(connection, here.study, kind)[-_LATEST:][::-1],
        }

    seen = await live_of(request).store.reading(look)
    pictures = {
        "arms": arms_picture(seen["found"]),
        "minutes": minutes_picture(seen["found"]),
        "errors": errors_picture(seen["course"]),
    }
    return {**seen, "here": here, "kind": kind, "pictures": pictures}


def _moving(request: Request, seen: dict[str, Any]) -> tuple[str, str]:
    """The part that changes, and its hash."""
    template = templates().get_template("owner_now.html.j2")
    inside = template.render(request=request, **seen)
    return inside, sha256_of(inside)[:16]


@owner_router.get("/studies/{name}")
async def one(request: Request, name: str) -> Response:
    """The status of a study."""
    owner = await owner_of(request)
    seen = await _seen(request, name, kind_of(request))
    inside, version = _moving(request, seen)
    moving = {"inside": inside, "version": version}
    return owners_page(request, owner, "owner_study.html.j2", **seen, **moving, kinds=KINDS)


@owner_router.get("/studies/{name}/now")
async def now(request: Request, name: str) -> Response:
    """The part that changes; empty if the browser has it."""
    await owner_of(request)
    kind = kind_of(request)
    seen = await _seen(request, name, kind)
    inside, version = _moving(request, seen)
    if request.query_params.get("seen") == version:
        return Response(status_code=204)
    own = {"inside": inside, "version": version, "kept": seen["kept"], "kind": kind}
    return page(request, "owner_moving.html.j2", **own)


@owner_router.get("/studies/{name}/allocation")
async def allocation(request: Request, name: str) -> Response:
    """All assignments in order, with their permuted blocks."""
    owner = await owner_of(request)
    here, kind = await studies_of(request).find(name), kind_of(request)
    found = await live_of(request).store.reading(lambda c: assignments(c, here.study, kind))
    said = here.study.configuration
    own = {"name": name, "title": said.title, "seed": said.seed, "kind": KINDS[kind]}
    return owners_page(request, owner, "owner_allocation.html.j2", drawn=found, **own)


@owner_router.get("/studies/{name}/participants")
async def people(request: Request, name: str) -> Response:
    """All participants: how far they are, and their comments or, if asked for, their arms."""
    owner = await owner_of(request)
    here, kind = await studies_of(request).find(name), kind_of(request)
    shows_arms = request.query_params.get("arms") == "yes"

    def look(connection: Connection) -> dict[str, Any]:
        kept = studies.find(connection, name)
        everyone = participants.everyone(connection, name, kind) if shows_arms else []
        return {
            "kept": kept,
            "rows": participant_rows(connection, kept, here.study, kind),
            "arms": {who.id: who.arm or "" for who in everyone},
            # A comment next to an arm would say how people fare in it.
            "has_comments": kind != "real" or not shows_arms or kept.unblinded is not None,
        }

    seen = await live_of(request).store.reading(look)
    own = {"kind": kind, "label": KINDS[kind], "title": here.study.configuration.title}
    more = {"shows_arms": shows_arms, "ago": words_in("en").ago}
    return owners_page(request, owner, "owner_participants.html.j2", **seen, **own, **more)


@owner_router.post("/studies/{name}/participants")
async def renew(request: Request, name: str) -> Response:
    """A new personal link for a participant, shown once; earlier ones stop working."""
    owner = await owner_of(request)
    must_be_same_site(request)
    who = text_of(await request.form(), "who")
    made = await live_of(request).store.writing(lambda c: participants.renew_link(c, name, who))
    own = {"name": name, "who": who, "address": f"{request.base_url}s/{name}/p/{made}"}
    return owners_page(request, owner, "owner_link.html.j2", **own)


@owner_router.get("/studies/{name}/check")
async def check(request: Request, name: str) -> Response:
    """Recompute the hash, verify the chain, rebuild rounds, people and assignments."""
    owner = await owner_of(request)
    live = live_of(request)

    def look(connection: Connection) -> Any:
        kept = studies.find(connection, name)
        return kept, verify(connection, kept, live.guides.columns_of)

    kept, found = await live.store.reading(look)
    return owners_page(request, owner, "owner_check.html.j2", kept=kept, found=found)


_KINDS = {JSON: "application/json", TEXT: "text/markdown"}


@owner_router.get("/studies/{name}/registration")
async def registration(request: Request, name: str) -> Response:
    """The registration as a page."""
    owner = await owner_of(request)
    kept = await live_of(request).store.reading(lambda c: studies.find(c, name))
    found = Registration(kept.registration)
    own = {"title": found.content["title"], "sha256": found.sha256, "sections": sections(found)}
    return owners_page(request, owner, "owner_registration.html.j2", kept=kept, **own)


@owner_router.get("/studies/{name}/registered/{file}")
async def registered(request: Request, name: str, file: str) -> Response:
    """The registration as a file: JSON, or Markdown for registries such as OSF."""
    await owner_of(request)
    if file not in _KINDS:
        raise NotFound(f"file: {file!r} is not there")
    kept = await live_of(request).store.reading(lambda c: studies.find(c, name))
    found = Registration(kept.registration)
    text = found.text if file == JSON else markdown(found)
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(text, headers=headers, media_type=_KINDS[file])


@owner_router.get("/studies/{name}/export.zip")
async def data(request: Request, name: str) -> Response:
    """All data of one kind of participant, as one file."""
    owner = await owner_of(request)
    live, kind = live_of(request), kind_of(request)
    full = request.query_params.get("full") == "yes"
    kept = await live.store.reading(lambda c: studies.find(c, name))
    must_be_unblinded(kept, kind)
    file = f"{kept.id}-{'full' if full else 'data'}.zip"
    folder = Path(tempfile.mkdtemp(prefix="preceptor-"))
    try:
        made = await asyncio.to_thread(
            lambda: export(
                live.store, name, folder / file, who=owner.name, kind=kind, full=full, zipped=True
            )
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # The folder is removed once the file was sent or the connection closed.
    gone = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(made.path, filename=file, media_type="application/zip", background=gone)
