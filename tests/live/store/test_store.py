"""The store on both databases: one writer, chained events, tables of this version."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import delete, insert, select, update
from sqlalchemy.event import listen

from preceptor.errors import InvalidFile, InvalidInput
from preceptor.live.store import chain, people, plans, rounds, tokens
from preceptor.live.store import database as engines
from preceptor.live.store.checking import erase
from preceptor.live.store.checking import export as export_person
from preceptor.live.store.database import Store, back_up, engines_of, url_of
from preceptor.live.store.rounds import Offer
from preceptor.live.store.tables import (
    VERSION,
    Conflict,
    NotFound,
    StoreBusy,
    StoreFailure,
    event,
    round_,
    tables_version,
)

NUMBERS = [0.1 + 0.2, 1e-300, 5e-324, 1.7976931348623157e308, -1 / 3]


def enrolled(store: Store, who: str = "ann") -> str:
    plan, _ = store.write(lambda c: plans.keep(c, "{}"))
    enrolment = {"plan": plan, "policy": "plan", "counts": [0, 0], "case_list": None}
    store.write(lambda c: people.enrol(c, who, **enrolment, is_bot=False, enrolled_with={}))
    return who


def played(store: Store, who: str, prediction: float = 0.5, outcome: float | None = 0.25) -> int:
    def work(connection):
        def person():
            return people.find(connection, who, to_change=True)

        there = rounds.offer(connection, person(), Offer(["bmi"], "because", {}))
        there = rounds.show(connection, person(), there, ["bmi"], [NUMBERS[0]], None)
        return rounds.predict(connection, person(), there, prediction, [1, 0], outcome).number

    return store.write(work)


def test_two_who_start_at_once_make_the_tables_once(database):
    faults = []

    def open_it():
        try:
            Store(database).close()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with Store(database, creates=False) as store:
        found = store.read(lambda c: c.execute(select(tables_version.c.version)).scalar())
        assert found == VERSION


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE tables_version SET version = 9999", "is of version 9999"),
        ("DROP TABLE tables_version", "has no version"),
    ],
)
def test_a_database_of_another_version_is_refused_and_left_as_it_is(database, change, said):
    with Store(database) as store:
        played(store, enrolled(store))
    engine = engines_of(url_of(database)).writing
    with engine.begin() as connection:
        connection.exec_driver_sql(change)
    engine.dispose()
    with pytest.raises(InvalidFile, match=f"database: {said}, this program needs version"):
        Store(database)
    with Store(database, creates=False) as store:
        assert store.read(lambda c: people.find(c, "ann")).answers == 1


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_come_back_bit_by_bit(store, number):
    who = enrolled(store)
    kept = store.read(lambda c: rounds.find(c, who, played(store, who, number, number)))
    assert (kept.prediction, kept.outcome, kept.values) == (number, number, [NUMBERS[0]])


def test_refused_work_takes_nothing_else_with_it(store):
    """Work that arrives together is committed together, but refused alone."""
    gate = threading.Event()

    def hold(connection):
        gate.wait(10)

    def bad(connection):
        plans.keep(connection, '{"bad": 1}')
        raise Conflict("no")

    def worse(connection):
        plans.keep(connection, '{"worse": 1}')
        connection.execute(insert(event), {"seq": 1})  # the database itself refuses

    first = store._writer.submit(hold)
    good = [store._writer.submit(lambda c, i=i: plans.keep(c, f'{{"n": {i}}}')) for i in range(3)]
    refused = store._writer.submit(bad)
    failed = store._writer.submit(worse)
    last = store._writer.submit(lambda c: plans.keep(c, '{"last": 1}'))
    gate.set()
    first.result()
    assert all(future.result()[1] for future in [*good, last])
    with pytest.raises(Conflict):
        refused.result()
    with pytest.raises(Exception, match=r"(?i)unique|not.null"):
        failed.result()
    assert len(store.read(plans.everyone)) == 4
    assert store.read(chain.verify).faults == ()


def test_who_waits_for_another_program_waits_together(tmp_path, monkeypatch):
    """One after the other they would wait ten seconds each."""
    monkeypatch.setattr(engines, "PATIENCE", 0.3)
    path, begins = tmp_path / "live.db", []
    with Store(str(path)) as store, closing(sqlite3.connect(path)) as other:
        listen(store.engines.writing, "begin", begins.append, insert=True)
        other.execute("BEGIN IMMEDIATE")
        waiting = [store._writer.submit(plans.everyone) for _ in range(20)]
        for future in waiting:
            with pytest.raises(StoreBusy, match="another process is writing"):
                future.result()
        assert len(begins) <= 3
        other.rollback()
        assert store.write(plans.everyone) == []


def test_a_reader_cannot_write(store):
    if store.url.get_backend_name() == "sqlite":
        with pytest.raises(StoreFailure, match="read-only"):
            store.read(lambda c: plans.keep(c, "{}"))


@pytest.mark.smoke
def test_one_of_many_opens_the_round(store):
    """Whoever comes second finds it open: the row is unique, and who writes holds the person."""
    who = enrolled(store)

    def attempt(connection):
        person = people.find(connection, who, to_change=True)
        there = rounds.open_of(connection, who)
        return there or rounds.offer(connection, person, Offer(["bmi"], "because", {}))

    opened = [store._writer.submit(attempt) for _ in range(20)]
    assert {future.result().number for future in opened} == {0}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (update(event).where(event.c.seq == 3).values(payload="{}"), "event 3: its payload"),
        (update(event).where(event.c.seq == 3).values(kind="told"), "event 3: was changed"),
        (update(event).where(event.c.seq == 3).values(at="2000"), "event 3: was changed"),
        (delete(event).where(event.c.seq == 3), "event 3: is missing"),
        (update(event).where(event.c.seq == 3).values(subject="bob"), "event 3: its payload"),
    ],
)
def test_what_is_changed_behind_its_back_shows(store, change, fault):
    played(store, enrolled(store))
    before = store.read(chain.verify)
    assert before.faults == ()
    assert before.events == 5
    store.write(lambda c: c.execute(change) and None)
    assert any(fault in each for each in store.read(chain.verify).faults)


def test_erasing_leaves_a_chain_that_holds_and_nothing_else(store):
    ann, bob = enrolled(store, "ann"), enrolled(store, "bob")
    played(store, ann)
    played(store, bob)
    before = store.read(chain.verify)
    store.write(lambda c: erase(c, ann))
    after = store.read(chain.verify)
    assert after.faults == ()
    assert after.events == before.events + 1
    with pytest.raises(NotFound):
        store.read(lambda c: export_person(c, ann))
    assert len(store.read(lambda c: export_person(c, bob))["events"]) == 4


def test_tokens_are_kept_as_hashes_and_end(store):
    secret, made = store.write(lambda c: tokens.create(c, "write", "tool", days=1))
    assert secret not in str(vars(made))
    assert made.sha256 == tokens.sha256_of(secret)
    assert [made.may(scope) for scope in tokens.SCOPES] == [True, True, False]
    assert made.is_live
    assert not store.write(lambda c: tokens.revoke(c, made.id)).is_live
    _, short = store.write(lambda c: tokens.create(c, "read", days=1e-9))
    assert not short.is_live
    with pytest.raises(InvalidInput, match="scope"):
        store.write(lambda c: tokens.create(c, "root"))


def test_nothing_is_taken_after_closing(database):
    store = Store(database)
    store.close()
    with pytest.raises(StoreFailure, match="shutting down"):
        store.write(plans.everyone)


@pytest.mark.parametrize("address", ["mysql://x", "sqlite://", "nonsense://"])
def test_other_databases_are_refused(address):
    with pytest.raises(InvalidInput, match="database"):
        url_of(address)


def test_passwords_stay_out_of_messages():
    with pytest.raises(InvalidInput) as refused:
        url_of("mysql://root:secret@host/x")
    assert "secret" not in str(refused.value)


def test_files_are_for_their_owner_only(tmp_path):
    """The database, the files that SQLite makes next to it, and backups."""
    path, copy = tmp_path / "live.db", tmp_path / "copy.db"
    with Store(str(path)) as store:
        played(store, enrolled(store))
        back_up(store.url, copy)
        modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    names = ("live.db", "live.db-wal", "live.db-shm", "copy.db")
    assert modes == dict.fromkeys(names, 0o600)


def test_times_of_answers_never_contradict_the_order_of_rounds(store):
    """A clock that is set back, and that catches up again."""
    who = enrolled(store)
    clock = ["2026-01-01T12", "2026-01-01T13", "2026-01-01T11", "2026-01-01T12", "2026-01-01T14"]
    for number, at in enumerate(clock):
        played(store, who)
        here = (round_.c.person == who) & (round_.c.number == number)
        store.write(lambda c, at=at, here=here: c.execute(
            update(round_).where(here).values(predicted_at=f"{at}:00:00.000000Z")))  # fmt: skip
    found = store.read(lambda c: rounds.changed_after(c, 0, 100))
    assert [each.number for each, _ in found] == [0, 1, 2, 3, 4]
    assert [each.predicted_at and each.predicted_at[:13] for each, _ in found] == [
        *clock[:2], None, None, clock[4]
    ]  # fmt: skip
