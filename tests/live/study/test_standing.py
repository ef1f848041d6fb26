"""How a study stands, whether it still is what was registered, and what tampering leaves behind."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from preceptor.live.service.guides import PlanCache
from preceptor.live.store import participants, studies
from preceptor.live.store.database import Store
from preceptor.live.study.status import StudyStatus, assignments, standing, verify
from preceptor.live.study.study import Study
from tests.live.study.played import opened, play


@pytest.fixture
def here(tmp_path: Path) -> Iterator[tuple[Store, Study]]:
    store, study = opened(tmp_path)
    yield store, study
    store.close()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Study]:
    """A study that two people have finished."""
    folder = tmp_path_factory.mktemp("prepared")
    store, study = opened(folder)
    play(store, study, 2)
    store.close()
    return folder, study


def stands(store: Store, study: Study, kind: str = "real") -> StudyStatus:
    kept = store.read(lambda c: studies.find(c, study.id))
    return store.read(lambda c: standing(c, kept, study, kind))


def faults(store: Store, study: Study) -> tuple[str, ...]:
    kept = store.read(lambda c: studies.find(c, study.id))
    return store.read(lambda c: verify(c, kept, PlanCache().columns_of)).faults


def test_people_are_counted_by_arm_and_block_and_bots_are_not(
    here: tuple[Store, Study],
) -> None:
    store, study = here
    play(store, study, 4)
    training = study.protocol.assigned_at
    play(store, study, 2, until=training + 3)
    play(store, study, 1, until=1)
    play(store, study, 3, kind="bot")
    left = play(store, study, 1, until=training + 1)[0]
    who = store.read(lambda c: participants.find(c, left))
    store.write(lambda c: participants.end(c, who, "withdrawn"))
    found = stands(store, study)
    assert found.statuses == {
        "active": 3,
        "silent": 0,
        "completed": 4,
        "withdrawn": 1,
        "screened out": 0,
        "no consent": 0,
    }
    assert [arm.completed for arm in found.arms] == [2, 2]
    assert sum(arm.assigned for arm in found.arms) == 7
    assert found.imbalance <= 1
    cases = next(block for block in found.blocks if block.kind == "training")
    assert (cases.reached, cases.left, sum(cases.now.values())) == (7, 1, 2)
    assert cases.drop_out == pytest.approx(1 / 7)
    assert found.others == {"bot": 3, "preview": 0}
    asked = sum(step.kind == "ask" for step in study.protocol.steps[: training + 3])
    assert found.answers == 4 * 9 + 2 * asked + 1
    assert sum(found.per_minute) == found.answers
    assert stands(store, study, "bot").completed == 3


def test_every_draw_follows_from_the_seed(here: tuple[Store, Study]) -> None:
    store, study = here
    play(store, study, 6)
    found = store.read(lambda c: assignments(c, study, "real"))
    assert [each.number for each in found] == list(range(6))
    assert all(each.follows for each in found)
    assert all(each.arm == each.order[each.number % 2] for each in found)
    assert [each.place for each in found] == [0, 0, 1, 1, 2, 2]


def test_what_was_registered_is_found_again(here: tuple[Store, Study]) -> None:
    store, study = here
    play(store, study, 2)
    play(store, study, 1, kind="bot", until=4)
    store.write(lambda c: studies.raise_people(c, study.id, 25, "more money"))
    store.write(lambda c: studies.close_arm(c, study.id, "fixed", "it hurts"))
    store.write(lambda c: studies.unblind(c, study.id, "me", "all are there"))
    assert faults(store, study) == ()


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "UPDATE study SET registration = replace(registration, '0.05', '0.10')",
            "was opened with",
        ),
        (
            "UPDATE study SET config = replace(config, '\"people\":20', '\"people\":50')",
            "not the one",
        ),
        ("UPDATE study SET people = 50", "people is 50, but the events make it 20"),
        ("UPDATE study SET unblinded = opened", "is unblinded, but the log says otherwise"),
        ("UPDATE study SET state = 'closed'", "is closed, but the log says otherwise"),
        ("UPDATE study_arm SET is_open = 0 WHERE name = 'plan'", "arm 'plan' is closed"),
        ("UPDATE plan SET body = replace(body, 'bmi', 'bmj')", "the plan of arm"),
        ("UPDATE person SET arm = 'fixed', place = 9 WHERE arm = 'plan'", "arm is 'fixed'"),
        ("UPDATE person SET status = 'withdrawn'", "status is 'withdrawn'"),
        ("UPDATE person SET kind = 'bot'", "kind is 'bot'"),
        ("UPDATE round SET prediction = prediction + 1", "prediction is"),
        ("UPDATE event SET payload = replace(payload, '7', '8')", "its payload was changed"),
        ("DELETE FROM event WHERE kind = 'joined'", "is missing"),
    ],
)
def test_tampering_is_found(
    prepared: tuple[Path, Study], tmp_path: Path, statement: str, sentence: str
) -> None:
    folder, study = prepared
    shutil.copy(folder / "live.db", tmp_path)
    with sqlite3.connect(tmp_path / "live.db") as raw:
        raw.execute(statement)
    raw.close()
    with Store(str(tmp_path / "live.db")) as store:
        assert any(sentence in fault for fault in faults(store, study)), faults(store, study)
