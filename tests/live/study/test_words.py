"""Words of a study's pages: all from the catalogue, in its language, and each can be changed."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser
from string import Formatter
from typing import Any

import pytest

from preceptor.errors import InvalidInput
from preceptor.live.study.config import Confidence
from preceptor.live.study.study import _BUILT_IN, Study
from preceptor.live.wording import words_in
from tests.live.study.opened import SMALL, small_study
from tests.live.study.taking_part import Somebody

# Latin letters as Cyrillic ones, in which no built-in word is written.
_OWN = {ord("a") + i: chr(0x430 + i) for i in range(26)}


def strange(text: str) -> str:
    return text.lower().translate(_OWN)


def without_letters() -> dict[str, Any]:
    """A change for each message: its gaps, and no letter."""

    def one(text: str) -> str:
        gaps = [f"{{{name}}}" for _, name, _, _ in Formatter().parse(text) if name]
        return f"«{' '.join(gaps)}»"

    changes = {}
    for key, message in words_in("en").messages.items():
        if not key.endswith(("_mark", "_format")):
            forms = isinstance(message, list)
            changes[key] = [one(text) for text in message] if forms else one(message)
    return changes


class Visible(HTMLParser):
    """What people see or hear of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        spoken = ("aria-label", "title", "alt", "placeholder", "data-untouched")
        self.said += [value or "" for name, value in attrs if name in spoken]

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def letters(self) -> set[str]:
        """Words in Latin letters."""
        return set(re.findall(r"[A-Za-z]{2,}", " ".join(self.said)))


def spelled(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks whose own texts are in no Latin letters, and whose titles are built in."""

    def one(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: one(each, name) for name, each in value.items() if name != "title"}
        if isinstance(value, list) and key not in ("show",):
            return [one(each, key) for each in value]
        return strange(value) if isinstance(value, str) and key not in ("kind", "name") else value

    return one(blocks)


def every_page(who: Somebody) -> list[str]:
    """Every page of a participant, those of faults included."""
    seen = [who.get("").text, who.join().text]
    while who.stage is not None:
        seen.append(who.get("/now?note=already").text)
        if who.page.form and ({*who.page.form.values} | {*who.page.form.choices}) - {
            "step", "csrf", "elapsed", "comment"
        }:  # fmt: skip
            seen.append(who.fill(**_wrong(who)).text)
            assert who.answer.status_code == 422
        seen.append(who.fill(**_good(who)).text)
    seen += [who.get("/link").text, who.get("/withdraw").text, who.fill().text]
    return seen + refused_pages(who)


def refused_pages(who: Somebody) -> list[str]:
    """Pages that say why a call was refused."""
    there, seen = f"/s/{who.study}", []
    for status, method, path, options in (
        (404, "GET", f"{there}/nowhere", {}),
        (405, "DELETE", there, {}),
        (403, "POST", there, {"headers": {"Sec-Fetch-Site": "cross-site"}}),
        (413, "POST", there, {"data": {"recruiter": "x" * 70_000}}),
    ):
        who.answer = who.http.request(method, path, **options)
        assert who.answer.status_code == status
        assert f'<a class="button" href="{there}">' in who.text
        seen.append(who.text)
    return seen


def _wrong(who: Somebody) -> dict[str, str]:
    return {"answer": "77 ж"} if "answer" in who.page.form.values else {}


def _good(who: Somebody) -> dict[str, str]:
    form = who.page.form
    given = {name: next(iter(values)) for name, values in form.choices.items()}
    if "question-0" in form.choices and len(form.choices) == 2:
        given |= {"question-0": "1", "question-1": "2"}
    return given | ({"answer": "7"} if "answer" in form.values else {})


def blocks() -> list[dict[str, Any]]:
    made = copy.deepcopy(SMALL["block"])
    made[3]["confidence"] = {}
    survey = {"kind": "choice", "name": "q", "text": "a", "choices": ["b", "c"]}
    more = {"kind": "number", "name": "n", "text": "a", "low": 1, "optional": True}
    made.insert(1, {"kind": "survey", "question": [survey, more, {**more, "name": "m"}]})
    return made


def test_every_word_of_the_pages_comes_from_the_catalogue(opened, somebody):
    looks = {name: {"label": strange(name)} for name in ("bmi", "bp", "age")}
    study = opened(
        title=strange("A study"), contact="", block=spelled(blocks()), words=without_letters(),
        tests=looks, outcome={"name": strange("score"), "unit": ""}, completion={"code": "77"},
    )  # fmt: skip
    pages = every_page(somebody(study.id))
    assert len(pages) > 40, "each step, with what is wrong, and the rest"
    for page in pages:
        assert not Visible(page).letters, page
    assert '<html lang="en">' in page


def test_a_german_study_has_no_english_words(opened, somebody):
    """Every message of an English page that differs in German is absent from the German one."""
    german, english = words_in("de").messages, words_in("en").messages
    study = opened(language="de", block=spelled(blocks()), title="ж", contact="")
    pages = every_page(somebody(study.id))
    fixed = [
        re.split(r"\{\w+\}", message)
        for key, message in english.items()
        if isinstance(message, str) and german[key] != message
    ]
    pieces = {each.strip() for parts in fixed for each in parts if len(each.strip()) > 8}
    for page in pages:
        said = " ".join(Visible(page).said)
        assert not [piece for piece in pieces if piece in said]
        assert '<html lang="de">' in page
    text = " ".join(pages)
    for words in ("Einwilligung", "Fall 1 von 3", "Wie sicher sind Sie?", "7,0 points", "Danke"):
        assert words in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"case_off": "x"}, "words: 'case_off' is not known; did you mean 'case_of'?"),
        ({"case_of": "Plant {number}"}, "has the gap {number}; there is {all}, {n}"),
        ({"case_of": "Plant {n:9}"}, "has the gap {n:9}"),
        ({"case_of": "Plant {n.__class__}"}, "has the gap {n.__class__}"),
        ({"case_of": "Plant {n"}, "a brace too many or too few"),
        ({"text_too_long": "long"}, "must be a list of two texts"),
        ({"begin": ["a", "b"]}, "must be one text"),
    ],
)
def test_changes_that_do_not_fit_are_refused(words, said):
    with pytest.raises(InvalidInput) as caught:
        small_study(words=words)
    assert any(said in fault for fault in caught.value.faults), caught.value.faults


def test_a_word_is_changed(opened, somebody):
    study = opened(words={"case_of": "Plant {n} of {all}", "title_training": "Plants"})
    who = somebody(study.id).join()
    assert who.until("Plant 1 of 3").title == "Plant 1 of 3"
    assert "Plants" in who.text


def test_defaults_are_those_of_the_english_catalogue():
    english = words_in("en").messages
    study = small_study(block=[*blocks()[:-1], {"kind": "break"}, blocks()[-1]])
    for block in study.configuration.block:
        fields = type(block).model_fields
        for name, key in _BUILT_IN[block.kind].items():
            assert fields[name].default == english[key]
    sure = Confidence()
    assert (sure.text, *sure.ends) == tuple(
        english[key] for key in ("how_sure", "sure_low", "sure_high")
    )


@pytest.mark.parametrize("language", ["en", "de", "de-AT", "fr"])
def test_a_study_comes_back_as_it_was(language):
    study = small_study(language=language, block=blocks())
    again = Study.from_json(study.to_json())
    assert again.configuration == study.configuration
    assert again.sha256 == study.sha256
    # A title that is that of English studies stays, in any language.
    own = [{**block, "title": "Consent"} for block in blocks()]
    study = small_study(language=language, block=own)
    assert Study.from_json(study.to_json()).configuration == study.configuration


def test_studies_in_english_keep_their_hash():
    plain = small_study(block=blocks()).to_dict()
    assert "title" not in plain["block"][0]
    assert "words" not in plain
