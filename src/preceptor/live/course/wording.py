"""All words of the course's pages, in the language of its message catalogue.

A catalogue is one file in `messages`, named after its language. A message with two forms is chosen
by the number `n`. `tests/live/course/test_wording.py` compares the catalogues.
"""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

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
        return str(message.format(**shown))

    def number(self, value: float, decimals: int, unit: str = "") -> str:
        """A number with a true minus sign, which screen readers pronounce."""
        text = self.marked(f"{abs(value):,.{decimals}f}")
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

    def date(self, moment: str) -> str:
        """The day of a stored time."""
        return datetime.fromisoformat(moment).strftime(self.messages["date_format"])


def languages() -> list[str]:
    """Languages that have a catalogue."""
    folder = files("preceptor.live.course") / "messages"
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
    text = (files("preceptor.live.course") / "messages" / f"{language}.toml").read_text("utf-8")
    return Words(language, tomllib.loads(text))
