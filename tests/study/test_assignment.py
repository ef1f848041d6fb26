"""Arms and places are given in one transaction, on both databases, whoever races for them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from preceptor.plan import Plan
from preceptor.service.advising import Advice
from preceptor.service.guides import Guide
from preceptor.service.live import Live
from preceptor.service.opening import open_round
from preceptor.service.schemas import Opening
from preceptor.service.settings import Settings
from preceptor.store import Store, participants, plans, studies
from preceptor.store.refusals import Conflict
from preceptor.study.arms import kept_arms
from preceptor.web.studies_live import LiveStudy
from preceptor.web.study_moves import advance, answer_round, shown
from tests.postgres import cluster, fresh_database
from tests.study.opened import open_study, small_study

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
    guide = Guide(Plan.from_json(bodies[kept[0].name]), kept[0].plan)
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
            who, _ = store.write(lambda c: participants.join(c, study.id, kind="real"))
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
    """What was settled for one round must never be shown in the next."""
    study, database = small_study(), str(tmp_path / "live.db")
    with Store(database) as store:
        open_study(store, study)
        here = live_study(store, study)

        def enter(connection):
            who, _ = participants.join(connection, study.id, kind="real")
            return advance(connection, here, who, here.protocol.assigned_at)

        who = store.write(enter)

    async def late():
        live = Live(Settings(database), Store(database))
        try:
            opened = [
                await open_round(live, who.id, Opening(), Advice((0,), ""), 0) for _ in range(2)
            ]
            assert [each.is_new for each in opened] == [True, False]
            live.store.write(lambda c: _answered(c, here, who.id))
            with pytest.raises(Conflict, match="round 0: is over; round 1 is next"):
                await open_round(live, who.id, Opening(), Advice((0,), ""), 0)
        finally:
            await live.close()

    asyncio.run(late())


def _answered(connection, here, who):
    shown(connection, here, who, here.protocol.trials[0])
    answer_round(connection, here, who, here.protocol.trials[0], 1.0)


def test_previews_and_bots_never_fill_a_place(tmp_path):
    study = small_study(people=1)
    with Store(str(tmp_path / "live.db")) as store:
        open_study(store, study)
        here = live_study(store, study)

        def enter(kind):
            def work(connection):
                who, _ = participants.join(connection, study.id, kind=kind)
                return advance(connection, here, who, here.protocol.assigned_at)

            return store.write(work)

        assert [enter("bot").arm is not None for _ in range(3)] == [True] * 3
        assert enter("preview").arm is not None
        assert enter("real").arm is not None
        assert enter("real").status == "screened out"
        store.write(lambda c: studies.close(c, study.id, "done"))
        assert enter("bot").status == "screened out"
        assert enter("preview").arm is not None
