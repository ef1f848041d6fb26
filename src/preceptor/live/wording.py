"""All words of the pages of courses and studies, in the language of a message catalogue.

A catalogue is one file in `messages`, named after its language. A message with two forms is chosen
by the number `n`. `tests/live/test_wording.py` compares them. A study file may change messages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

from markupsafe import Markup, escape

from preceptor._base.words import unknown_name_faults
from preceptor.errors import InvalidInput

# Ratios of weights below and beyond these are said without a number.
_HARDLY_ANY, _FAR_TOO_MUCH = 0.05, 3.0


class Words:
    """The messages of one language.

    Examples
    --------
    >>> words_in("de").number(-1234.5, 1), words_in("en").say("case", n=3)
    ('−1.234,5', 'Case 3')
    """

    def __init__(self, language: str, messages: dict[str, Any]) -> None:
        self.language, self.messages = language, messages

    def say(self, key: str, **values: Any) -> str:
        """The message of a key, with values filled in; numbers follow the language."""
        message = self.messages[key]
        if isinstance(message, list):
            message = message[values["n"] != 1]
        shown = {
            name: self.number(value, 0) if isinstance(value, int) else value
            for name, value in values.items()
        }
        if any(isinstance(value, Markup) for value in shown.values()):
            return escape(message).format(**shown)
        return str(message.format(**shown))

    def number(
        self, value: float, decimals: int, unit: str = "", *, is_grouped: bool = True
    ) -> str:
        """A number with a true minus sign, which screen readers pronounce."""
        text = self.marked(f"{abs(value):{',' if is_grouped else ''}.{decimals}f}")
        minus = "−" if value < 0 and any(c in "123456789" for c in text) else ""
        return minus + text + (unit if unit == "%" else f" {unit}" if unit else "")

    def marked(self, text: str) -> str:
        """An English number with the marks of this language."""
        decimal, group = self.messages["decimal_mark"], self.messages["group_mark"]
        return text.translate({ord("."): decimal, ord(","): group})

    def weight(self, prefix: str, test: str, share: float) -> str:
        """Say which share of its proper weight a test gets; `prefix` names the messages."""
        if share < 0.0:
            return self.say(f"{prefix}_wrong_way", test=test)
        if share < _HARDLY_ANY:
            return self.say(f"{prefix}_little", test=test)
        if share < 1.0:
            return self.say(f"{prefix}_share", test=test, share=self.number(100.0 * share, 0, "%"))
        if share < _FAR_TOO_MUCH:
            return self.say(f"{prefix}_times", test=test, times=self.number(share, 1))
        return self.say(f"{prefix}_far", test=test)

    def ago(self, moment: str) -> str:
        """How long ago a stored time was; the date if that was not today."""
        then = datetime.fromisoformat(moment)
        seconds = max((datetime.now(UTC) - then).total_seconds(), 0.0)
        if seconds < 60.0:
            return self.say("just_now")
        if seconds < 3_600.0:
            return self.say("minutes_ago", n=int(seconds // 60))
        if seconds < 86_400.0:
            return self.say("hours_ago", n=int(seconds // 3_600))
        return self.date(moment)

    def date(self, moment: str, form: str = "date_format") -> str:
        """The day of a stored time, or the time as another message writes it."""
        return datetime.fromisoformat(moment).strftime(self.messages[form])


def languages() -> list[str]:
    """Languages that have a catalogue."""
    folder = files("preceptor.live") / "messages"
    return sorted(each.name[:-5] for each in folder.iterdir() if each.name.endswith(".toml"))


@cache
def words_in(language: str) -> Words:
    """The messages of a language.

    Raises
    ------
    InvalidInput
        There is no such catalogue.
    """
    if language not in languages():
        raise InvalidInput(f"language: {language!r}, must be one of {', '.join(languages())}")
    text = (files("preceptor.live") / "messages" / f"{language}.toml").read_text("utf-8")
    return Words(language, tomllib.loads(text))


Message = str | list[str]


def changed_words(language: str, changes: Mapping[str, Message]) -> Words:
    """The messages of a language, or in English if it has no catalogue, with changes.

    >>> changed_words("en", {"case_of": "Plant {n} of {all}"}).say("case_of", n=1, all=9)
    'Plant 1 of 9'
    """
    there = language.split("-")[0]
    words = words_in(there if there in languages() else "en")
    if not changes:
        return words
    # Changed words are in the language that the study says it is in.
    return Words(language, {**words.messages, **changes})


def change_faults(where: str, changes: Mapping[str, Message]) -> Iterator[str]:
    """A sentence for each change that the catalogue does not allow."""
    known = words_in("en").messages
    yield from unknown_name_faults(where, changes, list(known))
    for key in changes.keys() & known.keys():
        before, after = known[key], changes[key]
        is_text = all(isinstance(text, str) for text in _forms(after))
        if isinstance(before, list) != isinstance(after, list) or not is_text:
            yield f"{where}.{key}: must be {_SHAPES[isinstance(before, list)]}"
            continue
        allowed = {name for text in _forms(before) for name in _gaps(text)}
        for text in _forms(after):
            try:
                strange = sorted(_gaps(text) - allowed)
            except ValueError:
                yield f"{where}.{key}: {text!r} has a brace too many or too few; write {{{{ for {{"
                continue
            if strange:
                there = ", ".join(f"{{{name}}}" for name in sorted(allowed)) or "no gaps"
                yield f"{where}.{key}: {text!r} has the gap {{{strange[0]}}}; there is {there}"


_SHAPES = ("one text", "a list of two texts: for one, and for any other number")


def _forms(message: Message) -> list[str]:
    return message if isinstance(message, list) else [message]


def _gaps(text: str) -> set[str]:
    """Gaps as they are written; one with a format, such as {n:9}, is none of those that there are.

    >>> sorted(_gaps("{n} of {all:9}"))
    ['all:9', 'n']
    """
    return {
        name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
        for _, name, form, conversion in Formatter().parse(text)
        if name is not None
    }
