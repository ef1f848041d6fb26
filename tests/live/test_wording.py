"""The message catalogues: complete, alike in what they leave out, and all of it used."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Formatter

import pytest

import preceptor
from preceptor.errors import InvalidInput
from preceptor.live.course.progress import ProgressCurve
from preceptor.live.store.chain import written
from preceptor.live.web.course_pictures import progress_picture
from preceptor.live.wording import languages, words_in

PACKAGE = Path(preceptor.__file__).parent / "live"


def _forms(message: str | list[str]) -> list[str]:
    return message if isinstance(message, list) else [message]


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", languages())
def test_every_catalogue_has_the_same_messages_with_the_same_gaps(language: str) -> None:
    ours, english = words_in(language).messages, words_in("en").messages
    assert ours.keys() == english.keys()
    for key, message in ours.items():
        assert len(_forms(message)) == len(_forms(english[key])), key
        fields = set.union(*(_fields(text) for text in _forms(message)))
        assert fields == set.union(*(_fields(text) for text in _forms(english[key]))), key


def test_every_message_is_used_and_every_used_message_exists() -> None:
    files = [*PACKAGE.glob("web/*.py"), *PACKAGE.glob("course/*.py"), *PACKAGE.glob("study/*.py")]
    files += [*PACKAGE.glob("web/templates/*.j2"), PACKAGE / "wording.py"]
    text = "\n".join(each.read_text("utf-8") for each in files)
    known = words_in("en").messages
    said = set(re.findall(r"say\(\s*\"(\w+)\"\s*[,)]", text))
    assert said <= known.keys()
    quoted = set(re.findall(r"[\"'](\w+)[\"']", text))
    by_prefix = tuple(re.findall(r"\"(\w+_)\"(?: ~| \+)", text))
    by_prefix += tuple(f"{each}_" for each in re.findall(r"words\.weight\(\"(\w+)\"", text))
    assert {key for key in known if key not in quoted and not key.startswith(by_prefix)} == set()


def test_numbers_and_dates_follow_the_language() -> None:
    english, german = words_in("en"), words_in("de")
    assert english.number(-1234.56, 1, "kg") == "−1,234.6 kg"
    assert german.number(-1234.56, 1, "kg") == "−1.234,6 kg"
    assert german.number(-0.04, 1, "%") == "0,0%"
    assert german.say("used_times") == "Male"
    assert german.say("summary_cases", n=1) == "nach 1 Fall"
    assert german.say("summary_cases", n=1200) == "nach 1.200 Fällen"
    assert german.date("2026-03-05T10:00:00.000000Z") == "05.03.2026"
    assert english.ago(written(datetime.now(UTC) - timedelta(minutes=5))) == "5 minutes ago"
    assert german.ago(written(datetime.now(UTC) - timedelta(hours=1.5))) == "vor 1 Stunde"


def test_weights_in_words() -> None:
    words = words_in("en")
    shares = {-0.4: "the wrong way round", 0.01: "hardly any", 0.43: "43%", 1.84: "1.8 times"}
    for share, said in {**shares, 7.0: "far more"}.items():
        assert said in words.weight("weighs", "bmi", share)
        assert said in words.weight("you_weigh", "bmi", share)


def test_the_axes_of_a_picture_follow_the_language() -> None:
    curve = ProgressCurve([(1, 1.45), (2, 1.2), (3, 1.1)], [])
    drawn = str(progress_picture(words_in("de"), curve))
    assert ">1,2</text>" in drawn
    assert ">1.2</text>" not in drawn
    assert ">1.2</text>" in str(progress_picture(words_in("en"), curve))


def test_another_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="'fr', must be one of de, en"):
        words_in("fr")
