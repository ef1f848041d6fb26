"""Everybody weighed: the same in other processes, and after a run that was stopped."""

from __future__ import annotations

import functools
import pickle

import pytest
from numpy.testing import assert_array_equal

from preceptor.errors import InvalidInput
from preceptor.learners import populations as everybody
from preceptor.learners.populations import weigh_people
from preceptor.learners.records import Record
from preceptor.learners.weighing import weigh
from tests.learners.playing import WORLD, played, someone
from tests.learners.test_fit_learner import log_of

FEW = {"families": ["none", "delta rule"], "dials": (0.0, 1.0)}


@pytest.fixture(scope="module")
def log():
    return log_of({f"p{i}": played(WORLD, someone(WORLD, "none", i), 20, i) for i in range(3)})


def same(one, other):
    for name, weighed in one.alone.items():
        for mine, theirs in zip(weighed.cells, other.alone[name].cells, strict=True):
            assert mine.family is theirs.family
            for left, right in zip(mine[1:], theirs[1:], strict=True):
                assert_array_equal(left, right)


def test_everything_that_travels_can_be_packed(log):
    record = Record.of(WORLD, log, "p1")
    work = functools.partial(everybody._arrays_of, options={**FEW, "families": None})
    travelled, arrived = pickle.loads(pickle.dumps((work, record)))
    for mine, theirs in zip(work(record), travelled(arrived), strict=True):
        for left, right in zip(mine, theirs, strict=True):
            assert_array_equal(left, right)
    weighed = weigh(WORLD, record, **FEW)
    assert pickle.loads(pickle.dumps(weighed)).families == weighed.families


@pytest.mark.full
def test_two_processes_give_the_same(log):
    same(weigh_people(WORLD, log, **FEW), weigh_people(WORLD, log, workers=2, **FEW))


@pytest.mark.full
def test_a_run_that_was_stopped_goes_on(log, tmp_path, monkeypatch):
    journal = tmp_path / "people.jsonl"
    whole = weigh_people(WORLD, log, resume=journal, **FEW)
    lines = journal.read_text("utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:2]) + lines[2][: len(lines[2]) // 2], "utf-8")
    again, weighed = [], everybody.weigh
    monkeypatch.setattr(
        everybody, "weigh", lambda *given, **more: again.append(1) or weighed(*given, **more)
    )
    same(whole, weigh_people(WORLD, log, resume=journal, **FEW))
    assert 1 <= len(again) < 3
    again.clear()
    weigh_people(WORLD, log, resume=journal, families=["none"], dials=(0.0, 1.0))
    assert len(again) == 3  # other options are another question


def test_damaged_numbers_are_worked_out_again():
    with pytest.raises(InvalidInput, match="damaged"):
        everybody._unpacked([[{"shape": [1], "type": "<f8", "zlib": "AAAA"}]])
