"""An arm in which a tutor decides: while it thinks, nobody loses their page."""

from __future__ import annotations

import time

import pytest

from preceptor.bots import StudyBots
from preceptor.store import Store, rounds
from tests.service.servers import start
from tests.study.opened import open_study, small_study
from tests.study.taking_part import Somebody

ARMS = [{"name": "tutor", "policy": "adaptive", "time_limit": 0.2}]
ANALYSIS = {"compare": ["tutor"]}
BLOCKS = [{"kind": "training", "rounds": 2}, {"kind": "test", "rounds": 1, "show": [["age"]]}]


@pytest.fixture(scope="module")
def study():
    return small_study(arm=ARMS, analysis=ANALYSIS, block=BLOCKS)


def test_a_tutor_that_takes_its_time_keeps_the_page(tmp_path, study):
    """With no patience at all, the page says so and goes on by itself once the tutor is done."""
    database = tmp_path / "live.db"
    with Store(str(database)) as store:
        open_study(store, study)
    server = start(tmp_path, "--database", database, "--patience", 0, "--rate", 0)
    try:
        who = Somebody(server.address).join()
        waited = 0
        while who.stage is not None or who.answer.status_code == 503:
            if who.answer.status_code == 503:
                assert who.title == "One moment"
                assert who.answer.headers["refresh"] == "2"
                assert "http-equiv" not in who.text
                waited += 1
                time.sleep(0.2)
                who.get()
            else:
                who.go_on()
        assert who.title == "Thank you"
        assert waited
        who.close()
        attended = StudyBots(f"{server.address}/s/small", 1).play()
        assert all(attended.finished)
        [place] = attended.places
    finally:
        assert server.stop() == 0
    with Store(str(database)) as store:
        played = store.read(lambda c: rounds.all_of(c, place.who))
    assert [each.policy for each in played] == ["tutor"] * 3
    assert [each.number for each in played] == [0, 1, 2]
    assert [each.reason == "The same in every arm." for each in played] == [False, False, True]
