"""A trainee of a course in the terminal: the same steps over the same store as on the web."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import typer

from preceptor._base.words import counted
from preceptor.cli._console import say, spinner
from preceptor.cli._serving import existing

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from preceptor.cli._session import Question
    from preceptor.live.course.course import Course
    from preceptor.live.course.lesson import CourseTutors, Lesson
    from preceptor.live.store.database import Store
    from preceptor.live.store.rounds import StoredRound


def teach_in_terminal(database: str, name: str, rounds: int | None) -> None:
    """Go on with a trainee's cases; a new name joins."""
    from preceptor.cli._session import Stopped, question_of, summary
    from preceptor.live.course.course import course_of, read
    from preceptor.live.course.lesson import CourseTutors, lesson_of

    with existing(database, creates=True) as store:
        course = course_of(*store.read(read))
        who = store.write(lambda c: _joined(c, course, name))
        question = question_of(course.problem, course.config.outcome, course.outcomes)
        tutors = CourseTutors(course)
        before = store.read(lambda c: lesson_of(c, who)).who.answers
        for line in question.greeting(course.outcomes):
            typer.echo(line)
        if before:
            typer.echo(f"Welcome back, {name}: {counted(before, 'case')} so far.")
        try:
            for _ in range(rounds) if rounds is not None else itertools.count():
                there = _opened(store, course, tutors, who)
                if there is None:
                    say("The course is paused or has ended; ask your teacher.")
                    break
                _one_case(store, course, who, there, question)
        except (Stopped, KeyboardInterrupt):
            pass
        lesson = store.read(lambda c: lesson_of(c, who))
        tutor = tutors.of(who, lesson.rounds)
        typer.echo()
        typer.echo(summary(tutor, name, lesson.who.answers - before, course.config.outcome))
    say(f"Saved in {database}. The same command continues, and so does the trainee's page.")


def _joined(connection: Connection, course: Course, name: str) -> str:
    """The id of the trainee with this name, who joins if they are new."""
    from preceptor.live.store import courses

    cleaned = courses.cleaned_name(name)
    for each in courses.everyone(connection):
        if courses.same_name(each.name) == courses.same_name(cleaned):
            return each.id
    plan, size = courses.find(connection).plan, course.problem.size
    return courses.join(connection, cleaned, plan, size, is_bot=False)


def _opened(store: Store, course: Course, tutors: CourseTutors, who: str) -> StoredRound | None:
    """The round to answer, which may have been opened on the web; None if they have to wait."""
    from preceptor.live.course.lesson import choose, lesson_of, open_next

    lesson: Lesson = store.read(lambda c: lesson_of(c, who))
    if lesson.last is not None and lesson.last.is_open and lesson.state != "ended":
        return lesson.last
    if lesson.is_waiting:
        return None
    with spinner("choosing a case"):
        offer = choose(course, tutors.of(who, lesson.rounds), lesson)
    store.write(lambda c: open_next(c, course, who, lesson.step, offer))
    return store.read(lambda c: lesson_of(c, who)).last


def _one_case(
    store: Store, course: Course, who: str, there: StoredRound, question: Question
) -> None:
    """Show a case, record the answer, then tell the truth unless it is a check."""
    from preceptor.cli._session import ask
    from preceptor.live.course.course import Look
    from preceptor.live.course.lesson import answer
    from preceptor.live.store.tables import Conflict

    check = "" if there.feedback else ": a check, without the truth"
    typer.echo(f"\nCase {there.number + 1}{check}")
    for test, value in course.guide.words.spoken(there.shown or (), there.values or ()).items():
        look = course.config.looks.get(test, Look())
        text = value
        if look.cells is not None and there.case_number is not None:
            text = look.cells[there.case_number] or ""
        elif not isinstance(value, str):
            column = course.values[:, course.problem.world.columns_of([test])[0]]
            below = round(100.0 * float((column < value).mean()))
            text = f"{value:g} {look.unit}".rstrip() + f" (higher than {below} of 100 cases)"
        typer.echo(f"  {test}  {text}")
    given = ask(question, lambda: there.reason or "")
    try:
        done = store.write(lambda c: answer(c, course, who, there.number, given))
    except Conflict:
        typer.echo("That was answered already, on the web; the first answer counts.")
        return
    if done.feedback and done.outcome is not None:
        typer.echo(question.verdict(given, done.outcome))
