"""What trainees see: joining, a case, the truth, their progress.

Reading a page changes nothing; forms name the round that they are about.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from fastapi import APIRouter, Request
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.responses import FileResponse, RedirectResponse, Response

from preceptor.errors import InvalidInput
from preceptor.live.ai_advice import ENOUGH, wrong_weights
from preceptor.live.course import lesson as lessons
from preceptor.live.course.course import Look
from preceptor.live.course.media import IMAGES, image_path, qr_picture
from preceptor.live.course.progress import curve_of
from preceptor.live.service.access import Refusal
from preceptor.live.service.live import live_of
from preceptor.live.store import courses, rounds
from preceptor.live.store.rounds import StoredRound
from preceptor.live.store.tables import Conflict, NotFound
from preceptor.live.web.course_access import (
    NOW,
    LiveCourse,
    TraineeVisit,
    course_here,
    course_page,
    find_trainee,
    let_in,
    trainee_form,
    trainee_of,
)
from preceptor.live.web.course_pictures import progress_picture, strip
from preceptor.live.web.study_access import limit_rate, may_run_bots, must_be_same_site
from preceptor.live.web.study_forms import Form, InvalidForm, read_answer, text_of

course_router = APIRouter(include_in_schema=False)
# Secrets as `courses.new_secret` makes them.
_KEY = re.compile(r"[A-Za-z0-9_-]{43}")
_NOTES = ("already", "again")
# Seconds after which a page that waits for the teacher loads again.
_WAIT = 4
# Characters of an answer that a message repeats.
_QUOTED = 40


# --- joining ---


@course_router.get("/c")
async def landing(request: Request) -> Response:
    """The page where trainees join."""
    visit = await find_trainee(request)
    here = await course_here(request)
    return _join_page(request, here, visit=visit)


def _join_page(request: Request, here: LiveCourse, status: int = 200, **given: Any) -> Response:
    """The form brings the secret of the link that joining makes: sent twice, it joins once."""
    context = {"typed": "", "key": courses.new_secret(), **given}
    return course_page(request, here, "course_join.html.j2", status, **context)


@course_router.post("/c")
async def join(request: Request) -> Response:
    """Join under a name that is not taken."""
    must_be_same_site(request)
    live, here = live_of(request), await course_here(request)
    limit_rate(live, "joining the course")
    form = await request.form()
    typed, is_bot = text_of(form, "name"), text_of(form, "kind") == "bot"
    key = text_of(form, "key") if _KEY.fullmatch(text_of(form, "key")) else courses.new_secret()
    if is_bot and not await may_run_bots(request):
        raise Refusal(403, "token: simulated trainees need one that may write")
    size = here.course.problem.size

    def work(connection: Connection) -> str | None:
        kept = courses.find(connection)
        if kept.state == "ended":
            return None
        if courses.by_link(connection, key) is not None:
            return key
        who = courses.join(connection, name, kept.plan, size, is_bot=is_bot)
        return courses.new_link(connection, who, key)

    say, status = here.words.say, 422
    try:
        name = courses.cleaned_name(typed)
        secret = await live.store.writing(work)
    except InvalidInput:
        fault = say("name_bad", n=courses.LONGEST_NAME)
    except Conflict:
        fault, status = say("name_taken", name=name), 409
    else:
        if secret is None:
            return _notice(request, here, say("course_over"), say("course_over_why"))
        return let_in(request, secret)
    return _join_page(request, here, status, fault=fault, typed=typed[: courses.LONGEST_NAME])


@course_router.get("/c/p/{secret}")
@course_router.post("/c/p/{secret}")
async def personal(request: Request, secret: str) -> Response:
    """A personal link: a page with a button, which moves the secret into a cookie."""
    live, here = live_of(request), await course_here(request)
    limit_rate(live, "links of the course")
    found = await live.store.reading(lambda c: courses.by_link(c, secret))
    if found is None:
        say = here.words.say
        return _notice(request, here, say("unknown_link"), say("unknown_link_why"), status=404)
    if request.method == "POST":
        must_be_same_site(request)
        return let_in(request, secret)
    return course_page(request, here, "course_personal.html.j2", secret=secret, name=found.name)


@course_router.get("/c/link")
@course_router.post("/c/link")
async def another_device(request: Request) -> Response:
    """A new personal link, shown once."""
    visit = await trainee_of(request)
    address = None
    if request.method == "POST":
        await trainee_form(request, visit)
        who = visit.trainee.id
        secret = await visit.live.store.writing(lambda c: courses.new_link(c, who))
        address = f"{request.base_url}c/p/{secret}"
    picture = None if address is None else qr_picture(address)
    return course_page(
        request, visit.here, "course_link.html.j2", visit=visit, address=address, qr=picture
    )


# --- cases ---


@course_router.get(NOW)
async def now(request: Request) -> Response:
    """The page of the round that the trainee is at."""
    visit = await trainee_of(request)
    note = request.query_params.get("note", "")
    said = visit.here.words.say(note) if note in _NOTES else ""
    return await _current(request, visit, note=said)


async def _current(request: Request, visit: TraineeVisit, **given: Any) -> Response:
    """The current page of a trainee; `given` may have a note, or a fault and what was typed."""
    here, lesson, last = visit.here, visit.lesson, visit.lesson.last
    context = {"visit": visit, "step": lesson.step, **given}
    if lesson.state != "ended" and last is not None and last.is_open:
        context = _shown(here, last) | _asked(here) | {"typed": "", **context}
        status = 422 if context.get("fault") else 200
        return course_page(request, here, "course_case.html.j2", status, **context)
    if last is None and not lesson.is_waiting:
        context["welcome"] = _welcome(visit)
        return course_page(request, here, "course_welcome.html.j2", **context)
    has_truth = last is not None and last.feedback and lesson.state != "ended"
    if lesson.is_waiting and not has_truth:
        return _waiting(request, visit)
    assert last is not None
    if not last.feedback:
        return course_page(request, here, "course_recorded.html.j2", **context)
    why = _why_waiting(visit) if lesson.is_waiting else None
    context |= _shown(here, last) | _told(here, last) | {"why_waiting": why}
    context["contrast"] = None
    if here.course.config.contrast:
        context["contrast"] = await asyncio.to_thread(lambda: _contrast(visit, last))
    answer = course_page(request, here, "course_told.html.j2", **context)
    if why:
        answer.headers["Refresh"] = str(_WAIT)
    return answer


def _welcome(visit: TraineeVisit) -> list[str]:
    """Sentences before the first case."""
    here = visit.here
    course, words = here.course, here.words
    most = max(len(shown) for shown in course.problem.sets)
    mean = float(course.outcomes.mean())
    if course.problem.is_binary:
        share = words.number(100.0 * mean, 0)
        usual = words.say("welcome_share", share=share, yes=_two(here)[1])
    else:
        shown = _outcome_text(here, mean)
        usual = words.say("welcome_mean", outcome=course.config.outcome, mean=shown)
    keys = ["welcome_where", "welcome_checks", "welcome_hard"]
    return [words.say("welcome_how", n=most), usual, *(words.say(key) for key in keys)]


def _why_waiting(visit: TraineeVisit) -> tuple[str, str]:
    """Title and sentence of a trainee who may not go on."""
    say, lesson = visit.here.words.say, visit.lesson
    if lesson.state == "ended":
        return say("ended"), say("ended_why", n=len(lesson.rounds))
    if lesson.state == "paused":
        return say("paused"), say("paused_why")
    return say("paused"), say("stopped_why", n=lesson.last_case or 0)


def _waiting(request: Request, visit: TraineeVisit) -> Response:
    title, why = _why_waiting(visit)
    picture = progress_picture(visit.here.words, curve_of(visit.here.course, visit.lesson.rounds))
    answer = _notice(request, visit.here, title, why, visit=visit, picture=picture)
    if visit.lesson.state != "ended":
        answer.headers["Refresh"] = str(_WAIT)
    return answer


def _notice(
    request: Request, here: LiveCourse, title: str, text: str, status: int = 200, **given: Any
) -> Response:
    context = {"title": title, "text": text, "picture": None, **given}
    return course_page(request, here, "course_notice.html.j2", status, **context)


class ShownResult(NamedTuple):
    """A result on a page: text or image, and where it lies among all cases."""

    label: str
    text: str
    value: str
    place: str
    picture: Markup | None
    image: str | None


def _shown(here: LiveCourse, there: StoredRound) -> dict[str, Any]:
    """Context of what a round shows."""
    course, words = here.course, here.words
    world = course.problem.world
    found = []
    spoken = course.guide.words.spoken(there.shown or (), there.values or ())
    for test, value in spoken.items():
        look = course.config.looks.get(test, Look())
        column = course.values[:, world.columns_of([test])[0]] if test in world.tests else None
        text = exact = str(value)
        place, picture, image = "", None, None
        if look.cells is not None and there.case_number is not None:
            # The number behind an image or a text is in no page.
            text = exact = "" if look.is_image else look.cells[there.case_number] or ""
            image = f"/c/media/{there.number}/{world.tests.index(test)}" if look.is_image else None
        elif not isinstance(value, str) and column is not None:
            text, exact = words.number(value, look.decimals, look.unit), repr(value)
            place, picture = _place(here, column, value), strip(column, [("mark", value)])
        found.append(ShownResult(test, text, exact, place, picture, image))
    key = "case" if there.feedback else "case_check"
    return {
        "results": found,
        "is_check": not there.feedback,
        "case": words.say(key, n=there.number + 1),
    }


def _place(here: LiveCourse, column: Any, value: float) -> str:
    """Where a value lies among all cases, in words."""
    known = column[~np.isnan(column)]
    below, above = (round(100.0 * float(np.mean(each))) for each in (known < value, known > value))
    if np.unique(known).size == 2:
        return here.words.say("as_frequent", n=100 - below - above)
    if abs(below - above) <= 2:
        return here.words.say("in_the_middle")
    return (
        here.words.say("higher_than", n=below)
        if below > above
        else here.words.say("lower_than", n=above)
    )


def _two(here: LiveCourse) -> tuple[str, str]:
    """The words for no and yes."""
    units = here.course.problem.world.units
    levels = None if units is None else units.outcome_levels
    if levels is None or tuple(levels) in (("0", "1"), ("no", "yes")):
        return here.words.say("no"), here.words.say("yes")
    return levels[0], levels[1]


def _asked(here: LiveCourse) -> dict[str, Any]:
    """Context of the question."""
    course, words = here.course, here.words
    config, look = course.config, course.config.look
    is_percent = config.answer == "percent"
    low, high = (
        (0.0, 100.0) if is_percent else (float(course.outcomes.min()), float(course.outcomes.max()))
    )
    no, yes = _two(here)
    decimals = 0 if is_percent else look.decimals
    ends = {"low": words.number(low, decimals), "high": words.number(high, decimals)}
    question = {
        "percent": words.say("how_likely", yes=yes),
        "yes or no": words.say("your_answer", outcome=config.outcome),
    }
    return {
        "kind": config.answer,
        "question": question.get(config.answer, words.say("guess", outcome=config.outcome)),
        "choices": [("1", yes), ("0", no)],
        "unit": "%" if is_percent else look.unit,
        "range": words.say("range", **ends) if config.answer in ("slider", "percent") else "",
        "low": low,
        "high": high,
        "places": 10.0**-decimals,
    }


def _outcome_text(here: LiveCourse, value: float) -> str:
    look = here.course.config.look
    return here.words.number(value, look.decimals, look.unit)


def _told(here: LiveCourse, there: StoredRound) -> dict[str, Any]:
    """Context of the truth about an answered round."""
    course, words = here.course, here.words
    said, true = there.prediction, there.outcome
    assert said is not None
    assert true is not None
    no, yes = _two(here)
    picture = None
    if course.config.answer == "percent":
        texts = words.number(100.0 * said, 0, "%"), (no, yes)[int(true)]
        given = words.number(100.0 * (said if true else 1.0 - said), 0, "%")
        verdict = words.say("gave_it", share=given)
    elif course.config.answer == "yes or no":
        texts = (no, yes)[int(said)], (no, yes)[int(true)]
        key = "right" if said == true else "miss" if true else "false_alarm"
        verdict = words.say(key, yes=yes, no=no)
    else:
        texts = _outcome_text(here, said), _outcome_text(here, true)
        off = _outcome_text(here, abs(said - true))
        key = "too_high" if said > true else "too_low"
        verdict = words.say("exactly_right") if texts[0] == texts[1] else words.say(key, off=off)
        within = [("said", min(max(said, course.outcomes.min()), course.outcomes.max()))]
        picture = strip(course.outcomes, [*within, ("mark", true)])
    return {
        "said": (texts[0], repr(said)),
        "truth": (texts[1], repr(true)),
        "verdict": verdict,
        "outcome_picture": picture,
    }


def _contrast(visit: TraineeVisit, there: StoredRound) -> str | None:
    """One sentence about the shown test that the trainee seems to weigh most wrongly."""
    here, words = visit.here, visit.here.words
    tutor = here.tutors.of(visit.trainee.id, visit.lesson.rounds)
    if tutor.rounds < ENOUGH:
        return None
    wrong = wrong_weights(tutor, here.course.guide.words.indices(there.shown or ()))
    return words.weight("you_weigh", *wrong[0]) if wrong else None


@course_router.post(NOW)
async def step(request: Request) -> Response:
    """Take an answer, or go on to the next case, as the form says."""
    visit = await trainee_of(request)
    form = await trainee_form(request, visit)
    named = text_of(form, "step")
    if not named.removeprefix("-").isdigit() or len(named) > 6:
        return _to_now("again")
    number = int(named)
    if text_of(form, "do") == "next":
        await _next(visit, number)
        return _to_now()
    return await _answer(request, visit, number, form)


async def _next(visit: TraineeVisit, number: int) -> None:
    """Open the round after this one; nothing happens if it is open already."""
    here, lesson = visit.here, visit.lesson
    if number != lesson.step or lesson.is_waiting or lesson.is_asked:
        return
    who = visit.trainee.id

    def choose() -> rounds.Offer:
        return lessons.choose(here.course, here.tutors.of(who, lesson.rounds), lesson)

    offer = await asyncio.to_thread(choose)
    work = partial(lessons.open_next, course=here.course, who=who, step=number, offer=offer)
    await visit.live.store.writing(work)
    visit.live.metrics.rounds.labels("offered").inc()


async def _answer(request: Request, visit: TraineeVisit, number: int, form: Form) -> Response:
    here, who, last = visit.here, visit.trainee.id, visit.lesson.last
    try:
        kind, unit = here.course.config.answer, here.course.config.look.unit
        check = here.course.guide.words.answer
        given = read_answer(here.words, kind, text_of(form, "answer"), check, unit=unit)
    except InvalidForm as unfit:
        if last is None or number != last.number or not last.is_open:
            return _to_now("already")
        typed = text_of(form, "answer")[: 2 * _QUOTED]
        return await _current(request, visit, fault=unfit.faults["answer"], typed=typed)
    if visit.lesson.state == "ended":
        return _to_now()
    work = partial(lessons.answer, course=here.course, who=who, number=number, given=given)
    try:
        done = await visit.live.store.writing(work)
    except (Conflict, NotFound):
        return _to_now("already")
    visit.live.metrics.rounds.labels(done.status).inc()
    return _to_now()


def _to_now(note: str | None = None) -> Response:
    """Redirect to the current page, so that reloading does not send a form again."""
    return RedirectResponse(NOW if note is None else f"{NOW}?note={note}", 303)


# --- the rest ---


@course_router.get("/c/progress")
async def progress(request: Request) -> Response:
    """The trainee's curve against an expert."""
    visit = await trainee_of(request)
    picture = progress_picture(visit.here.words, curve_of(visit.here.course, visit.lesson.rounds))
    return course_page(request, visit.here, "course_progress.html.j2", visit=visit, picture=picture)


@course_router.get("/c/media/{number}/{test}")
async def media(request: Request, number: int, test: int) -> Response:
    """The image of a test that a round of this trainee shows; no address names a file."""
    visit = await trainee_of(request)
    here, world = visit.here, visit.here.course.problem.world
    played = visit.lesson.rounds
    if not 0 <= number < len(played) or not 0 <= test < len(world.tests) or here.media is None:
        raise NotFound("image: there is none")
    name, there = world.tests[test], played[number]
    look = here.course.config.looks.get(name, Look())
    shown = here.course.guide.words.tests(there.shown or ())
    if look.cells is None or not look.is_image or name not in shown or there.case_number is None:
        raise NotFound("image: there is none")
    path = image_path(here.media, look.cells[there.case_number] or "")
    return FileResponse(path, media_type=IMAGES[path.suffix.lower()])
