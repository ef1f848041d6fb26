"""Pages hold any names: of 400 letters, of 80 tests, from right to left, with tags in them."""

from xml.etree import ElementTree

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.advice import Advice, Provenance
from preceptor.model.world import Units
from preceptor.report import figures, schedule_view
from preceptor.report.charts import clusters, fitted, shortened, text_width
from preceptor.report.html import render_report
from preceptor.report.schedule_view import MOST_ROWS
from preceptor.report.session import render_session
from tests.report.test_html import Page, words_of

SVG = "{http://www.w3.org/2000/svg}"
LONG = [f"{'a long name of a test in the laboratory, ' * 10}no. {i}" for i in range(3)]
UNBROKEN = "unbroken" * 50
ARABIC, HEBREW = "مستوى الكوليسترول", "גיל המטופל"
NURSE = "\U0001f469\u200d\u2695\ufe0f"


def plan_of(names, policy=None, size=None, outcome="fat"):
    size = size or len(names)
    units = Units(np.full(size, 9.0), np.ones(size), outcome, 19.0)
    weights = np.linspace(2.0, 0.1, size)
    world = pr.World(
        weights,
        pr.World.equicorrelated(np.ones(size), 0.3).covariance,
        0.5,
        names=names,
        units=units,
    )
    problem = pr.Problem(world, pr.Learner(np.zeros(size), pr.Geometric(1.2)), budget=2)
    policy = policy or pr.ExploreThenCommit([(0, 1), (1, 2)] * 3, (0, 2))
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, 0.9 * value, pr.Status.BOUNDED, "by hand", 0.0)


def page_of(plan):
    return render_report(Advice(plan, (), (), Provenance("a plan", "", None, 0, "1.2")))


def test_names_in_pictures_are_cut_and_whole_when_pointed_at():
    plan = plan_of([*LONG, UNBROKEN])
    for svg in (schedule_view.timeline(plan), figures.learning(plan)):
        root = ElementTree.fromstring(svg)
        titles = {found.text for found in root.iter(f"{SVG}title")}
        assert LONG[0] in titles
        assert all(text_width(found.text) < 440 for found in root.iter(f"{SVG}text"))
        assert len(root.get("aria-label")) < 600


@pytest.mark.full
def test_eighty_tests_do_not_explode():
    size = 80
    rotation = [tuple(sorted((i, (i + 7) % size))) for i in range(size)]
    plan = plan_of(
        [f"test number {i}" for i in range(size)], pr.ExploreThenCommit(rotation, (0, 1))
    )
    timeline = ElementTree.fromstring(schedule_view.timeline(plan))
    rows = [found.text for found in timeline.iter(f"{SVG}text") if "test" in (found.text or "")]
    assert len(rows) <= 25
    assert any("more tests" in row for row in rows)
    lines = ElementTree.fromstring(figures.learning(plan)).iter(f"{SVG}path")
    looks = [(p.get("stroke"), p.get("stroke-dasharray")) for p in lines if p.get("stroke")]
    assert len(looks) == len(set(looks)) == len({stroke for stroke, _ in looks}) == 8
    assert len(figures.correlated(plan)) == MOST_ROWS
    assert {0, 1} <= set(figures.correlated(plan))
    page = page_of(plan)
    parsed = Page(page)
    heights = [float(g["viewbox"].split()[3]) for tag, g in parsed.attributes if tag == "svg"]
    assert max(heights) < 700
    words = words_of(page)
    assert "Of 80 columns these are the 20 that matter most" in words
    assert "Of 80 columns that are shown, the 8 that weigh most" in words
    assert "60 more" in words
    assert len(page) < 250_000


def test_names_from_right_to_left_are_kept_apart_in_tables():
    page = page_of(plan_of([ARABIC, HEBREW, "bp"]))
    for name in (ARABIC, HEBREW):
        assert f"<bdi>{name}</bdi>" in page


@pytest.mark.parametrize("name", [NURSE, "e\u0301\u0302", "\u0ba8\u0bbf"])
def test_what_looks_like_one_letter_is_never_cut_in_two(name):
    assert clusters(name) == [name]
    repeated = name * 60
    short = shortened(repeated)
    assert set(clusters(short)) == {name, "…"}
    cut = fitted(repeated, 100.0)
    assert set(clusters(cut)) == {name, "…"}
    page_of(plan_of([repeated, "a", "b"]))


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a\"b'c", "{{ 7 * 7 }}", "&amp;", "x\x00\x07y", "\ud800"]
)
def test_names_cannot_break_pages(name):
    plan = plan_of([name, f"{name}{'l' * 400}", "b"], outcome=f"{name} of outcome")
    page = page_of(plan)
    page.encode("utf-8")
    parsed = Page(page)
    assert "script" not in parsed.tags
    assert "49" not in words_of(page)[:400]
    for svg in (schedule_view.timeline(plan), figures.learning(plan)):
        ElementTree.fromstring(svg)


def test_pages_of_a_run_hold_long_names_too():
    plan = plan_of([*LONG, UNBROKEN], outcome="o" * 400)
    tutor = pr.Tutor(plan.problem).after((0, 3), [9.0, 9.5], 19.0, 20.0)
    page = render_session(tutor, name="n" * 400)
    for name in (LONG[0], UNBROKEN, "n" * 400, "o" * 400):
        assert name in page
    assert "overflow-wrap: anywhere" in page
    Page(page)
