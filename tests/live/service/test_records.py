"""Records are read once: a call reads what is new, however many rounds a person has played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection

import preceptor as pr
from preceptor.live.service import tutors
from preceptor.live.service.guides import PlanGuide, read_plan
from preceptor.live.service.live import Advising, Snapshot
from preceptor.live.service.records import PersonRecord, RecordCache
from preceptor.live.service.settings import Settings
from preceptor.live.store import people, plans, rounds
from preceptor.live.store.checking import erase
from preceptor.live.store.database import Store
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.rounds import Offer

LABELS = ["bmi", "bp"]
ROUNDS = 30


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(str(tmp_path / "live.db")) as opened:
        yield opened


@pytest.fixture
def guide(store: Store, plan_file: Path) -> PlanGuide:
    body = plan_file.read_text()
    store.write(lambda c: plans.keep(c, body))
    return read_plan(body)


def enrol(connection: Connection, guide: PlanGuide) -> AdvisedPerson:
    said: dict[str, Any] = {"plan": guide.sha256, "policy": "tutor"}
    given = {"counts": [0, 0, 0], "case_list": None, "is_bot": False}
    return people.enrol(connection, "ann", **said, **given, enrolled_with=said)[0]


def play(connection: Connection, guide: PlanGuide, rng: np.random.Generator) -> None:
    """A round whose outcome comes at once or three rounds later."""
    number = people.find(connection, "ann").rounds
    there = rounds.offer(connection, people.find(connection, "ann"), Offer(LABELS, "", {}))
    values = rng.normal(size=2).tolist()
    there = rounds.show(connection, people.find(connection, "ann"), there, LABELS, values, None)
    taught = guide.words.counted(LABELS)
    answer, truth = rng.normal(size=2).tolist()
    person = people.find(connection, "ann")
    there = rounds.predict(connection, person, there, answer, taught, None)
    due = {number} if number % 4 else set()
    due |= {number - 3} if number >= 3 and (number - 3) % 4 == 0 else set()
    for each in sorted(due):
        person, late = people.find(connection, "ann"), rounds.find(connection, "ann", each)
        rounds.tell(connection, person, late, truth, taught, told=True)


def looked(store: Store, records: RecordCache, guide: PlanGuide) -> Snapshot:
    def look(connection: Connection) -> Snapshot:
        person = people.find(connection, "ann")
        return Snapshot(guide, person, records.of(connection, guide, person), None)

    return store.read(look)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rounds each look at the store has read."""
    found: list[int] = []

    def watched(work: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def spy(*args: Any) -> list[Any]:
            got = work(*args)
            found.append(len(got))
            return got

        return spy

    monkeypatch.setattr(rounds, "changed_since", watched(rounds.changed_since))
    monkeypatch.setattr(rounds, "all_of", watched(rounds.all_of))
    return found


def test_what_is_read_in_steps_is_what_is_read_at_once(
    store: Store, guide: PlanGuide, read: list[int]
) -> None:
    store.write(lambda c: enrol(c, guide))
    records, rng = RecordCache(), np.random.default_rng(1)
    for _ in range(ROUNDS):
        store.write(lambda c: play(c, guide, rng))
        stepwise = looked(store, records, guide).record
        assert stepwise == looked(store, RecordCache(), guide).record
        assert looked(store, records, guide).record is stepwise
    steps = read[::3]
    assert max(steps) <= 2, "a round and one whose outcome came late"
    assert read[1::3] == list(range(1, ROUNDS + 1)), "without a record, all of them"
    assert set(read[2::3]) == {0}


def test_who_was_erased_elsewhere_and_comes_again_is_read_anew(
    store: Store, guide: PlanGuide
) -> None:
    store.write(lambda c: enrol(c, guide))
    records, rng = RecordCache(), np.random.default_rng(2)
    for _ in range(5):
        store.write(lambda c: play(c, guide, rng))
    looked(store, records, guide)
    store.write(lambda c: erase(c, "ann"))
    store.write(lambda c: enrol(c, guide))
    assert looked(store, records, guide).record.rounds == ()
    store.write(lambda c: play(c, guide, rng))
    assert looked(store, records, guide).record == looked(store, RecordCache(), guide).record


class Worker:
    """One worker, in this process, that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[int] = []

    async def ask(self, task: str, args: dict[str, Any], *, who: str) -> dict[str, Any]:
        self.told.append(len(args["news"]["rounds"]))
        return tutors.TASKS[task](**args)


def test_a_worker_is_told_what_is_new_and_everything_if_it_forgot(
    store: Store, guide: PlanGuide, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tutors, "_TUTORS", tutors.Tutors())
    monkeypatch.setattr(tutors, "_RECORDS", tutors.Recent())
    store.write(lambda c: enrol(c, guide))
    worker: Any = Worker()
    records, rng = RecordCache(), np.random.default_rng(3)

    async def advised() -> None:
        advising = Advising(Settings(database="unused"), worker)
        for number in range(8):
            store.write(lambda c: play(c, guide, rng))
            if number == 6:
                tutors.forget("ann")
            snapshot = looked(store, records, guide)
            said = await advising.advice(snapshot)
            own = pr.Tutor(guide.problem, record=snapshot.record.rounds)
            expected = own.recommendation()
            assert (said.columns, said.reason) == (expected.shown, expected.reason)
            believed = await advising.beliefs(snapshot)
            np.testing.assert_allclose(believed["means"], own.coefficients, atol=1e-12)

    asyncio.run(advised())
    # One round, or one and another whose outcome came late; after the sixth it forgot everything.
    assert worker.told[:13] == [1, 0, 1, 0, 1, 0, 2, 0, 1, 0, 1, 0, 1]
    assert worker.told[13:] == [7, 0, 2, 0]


def test_a_record_knows_places_of_cases_in_a_pool(guide: PlanGuide) -> None:
    made = [
        rounds.StoredRound("ann", i, "told", guide.sha256, "tutor", {}, case, shown=LABELS,
                           values=[0.0, 1.0], prediction=1.0, outcome=2.0, answered=i + 1,
                           outcome_known_at=i + 1, seq=i + 1)
        for i, case in enumerate([7, None, 4])
    ]  # fmt: skip
    record = PersonRecord().after(guide, made)
    assert [each.case for each in record.in_pool({4: "", 7: ""})] == [1, None, 0]
    assert [each.case for each in record.rounds] == [None] * 3
