"""The course in memory, and how its trainees are recognised.

Like participants of studies, trainees are recognised by the secret of a link in a cookie, and by a
token in every form.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from preceptor.live.course.course import Course, course_of, read
from preceptor.live.course.lesson import CourseTutors, Lesson, lesson_of
from preceptor.live.course.progress import SeenTrainee
from preceptor.live.service.live import Live, live_of
from preceptor.live.service.settings import Recent
from preceptor.live.store import courses
from preceptor.live.store.courses import Trainee
from preceptor.live.web.pages import page
from preceptor.live.web.study_access import Elsewhere, limit_rate, with_secret
from preceptor.live.wording import Words, words_in

_COOKIE, _PATH = "trainee", "/c"
NOW = "/c/now"


class LiveCourse:
    """A course that is being taught: its cases, its tutors, and what was computed from them."""

    def __init__(self, course: Course) -> None:
        self.course, self.tutors = course, CourseTutors(course)
        self.words: Words = words_in(course.config.language)
        self.seen: Recent[tuple[str, int, str], SeenTrainee] = Recent()
        self.media = None if course.config.media is None else Path(course.config.media)

    def warm(self) -> LiveCourse:
        """Compile kernels, so that the first trainee need not wait for it."""
        pool = self.course.pool_of(self.course.teaching)
        self.tutors.of("", []).recommendation(pool=pool)
        self.tutors.forget("")
        return self

    def forget(self, who: str) -> None:
        """Drop an erased trainee from memory."""
        self.tutors.forget(who)
        self.seen.forget(lambda key: key[0] == who)


async def course_here(request: Request) -> LiveCourse:
    """The course of the service that handles a request; `NotFound` if it has none."""
    state = request.app.state
    if not hasattr(state, "course_reading"):
        state.course_reading = asyncio.Lock()
    async with state.course_reading:
        if not hasattr(state, "course"):
            found = await live_of(request).store.reading(read)
            state.course = await asyncio.to_thread(lambda: LiveCourse(course_of(*found)).warm())
    here: LiveCourse = state.course
    return here


@dataclass(frozen=True)
class TraineeVisit:
    """A request of a known trainee: the course, their secret, where they are."""

    live: Live
    here: LiveCourse
    secret: str
    trainee: Trainee
    lesson: Lesson

    @property
    def csrf(self) -> str:
        """Token in every form of the trainee; other sites cannot know it."""
        return hmac.new(self.secret.encode(), b"preceptor course", hashlib.sha256).hexdigest()


async def find_trainee(request: Request) -> TraineeVisit | None:
    """The trainee of a request, by their cookie; None if unknown."""
    secret = request.cookies.get(_COOKIE, "")
    live, here = live_of(request), await course_here(request)
    limit_rate(live, hashlib.sha256(secret.encode()).hexdigest() if secret else "unknown")
    if not secret:
        return None

    def look(connection: Any) -> TraineeVisit | None:
        found = courses.by_link(connection, secret)
        if found is None:
            return None
        return TraineeVisit(live, here, secret, found, lesson_of(connection, found.id))

    return await live.store.reading(look)


async def trainee_of(request: Request) -> TraineeVisit:
    """The trainee of a request; others are sent to the page where they can join."""
    visit = await find_trainee(request)
    if visit is None:
        raise Elsewhere(_PATH)
    return visit


async def trainee_form(request: Request, visit: TraineeVisit) -> FormData:
    """The form of a request; one without the trainee's token is dropped."""
    form = await request.form()
    csrf = form.get("csrf")
    if not isinstance(csrf, str) or not hmac.compare_digest(csrf.encode(), visit.csrf.encode()):
        raise Elsewhere(f"{NOW}?note=again")
    return form


def course_page(
    request: Request, here: LiveCourse, template: str, status: int = 200, **context: Any
) -> Response:
    """Render a page of the course; `say` and `number` speak its language."""
    words = here.words
    own: dict[str, Any] = {"note": "", "fault": "", "visit": None, "csrf": ""}
    visit = context.get("visit")
    if visit is not None:
        own["csrf"] = visit.csrf
    speaks = {"say": words.say, "language": words.language, "config": here.course.config}
    return page(request, template, status, **{**own, **speaks, **context})


def let_in(request: Request, secret: str) -> Response:
    """Redirect to the current page, with the secret in a cookie."""
    answer = RedirectResponse(NOW, 303)  # a course may last for a year
    return with_secret(request, answer, _COOKIE, secret, _PATH, days=365)
