"""One more row at the end of a log: whole or not at all, and only if nobody else wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor.logs import Log
from preceptor.logs.appending import LogFile, NewRound

NAMES = ("bmi", "bp")
HEADER = "participant,round,shown,values,prediction,outcome\n"
ENTRY = NewRound("ann", (1,), (80.0,), 3.0, 4.0)


def read(path: Path) -> Log:
    return Log.read(path, NAMES)


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
def test_a_new_file_is_begun_and_goes_on(tmp_path: Path, name: str) -> None:
    path, log = tmp_path / name, None
    for number in range(1, 4):
        log = LogFile.at(path).append(log, NAMES, ENTRY)
        assert read(path) == log
        assert log.rounds.tolist() == list(range(1, number + 1))
    log = LogFile.at(path).append(log, NAMES, NewRound("bob", (), (), 1.0))
    assert read(path) == log
    assert log.for_participant("bob").rounds.tolist() == [1]
    assert not log.for_participant("bob").told[0]


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "ann,1,bp,1,2,3\n")
    before, log = LogFile.at(path), read(path)
    path.write_text(HEADER + "ann,1,bp,1,2,3\nann,2,bp,1,2,3\n")
    with pytest.raises(pr.InvalidFile, match=r"log.csv: was changed by somebody else"):
        before.append(log, NAMES, ENTRY)
    assert len(read(path)) == 2
    missing = LogFile.at(tmp_path / "new.csv")
    (tmp_path / "new.csv").write_text(HEADER)
    with pytest.raises(pr.InvalidFile, match="was changed"):
        missing.append(None, NAMES, ENTRY)


def test_what_is_there_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    before = "\ufeffwho,participant,round,shown,values,answer,outcome,feedback\r\n"
    before += '"x, y",ann,7,"bmi;bp","1;2",2,3,yes'  # no newline at its end
    path.write_bytes(before.encode())
    columns = {"prediction": "answer"}
    log = Log.read(path, NAMES, columns=columns)
    after = LogFile.at(path).append(log, NAMES, ENTRY, columns=columns)
    assert path.read_bytes() == (before + "\r\n,ann,8,bp,80.0,3.0,4.0,yes\r\n").encode()
    assert Log.read(path, NAMES, columns=columns) == after


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("log.parquet", b"", r"a case can be added to .csv and .jsonl files"),
        ("log.csv", HEADER.replace(",", ";").encode(), "cells must be separated by commas"),
        ("log.csv", HEADER.encode("utf-16"), "is not text in UTF-8"),
        ("log.csv", b"participant,round,bmi,prediction,outcome\n", "no column for the tests"),
        ("log.csv", b"participant,round,bp,prediction\n", "no column outcome"),
    ],
)
def test_a_file_that_cannot_take_a_row(
    tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(pr.InvalidFile, match=complaint):
        LogFile.at(path).append(None, NAMES, ENTRY)
    assert path.read_bytes() == content


def test_numbers_that_make_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    with pytest.raises(pr.InvalidInput, match=r"prediction.*infinite"):
        LogFile.at(path).append(None, NAMES, NewRound("ann", (1,), (80.0,), np.inf))
    assert not path.exists()


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEADER.replace("\n", ",when\n") + "ann,1,bp,1,2,3,2999-01-01\n")
    after = LogFile.at(path).append(read(path), NAMES, ENTRY)
    assert read(path) == after
    assert after.when[1] == np.datetime64("2999-01-01")
