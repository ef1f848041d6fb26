"""Arms and places are given in one transaction, on both databases, whoever races for them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.event import listen

from preceptor.live.service.guides import PlanGuide
from preceptor.live.store import participants, people, plans, rounds, studies
from preceptor.live.store.database import Store
from preceptor.live.store.tables import Conflict
from preceptor.live.study.arms import kept_arms
from preceptor.live.study.taking_part import CaseAnswer, LiveStudy, advance, reach, take
from preceptor.model.plan import Plan
from tests.live.study.opened import open_study, small_study
from tests.postgres import cluster, fresh_database

PEOPLE = 24


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def address(request, tmp_path_factory):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("race") / "live.db")
        return
    with cluster() as found:
        yield fresh_database(found, "race")


def live_study(store: Store, study) -> LiveStudy:
    row = store.read(lambda c: studies.find(c, study.id))
    kept = store.read(lambda c: studies.arms_of(c, study.id))
    bodies = {arm.name: store.read(lambda c, a=arm: plans.body_of(c, a.plan)) for arm in kept}
    arms = {arm.name: arm for arm in kept_arms(study, bodies)}
    guide = PlanGuide(Plan.from_json(bodies[kept[0].name]), kept[0].plan)
    return LiveStudy(study, arms, {arm.name: arm.plan for arm in kept}, guide, row.key)


def test_stores_that_race_for_places_never_give_one_twice(address):
    """Three processes' worth of stores; each of them has its own writer."""
    study = small_study()
    with Store(address) as first, Store(address) as second, Store(address) as third:
        open_study(first, study)
        here = live_study(first, study)
        stores, gate = (first, second, third), threading.Barrier(PEOPLE)

        def one(number):
            store = stores[number % len(stores)]
            who = store.write(lambda c: participants.join(c, study.id, kind="real"))
            gate.wait()

            def work(connection):
                found = participants.find(connection, who.id, to_change=True)
                return advance(connection, here, found, here.protocol.assigned_at)

            return store.write(work)

        with ThreadPoolExecutor(PEOPLE) as pool:
            given = list(pool.map(one, range(PEOPLE)))
        places = {(each.arm, each.place) for each in given}
        assert places == {(arm, place) for arm in here.arms for place in range(PEOPLE // 2)}
        assert sorted(each.draw for each in given) == list(range(PEOPLE))
        kept = first.read(lambda c: [plans.case_list_of(c, f"small.{p}") for p in range(12)])
        assert {each.size for each in kept} == {len(study.protocol.trials)}


def test_a_tab_that_comes_late_opens_no_other_round(tmp_path):
    """What was decided for one round must never be shown in the next."""
    study = small_study()
    with Store(str(tmp_path / "live.db")) as store:
        open_study(store, study)
        here = live_study(store, study)
        stage = here.protocol.assigned_at

        def enter(connection):
            who = participants.join(connection, study.id, kind="real")
            return advance(connection, here, who, stage)

        who = store.write(enter).id
        again = store.write(lambda c: reach(c, here, who, stage, None))
        assert (again.stage, again.is_active) == (stage, True)
        assert [each.status for each in all_rounds(store, who)] == ["shown"]
        store.write(lambda c: take(c, here, who, stage, CaseAnswer(1.0, {})))
        for late in (
            lambda c: reach(c, here, who, stage, None),
            lambda c: take(c, here, who, stage, CaseAnswer(2.0, {})),
        ):
            with pytest.raises(Conflict, match=f"step: {stage} is over"):
                store.write(late)
        assert [each.prediction for each in all_rounds(store, who)] == [1.0]


def all_rounds(store, who):
    return store.read(lambda c: rounds.all_of(c, who))


def test_an_answer_is_one_transaction(tmp_path):
    """The answer, its outcome and the next case are on the disk together."""
    cases = {"kind": "test", "rounds": 2, "show": [["age"], ["bmi"]]}
    study = small_study(block=[cases])
    with Store(str(tmp_path / "live.db")) as store:
        open_study(store, study)
        here = live_study(store, study)
        who = store.write(lambda c: participants.join(c, study.id, kind="real")).id
        store.write(lambda c: reach(c, here, who, 0, None))
        begun = []
        listen(store.engines.writing, "begin", begun.append, insert=True)
        store.write(lambda c: take(c, here, who, 0, CaseAnswer(1.5, {})))
        assert len(begun) == 1
        first, second = all_rounds(store, who)
        assert (first.prediction, first.status, second.status) == (1.5, "untold", "shown")
        assert second.shown == ["bmi"]
        store.write(lambda c: take(c, here, who, 1, CaseAnswer(2.5, {})))
        assert store.read(lambda c: participants.find(c, who)).status == "completed"


def test_a_program_cannot_enrol_under_the_name_of_a_participant(tmp_path):
    study = small_study()
    with Store(str(tmp_path / "live.db")) as store:
        open_study(store, study)
        plan = store.read(plans.everyone)[0]
        who = store.write(lambda c: participants.join(c, study.id, kind="real")).id
        fields = {"plan": plan, "policy": "plan", "counts": [0, 0, 0], "case_list": None}
        with pytest.raises(Conflict, match="is enrolled already"):
            store.write(lambda c: people.enrol(c, who, **fields, is_bot=False, enrolled_with={}))


def test_previews_and_bots_never_fill_a_place(tmp_path):
    study = small_study(people=1)
    with Store(str(tmp_path / "live.db")) as store:
        open_study(store, study)
        here = live_study(store, study)

        def enter(kind):
            def work(connection):
                who = participants.join(connection, study.id, kind=kind)
                return advance(connection, here, who, here.protocol.assigned_at)

            return store.write(work)

        assert [enter("bot").arm is not None for _ in range(3)] == [True] * 3
        assert enter("preview").arm is not None
        assert enter("real").arm is not None
        assert enter("real").status == "screened out"
        store.write(lambda c: studies.close(c, study.id, "done"))
        assert enter("bot").status == "screened out"
        assert enter("preview").arm is not None
