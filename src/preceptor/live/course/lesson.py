"""What happens at a step of a lesson: a case is chosen, shown, answered, and the truth is told.

A trainee is at their last round: they have to answer it, or may ask for the next one. Every call
names the round it is about, so a form that comes twice, late or from another tab changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from preceptor.learners.tutor import Tutor
from preceptor.live.ai_advice import follower
from preceptor.live.course.course import EVERY, Course
from preceptor.live.service.guides import reason_in_words
from preceptor.live.service.records import PersonRecord
from preceptor.live.service.tutors import Tutors
from preceptor.live.store import courses, people, rounds
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.rounds import Offer, StoredRound
from preceptor.model.sets import TestSet


class Lesson(NamedTuple):
    """Where a trainee is: how they are advised, their rounds, and what the teacher has set."""

    who: AdvisedPerson
    rounds: list[StoredRound]
    state: str
    picks: str
    last_case: int | None

    @property
    def last(self) -> StoredRound | None:
        """The round they are at; None before the first."""
        return self.rounds[-1] if self.rounds else None

    @property
    def step(self) -> int:
        """The number that forms carry: of the round they are at, -1 before the first."""
        return len(self.rounds) - 1

    @property
    def is_asked(self) -> bool:
        """Whether they have a case to answer."""
        return self.last is not None and self.last.is_open

    @property
    def is_waiting(self) -> bool:
        """Whether they may not go on to another case now."""
        reached = self.last_case is not None and len(self.rounds) >= self.last_case
        return self.state != "open" or reached


def lesson_of(connection: Connection, who: str, *, to_change: bool = False) -> Lesson:
    """Where a trainee is; `to_change` locks them."""
    person = people.find(connection, who, to_change=to_change)
    kept = courses.find(connection)
    found = rounds.all_of(connection, who)
    return Lesson(person, found, kept.state, kept.picks, kept.last_case)


class CourseTutors:
    """The tutor of each trainee, kept in memory and brought up to date with their rounds."""

    def __init__(self, course: Course) -> None:
        self._course, self._tutors = course, Tutors()
        # Sets and reference cases are prepared once for all.
        self._first = follower(course.problem)

    def of(self, who: str, played: Sequence[StoredRound]) -> Tutor:
        """Return the tutor after the answered rounds; a check is not told and teaches nothing."""
        record = PersonRecord().after(self._course.guide, played)
        rows = dict.fromkeys(self._course.rows_for(who).tolist())
        return self._tutors.of(lambda: self._first, "", who, record.in_pool(rows))

    def forget(self, who: str) -> None:
        """Drop an erased trainee from memory."""
        self._tutors.forget(who)


def choose(course: Course, tutor: Tutor, lesson: Lesson) -> Offer:
    """Choose the next case of a trainee and the tests shown of it.

    The offer records how the trainee is expected to do alone, in expected loss relative to that of
    an expert: before the case (`alone`) and after it (`then`).
    """
    number = len(lesson.rounds)
    check = course.check_at(number)
    row: int
    shown: TestSet
    said: dict[str, Any] = {"picks": lesson.picks, "feedback": check is None}
    if check is None and lesson.picks == "cases":
        rows = course.rows_for(lesson.who.id)
        best = tutor.recommendation(pool=course.pool_of(rows))
        assert best.case is not None
        row, shown, reason = int(rows[best.case]), best.shown, best.reason
    else:
        taught = number - number // EVERY
        row = course.row_at(taught, lesson.who.id) if check is None else check.row
        results = course.values[row]
        available = np.flatnonzero(~np.isnan(results)).tolist()
        best = tutor.recommendation(available, case=results)
        shown, reason = best.shown, best.reason
        if check is not None:
            shown, reason = check.shown, "a check"
        elif lesson.picks == "plan":
            planned = course.guide.best_available(lesson.who.counts, lesson.who.position, available)
            shown, reason = planned.shown, reason_in_words(planned)
    assert best.alone_before is not None
    assert best.alone_after is not None
    assert best.expert is not None
    said["alone"] = best.alone_before / best.expert
    if check is None and lesson.picks != "plan":
        said["then"] = best.alone_after / best.expert
    return Offer(
        recommended=course.guide.words.labels_of(shown),
        reason=reason,
        opened_with=said,
        feedback=check is None,
        case_number=row,
    )


def open_next(connection: Connection, course: Course, who: str, step: int, offer: Offer) -> None:
    """Open the round after `step`, unless it is open already or the trainee has to wait."""
    lesson = lesson_of(connection, who, to_change=True)
    if lesson.step != step or lesson.is_waiting or lesson.is_asked:
        return
    made = rounds.offer(connection, lesson.who, offer)
    after = people.find(connection, who)
    shown = course.guide.words.indices(offer.recommended)
    values = course.values[offer.case_number, list(shown)].tolist()
    rounds.show(connection, after, made, offer.recommended, values, None)


def answer(
    connection: Connection, course: Course, who: str, number: int, given: float
) -> StoredRound:
    """Record an answer; another one to the same round is a `Conflict`."""
    person = people.find(connection, who, to_change=True)
    there = rounds.find(connection, who, number)
    assert there.case_number is not None
    outcome = float(course.outcomes[there.case_number])
    taught = course.guide.words.counted(there.shown or ())
    return rounds.predict(connection, person, there, given, taught, outcome)
