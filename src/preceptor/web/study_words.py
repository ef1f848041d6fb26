"""What participants read: prose as paragraphs, results and answers as numbers with their units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from preceptor.store.rounds import Round
from preceptor.study.config import LookOfTest
from preceptor.web.studies_live import LiveStudy

_STARS = re.compile(r"(?<![\w*])\*(?! )([^*]+)(?<! )\*(?![\w*])")


@dataclass(frozen=True)
class Spoken:
    """A number as people read it, and as it is."""

    text: str
    value: str
    label: str = ""


def paragraphs(text: str) -> list[tuple[str, list[Markup]]]:
    """Prose by its empty lines: ("p", [text]) or, where it begins with "- ", ("ul", items).

    Line breaks are those of the file and not of the page; *words* are emphasised; everything else
    stands as it is.

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
    """A number with a real minus sign, so that it is read aloud as one.

    >>> number(-1.25, 1, "kg")
    '−1.2 kg'
    """
    text = f"{value:.{decimals}f}"
    if text.startswith("-"):
        text = f"−{text[1:]}" if float(text) else text[1:]
    return text + (unit if unit == "%" else f" {unit}" if unit else "")


def results(here: LiveStudy, there: Round) -> list[Spoken]:
    """What a round shows, test by test."""
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
    """Answers that are yes or no: what is sent, and what is read; yes first."""
    no, yes = _two(here)
    return [("1", yes), ("0", no)]


def answer(here: LiveStudy, value: float) -> Spoken:
    """What somebody said."""
    look = here.study.configuration.outcome
    if here.study.answer == "percent":
        return Spoken(number(100.0 * value, look.decimals, "%"), repr(value))
    if here.study.answer == "yes or no":
        return Spoken(_two(here)[int(value)], repr(value))
    return Spoken(number(value, look.decimals, look.unit), repr(value))


def truth(here: LiveStudy, value: float) -> Spoken:
    """What was true."""
    if here.study.problem.is_binary:
        return Spoken(_two(here)[int(value)], repr(value))
    return answer(here, value)


def verdict(here: LiveStudy, said: float, true: float) -> str:
    """How far off an answer was, in words."""
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
