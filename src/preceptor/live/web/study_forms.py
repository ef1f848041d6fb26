"""What participants read and type: prose, results and answers with their units, and their forms.

Forms are read without the store, or refused with a sentence for each field; `study.taking_part`
says what happens next.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from preceptor._base.checks import AmbiguousNumber, parse_number, parse_share
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
from preceptor.live.wording import Words

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


def number(words: Words, value: float, decimals: int, unit: str = "") -> str:
    """Format a number without marks between thousands, which participants must not type either.

    >>> from preceptor.live.wording import words_in
    >>> number(words_in("de"), -1000.25, 1, "kg")
    '−1000,2 kg'
    """
    return words.number(value, decimals, unit, is_grouped=False)


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
            text = number(here.words, value, look.decimals, look.unit)
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
    return levels or (here.words.say("no"), here.words.say("yes"))


def choices(here: LiveStudy) -> list[tuple[str, str]]:
    """Choices of a yes-or-no answer: form value and label; yes first."""
    no, yes = _two(here)
    return [("1", yes), ("0", no)]


def answer(here: LiveStudy, value: float) -> Spoken:
    """Format an answer."""
    look = here.study.configuration.outcome
    if here.study.answer == "percent":
        return Spoken(number(here.words, 100.0 * value, look.decimals, "%"), repr(value))
    if here.study.answer == "yes or no":
        return Spoken(_two(here)[int(value)], repr(value))
    return Spoken(number(here.words, value, look.decimals, look.unit), repr(value))


def truth(here: LiveStudy, value: float) -> Spoken:
    """Format an outcome."""
    if here.study.problem.is_binary:
        return Spoken(_two(here)[int(value)], repr(value))
    return answer(here, value)


def advice(here: LiveStudy, there: StoredRound) -> list[str]:
    """What the assistant says about a case, a sentence each."""
    said, words = there.opened_with.get("advice"), here.words
    if said is None:
        return []
    look, looks = here.study.configuration.outcome, here.study.configuration.tests

    def of(test: str) -> LookOfTest:
        return looks.get(test, LookOfTest())

    if said["kind"] == "prediction":
        if here.study.problem.is_binary:
            share = number(words, 100.0 * said["value"], 0, "%")
            return [words.say("assistant_chance", share=share, outcome=outcome_name(here))]
        value = number(words, said["value"], look.decimals, look.unit)
        return [words.say("assistant_predicts", value=value)]
    if said["kind"] == "contrast":
        return [words.weight("you_weigh", of(said["test"]).label or said["test"], said["share"])]
    return [
        words.say(
            "assistant_weighs",
            one=number(words, 1.0, 0, of(test).unit),
            test=of(test).label or test,
            weight=_signed(words, weight, look.unit),
        )
        for test, weight in said["weights"].items()
    ]


def _signed(words: Words, value: float, unit: str) -> str:
    """A change, with three digits."""
    decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return ("+" if value > 0.0 else "") + number(words, value, decimals, unit)


def verdict(here: LiveStudy, said: float, true: float) -> str:
    """The error of an answer, in words."""
    look, words = here.study.configuration.outcome, here.words
    if here.study.answer == "yes or no":
        return words.say("right" if said == true else "not_right")
    if here.study.answer == "percent":
        points = number(words, 100.0 * abs(true - said), look.decimals)
        return words.say("off_points", points=points)
    off = abs(said - true)
    if float(f"{off:.{look.decimals}f}") == 0.0:
        return words.say("exactly_right")
    key = "too_high" if said > true else "too_low"
    return words.say(key, off=number(words, off, look.decimals, look.unit))


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


def _typed(words: Words, typed: str, read: Callable[[str], float]) -> float:
    if not typed:
        raise InvalidForm({"answer": words.say("empty_number")})
    try:
        return read(typed)
    except ValueError as error:
        key = "two_numbers" if isinstance(error, AmbiguousNumber) else "bad_number"
        said = words.say(key, typed=_short(typed), example=words.say("number_example"))
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
        look, check = here.study.configuration.outcome, here.guide.words.answer
        value = read_answer(here.words, here.study.answer, text_of(form, "answer"), check, look)
    except InvalidForm as unfit:
        faults |= unfit.faults
    if scale is not None:
        sent_with["confidence"] = _point(text_of(form, "confidence"), scale.size)
        if sent_with["confidence"] is None:
            faults["confidence"] = here.words.say("choose_sure")
    if faults:
        raise InvalidForm(faults)
    return CaseAnswer(value, sent_with)


def _point(typed: str, size: int) -> int | None:
    """The number of a choice or of a point of a scale, from 1; None if it is none."""
    is_number = typed.isascii() and typed.isdigit() and len(typed) <= len(str(size))
    return int(typed) if is_number and 1 <= int(typed) <= size else None


def read_answer(
    words: Words,
    kind: str,
    typed: str,
    check: Callable[[float], float],
    look: LookOfOutcome | None = None,
    unit: str = "%",
) -> float:
    """An answer of this kind as typed; `check` refuses implausible numbers, `look` has limits."""
    if kind == "yes or no":
        if typed not in ("0", "1"):
            raise InvalidForm({"answer": words.say("bad_choice")})
        return float(typed)
    if kind == "percent":
        share = _typed(words, typed, _share)
        if not 0.0 <= share <= 1.0:
            raise InvalidForm({"answer": words.say("bad_percent", typed=_short(typed))})
        return share
    value = _typed(words, typed, partial(parse_number, unit=unit))
    if look is not None:
        _within(words, value, typed, look)
    try:
        return check(value)
    except InvalidInput:
        said = words.say("far_off", typed=_short(typed))
        raise InvalidForm({"answer": said}) from None


def _within(words: Words, value: float, typed: str, look: LookOfOutcome | NumberQuestion) -> float:
    low, high = look.low, look.high
    if (low is not None and value < low) or (high is not None and value > high):
        said = words.say("out_of_range", typed=_short(typed), limits=limits(words, look))
        raise InvalidForm({"answer": said})
    return value


def limits(words: Words, look: LookOfOutcome | NumberQuestion) -> str:
    """The range of answers, in words; empty if there are no limits."""
    low = None if look.low is None else number_as_typed(words, look.low)
    high = None if look.high is None else number_as_typed(words, look.high)
    if low is not None and high is not None:
        return words.say("range", low=low, high=high)
    if low is not None:
        return words.say("at_least", low=low)
    return "" if high is None else words.say("at_most", high=high)


def number_as_typed(words: Words, value: float) -> str:
    """Format a limit, as short as possible."""
    if value == int(value):
        return number(words, value, 0)
    return words.marked(repr(value)).replace("-", "−")


def _consent(here: LiveStudy, step: Step, form: Form) -> bool:
    if text_of(form, "choice") == "no":
        return False
    if not text_of(form, "agree"):
        raise InvalidForm({"agree": here.words.say("agree_fault")})
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
            faults[f"question-{i}"] = here.words.say("no_answer", n=i + 1)
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
                faults[field] = here.words.say("no_answer", n=i + 1)
            continue
        try:
            given[question.name] = _surveyed(here.words, question, typed)
        except InvalidForm as unfit:
            said = unfit.faults["answer"]
            faults[field] = here.words.say("question_fault", n=i + 1, fault=said)
    if faults:
        raise InvalidForm(faults)
    return given


def _surveyed(words: Words, question: SurveyQuestion, typed: str) -> float | str:
    if isinstance(question, NumberQuestion):
        return _within(words, _typed(words, typed, _number), typed, question)
    if isinstance(question, TextQuestion):
        if len(typed) > question.longest:
            over = len(typed) - question.longest
            raise InvalidForm({"answer": words.say("text_too_long", n=over)})
        return typed
    assert isinstance(question, (ChoiceQuestion, LikertQuestion))
    point = _point(typed, question.size)
    if point is None:
        raise InvalidForm({"answer": words.say("choose_one")})
    return point


def _check(here: LiveStudy, step: Step, form: Form) -> float:
    return _typed(here.words, text_of(form, "answer"), _number)


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
