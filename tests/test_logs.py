"""Logs: what they accept, what they refuse and in which words, files both ways."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.data.log import Log
from preceptor.errors import InvalidFile, InvalidInput, MissingExtra
from preceptor.model.world import World
from tests.strategies import examples

NAMES = ("bmi", "bp")
MOMENTS = st.datetimes() | st.dates().map(lambda day: datetime(day.year, day.month, day.day))


def a_log(**changes):
    fields = {
        "names": NAMES,
        "participant": ["ann", "ann", "bob", "ann"],
        "rounds": [1, 2, 1, 3],
        "shown": [[1, 0], [1, 1], [0, 1], [0, 0]],
        "values": [[1.5, np.nan], [2.0, 3.0], [np.nan, 4.0], [np.nan, np.nan]],
        "prediction": [0.5, 1.0, 1.5, 2.0],
        "outcome": [1.0, np.nan, 2.0, 3.0],
    }
    return Log(**fields | changes)


@st.composite
def logs(draw):
    n, rows = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    number = st.floats(-1e6, 1e6)
    who = draw(st.lists(st.sampled_from(["a", "b", "10", "9", "é"]), min_size=rows, max_size=rows))
    shown = draw(
        st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=rows, max_size=rows)
    )
    numbers = [[draw(number) if s else np.nan for s in row] for row in shown]
    rounds = draw(st.permutations(range(rows)))
    outcome = draw(st.lists(number | st.just(np.nan), min_size=rows, max_size=rows))
    dates = sorted(draw(st.lists(MOMENTS, min_size=rows, max_size=rows)))
    dated = draw(st.lists(st.booleans(), min_size=rows, max_size=rows) | st.just([False] * rows))
    return Log(
        [f"test {i}" for i in range(n)],
        who,
        rounds,
        shown,
        numbers,
        draw(st.lists(number, min_size=rows, max_size=rows)),
        outcome,
        [draw(st.sampled_from([None, False] + [True] * (y == y))) for y in outcome],
        [dates[r] if known else None for r, known in zip(rounds, dated, strict=True)],
    )


def test_rows_are_ordered_by_person_and_round():
    log = a_log(rounds=[2, 1, 1, 3])
    assert log.participant.tolist() == ["ann", "ann", "ann", "bob"]
    assert log.rounds.tolist() == [1, 2, 3, 1]
    assert log.prediction.tolist() == [1.0, 0.5, 2.0, 1.5]
    assert log.participants == ("ann", "bob")
    assert len(log) == 4


@given(logs())
def test_counts_are_showings_with_feedback_before_the_row(log):
    for row in range(len(log)):
        earlier = [
            r
            for r in range(len(log))
            if log.participant[r] == log.participant[row] and log.rounds[r] < log.rounds[row]
        ]
        told = [r for r in earlier if log.feedback[r] and not np.isnan(log.outcome[r])]
        wanted = np.sum(log.shown[told], axis=0, dtype=int)
        assert log.counts_before[row].tolist() == wanted.tolist()


@given(logs(), st.sampled_from(["csv", "jsonl", "parquet"]))
@examples(30)
def test_files_give_back_the_same_bits(tmp_path_factory, log, suffix):
    path = tmp_path_factory.mktemp("logs") / f"log.{suffix}"
    log.write(path)
    again = Log.read(path, log.names)
    assert again == log
    assert Log.from_json(log.to_json()) == log
    assert Log.from_frame(log.to_frame(), log.names) == log
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_logs_are_equal_only_with_equal_contents():
    assert a_log() == a_log()
    assert hash(a_log()) == hash(a_log())
    zero, minus_zero = ([sign * 0.0, 1.0, 1.5, 2.0] for sign in (1, -1))
    assert a_log(prediction=zero) == a_log(prediction=minus_zero)
    assert hash(a_log(prediction=zero)) == hash(a_log(prediction=minus_zero))
    assert a_log() != a_log(outcome=[1.0, 1.0, 2.0, 3.0])
    assert a_log() != a_log(names=("bmi", "age"))
    assert not a_log().prediction.flags.writeable


def test_who_was_told():
    """An outcome that is known but was not told teaches nothing; empty cells are as none."""
    assert a_log().feedback.tolist() == [True, False, True, True]
    assert a_log() == a_log(feedback=[None, None, "", np.nan]) == a_log(feedback=[1, 0, 1, "yes"])
    probed = a_log(feedback=[False, False, True, None])  # the last row is ann's, too
    assert probed.told.tolist() == [False, False, True, True]
    assert probed.outcome.tolist()[0] == 1.0
    assert probed.counts_before.tolist() == [[0, 0], [0, 0], [0, 0], [0, 0]]
    assert a_log().counts_before.tolist() == [[0, 0], [1, 0], [1, 0], [0, 0]]
    assert probed != a_log()
    assert probed.for_participant("ann").told.tolist() == [False, False, True]


def test_days_count_from_each_persons_first_date():
    when = ["2024-03-01", None, "2024-02-01T06:00", "2024-03-02T12:00"]
    log = a_log(when=when)
    assert np.array_equal(log.days, [0.0, np.nan, 1.5, 0.0], equal_nan=True)
    assert np.isnan(a_log().days).all()
    assert log != a_log()
    assert log.for_participant("bob").when.tolist() == [datetime(2024, 2, 1, 6)]


@pytest.mark.parametrize(
    "cell",
    [
        "2024-03-31T10:05:06.5",
        " 2024-03-31 10:05:06.500 ",
        "2024-03-31T12:05:06.5+02:00",
        "2024-03-31T10:05:06.5Z",
        datetime(2024, 3, 31, 10, 5, 6, 500_000),
        datetime(2024, 3, 31, 10, 5, 6, 500_000, UTC),
        datetime(2024, 3, 31, 8, 5, 6, 500_000, timezone(timedelta(hours=-2))),
        np.datetime64("2024-03-31T10:05:06.500"),
        pd.Timestamp("2024-03-31T10:05:06.500000001"),
        pd.Timestamp("2024-03-31T12:05:06.5", tz="Europe/Berlin"),
    ],
)
def test_one_moment_in_many_ways(cell):
    log = a_log(when=[None, None, None, cell])
    assert log.when[2] == np.datetime64("2024-03-31T10:05:06.5")
    assert log.to_dict()["rows"][2]["when"] == "2024-03-31T10:05:06.500000"
    day = a_log(when=[None, None, None, date(2024, 3, 31)])
    assert day == a_log(when=np.array(["NaT", "NaT", "NaT", "2024-03-31"], dtype="datetime64[D]"))
    assert day.to_dict()["rows"][2]["when"] == "2024-03-31"


def test_files_without_the_new_columns_stay_as_they_were(tmp_path):
    old = HEAD + "ann,1,bmi,1.5,0.5,1.0\nann,2,bmi;bp,2.0;3.0,1.0,\n"
    path = tmp_path / "log.csv"
    path.write_text(old)
    Log.read(path, NAMES).write(path)
    assert path.read_text() == old
    assert list(a_log().to_frame()) == [
        "participant",
        "round",
        "bmi",
        "bp",
        "prediction",
        "outcome",
    ]


def test_files_with_them_are_written_back_exactly(tmp_path):
    text = HEAD.replace("\n", ",feedback,when\n") + (
        "ann,1,bmi,1.5,0.5,1.0,no,2024-03-01\n"
        "ann,2,bmi,1.5,0.5,1.0,yes,2024-03-01T09:30:00\n"
        "ann,3,bmi,1.5,0.5,,no,\n"
    )
    path = tmp_path / "log.csv"
    path.write_text(text)
    log = Log.read(path, NAMES)
    assert log.told.tolist() == [False, True, False]
    log.write(path)
    assert path.read_text() == text
    frame = log.to_frame()
    assert frame["when"].dtype.kind == "M"
    assert frame["feedback"].dtype == bool


def test_they_may_have_other_names_and_a_test_may_have_theirs(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "participant,round,bmi,bp,prediction,outcome,heard,day\na,1,1,2,3,4,no,2024-01-02\n"
    )
    columns = {"feedback": "heard", "when": "day"}
    log = Log.read(path, NAMES, columns=columns)
    assert log.told.tolist() == [False]
    assert log.when.astype(str).tolist() == ["2024-01-02T00:00:00.000000"]
    assert np.isnat(Log.read(path, NAMES).when).all()
    path.write_text("participant,round,when,bp,prediction\na,1,1,2,3\n")
    test = Log.read(path, ("when", "bp"))
    assert test.values.tolist() == [[1.0, 2.0]]
    assert Log.from_frame(test.to_frame(), test.names) == test
    dated = a_log(names=("when", "bp"), when=[None, None, None, "2024-01-02"])
    with pytest.raises(InvalidInput, match=r"a frame would need two columns 'when'"):
        dated.to_frame()
    dated.write(tmp_path / "dated.jsonl")
    assert Log.read(tmp_path / "dated.jsonl", dated.names) == dated


def test_polars_frames_and_columns_of_other_names():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "id": [7, 7],
            "trial": [1, 2],
            "BMI": [30.0, None],
            "bp": [None, 80.0],
            "said": [1.0, 2.0],
            "extra": ["x", "y"],
            "outcome": [1.0, 2.0],
            "feedback": [False, None],
            "when": [datetime(2024, 1, 2, 3), None],
        }
    )
    columns = {"participant": "id", "round": "trial", "bmi": "BMI", "prediction": "said"}
    log = Log.from_frame(frame, NAMES, columns=columns)
    assert log.participants == ("7",)
    assert log.shown.tolist() == [[True, False], [False, True]]
    assert log.told.tolist() == [False, True]
    assert log.when.tolist() == [datetime(2024, 1, 2, 3), None]


def test_names_may_come_from_a_world(tmp_path):
    a_log().write(tmp_path / "log.csv")
    world = World([1.0, 1.0], np.eye(2), names=NAMES)
    assert Log.read(tmp_path / "log.csv", world) == a_log()


def test_people_one_by_one():
    log = a_log()
    assert log.for_participant("bob").prediction.tolist() == [1.5]
    with pytest.raises(InvalidInput, match=r"'eve' is not in the log; it has ann, bob"):
        log.for_participant("eve")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prediction": [0.5, np.nan, 1.5, 2.0]}, r"row 1, column 'prediction': missing"),
        ({"prediction": [0.5, 1.0, np.inf, 2.0]}, r"row 2, column 'prediction': infinite"),
        ({"outcome": [1.0, np.nan, -np.inf, 3.0]}, r"row 2, column 'outcome': infinite"),
        ({"rounds": [1, 2, 1, 2]}, r"row 3: a second row for participant 'ann', round 2 .*row 1"),
        ({"rounds": [1, 2.5, 1, 3]}, r"rounds: cannot be read as whole numbers"),
        ({"shown": [[1, 1], [1, 1], [0, 1], [0, 0]]}, r"row 0, test 'bp': shown, .* missing"),
        ({"shown": [[0, 0], [1, 1], [0, 1], [0, 0]]}, r"row 0, test 'bmi': hidden, .* 1.5"),
        ({"participant": ["ann", "", "bob", "ann"]}, r"row 1, column 'participant': empty"),
        ({"prediction": [0.5]}, r"prediction: shape \(1,\), must be \(4,\)"),
        ({"names": ("bmi", "bmi")}, r"names: 'bmi' repeated"),
        ({"prediction": ["a", 1, 2, 3]}, r"prediction: cannot be read as numbers"),
        ({"feedback": [1, 1, 1, 1]}, r"row 1, column 'feedback': told, but the outcome is missing"),
        ({"feedback": [1, 0, "maybe", 1]}, r"row 2, column 'feedback': 'maybe' is neither yes nor"),
        ({"feedback": [True]}, r"feedback: shape \(1,\), must be \(4,\)"),
        ({"feedback": "yes"}, r"feedback: 'yes', must be a list"),
        ({"when": [None, None, 20240301, None]}, r"row 2, column 'when': 20240301 is not a date"),
        ({"when": [None, None, "31.3.2024", None]}, r"'31.3.2024' is not a date"),
        (
            {"when": ["0001-01-01T00:00+02:00", *[None] * 3]},
            r"row 0, .* not a date .*years 1 to",
        ),
        ({"when": np.array([-(10**6)] * 4, "datetime64[D]")}, r"row 0, .*years 1 to 9999"),
        (
            {"when": ["2024-03-02", None, "1999-01-01", "2024-03-01T23:00"]},
            r"row 3, column 'when': 2024-03-01T23:00:00 in round 3 is before 2024-03-02 in round 1"
            r" \(row 0\)",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(changes, message):
    with pytest.raises(InvalidInput, match=message):
        a_log(**changes)


def test_an_infinite_value_names_its_test():
    values = [[1.5, np.nan], [np.inf, 3.0], [np.nan, 4.0], [np.nan, np.nan]]
    with pytest.raises(InvalidInput, match=r"row 1, test 'bmi': shown, but its value is infinite"):
        a_log(values=values)


def test_every_fault_is_listed_but_not_a_thousand():
    with pytest.raises(InvalidInput) as caught:
        a_log(prediction=[np.nan, 1.0, np.inf, 2.0], outcome=[np.inf, np.nan, 2.0, 3.0])
    assert len(caught.value.faults) == 3
    rows = 50
    with pytest.raises(InvalidInput) as caught:
        Log(["x"], ["a"] * rows, range(rows), [[0]] * rows, [[np.nan]] * rows, [np.nan] * rows)
    assert caught.value.faults[-1] == "and 40 more like these"


HEAD = "participant,round,shown,values,prediction,outcome\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, r"the log is empty"),
        ("", r"is empty; it needs a header"),
        (
            HEAD + "a,1,bmi,3,1,1\na,2,bim,3,1,1\n",
            r"line 3, column 'shown': test 'bim' is not .*bmi",
        ),
        (HEAD + "a,1,bmi;bp,3,1,1\n", r"line 2, column 'values': 1 values for 2 shown tests"),
        (HEAD + "a,1,bmi;bmi,3;3,1,1\n", r"line 2, column 'shown': a test is named twice"),
        (HEAD + "a,1,bmi,x,1,1\n", r"line 2, column 'values': bmi: 'x' is not a number"),
        (HEAD + 'a,1,bmi,3,"1,5",1\n', r"line 2, column 'prediction': '1,5' .* with a point"),
        (HEAD + "a,1,bmi,3,,1\n", r"line 2, column 'prediction': missing"),
        (HEAD + "a,1,bmi,3,inf,1\n", r"line 2, column 'prediction': 'inf' is not a number"),
        (HEAD + "a,1.5,bmi,3,1,1\n", r"line 2, column 'round': '1.5', must be a whole number"),
        (HEAD + ",1,bmi,3,1,1\n", r"line 2, column 'participant': empty"),
        (HEAD + "a,1,bmi,3,1,1\na,1,bp,3,1,1\n", r"line 3: a second row .* round 1 .*line 2"),
        (HEAD + "a,1,bmi,3,1\n", r"line 2: 5 cells, but the header has 6"),
        ("round,round\n1,1\n", r"line 1: column 'round' is there twice"),
        ("who,round,bmi,bp,prediction\na,1,2,3,4\n", r"column 'participant' is missing; .*who"),
        ("participant,round,prediction\na,1,2\n", r"neither a column 'shown' nor one for any"),
        ("participant,round,bmi,bp,prediction,feedback\na,1,2,3,4,1\n", r"line 2, .*told, but the"),
        (
            "participant,round,bmi,bp,prediction,feedback\na,1,2,3,4,2\n",
            r"line 2, .*'2' is nei",
        ),
        ("participant,round,bmi,bp,prediction,when\na,1,2,3,4,5\n", r"line 2, .*'5' is not a date"),
        (
            "participant,round,bmi,bp,prediction,when\n"
            "a,2,2,3,4,2024-01-01\nb,3,2,3,4,2023-01-01\na,1,2,3,4,2024-01-02\n",
            r"line 2, column 'when': 2024-01-01 in round 2 is before .* round 1 \(line 4\)",
        ),
        ("participant,round,bmi,prediction\na,1,2,3\n", r"no column for the tests bp; add it"),
    ],
)
def test_files_are_refused_with_line_and_column(tmp_path, text, message):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidFile, match=message) as caught:
        Log.read(path, NAMES)
    assert all(fault.startswith(str(path)) for fault in caught.value.faults)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        'participant,round,bmi,bp,prediction,note\na,1,1,2,3,"two\nlines"\n\na,2,1,2,x,\n'
    )
    with pytest.raises(InvalidFile, match="line 5, column 'prediction'"):
        Log.read(path, NAMES)


def test_json_lines_name_their_line(tmp_path):
    path = tmp_path / "log.jsonl"
    row = {"participant": "a", "round": 1, "shown": ["bmi"], "values": [1.0], "prediction": 2.0}
    path.write_text(json.dumps(row) + "\n")
    assert Log.read(path, NAMES).values.tolist()[0][0] == 1.0
    path.write_text(json.dumps(row) + "\n{broken\n")
    with pytest.raises(InvalidFile, match="line 2: not valid JSON"):
        Log.read(path, NAMES)
    path.write_text(json.dumps(row) + "\n[1]\n")
    with pytest.raises(InvalidFile, match="line 2: expected an object"):
        Log.read(path, NAMES)
    path.write_text(json.dumps(row | {"prediction": True}) + "\n")
    with pytest.raises(InvalidFile, match="line 1, column 'prediction': True is not a number"):
        Log.read(path, NAMES)


def test_columns_must_exist_and_be_ours(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "a,1,bmi,3,1,1\n")
    with pytest.raises(InvalidFile, match=r"no column 'id' .*for 'participant'"):
        Log.read(path, NAMES, columns={"participant": "id"})
    with pytest.raises(InvalidFile, match="'patient' is not one of our names"):
        Log.read(path, NAMES, columns={"patient": "participant"})


def test_unreadable_files(tmp_path):
    for name, message in [("log.doc", "must end in .csv"), ("log.csv", "no such file")]:
        with pytest.raises(InvalidFile, match=message):
            Log.read(tmp_path / name, NAMES)
    (tmp_path / "log.parquet").write_bytes(b"no")
    with pytest.raises(InvalidFile, match="not a Parquet file"):
        Log.read(tmp_path / "log.parquet", NAMES)
    with pytest.raises(InvalidFile, match="no such file"):
        Log.read(tmp_path / "other.parquet", NAMES)


def test_nothing_is_half_written(tmp_path):
    log = a_log(names=("a;b", "c"))
    path = tmp_path / "log.csv"
    path.write_text("kept")
    with pytest.raises(InvalidFile, match="'a;b' has a semicolon"):
        log.write(path)
    with pytest.raises(InvalidFile, match="must end in"):
        log.write(tmp_path / "log.xlsx")
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]
    assert path.read_text() == "kept"
    log.write(path.with_suffix(".jsonl"))
    assert Log.read(path.with_suffix(".jsonl"), log.names) == log


def test_without_the_extra_the_message_names_it(monkeypatch, tmp_path):
    for library in ("pandas", "narwhals"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=re.escape("preceptor[data]")):
        a_log().to_frame()
    with pytest.raises(MissingExtra, match=re.escape("preceptor[data]")):
        Log.from_frame(object(), NAMES)
    a_log().write(tmp_path / "log.csv")  # text needs no extra
    assert Log.read(tmp_path / "log.csv", NAMES) == a_log()


def test_damaged_plain_data_is_refused():
    with pytest.raises(InvalidFile, match="names and rows must be lists"):
        Log.from_dict({})
    with pytest.raises(InvalidFile, match="this version reads 'preceptor-log/1'"):
        Log.from_dict({"format": "other"})
    with pytest.raises(InvalidInput, match="is not a data frame"):
        Log.from_frame([1, 2], NAMES)
