"""Logs from workbooks and other text, with names and levels as people write them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import openpyxl
import pytest

from preceptor.cli._session import Session
from preceptor.data.log import Log
from preceptor.data.opening import Reading
from preceptor.errors import InvalidFile, InvalidInput, InvalidProblem
from preceptor.model.world import Units, World

NAMES = ("bmi", "bp")
PLAIN = "participant,round,bmi,bp,prediction,outcome\nann,1,31.5,,1.25,2\nann,2,30,88.5,1.5,1\n"
LEVELS = {
    "tgrade": {"I": "tgrade=I", "II": "", "III": "tgrade=other", "IV": "tgrade=other"},
    "svi": {"no": "", "yes": "svi=yes"},
}


def a_world(**units):
    return World(
        [1.0, 0.5, 0.2, 0.3],
        np.eye(4),
        names=["age", "tgrade=I", "tgrade=other", "svi=yes"],
        groups={"tgrade": [1, 2], "svi": [3]},
        units=Units([0.0] * 4, [1.0] * 4, levels=LEVELS | units),
    )


def read(tmp_path, text, names=NAMES, encoding="utf-8", name="log.csv", **options):
    path = tmp_path / name
    path.write_text(text, encoding=encoding, newline="")
    return Log.read(path, names, **options)


@pytest.mark.parametrize(
    ("change", "encoding", "said"),
    [
        (lambda t: t, "utf-8-sig", ""),
        (lambda t: t.replace(",", ";").replace(".", ","), "cp1252", "semicolons between cells and"),
        (lambda t: t.replace(",", "\t"), "utf-16", "tabs between cells and letters in UTF-16"),
        (lambda t: "\n" + t.replace("\n", "\r\n") + ",,,,,\r\n", "utf-8", ""),
        (lambda t: t.replace("bmi", " BMI ").replace("participant", "Participant"), "utf-8", ""),
    ],
)
def test_the_same_log_in_other_signs(tmp_path, change, encoding, said):
    plain = read(tmp_path, PLAIN)
    found = read(tmp_path, change(PLAIN), encoding=encoding)
    assert found == plain
    assert said in "".join(found.notes)
    assert len(found.notes) == bool(said)
    assert plain.notes == ()


def test_lists_between_semicolons_are_quoted(tmp_path):
    text = (
        "participant;round;shown;values;prediction\n"
        'ann;1;"bmi;BP ";"31,5;1.088,5";1,25\nann;2;bp;88;2\n'
    )
    log = read(tmp_path, text)
    assert log.values.tolist()[0] == [31.5, 1088.5]
    assert log.prediction.tolist() == [1.25, 2.0]
    again = read(tmp_path, text, reading=Reading(separator=";", decimal=","))
    assert again == log
    assert again.notes == ()
    with pytest.raises(InvalidFile, match=r"'1,25' is not a number \(write decimals with a point"):
        read(tmp_path, text, reading=Reading(decimal="."))


def test_a_log_in_a_workbook(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Our study"])
    sheet.append(["participant", "round", "bmi", "bp", "prediction", "outcome", None])
    sheet.append(["NA", 1, 31.5, None, "1,25", 2])
    sheet.append(["7", 2, 30, 88.5, "1,5", 1])
    book.create_sheet("Notes")
    book.save(tmp_path / "log.xlsx")
    log = Log.read(tmp_path / "log.xlsx", NAMES)
    assert log.participants == ("NA", "7")
    assert log.prediction.tolist() == [1.25, 1.5]
    assert log.shown.tolist() == [[True, False], [True, True]]
    assert "its first sheet, 'Sheet' (others: 'Notes') and decimal commas" in log.notes[0]
    assert "row 2 was taken as the header" in log.notes[1]
    sheet["E4"] = "many"
    book.save(tmp_path / "log.xlsx")
    with pytest.raises(InvalidFile, match="row 4, column 'prediction': 'many' is not a number"):
        Log.read(tmp_path / "log.xlsx", NAMES)
    with pytest.raises(InvalidFile, match="must be one of 'Sheet', 'Notes'"):
        Log.read(tmp_path / "log.xlsx", NAMES, reading=Reading(sheet="x"))


def test_names_without_capitals(tmp_path):
    head = "participant,round,shown,values,prediction\n"
    assert read(tmp_path, head + "a,1,BMI; bp,1;2,3\n").values.tolist() == [[1.0, 2.0]]
    with pytest.raises(InvalidFile, match="test 'BMX' is not known; did you mean 'bmi'"):
        read(tmp_path, head + "a,1,BMX,1,3\n")
    with pytest.raises(InvalidFile, match="'BMI' is not known; it could be 'bmi' or 'Bmi'"):
        read(tmp_path, head + "a,1,BMI,1,3\n", names=("bmi", "Bmi"))
    exact = read(tmp_path, head + "a,1,Bmi,1,3\n", names=("bmi", "Bmi"))
    assert exact.shown.tolist() == [[False, True]]
    both = "participant,round,BMI,Bmi,bp,prediction\na,1,1,2,3,4\n"
    with pytest.raises(InvalidFile, match="columns 'BMI' and 'Bmi' could both be 'bmi'; rename"):
        read(tmp_path, both)
    assert read(tmp_path, both, columns={"bmi": "Bmi"}).values.tolist() == [[2.0, 3.0]]
    with pytest.raises(InvalidFile, match=r"column 'prediction' is missing \(did you mean 'Predic"):
        read(tmp_path, "participant,round,bmi,bp,Predictions\na,1,1,2,3\n")


def test_levels_as_people_saw_them(tmp_path):
    world = a_world()
    wide = (
        "participant,round,age,TGrade,svi,prediction\n"
        "a,1,63,II,yes,1\na,2,64,i,,2\na,3,,IV,no,2\na,4,,other,no,2\na,5,65,,,3\n"
    )
    log = read(tmp_path, wide, world)
    nothing = np.nan
    assert np.array_equal(
        log.values,
        [[63, 0, 0, 1], [64, 1, 0, nothing], [nothing, 0, 1, 0], [nothing, 0, 1, 0],
         [65, nothing, nothing, nothing]],
        equal_nan=True,
    )  # fmt: skip
    lists = (
        "participant,round,shown,values,prediction\na,1,tgrade;age;svi,II;63;yes,1\n"
        "a,2,age;tgrade,64;I,2\na,3,svi;tgrade,no;III,2\na,4,svi;tgrade,no;III,2\na,5,age,65,3\n"
    )
    assert read(tmp_path, lists, world) == log
    columns = (
        "participant,round,age,tgrade=I,tgrade=other,svi=yes,prediction\n"
        "a,1,63,0,0,1,1\na,2,64,1,0,,2\na,3,,0,1,0,2\na,4,,0,1,0,2\na,5,65,,,,3\n"
    )
    assert read(tmp_path, columns, world) == read(tmp_path, columns, world.labels) == log
    json = '{"participant": "a", "round": 1, "shown": ["svi"], "values": ["yes"], "prediction": 1}'
    assert read(tmp_path, json, world, name="log.jsonl").values[0, 3] == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "participant,round,age,tgrade,svi,prediction\na,1,1,V,yes,1\n",
            r"line 2, column 'tgrade': level 'V' of tgrade is not known; known are 'I', 'II'",
        ),
        (
            "participant,round,shown,values,prediction\na,1,svi,maybe,1\n",
            r"line 2, column 'values': svi: level 'maybe' of svi is not known; known are 'no', '",
        ),
        (
            "participant,round,shown,values,prediction\na,1,svi;svi=yes,yes;1,1\n",
            r"a test is named twice in svi;svi=yes",
        ),
        (
            "participant,round,shown,values,prediction\na,1,svi;age,NA;1,1\n",
            r"line 2, test 'svi=yes': shown, but its value is missing",
        ),
        ("participant,round,age,svi,prediction\na,1,1,yes,1\n", r"no column for the tests tgrade;"),
        ("participant,round,prediction\na,1,1\n", r"one for any of the tests age, tgrade, svi"),
    ],
)
def test_levels_that_nobody_knows(tmp_path, text, message):
    with pytest.raises(InvalidFile, match=message):
        read(tmp_path, text, a_world())


def test_levels_that_are_numbers_and_words_for_nothing(tmp_path):
    world = World(
        [1.0, 1.0, 1.0], np.eye(3), names=["stage=2", "none", "x"], groups={"stage": [0]},
        units=Units(
            [0.0] * 3, [1.0] * 3,
            levels={"stage": {"1": "", "2": "stage=2"}, "none": {"none": "", "some": "none"}},
        ),
    )  # fmt: skip
    text = (
        "participant,round,stage,none,x,prediction\na,1,2.0,none,1,1\na,2,1,some,1,1\na,3,,1,,1\n"
    )
    log = read(tmp_path, text, world)
    assert log.values.tolist()[:2] == [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    assert log.values.tolist()[2][1] == 1.0


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_logs_are_written_with_levels_and_read_back(tmp_path, suffix):
    world = a_world()
    shown = [[1, 1, 1, 1], [0, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 0]]
    values = [[63.1, 0, 0, 1], [np.nan, 1, 0, np.nan], [np.nan] * 3 + [0], [0.1, 0, 1, np.nan]]
    log = Log(world.labels, ["a"] * 4, range(4), shown, values, [1.0] * 4)
    path = tmp_path / f"log.{suffix}"
    log.write(path, world)
    assert Log.read(path, world) == log
    assert Log.from_frame(log.to_frame(world), world) == log
    if suffix == "csv":
        text = path.read_text()
        assert "tgrade=" not in text
        assert "other" in text
        assert "II;yes" in text
    odd = Log(world.labels, ["a"], [1], [[1, 1, 1, 0]], [[1, 0.5, 0, np.nan]], [1.0])
    odd.write(path, world)  # no level says that
    assert Log.read(path, world) == odd
    assert Log.from_frame(odd.to_frame(world), world) == odd
    with pytest.raises(InvalidInput, match="its tests are"):
        log.write(path, world=World([1.0], np.eye(1)))


def test_levels_that_a_cell_cannot_hold_are_written_as_columns(tmp_path):
    world = a_world(svi={"no": "", "yes; sure": "svi=yes"})
    log = Log(world.labels, ["a"], [1], [[0, 0, 0, 1]], [[np.nan] * 3 + [1]], [1.0])
    for name in ("log.csv", "log.jsonl"):
        log.write(tmp_path / name, world=world)
        assert Log.read(tmp_path / name, world) == log
    assert "svi=yes,1.0" in (tmp_path / "log.csv").read_text()
    assert "yes; sure" in (tmp_path / "log.jsonl").read_text()


def test_levels_belong_to_their_tests():
    with pytest.raises(InvalidProblem, match="levels of 'x', which is not a test"):
        a_world(x={"a": ""})
    with pytest.raises(InvalidProblem, match="levels of 'svi' name the column 'age'; it has 'svi="):
        a_world(svi={"a": "age"})
    for wrong in ("text", [1], {"svi": ["no"]}, {"svi": {"no": 1}}):
        with pytest.raises(InvalidProblem, match="must be a table for each test"):
            Units([0.0], [1.0], levels=wrong)
    assert World.from_json(a_world().to_json()) == a_world()
    assert hash(a_world()) == hash(a_world())


def test_a_session_writes_what_people_saw(tmp_path):
    import preceptor as pr

    world = a_world()
    tutor = pr.Tutor(pr.Problem(world, pr.Learner(np.zeros(4), pr.OneShot()), 2, 0.9))
    session = Session("ann", tmp_path / "ann.csv", tutor)
    cards = SimpleNamespace(uses=lambda record: [], position=lambda entry, uses: None)
    session = session.after((0, 1, 2), [63.0, 0.0, 0.0], 0.5, 0.7, "because", cards)
    assert "age;tgrade,63.0;II" in (tmp_path / "ann.csv").read_text()
    session.after((3,), [1.0], 0.5, 0.7, "because", cards)
    assert len(Log.read(tmp_path / "ann.csv", world)) == 2
