"""An arm in which a tutor decides: while it thinks, nobody loses their page."""

from __future__ import annotations

import time

import numpy as np
import pytest

import preceptor as pr
from preceptor.live.bots import StudyBots
from preceptor.live.store import people, plans, rounds
from preceptor.live.store.database import Store
from preceptor.live.study.arms import kept_arms, make_arms
from preceptor.live.study.registration import freeze, markdown
from preceptor.live.study.simulated_people import assumptions, make_stage, with_tutored_banks
from tests.live.service.servers import start
from tests.live.study.opened import open_study, small_study
from tests.live.study.taking_part import Somebody

ARMS = [{"name": "tutor", "policy": "adaptive", "time_limit": 0.2}]
ANALYSIS = {"compare": ["tutor"]}
BLOCKS = [{"kind": "training", "rounds": 2}, {"kind": "test", "rounds": 1, "show": [["age"]]}]


@pytest.fixture(scope="module")
def study():
    return small_study(arm=ARMS, analysis=ANALYSIS, block=BLOCKS)


@pytest.mark.full
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
                assert who.answer.headers["refresh"] == "1"
                assert "http-equiv" not in who.text
                waited += 1
                time.sleep(0.2)
                who.get()
            else:
                who.skip_outcome()
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


AWARE = {"name": "aware", "policy": "case-aware", "tau": 5.0, "knows": ["bmi", "age"]}


def aware_study(**changes):
    return small_study(
        arm=[{**AWARE, "time_limit": 0.2, **changes}],
        analysis={"compare": ["aware"]},
        block=BLOCKS,
    )


def test_an_arm_that_looks_at_the_case_is_registered_in_words():
    study = aware_study()
    [arm] = make_arms(study)
    assert arm.is_adaptive
    assert arm.in_view == pr.CaseAware(5.0, ("bmi", "age"))
    [again] = kept_arms(study, {"aware": arm.plan})
    assert again.in_view == arm.in_view
    registered = freeze(study, [arm], is_draft=True)
    [said] = registered.content["arms"]
    assert said["chooses"] == arm.in_view.in_words()
    assert "having seen bmi, age" in markdown(registered)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy": "adaptive"}, "has tau or knows, but policy is 'adaptive'; leave them out"),
        ({"knows": ["height"]}, "height"),
        ({"tau": -1.0}, "tau"),
    ],
)
def test_what_an_arm_cannot_know_is_refused(changes, said):
    with pytest.raises(pr.PreceptorError, match=said):
        aware_study(**changes)


def test_simulated_people_are_shown_what_the_policy_chooses():
    study = aware_study()
    stage = make_stage(study, make_arms(study), 2)
    kinds = assumptions(study)
    banked = with_tutored_banks(stage, kinds, seed=1)
    policy = pr.CaseAware(5.0, ("bmi", "age"))
    first = {
        place: policy.tutor(study.problem).next(
            case=policy.known(study.problem.world, stage.values[place, 0])
        )
        for place in range(2)
    }
    for place, shown in first.items():
        for which in banked.bank[0].which[:, place, :, 0].ravel():
            assert banked.sets[which] == shown


@pytest.mark.full
def test_an_arm_that_looks_at_the_case_shows_what_the_policy_chooses(tmp_path):
    study, database = aware_study(), tmp_path / "live.db"
    with Store(str(database)) as store:
        open_study(store, study)
    server = start(tmp_path, "--database", database, "--patience", 60, "--rate", 0)
    try:
        attended = StudyBots(f"{server.address}/s/small", 1).play()
        assert all(attended.finished)
        [place] = attended.places
    finally:
        assert server.stop() == 0
    with Store(str(database)) as store:
        played = store.read(lambda c: rounds.all_of(c, place.who))
        person = store.read(lambda c: people.find(c, place.who))
        cases = [
            store.read(lambda c, n=number: plans.case_of(c, person.case_list, n))
            for number in range(2)
        ]
    policy, world = pr.CaseAware(5.0, ("bmi", "age")), study.problem.world
    tutor = policy.tutor(study.problem)
    for each, case in zip(played, cases, strict=False):
        results = np.array(case.values, dtype=float)
        said = tutor.recommendation(case=policy.known(world, results))
        assert each.reason == said.reason
        assert tuple(each.recommended) == said.names
        values = results[list(said.shown)]
        tutor = tutor.after(said.shown, values, each.prediction, each.outcome)
