"""A test block for which participants come back days later."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import update

import preceptor as pr
from preceptor.live.bots import StudyBots
from preceptor.live.service.guides import PlanGuide
from preceptor.live.store import chain, participants
from preceptor.live.store.chain import later
from preceptor.live.store.database import Store
from preceptor.live.store.plans import sha256_of
from preceptor.live.store.tables import Conflict, given_answer
from preceptor.live.study.arms import make_arms
from preceptor.live.study.measures import MEASURES, trials_of
from preceptor.live.study.registration import freeze, markdown
from preceptor.live.study.simulated_people import assumptions, make_stage, played, recruited
from preceptor.live.study.taking_part import CaseAnswer, LiveStudy, arrive, reach, take
from preceptor.model.plan import Plan
from tests.live.study.opened import open_study, small_study
from tests.live.study.played import arms_of

LATE = {"kind": "test", "title": "A week later", "show": [["age"], ["bmi"]], "after_days": 7.0}
BLOCKS = [
    {"kind": "training", "rounds": 2},
    {"kind": "test", "rounds": 1, "show": [["age"]]},
    {**LATE, "within_days": 3.0},
]


def delayed_study(**changes):
    return small_study(**{"block": BLOCKS, **changes})


class _Later(datetime):
    """A clock that tests set."""

    by = timedelta(0)

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + cls.by


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(chain, "datetime", _Later)
    return lambda days: monkeypatch.setattr(_Later, "by", timedelta(days=days))


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "live.db")) as made:
        yield made


def live(store, study):
    made = arms_of(store, open_study(store, study))
    names = {name: sha256_of(arm.plan) for name, arm in made.items()}
    first = next(iter(made))
    return LiveStudy(
        study, made, names, PlanGuide(Plan.from_json(made[first].plan), names[first]), "00"
    )


def goes_on(store, here, who, to):
    """Answers until a step of this kind."""
    while here.step(who.stage).kind != to:
        said = CaseAnswer(1.5, {}) if here.step(who.stage).kind == "ask" else None
        who = store.write(lambda c, w=who, s=said: take(c, here, w.id, w.stage, s))
    return who


def joins(store, here, kind="real"):
    def work(connection):
        who = participants.join(connection, here.id, kind=kind)
        return reach(connection, here, who.id, 0, None)

    return goes_on(store, here, store.write(work), "wait")


def lapses(store, here, who):
    def work(connection):
        found = participants.find(connection, who.id, to_change=True)
        return arrive(connection, here, found)

    return store.write(work)


def test_nobody_goes_on_before_the_day(store, clock):
    here = live(store, delayed_study())
    who = joins(store, here)
    for days in (0.0, 6.99):
        clock(days)
        with pytest.raises(Conflict, match="begins at"):
            store.write(lambda c: take(c, here, who.id, who.stage, None))
        taken = store.read(lambda c: participants.filled(c, here.id, "real"))
        assert sum(map(len, taken.values())) == 1
    clock(7.001)
    done = goes_on(store, here, who, "end")
    assert done.status == "completed"
    assert store.read(lambda c: chain.verify(c)).faults == ()


@pytest.mark.parametrize(("days", "status"), [(10.0, "active"), (10.1, "screened out")])
def test_the_place_is_kept_until_the_last_day(store, clock, days, status):
    here = live(store, delayed_study(recruiting={"resume": "block", "drop_after": 60.0}))
    who = joins(store, here)
    clock(days)
    assert lapses(store, here, who).status == status


def test_bots_and_previews_do_not_wait(store):
    here = live(store, delayed_study())
    for kind in ("bot", "preview"):
        assert goes_on(store, here, joins(store, here, kind), "end").status == "completed"


def test_the_page_says_when_to_come_back(opened, somebody, site, database):
    study = opened(block=BLOCKS)
    who = somebody(study.id).join().until("A week later")
    assert "Your place is kept until" in who.text
    assert f'datetime="{later(7 * 86_400.0)[:10]}' in who.text
    assert who.stage is None
    with Store(str(database)) as store:
        [found] = store.read(lambda c: participants.everyone(c, study.id))
        # As if they had been sent home a week earlier.
        past = update(given_answer).where(given_answer.c.participant == found.id)
        store.write(lambda c: c.execute(past.values(answer=later(-1.0))))
    assert "The next part can begin now." in who.get().text
    assert who.until("Thank you")
    attended = StudyBots(f"{site.address}/s/{study.id}", 2).play()
    assert all(attended.finished)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"block": [LATE, BLOCKS[0]]}, "has after_days, but no case comes before it"),
        ({"block": [BLOCKS[0], {**BLOCKS[1], "within_days": 1.0}]}, "give both or neither"),
        ({"analysis": {"block": 1}}, "1 is not a test block, which are: 2, 3"),
        (
            {"analysis": {"block": 2, "measure": "training error"}},
            "is for the measure 'test error' only",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(changes, said):
    with pytest.raises(pr.PreceptorError, match=said):
        delayed_study(**changes)


def test_one_block_can_be_the_measure():
    study = delayed_study(analysis={"block": 2})
    assert np.flatnonzero(trials_of(study, "test error")).tolist() == [2]
    assert np.flatnonzero(trials_of(delayed_study(), "test error")).tolist() == [2, 3, 4]
    said = markdown(freeze(study, make_arms(study), is_draft=True))
    assert "only block 2 counts" in said
    assert "test, 7 days later" in said


def test_people_who_do_not_come_back_are_simulated():
    assumed = {"drop_out": 0.0, "careless": 0.0, "no_return": 0.4}
    study = delayed_study(analysis={"block": 2}, assumed=assumed)
    stage, kinds = make_stage(study, make_arms(study), 60), assumptions(study)
    rng = np.random.default_rng(0)
    who = recruited(stage, kinds, 60, rng)
    assert set(who.leaves) == {3, 5}
    assert np.mean(who.leaves == 3) == pytest.approx(0.4, abs=0.1)
    records = played(stage, kinds, who, rng)
    # They have answered the block that counts.
    assert np.isfinite(MEASURES["test error"](study, records)).all()
    assert not records.finished[who.leaves == 3].any()
