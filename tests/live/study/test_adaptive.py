"""An arm in which a tutor decides: while it thinks, nobody loses their page."""

from __future__ import annotations

import time

import numpy as np
import pytest

import preceptor as pr
from preceptor.errors import NotApplicable
from preceptor.learners.case_choice import CasePool, Plausibility
from preceptor.live.bots import StudyBots
from preceptor.live.store import people, plans, rounds
from preceptor.live.store.database import Store
from preceptor.live.study.arms import kept_arms, make_arms
from preceptor.live.study.cases import case_list, pool_rows
from preceptor.live.study.registration import freeze, markdown
from preceptor.live.study.simulated_people import (
    assumptions,
    make_stage,
    played,
    recruited,
    with_tutored_banks,
)
from preceptor.simulation.cases import cases_of
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
        ({"policy": "adaptive"}, "has tau and knows, but policy is 'adaptive'; leave that out"),
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


PICKING = {"name": "picks", "policy": "case-aware", "pool": 8, "time_limit": 0.2}
FIXED = {"name": "fixed", "policy": "best fixed", "time_limit": 0.2}


def picking_study(**changes):
    return small_study(
        arm=[{**PICKING, **changes}, FIXED],
        analysis={"compare": ["picks", "fixed"]},
        block=[BLOCKS[1], {**BLOCKS[0], "rounds": 4}, BLOCKS[1]],
    )


def test_pools_begin_with_the_cases_of_the_other_arms_and_go_on_from_the_same_stream():
    study, longer = picking_study(), picking_study(pool=20)
    rows = pool_rows(study, 8)
    assert rows == [1, 2, 3, 4, 6, 7, 8, 9]
    world, seed = study.problem.world, study.configuration.seed
    for place in range(3):
        cases, more = case_list(study, place), case_list(longer, place)
        streamed = cases_of(world, 20, place, seed)
        np.testing.assert_array_equal(cases.features[rows], streamed.features[:8])
        np.testing.assert_array_equal(cases.outcomes[rows], streamed.outcomes[:8])
        np.testing.assert_array_equal(more.features[: len(cases.features)], cases.features)


def test_an_arm_that_picks_cases_is_registered_with_its_rule():
    study = picking_study(plausible={"central": 0.95, "balance": 0.2}, alone="best")
    made = make_arms(study)
    assert made[0].pool == 8
    policy = made[0].in_view
    assert policy == pr.CaseAware(alone="best", plausible=Plausibility(central=0.95, balance=0.2))
    assert pr.CaseAware.from_dict(policy.to_dict()) == policy
    [again, _] = kept_arms(study, {arm.name: arm.plan for arm in made})
    assert (again.in_view, again.pool) == (policy, 8)
    said = markdown(freeze(study, made, is_draft=True))
    assert "the central 95%, none twice, outcomes balanced by 0.2, and its tests" in said
    assert "the most predictive set" in said
    with pytest.raises(NotApplicable, match="only from a pool"):
        pr.simulation.rollout(study.problem, policy, 2, people=1, rng=0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pool": 4}, "pool is 4, too few for 4 rounds.*it needs at least 5"),
        ({"plausible": {"central": 0.4}}, "it needs repeats"),
        ({"knows": ["age"]}, "cases of a pool are known completely"),
        ({"pool": None, "plausible": {}}, "has plausible, but no pool"),
        ({"policy": "plan"}, "has pool, but policy is 'plan'"),
    ],
)
def test_pools_that_cannot_be_are_refused(changes, said):
    given = {name: value for name, value in {**PICKING, **changes}.items() if value is not None}
    with pytest.raises(pr.PreceptorError, match=said):
        small_study(
            arm=[given], analysis={"compare": ["picks"]}, block=[{**BLOCKS[0], "rounds": 4}]
        )


def replayed(study, place, played):
    """The cases and sets that a tutor picks who hears these answers, by another route."""
    policy = make_arms(study)[0].in_view
    cases, rows = case_list(study, place), pool_rows(study, 8)
    pool = CasePool(cases.values[rows], cases.truths[rows])
    tutor, found = policy.tutor(study.problem), []
    for trial, answer in zip(study.protocol.trials, played, strict=True):
        if trial.training is None:
            picked, row, shown = None, trial.number, study.columns(trial.show)
        else:
            picked, shown = tutor.next(pool=pool)
            row = rows[picked]
        found.append((row, tuple(shown)))
        told = float(cases.truths[row]) if trial.feedback else None
        tutor = tutor.after(shown, cases.values[row, list(shown)], answer, told, picked)
    return found


def test_simulated_people_get_cases_that_the_arm_picks_from_their_pool():
    study = picking_study()
    kinds = assumptions(study)[:1]
    stage = with_tutored_banks(make_stage(study, make_arms(study), 2), kinds, seed=1)
    rng = np.random.default_rng(0)
    records = played(stage, kinds, recruited(stage, kinds, 2, rng), rng)
    bank, world = stage.bank[0], study.problem.world
    for place, number in np.ndindex(2, 2):
        answers = bank.answers[0, place, number]
        read = answers if world.units is None else world.units.uncentre(answers)
        found = [
            (case, stage.sets[which])
            for case, which in zip(
                bank.cases[0, place, number], bank.which[0, place, number], strict=True
            )
        ]
        assert found == replayed(study, place, read)
        picked = [case for case, _ in found][1:5]
        assert len(set(picked)) == 4
    for i, name in enumerate(records.arms):
        drawn = case_list(study, records.places[i])
        own = np.isin(records.outcomes[i], drawn.truths)
        assert own.all()
        if name == "fixed":
            np.testing.assert_array_equal(records.outcomes[i], drawn.truths[:6])


@pytest.mark.full
def test_bots_meet_the_cases_that_the_arm_picks(tmp_path):
    study, database = picking_study(), tmp_path / "live.db"
    with Store(str(database)) as store:
        open_study(store, study)
    server = start(tmp_path, "--database", database, "--patience", 60, "--rate", 0)
    try:
        attended = StudyBots(f"{server.address}/s/small", 2).play()
        assert all(attended.finished)
    finally:
        assert server.stop() == 0
    for place in attended.places:
        with Store(str(database)) as store:
            found = store.read(lambda c, who=place.who: rounds.all_of(c, who))
        got = [(each.case_number, study.columns(each.shown)) for each in found]
        drawn = case_list(study, place.number)
        assert [each.outcome for each in found] == [drawn.truths[case] for case, _ in got]
        if place.arm == "picks":
            assert got == replayed(study, place.number, [each.prediction for each in found])
        else:
            assert [case for case, _ in got] == list(range(6))
