"""Forms of participants: what they mean, or what is wrong with them, and what becomes of them.

A form is read without the store; then one transaction writes it down and moves on, or changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection

from preceptor._base.typed import number_in, share_in
from preceptor.errors import InvalidInput
from preceptor.store import participants
from preceptor.store.participants import Participant
from preceptor.study.config import Instructions, Testing, Training
from preceptor.study.protocol import Step
from preceptor.web.studies_live import LiveStudy
from preceptor.web.study_moves import advance, answer_round, screen_out
from preceptor.web.study_words import number

_LONGEST = 5_000
Form = Mapping[str, Any]

# A percent sign says nothing new of either.
_number = partial(number_in, unit="%")
_share = partial(share_in, in_percent=True)


class Unfit(Exception):
    """A form that cannot be taken as it is: fields, and what is wrong with each, in order."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = dict(faults)


def text_of(form: Form, name: str) -> str:
    """A field as text; files and missing fields are empty."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def _typed(typed: str, read: Callable[[str], float]) -> float:
    if not typed:
        raise Unfit({"answer": "Type a number; the field is empty."})
    try:
        return read(typed)
    except ValueError as error:
        said = f"“{_short(typed)}” {error}. Type a number like 12.5 or 12,5."
        raise Unfit({"answer": said}) from None


def _short(typed: str) -> str:
    return typed if len(typed) <= 40 else typed[:40] + "…"


def _answer(here: LiveStudy, step: Step, form: Form) -> float:
    typed, kind = text_of(form, "answer"), here.study.answer
    if kind == "yes or no":
        if typed not in ("0", "1"):
            raise Unfit({"answer": "Choose one of the two answers."})
        return float(typed)
    if kind == "percent":
        share = _typed(typed, _share)
        if not 0.0 <= share <= 1.0:
            raise Unfit({"answer": f"“{_short(typed)}” is not between 0 and 100 percent."})
        return share
    look = here.study.configuration.outcome
    value = _typed(typed, _number)
    low, high = look.low, look.high
    if (low is not None and value < low) or (high is not None and value > high):
        raise Unfit(
            {"answer": f"“{_short(typed)}” is outside of what is possible: {limits(here)}."}
        )
    try:
        return here.guide.words.answer(value)
    except InvalidInput:
        said = f"“{_short(typed)}” is far from anything possible; look at it again."
        raise Unfit({"answer": said}) from None


def limits(here: LiveStudy) -> str:
    """What an answer may be, in words; empty if anything."""
    look = here.study.configuration.outcome
    if here.study.answer == "percent":
        return "from 0 to 100"
    low = None if look.low is None else f"{number_as_typed(look.low)}"
    high = None if look.high is None else f"{number_as_typed(look.high)}"
    if low is not None and high is not None:
        return f"from {low} to {high}"
    if low is not None:
        return f"at least {low}"
    return "" if high is None else f"at most {high}"


def number_as_typed(value: float) -> str:
    """A limit, as short as it can be said."""
    return number(value, 0) if value == int(value) else repr(value).replace("-", "−")


def _consent(here: LiveStudy, step: Step, form: Form) -> bool:
    if text_of(form, "choice") == "no":
        return False
    if not text_of(form, "agree"):
        raise Unfit({"agree": "Tick the box if you agree; if you do not, choose the other button."})
    return True


def _quiz(here: LiveStudy, step: Step, form: Form) -> list[int]:
    block = here.study.configuration.block[step.block]
    assert isinstance(block, Instructions)
    chosen, faults = [], {}
    for i, question in enumerate(block.question):
        given = text_of(form, f"question-{i}")
        if given.isascii() and given.isdigit() and 1 <= int(given) <= len(question.choices):
            chosen.append(int(given))
        else:
            faults[f"question-{i}"] = f"Question {i + 1} has no answer yet."
    if faults:
        raise Unfit(faults)
    return chosen


def _check(here: LiveStudy, step: Step, form: Form) -> float:
    return _typed(text_of(form, "answer"), _number)


def _comment(here: LiveStudy, step: Step, form: Form) -> str:
    said = text_of(form, "comment")
    if len(said) > _LONGEST:
        raise Unfit(
            {"comment": f"Please shorten it to {_LONGEST:,} letters; it has {len(said):,}."}
        )
    return said


def _nothing(here: LiveStudy, step: Step, form: Form) -> None:
    return None


READ: dict[str, Callable[[LiveStudy, Step, Form], Any]] = {
    "consent": _consent,
    "page": _nothing,
    "quiz": _quiz,
    "ask": _answer,
    "told": _nothing,
    "check": _check,
    "break": _nothing,
    "debrief": _comment,
}
"""What a step's form says; each raises `Unfit`."""


# --- what they do ------------------------------------------------------------------------------

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
