"""Whatever a file holds, reading it ends in a world or a log, or in a sentence; never otherwise."""

from __future__ import annotations

import io
import json
import zipfile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.data.log import Log
from preceptor.data.opening import Reading
from preceptor.data.sheet import read_cells, read_sheet
from preceptor.data.world_fitting import fit_source
from preceptor.errors import InvalidInput
from preceptor.model.world import Units, World
from tests.data import writing
from tests.strategies import examples

ENCODINGS = ["utf-8", "utf-8-sig", "cp1252", "latin1", "utf-16", "utf-16-be", "utf-32", "cp037"]
ODD = [
    "", " ", "NA", "nan", "inf", "-inf", "1e999", "1e-320", "-0", "0x1F", "1_000", "1,5", "1.234,5",
    "1,234.5", "12'345", "63%", "63 y", "01.02.2024", "2024-01-02", "9" * 40, "9" * 400, "TRUE",
    "I", "II", "yes", '"', '""', "'", "a;b", "a,b", "a\tb", "a\nb", "a\rb", "=1+1", "é", "ß",
    "\x07", "\u2028", "\u00a0", "<td>", "٣", "−3", "bmi", "bp", "bmi;bp", "1;2", "#N/A", "x" * 300,
]  # fmt: skip
CELLS = st.one_of(
    st.sampled_from(ODD),
    st.floats(allow_nan=True).map(repr),
    st.integers(-1000, 1000).map(str),
    st.text(max_size=6),
)
READINGS = st.builds(
    Reading,
    separator=st.sampled_from([None, None, None, ",", ";", "tab", "|", " "]),
    decimal=st.sampled_from([None, None, "."]),
    encoding=st.sampled_from([None, None, None, *ENCODINGS]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@st.composite
def text_files(draw, names, numbers):
    """Bytes of a table: a header, rows that mostly fit, and cells that mostly are numbers."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    decimal = draw(st.sampled_from([".", ","]))
    usual = st.floats(-1e6, 1e6).map(lambda v: repr(round(v, 3)).replace(".", decimal))
    header = [draw(st.sampled_from([name, name, name, draw(CELLS)])) for name in names]
    lines = [header]
    for number in range(draw(st.integers(0, 12))):
        row = [draw(usual) for _ in header]
        row[:2] = numbers(number, row[:2])
        if draw(st.integers(0, 3)) == 0:
            row[draw(st.integers(0, len(row) - 1))] = draw(CELLS)
        if draw(st.integers(0, 11)) == 0:
            row = draw(st.sampled_from([row[:-1], [*row, "1"], [], ["", *row[1:]]]))
        lines.append(row)
    quoted = draw(st.booleans())
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = end.join(separator.join(_cell(c, separator, quoted) for c in row) for row in lines)
    text = draw(st.sampled_from(["", "", "sep=;\n", "\n\n", "Title" + end])) + text
    raw = text.encode(draw(st.sampled_from(ENCODINGS)), "replace")
    if draw(st.integers(0, 9)) == 0:
        cut = draw(st.integers(0, len(raw)))
        raw = raw[:cut] + draw(st.binary(max_size=4)) + raw[cut + 1 :]
    return raw


def _cell(cell, separator, quoted):
    if quoted and any(sign in cell for sign in (separator, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def ends_well(read):
    """What came of it; None if it was refused in words."""
    try:
        return read()
    except InvalidInput as error:
        str(error).encode("utf-8")  # can be printed
        return None


@given(text_files(["bmi", "bp", "age", "y"], lambda number, row: row), READINGS)
@examples(80)
def test_tables_end_in_a_world_or_a_sentence(folder, raw, reading):
    for name in ("t.csv", "t.tsv"):
        path = folder / name
        path.write_bytes(raw)
        ends_well(lambda path=path: read_sheet(path, reading))
    found = ends_well(lambda: fit_source(path, "y", reading=reading))
    if found is not None:
        assert found.world.size >= 1


@given(
    text_files(
        ["participant", "round", "bmi", "grade", "prediction", "outcome"],
        lambda number, row: ["ann", str(number)],
    ),
    READINGS,
)
@examples(80)
def test_wide_logs_end_in_a_log_or_a_sentence(folder, raw, reading):
    _read_log(folder, raw, reading)


@given(
    text_files(
        ["participant", "round", "shown", "values", "prediction", "outcome", "when"],
        lambda number, row: ["ann", str(number)],
    ),
    READINGS,
)
@examples(80)
def test_logs_of_lists_end_in_a_log_or_a_sentence(folder, raw, reading):
    _read_log(folder, raw, reading)


def _read_log(folder, raw, reading):
    world = World(
        [1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], names=["bmi", "grade=I"], groups={"grade": [1]},
        units=Units([0.0] * 2, [1.0] * 2, levels={"grade": {"I": "grade=I", "II": ""}}),
    )  # fmt: skip
    path = folder / "log.csv"
    path.write_bytes(raw)
    log = ends_well(lambda: Log.read(path, world, reading=reading))
    if log is not None:
        log.write(folder / "again.csv", world=world)
        assert Log.read(folder / "again.csv", world) == log


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | CELLS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["bmi", "bp", "y", " y", "é\n"]), JSON), max_size=9)
)
@examples(60)
def test_json_lines(folder, records):
    path = folder / "t.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    ends_well(lambda: fit_source(path, "y"))
    ends_well(lambda: Log.read(path, ("bmi", "bp")))


@pytest.fixture(scope="module")
def workbooks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("books")
    return [
        writing.xlsx(folder / "t.xlsx").read_bytes(),
        writing.ods(folder / "t.ods").read_bytes(),
        writing.parquet(folder / "t.parquet").read_bytes(),
    ]


@given(st.data())
@examples(60)
def test_damaged_workbooks(folder, workbooks, data):
    """Some bytes changed, some of them inside what was packed."""
    which = data.draw(st.integers(0, 2))
    raw = workbooks[which]
    if which < 2 and data.draw(st.booleans()):
        raw = _damaged_inside(raw, data)
    else:
        cut = data.draw(st.integers(0, len(raw)))
        raw = (
            raw[:cut] + data.draw(st.binary(max_size=5)) + raw[cut + data.draw(st.integers(0, 5)) :]
        )
    path = folder / ("t.xlsx", "t.ods", "t.parquet")[which]
    path.write_bytes(raw)
    ends_well(lambda: fit_source(path, "y"))
    ends_well(lambda: read_cells(path))


def _damaged_inside(raw, data):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
        victim = data.draw(st.sampled_from(old.namelist()))
        for name in old.namelist():
            content = old.read(name)
            if name == victim:
                cut = data.draw(st.integers(0, len(content)))
                content = content[:cut] + data.draw(st.binary(max_size=3)) + content[cut + 2 :]
            new.writestr(name, content)
    return out.getvalue()


@given(st.lists(st.lists(st.none() | st.floats(-9, 9) | CELLS, max_size=4), max_size=8))
@examples(40)
def test_workbooks_of_anything(folder, rows):
    book = openpyxl.Workbook()
    clean = openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE
    for row in [["bmi", "bp", "y"], *rows] if len(rows) % 2 else rows:
        book.active.append([clean.sub("", c) if isinstance(c, str) else c for c in row])
    book.save(folder / "t.xlsx")
    ends_well(lambda: fit_source(folder / "t.xlsx", "y"))
    ends_well(lambda: Log.read(folder / "t.xlsx", ("bmi", "bp")))
