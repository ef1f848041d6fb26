"""What comes with an answer: confidence, and the time by the participant's browser."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from preceptor.live.bots import StudyBots
from preceptor.live.store import participants, rounds
from preceptor.live.store.database import Store
from preceptor.live.store.rounds import StoredRound
from preceptor.live.study.arms import make_arms
from preceptor.live.study.export import _browser_time
from preceptor.live.study.registration import freeze, markdown
from tests.live.study.opened import SMALL, small_study
from tests.live.study.psych_ds import psych_ds_faults
from tests.live.study.test_export import rows


def with_confidence() -> list[dict[str, Any]]:
    blocks = copy.deepcopy(SMALL["block"])
    for block in blocks:
        if block["kind"] in ("training", "test"):
            block["confidence"] = {"points": 7}
    return blocks


def test_confidence_is_asked_with_the_answer(database, registered, exported, somebody):
    study = registered(block=with_confidence())
    who = somebody(study.id).join().until("Case 1 of 3")
    assert "How sure are you?" in who.text
    who.fill(answer="many")
    assert who.answer.status_code == 422
    assert '<a href="#confidence">Choose how sure you are.</a>' in who.text
    assert '<a href="#answer">' in who.text
    who.fill(answer="2", confidence="8")
    assert who.answer.status_code == 422
    assert who.fill(answer="2", confidence="6").title == "Case 1 of 3: the outcome"
    with Store(str(database)) as store:
        found = store.read(lambda c: participants.everyone(c, study.id))[-1]
        played = store.read(lambda c: rounds.all_of(c, found.id))
    assert [each.sent_with for each in played] == [
        {"elapsed": ""}, {"elapsed": "", "confidence": 6}
    ]  # fmt: skip
    folder = exported(study)
    (row,) = rows(next((folder / "data").glob("*training*")))
    assert row["confidence"] == "6"
    assert (row["browser_seconds"], row["browser_time"]) == ("", "")


def test_bots_say_how_sure_they_are(site, registered, exported):
    study = registered(block=with_confidence())
    assert all(StudyBots(f"{site.address}/s/{study.id}", 3).play().finished)
    folder = exported(study, kind="bot")
    assert psych_ds_faults(folder) == []
    said = [r["confidence"] for f in (folder / "data").iterdir() for r in rows(f)]
    assert {*said} <= {"", *"1234567"}
    assert said.count("") == 3  # practice does not ask


@pytest.mark.parametrize(
    ("claimed", "server", "found"),
    [
        ("", 3.0, (None, "")),
        ("2.5", 3.0, (2.5, "possible")),
        ("4.0", 3.0, (4.0, "possible")),
        ("4.1", 3.0, (4.1, "impossible")),
        ("-0.1", 3.0, (-0.1, "impossible")),
        ("NaN", 3.0, (None, "impossible")),
        ("inf", 3.0, (None, "impossible")),
        ("soon", 3.0, (None, "impossible")),
        ("2.5", None, (2.5, "unchecked")),
    ],
)
def test_times_of_browsers_are_compared_with_the_servers(claimed, server, found):
    one = StoredRound("p", 0, "told", "", "plan", {}, sent_with={"elapsed": claimed})
    assert _browser_time(StoredRound(**{**vars(one), "seconds": server})) == found


def test_nothing_that_a_browser_claims_is_refused(database, opened, somebody):
    who = somebody(opened().id).join().until("Case 1 of 3")
    before = who.stage
    assert who.fill(answer="2", elapsed="9" * 400).stage == before + 1


def test_the_registration_says_that_confidence_is_asked():
    study = small_study(block=with_confidence())
    text = markdown(freeze(study, make_arms(study)))
    assert "In block 4, participants say how sure they are of each answer, from 1" in text
