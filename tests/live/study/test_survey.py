"""Surveys: asked, checked, kept, exported, registered, answered by bots, and erased."""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from preceptor.errors import InvalidInput
from preceptor.live.bots import StudyBots
from preceptor.live.store import participants
from preceptor.live.store.database import Store
from preceptor.live.store.tables import given_answer
from preceptor.live.study.arms import make_arms
from preceptor.live.study.registration import freeze, markdown
from tests.live.service.servers import Server
from tests.live.study.opened import SMALL, small_study
from tests.live.study.psych_ds import psych_ds_faults
from tests.live.study.taking_part import Somebody

SURVEY: dict[str, Any] = {
    "kind": "survey",
    "title": "About you",
    "question": [
        {"kind": "choice", "name": "trade", "text": "Your trade?", "choices": ["Nurse", "Other"]},
        {"kind": "likert", "name": "trust", "text": "Do you trust it?", "ends": ["no", "fully"]},
        {"kind": "number", "name": "age", "text": "Your age?", "low": 18, "high": 120,
         "unit": "years"},
        {"kind": "text", "name": "why", "text": "Why?", "optional": True, "longest": 20},
    ],
}  # fmt: skip
GOOD = {"question-0": "2", "question-1": "4", "question-2": "42", "question-3": "=1+1"}


def with_survey(where: int = 1, **changes: Any) -> list[dict[str, Any]]:
    blocks = copy.deepcopy(SMALL["block"])
    blocks.insert(where, {**copy.deepcopy(SURVEY), **changes})
    return blocks


def at_survey(who: Somebody) -> Somebody:
    return who.join().until("About you")


def test_what_does_not_fit_is_said_at_its_field(opened, somebody):
    who = at_survey(somebody(opened(block=with_survey()).id))
    assert "(optional)" in who.text
    assert "from 18 to 120" in who.text
    before = who.stage
    who.fill(**{"question-0": "3", "question-2": "12", "question-3": "x" * 21})
    assert who.answer.status_code == 422
    for field, sentence in {
        "question-0": "Question 1: Choose one of the answers.",
        "question-1": "Question 2 has no answer yet.",
        "question-2": "Question 3: “12” is out of range: from 18 to 120.",
        "question-3": "Question 4: The text is 1 character too long.",
    }.items():
        assert f'<a href="#{field}">{sentence}</a>' in who.text
        assert f'id="{field}-fault"' in who.text
    assert 'value="12"' in who.text
    assert who.fill(**GOOD).stage == before + 1


def test_one_answer_counts_whatever_comes_twice(database, opened, somebody):
    study = opened(block=with_survey())
    who = at_survey(somebody(study.id))
    form = who.page.form.filled(**GOOD)
    assert who.post(**form).title == "Instructions"
    assert who.post(**{**form, "question-2": "43"}).title == "Instructions"
    with Store(str(database)) as store:
        found = store.read(lambda c: participants.everyone(c, study.id))[-1]
        said = store.read(lambda c: participants.answers_of(c, found.id))
    assert [each.answer for each in said if each.what == "survey"] == [
        {"trade": 2, "trust": 4, "age": 42.0, "why": "=1+1"}
    ]
    who.get("/withdraw").fill()
    with Store(str(database)) as store:
        left = store.read(lambda c: c.execute(given_answer.select()).all())
    assert found.id not in {row.participant for row in left}


def test_bots_answer_and_the_export_has_it(
    site: Server, registered: Callable[..., Any], exported: Callable[..., Path]
):
    again = {**SURVEY["question"][2], "name": "left", "optional": True}
    last = with_survey()
    last.insert(-1, {"kind": "survey", "question": [again]})
    study = registered(block=last)
    done = StudyBots(f"{site.address}/s/{study.id}", 6).play()
    assert all(done.finished)
    for full in (False, True):
        folder = exported(study, kind="bot", full=full)
        assert psych_ds_faults(folder) == []
        (file,) = (folder / "data").glob("*task-survey1_data.csv")
        rows = list(csv.DictReader(file.read_text().splitlines()))
        assert len({row["participant"] for row in rows}) == 6
        assert {row["trade"] for row in rows} <= {"Nurse", "Other"}
        assert {row["trust"] for row in rows} <= {*"12345"}
        # The problem has a test of this name.
        assert all(18.0 <= float(row["survey_age"]) <= 120.0 for row in rows)
        assert ("why" in rows[0]) == full
        book = json.loads((folder / "documentation" / "codebook.json").read_text())
        (trade,) = (e for e in book[f"data/{file.name}"] if e["name"] == "trade")
        assert trade["valueReference"] == ["Nurse", "Other"]


def test_free_text_is_no_formula(registered, exported, somebody):
    study = registered(block=with_survey())
    who = at_survey(somebody(study.id)).fill(**GOOD)
    while who.stage is not None:
        who.skip_outcome()
    (file,) = (exported(study, full=True) / "data").glob("*survey1_data.csv")
    (row,) = csv.DictReader(file.read_text().splitlines())
    assert row["why"] == "'=1+1"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ([SURVEY["question"][0]] * 2, "the name 'trade' occurs twice"),
        ([{**SURVEY["question"][0], "choices": ["a", "a"]}], "the choice 'a' occurs twice"),
        ([{**SURVEY["question"][2], "low": 130}], "low must be less"),
        ([{**SURVEY["question"][3], "longest": 5_000}, {**SURVEY["question"][3], "name": "w"}],
         "a form at most 5,000"),
        ([{**SURVEY["question"][1], "points": 12}], "block 2 (survey)"),
        ([{**SURVEY["question"][3], "private": False}], "private"),
        ([{**SURVEY["question"][0], "name": "A b"}], "name"),
    ],
)  # fmt: skip
def test_faults_of_surveys(question, said):
    with pytest.raises(InvalidInput) as caught:
        small_study(block=with_survey(question=question))
    assert any(said in fault for fault in caught.value.faults), caught.value.faults


def test_the_registration_lists_the_questions():
    study = small_study(block=with_survey())
    text = markdown(freeze(study, make_arms(study)))
    assert "## Survey" in text
    assert "| 2 | trust | Do you trust it? | 1 (no) to 5 (fully) |  |" in text
    assert "| 2 | age | Your age? | number from 18 up to 120 years |  |" in text
    assert "| 2 | why | Why? | text | yes |" in text
