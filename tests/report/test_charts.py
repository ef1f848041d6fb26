"""Charts: what is drawn lies where it should, is named, and can stand in any page."""

import ast
import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor import report as room
from preceptor.report.charts import (
    DASHES,
    WIDTH,
    Axis,
    Dots,
    Line,
    Row,
    Spans,
    fitted,
    line_chart,
    row_chart,
    text_width,
    timeline_chart,
    wrapped,
)

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<script>&\"'$x$ \x00 \ud800"
LONG = "a name that is far longer than any column beside a chart may ever be, number "
CASES = Axis.counting(0.5, 4.5)


def lines_of(*series, **options):
    given = {"x_axis": CASES, "x_label": "case", "y_label": "loss", **options}
    return line_chart("lines", "Losses of each case", series, **given)


def timeline_of(*rows, **options):
    given = {"x_axis": CASES, "x_label": "case", **options}
    return timeline_chart("rows", "What is shown when", rows, **given)


def rows_of(*rows, spans=None):
    """Rows of marks from a name and two values each."""
    found, most = [row[1] for row in rows], [row[2] for row in rows]
    return row_chart(
        "rows", "What is saved", [row[0] for row in rows],
        [Dots("found", found, "#0072b2", "circle"), Dots("at most", most, "#d55e00", "diamond")],
        x_axis=Axis.covering([0.0, *found, *most]), x_label="saved, %", spans=spans,
    )  # fmt: skip


def texts(svg):
    """What is written, cut names as they are shown."""
    return [found.text for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def boxes(svg, colour):
    """Left, top, width and height of all rectangles of a colour."""
    return [
        tuple(float(found.get(key)) for key in ("x", "y", "width", "height"))
        for found in ElementTree.fromstring(svg).iter(f"{SVG}rect")
        if found.get("fill") == colour
    ]


def paths(svg, colour):
    """Paths drawn with a colour, as text."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}path")
    return [path.get("d") for path in found if path.get("stroke") == colour]


def label_at(svg, words):
    """Where a text stands, from the left and from the top."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    place = next(each for each in found if each.text == words)
    return float(place.get("x")), float(place.get("y"))


FLAT = Line("flat", [1, 2, 3, 4], [2.0] * 4, "#111111")
CHARTS = {
    "lines": lines_of(FLAT, Line(NASTY, [1, 2], [0.0, 4.0], "#222222", DASHES[1], target=3.0)),
    "no lines": lines_of(),
    "a point": lines_of(Line("one", [1], [0.0], "#111111")),
    "nothing known": lines_of(Line("gaps", [1, 2], [math.nan, math.inf], "#111111")),
    "timeline": timeline_of(
        Row(NASTY, [(0.5, 2.5)], "#333333"), Row("b", [], "#444444"), note=NASTY, shaded_from=2.5
    ),
    "no rows": timeline_of(),
    "marks": rows_of((NASTY, 1.0, 3.0), ("b", 0.0, 0.0)),
    "spans": rows_of((NASTY, 1.0, -3.0), spans=Spans("between", [(-2.0, 2.0)], "#111111")),
    "no marks": rows_of(),
    "only zeros": rows_of(("a", 0.0, 0.0)),
    "long names": rows_of((LONG * 3, 1.0, 2.0)),
}


@pytest.mark.parametrize("svg", CHARTS.values(), ids=CHARTS)
def test_any_chart_is_well_formed_named_and_self_contained(svg):
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert len(root.get("aria-label")) > 10
    left, top, width, height = map(float, root.get("viewBox").split())
    assert (left, top, width) == (0.0, 0.0, WIDTH)
    assert 40.0 < height < 1000.0
    ids = [found.get("id") for found in root.iter() if found.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name == ids[0] or name.startswith(f"{ids[0]}-") for name in ids)
    assert {target in ids for target in re.findall(r"url\(#([^)]*)\)", svg)} <= {True}
    assert not re.search(r"<script|<image|href|nan|inf\b", svg)


@pytest.mark.parametrize("svg", CHARTS.values(), ids=CHARTS)
def test_no_text_leaves_the_picture(svg):
    root = ElementTree.fromstring(svg)
    height = float(root.get("viewBox").split()[3])
    for parent in root.iter():
        moved = re.match(r"translate\((\S+) (\S+)\)$", parent.get("transform", ""))
        dx, dy = (float(part) for part in moved.groups()) if moved else (0.0, 0.0)
        for found in parent.findall(f"{SVG}text"):
            if "rotate" in found.get("transform", ""):
                continue
            width = text_width(found.text)
            share = {None: 0.0, "middle": 0.5, "end": 1.0}[found.get("text-anchor")]
            left = float(found.get("x")) + dx - share * width
            assert left >= -0.1
            assert left + width <= WIDTH + 0.1
            assert 0.0 < float(found.get("y")) + dy <= height


def test_words_stay_words():
    for name in ("lines", "timeline", "marks", "spans"):
        kept = "".join(ElementTree.fromstring(CHARTS[name]).itertext())
        assert "<script>&\"'$x$" in kept
        assert "<script" not in CHARTS[name]


@given(
    st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=5),
    st.floats(1e-6, 1e6),
)
def test_linear_ticks_cover_the_data_and_are_round(values, unit):
    values = [round(value, 3) * unit for value in values]
    axis = Axis.covering(values)
    slack = 1e-6 * (axis.high - axis.low)
    assert axis.low - slack <= min(values)
    assert max(values) <= axis.high + slack
    assert 2 <= len(axis.ticks) <= 8
    steps = [b - a for a, b in pairwise(axis.ticks)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-5)
    digits = f"{steps[0]:.3e}"
    assert float(digits[:5]) in (1.0, 2.0, 5.0)
    ratio = axis.low / steps[0]
    assert ratio == pytest.approx(round(ratio), abs=1e-4)
    assert len(set(axis.labels)) == len(axis.labels)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0, 1.0], ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
        ([-3.0, 12.0], ("−5", "0", "5", "10", "15")),
        ([0.0, 5000.0], ("0", "1,000", "2,000", "3,000", "4,000", "5,000")),
        ([0.0, 3e9], ("0", "5e8", "1e9", "1.5e9", "2e9", "2.5e9", "3e9")),
        ([0.0, 4e-7], ("0", "1e−7", "2e−7", "3e−7", "4e−7")),
        ([7.0, 7.0], ("2", "4", "6", "8", "10", "12")),
        ([-7.0, -7.0], ("−12", "−10", "−8", "−6", "−4", "−2")),
        ([0.0, 0.0], ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
        ([], ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
    ],
)
def test_labels_are_short_and_exact(values, labels):
    assert Axis.covering(values).labels == labels


@pytest.mark.parametrize("rounds", [1, 2, 4, 60, 600])
def test_cases_are_counted_in_whole_numbers(rounds):
    axis = Axis.counting(0.5, rounds + 0.5)
    assert (axis.low, axis.high) == (0.5, rounds + 0.5)
    assert all(tick == int(tick) and 1 <= tick <= rounds for tick in axis.ticks)
    assert 1 <= len(axis.ticks) <= 8


def test_a_point_lies_between_its_ticks():
    svg = lines_of(Line("a", [1, 3], [0.0, 10.0], "#123456"))
    path = re.fullmatch(r"M(\S+) (\S+)L(\S+) (\S+)", paths(svg, "#123456")[0])
    x1, y1, x3, y3 = (float(part) for part in path.groups())
    assert (x1, x3) == (label_at(svg, "1")[0], label_at(svg, "3")[0])
    (_, zero), (_, ten) = label_at(svg, "0"), label_at(svg, "10")
    assert y1 - y3 == pytest.approx(zero - ten, abs=0.02)
    assert y1 > y3


def test_a_step_holds_for_the_whole_of_its_case():
    svg = lines_of(Line("a", [1, 2, 3, 4], [1.0, 1.0, 2.0, 1.0], "#123456", is_stepped=True))
    path = paths(svg, "#123456")[0]
    x, high, to_3, low, to_4, again, end = (
        float(part) for part in re.fullmatch(r"M(\S+) (.+)H(.+)V(.+)H(.+)V(.+)H(.+)", path).groups()
    )
    middle = {case: label_at(svg, str(case))[0] for case in (2, 3, 4)}
    assert to_3 == pytest.approx((middle[2] + middle[3]) / 2, abs=0.02)
    assert to_4 == pytest.approx((middle[3] + middle[4]) / 2, abs=0.02)
    assert high == again > low
    assert x < to_3 < to_4 < end


@pytest.mark.parametrize("is_stepped", [False, True])
def test_gaps_stay_gaps_and_lone_points_can_be_seen(is_stepped):
    values = [1.0, math.nan, 2.0, 3.0]
    svg = lines_of(Line("a", [1, 2, 3, 4], values, "#123456", is_stepped=is_stepped))
    path = paths(svg, "#123456")[0]
    assert path.count("M") == 2
    first = path.split("M")[1]
    assert ("H" if is_stepped else "h") in first


def test_every_series_is_in_the_legend_and_looks_like_no_other():
    count = 40
    series = [
        Line(f"{LONG}{i}", [1, 2], [i, i], f"#{i % 8}00000", DASHES[(i + i // 8) % len(DASHES)])
        for i in range(count)
    ]
    svg = lines_of(*series)
    titles = [found.text for found in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert titles == [line.name for line in series]
    shown = [words for words in texts(svg) if "…" in words]
    assert len(set(shown)) == count
    samples = ElementTree.fromstring(svg).findall(f"{SVG}g/{SVG}line")
    looks = [(line.get("stroke"), line.get("stroke-dasharray")) for line in samples]
    assert len(looks) == len(set(looks)) == count


def test_a_target_is_marked_at_the_right_edge():
    svg = lines_of(Line("a", [1, 2], [0.0, 1.0], "#123456", target=10.0))
    arrow = next(
        path.get("d")
        for path in ElementTree.fromstring(svg).iter(f"{SVG}path")
        if path.get("fill") == "#123456"
    )
    x, y = (float(part) for part in re.match(r"M(\S+) ([\d.]+)l", arrow).groups())
    assert x > label_at(svg, "4")[0]
    assert y == pytest.approx(label_at(svg, "10")[1], abs=5.0)


def test_bars_of_the_timeline_span_their_cases():
    rows = [Row("a", [(0.5, 1.5), (3.5, 4.5)], "#123456"), Row("b", [(1.5, 3.5)], "#654321")]
    svg = timeline_of(*rows, shaded_from=3.5)
    first, last = boxes(svg, "#123456")
    (middle,) = boxes(svg, "#654321")
    case = label_at(svg, "2")[0] - label_at(svg, "1")[0]
    assert first[2] == pytest.approx(case, abs=0.02)
    assert first[0] + first[2] / 2 == pytest.approx(label_at(svg, "1")[0], abs=0.02)
    assert middle[2] == pytest.approx(2 * case, abs=0.04)
    assert last[0] == pytest.approx(middle[0] + middle[2], abs=0.02)
    assert first[1] + first[3] < middle[1]
    assert first[1] < label_at(svg, "a")[1] < first[1] + first[3] < label_at(svg, "b")[1]


def test_more_rows_need_more_height_and_never_overlap():
    rows = [Row(f"{LONG}{i}", [(0.5, 1.5)], "#123456") for i in range(50)]
    svg = timeline_of(*rows)
    tops = [top for _, top, _, _ in boxes(svg, "#123456")]
    height = boxes(svg, "#123456")[0][3]
    assert all(b - a > height for a, b in pairwise(tops))
    names = [words for words in texts(svg) if "…" in words]
    assert [name[-2:].strip(" r") for name in names] == [str(i) for i in range(50)]


def test_marks_lie_at_their_values_and_within_the_axis():
    svg = rows_of(("a", 1.0, 4.0), ("b", 2.0, 2.0), ("c", math.inf, math.nan))
    x = [float(c.get("cx")) for c in ElementTree.fromstring(svg).iter(f"{SVG}circle")]
    left, unit = label_at(svg, "0")[0], label_at(svg, "1")[0] - label_at(svg, "0")[0]
    assert x[:2] == pytest.approx([left + unit, left + 2 * unit], abs=0.03)
    assert len(x) == 3  # what is not finite has no mark, the legend has a sample
    assert {"a", "b", "c", "found", "at most", "saved, %"} <= set(texts(svg))
    beyond = row_chart(
        "rows", "Regrets of two people", ["a"], [Dots("found", [9.0], "#0072b2", "circle")],
        x_axis=Axis.covering([0.0, 4.0]), x_label="x",
    )  # fmt: skip
    edge = next(ElementTree.fromstring(beyond).iter(f"{SVG}circle"))
    assert float(edge.get("cx")) == pytest.approx(label_at(beyond, "4")[0], abs=0.03)


def test_spans_hold_their_values():
    spans = Spans("between", [(0.5, 2.0), (-2.0, 0.0)], "#0000aa")
    svg = rows_of(("a", 1.0, 3.0), ("b", -1.0, -2.0), spans=spans)
    root = ElementTree.fromstring(svg)
    dots = [float(c.get("cx")) for c in root.iter(f"{SVG}circle")][:2]
    lines = [
        (float(each.get("x1")), float(each.get("x2")))
        for each in root.iter(f"{SVG}line")
        if each.get("stroke") == "#0000aa"
    ][:2]
    for dot, (low, high) in zip(dots, lines, strict=True):
        assert low < dot < high
    unit = (lines[0][1] - lines[0][0]) / 1.5
    assert dots[0] - dots[1] == pytest.approx(2 * unit, abs=0.05)


def test_names_are_cut_in_the_middle_and_kept_whole_where_there_is_room():
    assert fitted("abdomen", 200.0) == "abdomen"
    cut = fitted(f"{LONG}12", 100.0)
    assert cut.startswith("a n")
    assert cut.endswith("12")
    assert text_width(cut) <= 100.0
    assert wrapped("one two three", text_width("one two")) == ["one two", "three"]
    assert text_width("漢字") > text_width("ab")


def test_charts_know_nothing_of_plans():
    folder = Path(room.__file__).parent
    drawing = {"palette", "charts"}
    allowed = {"preceptor.errors", *(f"preceptor.report.{name}" for name in drawing)}
    for name in drawing:
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("preceptor"):
                assert node.module in allowed
