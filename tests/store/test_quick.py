"""Statements that skip SQLAlchemy say what it would, and its log of changes stays short."""

from __future__ import annotations

import time
from dataclasses import astuple
from pathlib import Path

import pytest
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from preceptor.store import Store, people, plans
from preceptor.store.quick import Quick
from preceptor.store.rounds import Round
from preceptor.store.tables import round_
from tests.store.test_store import NUMBERS, enrolled

FIND = select(round_).where(round_.c.number == bindparam("which"))
MOVE = update(round_).where(round_.c.number == bindparam("which"))


def odd(number: int) -> Round:
    """A round with something of everything in it."""
    return Round(
        "ann",
        number,
        "told" if number % 2 else "abandoned",
        plan=plans.sha256_of("{}"),
        policy="plan",
        opened_with={"case": "é\n", "feedback": False},
        recommended=["bmi", "ü"],
        values=NUMBERS,
        prediction=NUMBERS[number % 5],
        outcome=None,
        feedback=bool(number % 3),
        seq=2**40,
    )


def test_quick_statements_say_what_sqlalchemy_says(store):
    enrolled(store)

    def work(connection):
        find, move = Quick(FIND), Quick(MOVE)
        Quick(insert(round_)).change(connection, vars(odd(1)))
        connection.execute(insert(round_), vars(odd(2)))
        move.change(connection, {"which": 1, "shown": [], "is_check": True})
        connection.execute(MOVE, {"which": 2, "shown": [], "is_check": True})
        move.change(connection, {"which": 2, "reason": None, "heard": 3})
        assert find.first(connection, {"which": 9}) is None
        for number in (1, 2):
            quick = find.first(connection, {"which": number})
            assert tuple(quick) == tuple(connection.execute(FIND, {"which": number}).one())
            assert [type(each) for each in quick] == [type(each) for each in astuple(Round(*quick))]
        return Round(*find.first(connection, {"which": 1}))

    kept = store.write(work)
    assert (kept.values, kept.is_check, kept.feedback, kept.shown) == (NUMBERS, True, True, [])
    # A reader sees one moment, whichever way it begins.
    read = store.read(lambda c: (Quick(FIND).first(c, {"which": 1}), people.look_up(c, "ann")))
    assert tuple(read[0]) == astuple(kept)


def test_what_the_database_refuses_is_refused_in_sqlalchemys_words(store):
    enrolled(store)
    quick = Quick(insert(round_))
    store.write(lambda c: quick.change(c, vars(odd(1))))
    with pytest.raises(IntegrityError):
        store.write(lambda c: quick.change(c, vars(odd(1))))
    assert store.read(lambda c: len(c.execute(select(round_)).all())) == 1


def test_changes_are_brought_in_while_the_store_is_open(tmp_path):
    """By the thread: the one who writes would wait for sixteen times as much."""
    path = Path(tmp_path / "live.db")
    with Store(str(path)) as store:
        for i in range(6):
            store.write(lambda c, i=i: plans.keep(c, f"{i}" * 1_000_000))
        end = time.monotonic() + 60.0
        while path.stat().st_size < 4_000_000:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert len(store.read(plans.everyone)) == 6
