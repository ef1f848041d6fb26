"""Number of cases: counted, or about how many matter; and time limits."""

import pytest
from numba.core import event

from preceptor._base.progress import Deadline
from preceptor.advice import advising
from preceptor.advice.options import time_from
from preceptor.errors import InvalidInput


def test_cases_are_counted_and_about_has_no_end():
    assert time_from(40) == (1.0, 40)
    assert time_from(40.0).horizon == 40
    assert time_from(about=50) == (pytest.approx(0.98), None)
    assert time_from() == (pytest.approx(0.99), None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cases": 2.5}, "cases: 2.5, must be a whole number"),
        ({"cases": 0}, "cases: 0, must be a whole number"),
        ({"cases": float("nan")}, "cases: nan"),
        ({"about": 0.5}, "about: 0.5, must be a number of at least 1"),
        ({"about": float("inf")}, "about: inf"),
        ({"cases": 3, "about": 3}, "about: is for teaching without an end"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    with pytest.raises(InvalidInput, match=words.split("`")[0]):
        time_from(**given)


def test_all_faults_are_said_at_once():
    with pytest.raises(InvalidInput) as caught:
        time_from(2.5, 0.5)
    assert len(caught.value.faults) == 3


def test_a_deadline_is_shared():
    now = [0.0]
    deadline = Deadline(5.0, clock=lambda: now[0])
    assert deadline.left == 5.0
    now[0] = 4.0
    assert (deadline.left, deadline.is_over) == (1.0, False)
    now[0] = 9.0
    assert (deadline.left, deadline.is_over) == (0.0, True)
    assert Deadline(None).left == float("inf")


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), "long"])
def test_a_deadline_needs_time(seconds):
    with pytest.raises(InvalidInput, match="time_limit"):
        Deadline(seconds)


def test_compiling_is_not_counted(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("preceptor._base.progress.time.perf_counter", lambda: now[0])
    compiling = {"kind": "numba:compile", "data": {}}
    deadline = Deadline(10.0)
    with event.trigger_event(**compiling):
        now[0] += 20.0
        with event.trigger_event(**compiling):  # a kernel that the first one calls
            now[0] += 30.0
    assert deadline.left == pytest.approx(10.0)
    now[0] += 4.0
    assert deadline.left == pytest.approx(6.0)


def test_a_limit_begins_when_the_table_has_been_read(monkeypatch):
    order = []
    read, begin = advising.fit_source, advising.Deadline

    def reading(*arguments, **options):
        order.append("read")
        return read(*arguments, **options)

    def beginning(seconds):
        order.append(seconds)
        return begin(seconds)

    monkeypatch.setattr(advising, "fit_source", reading)
    monkeypatch.setattr(advising, "Deadline", beginning)
    table = {"a": [1.0, 2.0, 4.0, 3.0, 6.0], "y": [1.0, 2.5, 4.0, 2.5, 6.5]}
    advising.advise(table, "y", tests=1, cases=2, person="by-showings", time_limit=3.0, vary=False)
    assert order == ["read", 3.0]


def test_a_limit_that_makes_no_sense_is_refused_before_anything_is_read():
    with pytest.raises(InvalidInput, match="time_limit"):
        advising.advise("there is no such file.csv", "y", time_limit=-1.0)
