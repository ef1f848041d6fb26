"""What the teacher sees: the class, which updates by itself, its settings, links and downloads.

The part that changes is requested every few seconds and sent only if it is different; without
JavaScript the whole page loads again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from preceptor.errors import InvalidInput
from preceptor.live.course.course import Course
from preceptor.live.course.export import psych_ds, workbook
from preceptor.live.course.lesson import choose, lesson_of
from preceptor.live.course.media import qr_picture
from preceptor.live.course.progress import SeenTrainee, Standing, standing, used
from preceptor.live.service.live import live_of
from preceptor.live.store import courses
from preceptor.live.store.courses import KeptCourse
from preceptor.live.web.course_access import LiveCourse, course_here, course_page
from preceptor.live.web.course_pictures import small_curve
from preceptor.live.web.owner import owner_of
from preceptor.live.web.pages import templates
from preceptor.live.web.study_access import must_be_same_site
from preceptor.live.web.study_forms import text_of

class_router = APIRouter(include_in_schema=False)
# Names added at once, at most.
_MOST_NAMES = 200
# Sets listed, at most.
_MOST_SETS = 12


class SeenClass(NamedTuple):
    """The course, and every trainee with their rounds and what is said about them."""

    kept: KeptCourse
    everyone: list[SeenTrainee]


def _look(connection: Connection, here: LiveCourse) -> SeenClass:
    """Read the class; only trainees who have moved are read and computed again."""
    found, kept = [], courses.find(connection)
    for trainee in courses.everyone(connection):
        key = (trainee.id, trainee.version, kept.picks)
        known = here.seen.get(key)
        if known is None or known.standing.trainee != trainee:
            lesson = lesson_of(connection, trainee.id)
            tutor = here.tutors.of(trainee.id, lesson.rounds)
            coming = None if lesson.is_asked else choose(here.course, tutor, lesson)
            said = standing(here.course, trainee, tutor, lesson.rounds)
            known = SeenTrainee(lesson.rounds, said, coming)
            here.seen.put(key, known)
        found.append(known)
    return SeenClass(kept, found)


async def _seen(request: Request, here: LiveCourse) -> SeenClass:
    return await live_of(request).store.reading(lambda c: _look(c, here))


def _moving(here: LiveCourse, seen: SeenClass) -> tuple[str, str]:
    """The part that changes, and its hash."""
    words, found = here.words, [each.standing for each in seen.everyone]
    spent = used(here.course, [each.rounds for each in seen.everyone])
    said = {
        "n": len(spent.rows),
        "all": here.course.teaching.size,
        "aside": len(here.course.checks),
    }
    template = templates().get_template("class_now.html.j2")
    inside = template.render(
        say=words.say,
        rows=[_row(here, seen.kept, each) for each in seen.everyone],
        needed=[_needed(here, each) for each in found if each.answers],
        used_cases=words.say("used_cases", **said),
        used_rows=", ".join(f"{row + 1} ({n})" for row, n in spent.rows.items()),
        used_sets=[(", ".join(names), n) for names, n in spent.sets[:_MOST_SETS]],
    )
    return inside, hashlib.sha256(inside.encode()).hexdigest()[:16]


def _row(here: LiveCourse, kept: KeptCourse, seen: SeenTrainee) -> dict[str, Any]:
    """A trainee as a row of the class page, all in words."""
    words, each = here.words, seen.standing
    curve = each.curve

    def from_to(points: Sequence[tuple[int, float]], least: int) -> str:
        if len(points) < least:
            return "–"
        first, now = (words.number(points[i][1], 2) for i in (least - 1, -1))
        return words.say("from_to", now=now, first=first)

    if each.wrong is None:
        wrong = [words.say("too_early")]
    else:
        wrong = [words.weight("weighs", *one) for one in each.wrong] or [words.say("nothing_wrong")]
    kind = words.say("too_early")
    if each.kind is not None:
        name, share = each.kind
        key = "kind_" + name.replace(",", "").replace(" ", "_")
        called = words.say(key) if key in words.messages else name
        kind = words.say("with_probability", kind=called, share=words.number(100.0 * share, 0, "%"))
    return {
        "trainee": each.trainee,
        "answers": each.answers,
        "seen": words.ago(each.trainee.seen_at),
        "alone": from_to(curve.alone, 1),
        "checks": from_to(curve.checks, 1),
        "curve": small_curve(curve),
        "wrong": wrong,
        "kind": kind,
        "next": _next(here, kept, seen),
    }


def _next(here: LiveCourse, kept: KeptCourse, each: SeenTrainee) -> list[str]:
    """The case that a trainee is at, or the next one, and why; whether they have to wait."""
    words, trainee = here.words, each.standing.trainee
    if trainee.is_removed:
        return [words.say("removed")]
    there = each.coming or each.rounds[-1]
    tests = ", ".join(here.course.guide.words.tests(there.recommended or ()))
    key = "next_case_of" if there.feedback else "next_check_of"
    said = [words.say(key, row=words.number((there.case_number or 0) + 1, 0), tests=tests)]
    if "then" in there.opened_with:
        before, after = (words.number(there.opened_with[key], 2) for key in ("alone", "then"))
        key = "why_teach" if before != after else "why_keep"
        said.append(words.say(key, before=before, after=after))
    elif there.feedback:
        said.append(words.say("why_plan"))
    stops = kept.last_case is not None and len(each.rounds) >= kept.last_case
    if each.coming is not None and (kept.state != "open" or stops):
        said.append(words.say("waits"))
    elif not each.rounds:
        said.append(words.say("not_begun"))
    return said


def _needed(here: LiveCourse, each: Standing) -> tuple[str, str]:
    """Cases until within 10% of an expert, in words."""
    words, needed = here.words, each.cases_needed
    if needed is None:
        return each.trainee.name, words.say("summary_not_yet", n=each.answers)
    return each.trainee.name, words.say("summary_cases", n=needed)


def _join_address(request: Request) -> str:
    """Where trainees join: as the command was told, or as the teacher's browser came here."""
    told = getattr(request.app.state, "join_address", None)
    return str(told or f"{request.base_url}c")


@class_router.get("/class")
async def class_page(request: Request) -> Response:
    """The class page."""
    owner = await owner_of(request)
    here = await course_here(request)
    seen = await _seen(request, here)
    inside, version = _moving(here, seen)
    address = _join_address(request)
    return course_page(
        request,
        here,
        "class.html.j2",
        owner=owner,
        kept=seen.kept,
        trainees=[each.standing.trainee for each in seen.everyone],
        inside=inside,
        version=version,
        address=address,
        is_local=live_of(request).settings.loopback,
        qr=qr_picture(address),
        has_plan=bool(seen.kept.frozen.get("plan")),
    )


@class_router.get("/class/now")
async def class_now(request: Request) -> Response:
    """The part that changes; empty if the browser has it."""
    await owner_of(request)
    here = await course_here(request)
    inside, version = _moving(here, await _seen(request, here))
    if request.query_params.get("seen") == version:
        return Response(status_code=204)
    return course_page(request, here, "class_moving.html.j2", inside=inside, version=version)


@class_router.post("/class")
async def change(request: Request) -> Response:
    """Do what a form of the class page says."""
    await owner_of(request)
    must_be_same_site(request)
    here, form = await course_here(request), await request.form()
    do, who = text_of(form, "do"), text_of(form, "who")
    store = live_of(request).store
    states = {"pause": "paused", "resume": "open", "end": "ended"}
    if do in states:
        await store.writing(lambda c: courses.change(c, state=states[do]))
    elif do == "settings":
        columns = _settings(here, form, await store.reading(courses.find))
        await store.writing(lambda c: courses.change(c, **columns))
    elif do == "add":
        names = [name for name in text_of(form, "names").splitlines() if name.strip()]
        if len(names) > _MOST_NAMES:
            raise InvalidInput(f"names: {len(names)}, add at most {_MOST_NAMES} at once")
        cleaned = [courses.cleaned_name(name) for name in names]
        await store.writing(lambda c: _add(c, cleaned, here.course.problem.size))
    elif do == "remove":
        await store.writing(lambda c: courses.remove(c, who))
    elif do == "erase":
        if text_of(form, "sure") != "yes":
            raise InvalidInput(here.words.say("erase_unsure"))
        await store.writing(lambda c: courses.erase(c, who))
        here.forget(who)
    else:
        raise InvalidInput(f"do: {do!r} is not known")
    return RedirectResponse("/class", 303)


def _settings(here: LiveCourse, form: Any, kept: KeptCourse) -> dict[str, Any]:
    """Changes that the settings form asks for."""
    picks, pace = text_of(form, "picks"), text_of(form, "pace")
    allowed = ["cases", "tests", *(["plan"] if kept.frozen.get("plan") else [])]
    faults = []
    if picks not in allowed:
        faults.append(f"picks: {picks!r}, must be one of {', '.join(allowed)}")
    if pace and not (pace.isascii() and pace.isdigit() and 1 <= int(pace[:7]) <= 100_000):
        faults.append(f"pace: {pace[:20]!r}, must be a number from 1 to 100,000, or empty")
    InvalidInput.raise_if(faults)
    return {"picks": picks, "last_case": int(pace) if pace else None}


def _add(connection: Connection, names: Sequence[str], columns: int) -> None:
    """Add trainees; those who are there already stay as they are."""
    plan = courses.find(connection).plan
    there = {courses.same_name(each.name) for each in courses.everyone(connection)}
    for name in names:
        if courses.same_name(name) not in there:
            there.add(courses.same_name(name))
            courses.join(connection, name, plan, columns, is_bot=False)


@class_router.post("/class/links")
async def links(request: Request) -> Response:
    """A sheet with a new personal link for each trainee, to print."""
    owner = await owner_of(request)
    must_be_same_site(request)
    here = await course_here(request)

    def work(connection: Connection) -> list[tuple[str, str]]:
        there = [each for each in courses.everyone(connection) if not each.is_removed]
        return [(each.name, courses.new_link(connection, each.id)) for each in there]

    base = _join_address(request)
    made = [
        (name, address := f"{base}/p/{secret}", qr_picture(address))
        for name, secret in await live_of(request).store.writing(work)
    ]
    return course_page(request, here, "class_links.html.j2", owner=owner, links=made)


@class_router.get("/class/course.xlsx")
async def as_workbook(request: Request) -> Response:
    """Everything as a workbook, with names."""
    return await _file(request, "course.xlsx", workbook)


@class_router.get("/class/course.zip")
async def as_psych_ds(request: Request) -> Response:
    """Everything as a Psych-DS folder, without names."""
    return await _file(request, "course.zip", psych_ds)


async def _file(
    request: Request, name: str, make: Callable[[Course, Sequence[SeenTrainee]], bytes]
) -> Response:
    owner = await owner_of(request)
    here = await course_here(request)
    seen = await _seen(request, here)
    content = await asyncio.to_thread(lambda: make(here.course, seen.everyone))
    await live_of(request).store.writing(lambda c: courses.exported(c, name, owner.name))
    kind = (
        "application/zip"
        if name.endswith("zip")
        else ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
    )
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=kind)
