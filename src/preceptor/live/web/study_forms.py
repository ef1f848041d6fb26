"""What participants read and type: prose, results and answers with their units, and their forms.

Forms are read without the store, or refused with a sentence for each field; `study.taking_part`
says what happens next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from preceptor._base.checks import parse_number, parse_share
from preceptor.errors import InvalidInput
from preceptor.live.store.rounds import StoredRound
from preceptor.live.study.config import (
    ChoiceQuestion,
    Instructions,
    LikertQuestion,
    LookOfOutcome,
    LookOfTest,
    NumberQuestion,
    Survey,
    SurveyQuestion,
    TextQuestion,
)
from preceptor.live.study.study import Step
from preceptor.live.study.taking_part import CaseAnswer, LiveStudy

_STARS = re.compile(r"(?<![\w*])\*(?! )([^*]+)(?<! )\*(?![\w*])")


@dataclass(frozen=True)
class Spoken:
    """A value as text for readers, and exactly."""

    text: str
    value: str
    label: str = ""


def paragraphs(text: str) -> list[tuple[str, list[Markup]]]:
    """Split prose at empty lines: ("p", [text]), or ("ul", items) where it begins with "- ".

    Line breaks within a paragraph are ignored; *words* are emphasised; everything else is escaped.

    >>> paragraphs("One\\nand *more*.\\n\\n- first\\n- second")
    [('p', [Markup('One and <em>more</em>.')]), ('ul', [Markup('first'), Markup('second')])]
    """
    parts = []
    for part in re.split(r"\n\s*\n", text.strip()):
        joined = " ".join(line.strip() for line in part.splitlines())
        if joined.startswith("- "):
            items = re.split(r"\n\s*- ", "\n" + part.strip())[1:]
            parts.append(("ul", [_emphasised(" ".join(item.split())) for item in items]))
        elif joined:
            parts.append(("p", [_emphasised(joined)]))
    return parts


def _emphasised(text: str) -> Markup:
    return Markup(_STARS.sub(r"<em>\1</em>", str(escape(text))))


def number(value: float, decimals: int, unit: str = "") -> str:
    """Format a number with a true minus sign, which screen readers pronounce.

    >>> number(-1.25, 1, "kg")
    '−1.2 kg'
    """
    text = f"{value:.{decimals}f}"
    if text.startswith("-"):
        text = f"−{text[1:]}" if float(text) else text[1:]
    return text + (unit if unit == "%" else f" {unit}" if unit else "")


def results(here: LiveStudy, there: StoredRound) -> list[Spoken]:
    """The shown results of a round, test by test."""
    world, looks = here.study.problem.world, here.study.configuration.tests
    values = dict(zip(there.shown or (), there.values or (), strict=True))
    whole = here.guide.words.spoken(there.shown or (), there.values or ())
    found = []
    for test in here.guide.words.tests(there.shown or ()):
        look = looks.get(test, LookOfTest())
        label = look.label or test
        columns = world.columns_of([test])
        value = whole.get(test, values.get(world.labels[columns[0]]))
        if isinstance(value, str):
            found.append(Spoken(value, value, label))
        elif value is not None:
            text = number(value, look.decimals, look.unit)
            found.append(Spoken(text, repr(value), label))
    return found


def outcome_name(here: LiveStudy) -> str:
    """What participants predict."""
    units = here.study.problem.world.units
    name = here.study.configuration.outcome.name
    return name or (units.outcome if units is not None else "outcome")


def _two(here: LiveStudy) -> Sequence[str]:
    units = here.study.problem.world.units
    levels = None if units is None else units.outcome_levels
    return levels or ("No", "Yes")


def choices(here: LiveStudy) -> list[tuple[str, str]]:
    """Choices of a yes-or-no answer: form value and label; yes first."""
    no, yes = _two(here)
    return [("1", yes), ("0", no)]


def answer(here: LiveStudy, value: float) -> Spoken:
    """Format an answer."""
    look = here.study.configuration.outcome
    if here.study.answer == "percent":
        return Spoken(number(100.0 * value, look.decimals, "%"), repr(value))
    if here.study.answer == "yes or no":
        return Spoken(_two(here)[int(value)], repr(value))
    return Spoken(number(value, look.decimals, look.unit), repr(value))


def truth(here: LiveStudy, value: float) -> Spoken:
    """Format an outcome."""
    if here.study.problem.is_binary:
        return Spoken(_two(here)[int(value)], repr(value))
    return answer(here, value)


def verdict(here: LiveStudy, said: float, true: float) -> str:
    """The error of an answer, in words."""
    look = here.study.configuration.outcome
    if here.study.answer == "yes or no":
        return "That was right." if said == true else "That was not right."
    if here.study.answer == "percent":
        points = number(100.0 * abs(true - said), look.decimals)
        return f"You were off by {points} percentage points."
    off = abs(said - true)
    if float(f"{off:.{look.decimals}f}") == 0.0:
        return "That was exactly right."
    how = "high" if said > true else "low"
    return f"You were {number(off, look.decimals, look.unit)} too {how}."


Form = Mapping[str, Any]
# Characters that are kept of the seconds that a browser counted.
_LONGEST_TIME = 20

# A percent sign is allowed in both.
_number = partial(parse_number, unit="%")
_share = partial(parse_share, in_percent=True)


class InvalidForm(Exception):
    """A form with faults: a sentence for each field, in order."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = dict(faults)


def text_of(form: Form, name: str) -> str:
    """A field as text; files and missing fields are empty."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def _typed(typed: str, read: Callable[[str], float]) -> float:
    if not typed:
        raise InvalidForm({"answer": "Type a number; the field is empty."})
    try:
        return read(typed)
    except ValueError as error:
        said = f"“{_short(typed)}” {error}. Type a number like 12.5 or 12,5."
        raise InvalidForm({"answer": said}) from None


def _short(typed: str) -> str:
    return typed if len(typed) <= 40 else typed[:40] + "…"


def _answer(here: LiveStudy, step: Step, form: Form) -> CaseAnswer:
    """The answer to a case, with the participant's confidence and the time by their browser."""
    scale = getattr(here.study.configuration.block[step.block], "confidence", None)
    faults: dict[str, str] = {}
    sent_with: dict[str, Any] = {"elapsed": text_of(form, "elapsed")[:_LONGEST_TIME]}
    value = 0.0
    try:
        value = _predicted(here, form)
    except InvalidForm as unfit:
        faults |= unfit.faults
    if scale is not None:
        sent_with["confidence"] = _point(text_of(form, "confidence"), scale.size)
        if sent_with["confidence"] is None:
            faults["confidence"] = "Choose how sure you are."
    if faults:
        raise InvalidForm(faults)
    return CaseAnswer(value, sent_with)


def _point(typed: str, size: int) -> int | None:
    """The number of a choice or of a point of a scale, from 1; None if it is none."""
    is_number = typed.isascii() and typed.isdigit() and len(typed) <= len(str(size))
    return int(typed) if is_number and 1 <= int(typed) <= size else None


def _predicted(here: LiveStudy, form: Form) -> float:
    typed, kind = text_of(form, "answer"), here.study.answer
    if kind == "yes or no":
        if typed not in ("0", "1"):
            raise InvalidForm({"answer": "Choose one of the two answers."})
        return float(typed)
    if kind == "percent":
        share = _typed(typed, _share)
        if not 0.0 <= share <= 1.0:
            raise InvalidForm({"answer": f"“{_short(typed)}” is not between 0 and 100 percent."})
        return share
    look = here.study.configuration.outcome
    value = _within(_typed(typed, _number), typed, look)
    try:
        return here.guide.words.answer(value)
    except InvalidInput:
        said = f"“{_short(typed)}” is far from any possible value; please check it."
        raise InvalidForm({"answer": said}) from None


def _within(value: float, typed: str, look: LookOfOutcome | NumberQuestion) -> float:
    low, high = look.low, look.high
    if (low is not None and value < low) or (high is not None and value > high):
        raise InvalidForm({"answer": f"“{_short(typed)}” is out of range: {limits(look)}."})
    return value


def limits(look: LookOfOutcome | NumberQuestion) -> str:
    """The range of answers, in words; empty if there are no limits."""
    low = None if look.low is None else f"{number_as_typed(look.low)}"
    high = None if look.high is None else f"{number_as_typed(look.high)}"
    if low is not None and high is not None:
        return f"from {low} to {high}"
    if low is not None:
        return f"at least {low}"
    return "" if high is None else f"at most {high}"


def number_as_typed(value: float) -> str:
    """Format a limit, as short as possible."""
    return number(value, 0) if value == int(value) else repr(value).replace("-", "−")


def _consent(here: LiveStudy, step: Step, form: Form) -> bool:
    if text_of(form, "choice") == "no":
        return False
    if not text_of(form, "agree"):
        raise InvalidForm(
            {"agree": "Tick the box if you agree; if you do not, choose the other button."}
        )
    return True


def _quiz(here: LiveStudy, step: Step, form: Form) -> list[int]:
    block = here.study.configuration.block[step.block]
    assert isinstance(block, Instructions)
    chosen, faults = [], {}
    for i, question in enumerate(block.question):
        given = _point(text_of(form, f"question-{i}"), len(question.choices))
        if given is not None:
            chosen.append(given)
        else:
            faults[f"question-{i}"] = f"Question {i + 1} has no answer yet."
    if faults:
        raise InvalidForm(faults)
    return chosen


def _survey(here: LiveStudy, step: Step, form: Form) -> dict[str, Any]:
    """Answers by name: the number of a choice or of a point, a number, or a text."""
    block = here.study.configuration.block[step.block]
    assert isinstance(block, Survey)
    given: dict[str, Any] = {}
    faults = {}
    for i, question in enumerate(block.question):
        typed, field = text_of(form, f"question-{i}"), f"question-{i}"
        given[question.name] = None
        if not typed:
            if not question.optional:
                faults[field] = f"Question {i + 1} has no answer yet."
            continue
        try:
            given[question.name] = _surveyed(question, typed)
        except InvalidForm as unfit:
            faults[field] = f"Question {i + 1}: {unfit.faults['answer']}"
    if faults:
        raise InvalidForm(faults)
    return given


def _surveyed(question: SurveyQuestion, typed: str) -> float | str:
    if isinstance(question, NumberQuestion):
        return _within(_typed(typed, _number), typed, question)
    if isinstance(question, TextQuestion):
        if len(typed) > question.longest:
            over = len(typed) - question.longest
            raise InvalidForm({"answer": f"The text is {over:,} characters too long."})
        return typed
    assert isinstance(question, (ChoiceQuestion, LikertQuestion))
    point = _point(typed, question.size)
    if point is None:
        raise InvalidForm({"answer": "choose one of the answers."})
    return point


def _check(here: LiveStudy, step: Step, form: Form) -> float:
    return _typed(text_of(form, "answer"), _number)


def _comment(here: LiveStudy, step: Step, form: Form) -> str:
    return text_of(form, "comment")


def _nothing(here: LiveStudy, step: Step, form: Form) -> None:
    return None


READ: dict[str, Callable[[LiveStudy, Step, Form], Any]] = {
    "consent": _consent,
    "page": _nothing,
    "quiz": _quiz,
    "ask": _answer,
    "told": _nothing,
    "wait": _nothing,
    "check": _check,
    "break": _nothing,
    "survey": _survey,
    "debrief": _comment,
}
"""Readers of the forms of each kind of step; they raise `InvalidForm`."""
