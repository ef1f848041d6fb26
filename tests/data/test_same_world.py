"""One table, written in many ways: the same world to the last bit, and what was assumed is said."""

from __future__ import annotations

import pytest

import preceptor as pr
from preceptor.data.opening import Reading
from preceptor.data.sheet import read_sheet
from preceptor.data.world_fitting import fit_source
from tests.data import writing

EUROPE = writing.text(";", ",")
OTHERWISE = "`separator`, `decimal` say otherwise"

WAYS = {
    "utf-8": ("t.csv", lambda p: p.write_text(writing.text(), encoding="utf-8"), ""),
    "a mark": ("t.csv", lambda p: p.write_text(writing.text(), encoding="utf-8-sig"), ""),
    "Europe": (
        "t.csv",
        lambda p: p.write_text(EUROPE, encoding="utf-8"),
        f"read with semicolons between cells and decimal commas; {OTHERWISE}",
    ),
    "Excel's line": (
        "t.csv",
        lambda p: p.write_text("sep=;\r\n" + EUROPE, encoding="utf-8", newline=""),
        "read with decimal commas; `decimal` says otherwise",
    ),
    "Windows": (
        "t.csv",
        lambda p: p.write_text(EUROPE, encoding="cp1252"),
        "semicolons between cells, decimal commas and Windows letters (cp1252); `separator`, "
        "`decimal`, `encoding` say otherwise",
    ),
    "utf-16": (
        "t.txt",
        lambda p: p.write_text(writing.text("\t"), encoding="utf-16"),
        "read with tabs between cells and letters in UTF-16; `separator`, `encoding`",
    ),
    "tsv": ("t.tsv", lambda p: p.write_text(writing.text("\t"), encoding="utf-8"), ""),
    "bars": ("t.txt", lambda p: p.write_text(writing.text("|"), encoding="utf-8"), "with bars"),
    "quoted commas": (
        "t.csv",
        lambda p: p.write_text(writing.text(",", ","), encoding="utf-8"),
        "read with decimal commas",
    ),
    "thousands": (
        "t.csv",
        lambda p: p.write_text(writing.text(";", ",", "."), encoding="utf-8"),
        "decimal commas and points between thousands in alter; `separator`, `decimal` say",
    ),
    "English thousands": (
        "t.csv",
        lambda p: p.write_text(writing.text(",", ".", ","), encoding="utf-8"),
        "read with commas between thousands in alter; `decimal` says otherwise",
    ),
    "xlsx": ("t.xlsx", writing.xlsx, ""),
    "xlsx of text": (
        "t.xlsx",
        lambda p: writing.xlsx(
            p, change=lambda c: str(c).replace(".", ",") if isinstance(c, float) else c
        ),
        "read with decimal commas; `decimal` says otherwise",
    ),
    "two sheets": (
        "t.xlsx",
        lambda p: writing.xlsx(p, sheets=("Cases", "Notes")),
        "read with its first sheet, 'Cases' (others: 'Notes'); `sheet` says otherwise",
    ),
    "a title": (
        "t.xlsx",
        lambda p: writing.xlsx(p, above=[["Export of Monday"], []]),
        "row 3 was taken as the header; rows above it were left out",
    ),
    "a title in text": (
        "t.csv",
        lambda p: p.write_text("Ward 7,,,\n\n,,,\n" + writing.text(), encoding="utf-8", newline=""),
        "line 4 was taken as the header; lines above it were left out",
    ),
    "ods": ("t.ods", writing.ods, ""),
    "jsonl": ("t.jsonl", writing.json_lines, ""),
    "parquet": ("t.parquet", writing.parquet, ""),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "t.csv"
    path.write_text(writing.text(), encoding="utf-8", newline="")
    return fit_source(path, "y")


@pytest.mark.parametrize("way", WAYS)
def test_the_same_world_and_what_was_assumed(tmp_path, plain, way):
    name, write, said = WAYS[way]
    write(tmp_path / name)
    found = fit_source(tmp_path / name, "y")
    assert found.world == plain.world
    assert found.world.labels[0] == "größe"
    assumed = [note for note in found.warnings if note.startswith(f"{name}: ")]
    assert len(assumed) == (1 if said else 0)
    assert said in "".join(assumed)
    assert [*found.notes[: len(assumed)]] == assumed == [*found.warnings[: len(assumed)]]


def test_advice_takes_a_workbook(tmp_path):
    writing.xlsx(tmp_path / "t.xlsx", sheets=("Cases", "More"))
    heard = []
    pr.advise(
        tmp_path / "t.xlsx", "y", tests=1, cases=5, person="no-learning", vary=False,
        time_limit=0.1, progress=lambda update: heard.append(update.sentence),
    )  # fmt: skip
    assert any("`sheet` says otherwise" in str(sentence) for sentence in heard)


def test_what_is_said_is_not_guessed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;y\n1,500;2;3\n2,250;3;4\n", encoding="utf-16")
    sheet = read_sheet(path, Reading(separator=";", decimal=",", encoding="utf-16"))
    assert sheet.notes == ()
    assert sheet.frame["a"].tolist() == [1.5, 2.25]
    assert read_sheet(path).frame["a"].tolist() == [1.5, 2.25]
    points = read_sheet(path, Reading(decimal="."))
    assert points.frame["a"].tolist() == [1500.0, 2250.0]
    assert "commas between thousands in a" in points.notes[0]
    writing.xlsx(tmp_path / "t.xlsx", sheets=("Cases", "Notes", "7"))
    for sheet in (1, "1", "Cases", "cases "):
        assert len(read_sheet(tmp_path / "t.xlsx", Reading(sheet=sheet)).frame) == 30


@pytest.mark.parametrize("decimal", [None, ","])
def test_units_and_bounds_beside_decimal_commas(tmp_path, decimal):
    """`1,234 kg` is a little more than one, whether commas were guessed or said."""
    path = tmp_path / "t.csv"
    rows = [f"{i},{100 + i} kg;{'<' * (i == 3)}{60 + i * i % 7},5;{i % 3},5" for i in range(1, 9)]
    path.write_text("\n".join(["a;b;y", *rows]))
    means = fit_source(path, "y", reading=Reading(decimal=decimal)).world.units.means
    assert means == pytest.approx([4.6045, 62.375])


def test_signs_beyond_the_first_pages_are_read_as_well(tmp_path):
    """The first lines have whole numbers only; what comes later decides, column by column."""
    path = tmp_path / "t.csv"
    rows = [f"{i};{2 * i};{i % 7}" for i in range(20_000)]
    path.write_text("\n".join(["a;b;y", *rows, "1,5;2;3", "2,5;-;1", "1.234,5;1;1"]))
    sheet = read_sheet(path)
    assert sheet.frame["a"].tolist()[-3:] == [1.5, 2.5, 1234.5]
    assert sheet.frame["b"].tolist()[-2] == "-"
    assert "decimal commas in a" in sheet.notes[0]


def test_a_code_for_missing_does_not_hide_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2,5 mg\n-;3 mg\n2,5;1.000,5 mg\n3,5;4 mg\n")
    frame = read_sheet(path).frame
    assert frame["a"].tolist() == ["1.5", "-", "2.5", "3.5"]
    assert frame["b"].tolist() == ["2.5 mg", "3 mg", "1000.5 mg", "4 mg"]


def test_dates_and_codes_stay_what_they_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day;code;y\n01.02.2024;C50.1;1,5\n02.02.2024;C50.9;2,5\n03.02.2024;D1;3,5\n")
    frame = read_sheet(path).frame
    assert frame["day"].tolist() == ["01.02.2024", "02.02.2024", "03.02.2024"]
    assert frame["code"].tolist() == ["C50.1", "C50.9", "D1"]
    assert frame["y"].tolist() == [1.5, 2.5, 3.5]


def test_blank_edges_are_left_out_and_names_are_one_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('" body\nfat ",age\x07,,\n1,2,,\n3,4,,\n,,,\n\n')
    sheet = read_sheet(path)
    assert list(sheet.frame.columns) == ["body fat", "age"]
    assert len(sheet.frame) == 2
    path.write_text(",age\n1,2\n2,3\n")  # as R writes the numbers of rows
    sheet = read_sheet(path)
    assert list(sheet.frame.columns) == ["column 1", "age"]
    assert "a column without a name is called 'column 1'" in sheet.notes[0]
    table = [[1.0, 2.0, None, None], [3.0, 4.0, None, None], [None] * 4]
    writing.xlsx(tmp_path / "t.xlsx", table, header=["x", 2020, None, "  "])
    frame = read_sheet(tmp_path / "t.xlsx").frame
    assert list(frame.columns) == ["x", "2020"]
    assert len(frame) == 2


def test_names_of_columns_may_be_any_word(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('self;frame\n"1,5";1,2\n2,5;2,2\n-;1\n')
    assert read_sheet(path).frame["self"].tolist() == ["1.5", "2.5", "-"]


def test_a_first_line_of_few_names_is_no_title(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,,\n1,2,3\n4,5,6\n")
    assert list(read_sheet(path).frame.columns) == ["a", "column 2", "column 3"]
