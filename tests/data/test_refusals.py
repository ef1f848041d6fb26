"""Files that hold no table, or one that nobody should unpack: a sentence, and quickly."""

from __future__ import annotations

import os
import zipfile

import openpyxl
import pandas as pd
import pytest

from preceptor.data.opening import TABLE_SUFFIXES, Reading
from preceptor.data.sheet import read_cells, read_sheet
from preceptor.data.world_fitting import fit_source
from preceptor.errors import InvalidFile, InvalidInput
from tests.data import writing


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sheet": 0}, "sheet: 0, must be the name of a sheet, or its number from 1"),
        ({"sheet": ""}, "sheet: '', must be the name"),
        ({"separator": ";;"}, "separator: ';;', must be one character"),
        ({"separator": "a"}, "separator: 'a', must be one character"),
        ({"separator": "\n"}, "separator: '\\n', must be one character"),
        ({"separator": "§"}, "separator: '§', must be one character"),
        ({"decimal": ";"}, "decimal: ';', must be '.' or ','"),
        ({"decimal": ",", "separator": ","}, "decimal: ',' is also the `separator`"),
        ({"encoding": "klingon"}, "encoding: 'klingon' is not known; use utf-8"),
        ({"encoding": "base64"}, "encoding: 'base64' is not known"),
        ({"encoding": "a\0b"}, "is not known"),
    ],
)
def test_a_reading_is_checked(given, message):
    with pytest.raises(InvalidInput) as caught:
        Reading(**given)
    assert message in str(caught.value)


def test_all_faults_of_a_reading_at_once_and_a_tab_in_words():
    with pytest.raises(InvalidInput, match="3 problems found"):
        Reading(sheet=-1, separator="ab", encoding="klingon")
    assert Reading(separator="tab") == Reading(separator="\\t") == Reading(separator="\t")
    assert Reading(missing="-").missing == ("-",)


HTML = b"\xef\xbb\xbf\n<html><body><table><tr><td>a</td></tr></table></body></html>"
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty; it needs a header"),
        ("t.csv", b"\xef\xbb\xbf \n\n", "is empty; it needs a header"),
        ("t.csv", b"a,b,y\n", "no rows"),
        ("t.csv", b"a,b,y\n1,2\n1,2,3,4\n", "line 2: 2 cells, but the header has 3"),
        ("t.csv", b'a,b,y\n"1",2\n', "line 2: 2 cells, but the header has 3"),
        ("t.csv", b"Export of Monday\na,b,y\n1,2,3\n", "line 2: 3 cells, but the header has 1 col"),
        ("t.csv", b"a,b,a\n1,2,3\n", "line 1: column 'a' is there twice"),
        ("t.csv", b"a, a\n1,2\n", "line 1: column 'a' is there twice"),
        ("t.csv", b"a b y\n1 2 3\n", "has one column only, 'a b y'; give the `separator`"),
        ("t.csv", b'sep="\na,b\n1,2,3\n', "line 3: 3 cells, but the header has 1 column"),
        ("t.csv", b"a,y\n1,\0\n", "line 2 holds a zero byte"),
        ("t.csv", b"a,y\n\x81,2\n", "neither in UTF-8 nor in cp1252; give the `encoding`"),
        ("t.csv", b"PK\x03\x04rest", "is packed, as workbooks are; name it .xlsx"),
        ("t.csv", OLD, "is an old Excel file; name it .xls"),
        ("t.csv", b"PAR1rest", "name it .parquet"),
        ("t.csv", HTML, "is a web page; save it as .csv"),
        ("t.csv", b'a,y\n1,"' + b"x" * 200_000 + b'"\n', "field larger than field limit"),
        ("t.csv", b"a,y\n1," + b"x" * 200_000 + b"\n", "field larger than field limit"),
        ("t.csv", b",".join(b"c%d" % i for i in range(10_001)) + b"\n", "10,001 columns, at most"),
        ("t.xlsx", b"", "is empty"),
        ("t.xlsx", b"a;b;y\n1;2;3\n", "is not a workbook but a text file; name it .csv"),
        ("t.xlsx", HTML, "is a web page, not a workbook"),
        ("t.xlsx", OLD, "is protected with a password; save it without one"),
        ("t.xlsx", b"\0\1\2\3", "is not a workbook but damaged"),
        ("t.xlsx", b"PK\x03\x04rest", "cannot be read as a workbook"),
        ("t.xls", OLD, "cannot be read as a workbook"),
        ("t.ods", b"PK\x03\x04rest", "cannot be read as a workbook"),
        ("t.jsonl", b"{\n", "line 1: not valid JSON"),
        ("t.jsonl", b"[" * 100_000, "line 1: nested more than 50"),
        ("t.jsonl", b"[1]\n", "line 1: expected an object"),
        (
            "t.jsonl",
            b'{"y": ' + b"9" * 6_000 + b', "a": 1}\n',
            "holds a whole number of more than 4,300 digits",
        ),
        ("t.jsonl", b'{"a": 1, " a": 2}\n', "column 'a' is there twice"),
        ("t.jsonl", b"\n", "is empty"),
        ("t.parquet", b"PAR1 no PAR1", "not a Parquet file"),
        ("t.doc", b"", "must end in .csv"),
    ],
)
def test_what_is_no_table(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidFile) as caught:
        fit_source(path, "y")
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_sheets_that_are_not_there(tmp_path):
    book = writing.xlsx(tmp_path / "t.xlsx", sheets=("Cases", "Notes"))
    for sheet in ("Case", 3, "3"):
        with pytest.raises(InvalidFile, match=r"must be one of 'Cases', 'Notes', or a number from"):
            read_sheet(book, Reading(sheet=sheet))
    with pytest.raises(InvalidFile, match="is empty"):
        read_sheet(book, Reading(sheet="Notes"))
    for name, write in (("t.jsonl", writing.json_lines), ("t.parquet", writing.parquet)):
        with pytest.raises(InvalidFile, match="`sheet` is 'A', but only workbooks have sheets"):
            read_sheet(write(tmp_path / name), Reading(sheet="A"))
    (tmp_path / "t.csv").write_text(writing.text(), encoding="utf-8")
    with pytest.raises(InvalidFile, match="`sheet` is 1, but only workbooks have sheets"):
        read_sheet(tmp_path / "t.csv", Reading(sheet=1))
    with pytest.raises(InvalidFile, match=r"is not text in ascii \(`encoding`\)"):
        read_sheet(tmp_path / "t.csv", Reading(encoding="ascii"))


def test_only_regular_files(tmp_path):
    (tmp_path / "f.csv").mkdir()
    os.mkfifo(tmp_path / "p.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name, message in [
        ("f.csv", "is a folder"),
        ("p.csv", "is a device or a pipe; save the table as a file"),
        ("zero.csv", "is a device or a pipe"),
        ("none.csv", "no such file"),
        ("a\0b.csv", "cannot be read"),
        ("x" * 300 + ".csv", "cannot be read"),
    ]:
        for read in (read_sheet, read_cells):
            with pytest.raises(InvalidFile, match=message):
                read(tmp_path / name)


def test_files_too_large_are_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\n")
    os.truncate(path, 2 * 2**30)  # takes no room
    with pytest.raises(InvalidFile, match=r"has 2\.0 GB, at most 1 GB are read"):
        read_sheet(path)
    monkeypatch.setattr("preceptor.data.opening.MOST_CELLS", 100)
    for write in (writing.parquet, writing.json_lines):
        path = write(tmp_path / f"t.{'parquet' if write is writing.parquet else 'jsonl'}")
        with pytest.raises(InvalidFile, match="30 rows of 4 columns, at most 100 cells"):
            read_sheet(path)


def test_small_workbooks_that_unpack_into_huge_ones(tmp_path, monkeypatch):
    far = openpyxl.Workbook()
    far.active["A1"], far.active["XFD1048576"] = "a", 1
    far.save(tmp_path / "far.xlsx")
    with pytest.raises(InvalidFile, match="1,048,576 rows of 16,384 columns"):
        read_sheet(tmp_path / "far.xlsx")
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/sharedStrings.xml", bytes(2**21))
    monkeypatch.setattr("preceptor.data.opening.MOST_BYTES", 2**20)
    with pytest.raises(InvalidFile, match=r"unpacks to 2 MB, too much for a workbook of 0\.0 MB"):
        read_sheet(tmp_path / "bomb.xlsx")


def test_blank_cells_far_away_do_no_harm_in_open_document_files(tmp_path):
    """LibreOffice ends every sheet with a million blank rows."""
    cells = "".join(
        f"<table:table-row>{''.join(_text_cell(v) for v in row)}"
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        for row in (("a", "y"), ("1", "2"), ("3", "4"))
    )
    blank = '<table:table-cell table:number-columns-repeated="16384"/>'
    end = f'<table:table-row table:number-rows-repeated="1048000">{blank}</table:table-row>'
    sheet = read_sheet(writing.raw_ods(tmp_path / "t.ods", cells + end))
    assert sheet.frame.shape == (2, 2)


def _text_cell(value):
    return (
        f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
    )


@pytest.mark.parametrize("write", [writing.xlsx, writing.ods])
def test_damage_inside_of_what_is_packed(tmp_path, write):
    path = tmp_path / f"t.{write.__name__}"
    raw = bytearray(write(path).read_bytes())
    entry = b"sheet1.xml" if write is writing.xlsx else b"content.xml"
    start = raw.index(entry) + len(entry)
    raw[start : start + 40] = bytes(40)
    path.write_bytes(raw)
    with pytest.raises(InvalidFile, match="cannot be read as a workbook"):
        read_sheet(path)


def test_a_password_is_named(tmp_path, monkeypatch):
    def locked(*given, **options):
        raise RuntimeError("Password error")

    writing.xlsx(tmp_path / "t.xlsx")
    monkeypatch.setattr(pd, "ExcelFile", locked)
    with pytest.raises(InvalidFile, match="is protected with a password"):
        read_sheet(tmp_path / "t.xlsx")


def test_halves_of_letters_in_json(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a\\ud800": "\\udfff", "y": 1}\n')
    frame = read_sheet(path).frame
    assert frame.iloc[0].tolist() == ["?", 1]
    "".join(frame.columns).encode()


def test_every_suffix_is_read_as_a_sheet_and_as_cells(tmp_path):
    writers = {
        ".xlsx": writing.xlsx,
        ".xlsm": writing.xlsx,
        ".ods": writing.ods,
        ".jsonl": writing.json_lines,
        ".ndjson": writing.json_lines,
        ".parquet": writing.parquet,
    }
    for suffix in TABLE_SUFFIXES:
        if suffix == ".xls":  # no library writes them any more
            continue
        path = tmp_path / f"t{suffix}"
        plain = lambda p: p.write_text(writing.text(";", ","), encoding="utf-8")  # noqa: E731
        writers.get(suffix, plain)(path)
        assert read_sheet(path).frame.shape == (30, 4)
        cells = read_cells(path)
        assert list(cells.columns) == writing.HEADER
        assert len(cells.places) == 30
