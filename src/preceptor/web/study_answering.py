"""What becomes of a form: one transaction that writes it down and moves on, or changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from preceptor.store import participants
from preceptor.store.participants import Participant
from preceptor.study.config import Instructions, Testing, Training
from preceptor.study.protocol import Step
from preceptor.web.studies_live import LiveStudy
from preceptor.web.study_moves import advance, screen_out
from preceptor.web.study_rounds import answer_round

Write = Callable[[Connection, LiveStudy, Participant, Step, Any], Participant]


def _consented(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, agrees: bool
) -> Participant:
    participants.say(connection, who, "consent", agrees)
    if agrees:
        return advance(connection, here, who)
    code = here.study.configuration.completion.no_consent
    return participants.end(connection, who, "no consent", code)


def _read_on(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, said: None
) -> Participant:
    return advance(connection, here, who)


def _quizzed(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, chosen: list[int]
) -> Participant:
    """Right: on. Wrong: back to the instructions; too often: it ends."""
    block = here.study.configuration.block[step.block]
    assert isinstance(block, Instructions)
    right = chosen == [each.right for each in block.question]
    before = attempts(connection, who, who.stage)
    participants.say(connection, who, "quiz", chosen, attempt=before, is_right=right)
    if right:
        return advance(connection, here, who)
    who = participants.change(connection, who, quizzes=who.quizzes + 1)
    if before + 1 >= block.attempts:
        return screen_out(connection, here, who)
    return advance(connection, here, who, who.stage - len(block.pages))


def attempts(connection: Connection, who: Participant, stage: int) -> int:
    """How often somebody has taken the quiz of a step."""
    return sum(each.stage == stage for each in participants.answers_of(connection, who.id))


def _answered(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, given: float
) -> Participant:
    answer_round(connection, here, who.id, here.trial(step), given)
    return advance(connection, here, who)


def _checked(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, given: float
) -> Participant:
    """Kept whether right or not; nobody is sent away by it, and nobody gets a second chance."""
    block = here.study.configuration.block[step.block]
    assert isinstance(block, (Training, Testing))
    right = given == block.check[step.index].answer
    participants.say(connection, who, "check", given, is_right=right)
    return advance(connection, here, who)


def _commented(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, comment: str
) -> Participant:
    if comment:
        participants.say(connection, who, "comment", comment)
    return advance(connection, here, who)


WRITE: dict[str, Write] = {
    "consent": _consented,
    "page": _read_on,
    "quiz": _quizzed,
    "ask": _answered,
    "told": _read_on,
    "check": _checked,
    "break": _read_on,
    "debrief": _commented,
}
"""What a form that was read does."""
