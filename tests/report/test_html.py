"""The report: one whole, safe, self-contained page that says what the plan says."""

import functools
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.advice import Advice, Provenance
from preceptor.advice.alternatives import alternatives
from preceptor.advice.sensitivity import sensitivity
from preceptor.errors import InvalidFile, MissingExtra
from preceptor.model.world import Units
from preceptor.report.html import render_report, write_report
from preceptor.report.phrases import per_case, scale_of
from preceptor.report.tables import certificate_rows, rival_rows, weight_rows

WORLD = pr.World(
    [1.0, 0.8, 0.5],
    pr.World.equicorrelated([1, 1, 1], 0.6).covariance,
    0.5,
    names=["bmi", "<b>bp</b>", 'co$t & "more"'],
    units=Units([25, 90, 3], [4, 10, 1], "fat, <%>", 19.0),
)
PROBLEM = pr.Problem(WORLD, pr.Learner([0.2, 1.3, -0.4], pr.Geometric(1.1)), budget=2)
POLICIES = {
    "explores": pr.ExploreThenCommit([(0, 1)] * 5 + [(2,), (1,)] * 4, (0, 2)),
    "alternating": pr.Alternating([(0,), (1,)]),
    "stationary": pr.Stationary((0, 1)),
    "nothing": pr.Stationary(()),
}
VOID = {"meta", "br", "link", "img", "input", "hr"}


def plan_of(policy, problem=PROBLEM):
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, 0.9 * value, pr.Status.BOUNDED, "by hand", 0.0)


PLAN = plan_of(POLICIES["explores"])


@functools.cache
def changes():
    return sensitivity(PLAN)


@functools.cache
def page_of_plan():
    """Planned for changed assumptions too, so made once for all tests."""
    return render_report(PLAN)


class Page(HTMLParser):
    """Tags must close in order; ids, links and text are kept."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.text = [], [], [], [], []
        self.attributes = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.attributes.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[k] for k in ("href", "src", "xlink:href") if k in given]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def page():
    return page_of_plan()


def advice(plan, rivals=(), changes=(), estimate=None):
    origin = Provenance("a plan", "", None, 0, pr.__version__)
    return Advice(plan, rivals, changes, origin, estimate)


def words_of(page):
    return re.sub(r"\s+", " ", " ".join(Page(page).text))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_any_plan_becomes_a_well_formed_page(policy):
    plan = plan_of(policy)
    parsed = Page(render_report(advice(plan, alternatives(plan), changes())))
    assert len(parsed.ids) == len(set(parsed.ids))
    assert parsed.tags.count("h1") == 1
    assert parsed.tags.count("h2") == 8
    assert parsed.tags.count("svg") == 4


def test_nothing_comes_from_outside(page):
    parsed = Page(page)
    policies = [g["content"] for tag, g in parsed.attributes if g.get("http-equiv")]
    # The browser itself is told to fetch nothing, whatever a name may hold.
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert not {"script", "link", "iframe", "img", "object"} & set(parsed.tags)
    assert parsed.links == []
    assert "data:image" not in page
    loaded = re.findall(r"url\(([^)]*)\)", page)
    assert all(target.startswith("#") and target[1:] in parsed.ids for target in loaded)
    assert "@import" not in page


def test_pictures_and_tables_can_be_heard(page):
    parsed = Page(page)
    pictures = [given for tag, given in parsed.attributes if tag == "svg"]
    assert all(given["role"] == "img" and len(given["aria-label"]) > 20 for given in pictures)
    heads = [given for tag, given in parsed.attributes if tag == "th"]
    assert all(given["scope"] in ("row", "col") for given in heads)
    assert ("html", {"lang": "en"}) in parsed.attributes


def test_names_cannot_break_the_page(page):
    assert "<b>bp" not in page
    assert "fat, <%>" not in page
    words = words_of(page)
    assert "<b>bp</b>" in words
    assert 'co$t & "more"' in words


def test_the_page_says_what_the_plan_says(page):
    words = words_of(page)
    assert f"{PLAN.value:.8g} (exact)" in words
    assert f"{PLAN.lower_bound:.8g}" in words
    assert "11.2% above the best possible" in words
    assert "from case 14" in words
    assert f"{per_case(PROBLEM, PLAN.value):.3g}" in words
    assert "error of a weight halves every 7.27 showings" in words
    assert "plan.policy" not in words


def test_given_numbers_are_drawn_not_computed(monkeypatch, page):
    rivals = alternatives(PLAN)
    refuse = lambda *_, **__: pytest.fail("planned in a report")  # noqa: E731
    monkeypatch.setattr("preceptor.advice.advising.advice_on", refuse)
    assert render_report(advice(PLAN, rivals, changes())) == page


def test_it_says_where_it_comes_from():
    said = f"From a plan; Preceptor {pr.__version__}; seed 0"
    assert said in words_of(render_report(advice(PLAN)))
    command = "preceptor plan cases.csv --outcome 'f & t'"
    origin = Provenance("cases.csv", "fat", 60, 3, "1.2", "2026-11-16", command)
    page = render_report(Advice(PLAN, (), (), origin))
    known = words_of(page)
    assert "From cases.csv, 60 cases; 2026-11-16; Preceptor 1.2; seed 3" in known
    assert command in known
    # Right under the title, before anything that the plan says.
    title, origin_at, show = (page.index(mark) for mark in ("<h1>", "2026-11-16", 'id="show"'))
    assert title < origin_at < page.index("</header>") < show


def test_the_first_paragraph_answers_what_people_ask_first():
    given = advice(PLAN, alternatives(PLAN), changes())
    page = render_report(given)
    lead = page[page.index('class="lead"') : page.index('class="cards"')]
    words = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", lead)))
    assert given.headline
    for said in given.headline:
        assert re.sub(r"\s+", " ", said) in words
    assert page.index("<h1>") < page.index('class="lead"') < page.index("<h2")


def test_without_changes_and_rivals_there_is_still_a_page():
    text = render_report(advice(PLAN))
    assert Page(text).tags.count("svg") == 3
    assert "No assumption could be changed" in text


def test_rows_of_rivals_are_shares_of_the_plan():
    rivals = alternatives(PLAN)
    rows = rival_rows(PLAN, rivals)
    assert [row.title for row in rows] == [
        "This plan",
        *(rival.title for rival in rivals),
        "Best achievable",
    ]
    least = float(PROBLEM.oracle.floors().min()) / (1 - PROBLEM.discount)
    for row, rival in zip(rows[1:3], rivals[:2], strict=True):
        assert row.more == f"{rival.value / PLAN.value - 1:+.1%}"
        assert row.excess == f"{(rival.value - least) / (PLAN.value - least):.2f}x"
    assert "±" in rows[3].more


def test_a_saving_that_rounds_to_nothing_has_no_sign():
    rival = alternatives(PLAN)[0]
    same = replace(rival, value=PLAN.value * (1 - 1e-9))
    assert rival_rows(PLAN, [same])[1].more == "0.0%"


def test_weights_follow_the_learner():
    rows = {row.name: row for row in weight_rows(PLAN)}
    later = PROBLEM.learner.beliefs(WORLD, [5, 9, 4])
    assert rows["bmi"].showings == 5
    assert rows["<b>bp</b>"].showings == 9
    assert rows["bmi"].truth == "+1.00"
    assert rows["bmi"].first == "+0.20"
    for name, belief in zip(WORLD.labels, later, strict=True):
        assert float(rows[name].later) == pytest.approx(belief, abs=0.006)


def test_a_verification_is_reported():
    plan = pr.solve(PROBLEM, "truncated", length=3)
    good = dict(certificate_rows(plan, pr.verify(plan)))["Checked independently"]
    assert good.startswith("it holds. The policy is allowed.")
    wrong = replace(plan, value=plan.value * 1.1)
    assert "FAILED" in dict(certificate_rows(wrong, pr.verify(wrong)))["Checked independently"]


def test_losses_are_roots_of_squares_where_that_means_something():
    losses = np.array([4.0, 9.0])
    assert scale_of(PROBLEM).of(losses).tolist() == [2.0, 3.0]
    assert scale_of(PROBLEM).axis == "root-mean-square error (fat, <%>)"
    absolute = PROBLEM.replace(risk=pr.AbsoluteError())
    assert scale_of(absolute).of(losses).tolist() == [4.0, 9.0]
    assert "prices" in scale_of(PROBLEM.replace(budget=pr.AtMost(2, price=0.1))).axis
    assert scale_of(PROBLEM.replace(risk=pr.Huber(1.0))).unit == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": pr.AtMost(2, price=0.1)},
        {"risk": pr.Huber(1.0)},
        {"horizon": 20, "discount": 1.0},
        {"learner": pr.Learner([0, 0, 0], [pr.OneShot(), pr.PowerLaw(1.0), pr.Geometric(1.1)])},
        {"learner": pr.Learner([0, 0, 0], pr.Geometric(1.2, floor=0.1), 0.5)},
        {"start": (3, 0, 1)},
    ],
    ids=["priced", "Huber", "finite", "three curves", "floor", "has seen some"],
)
def test_other_problems_have_reports_too(changes):
    problem = PROBLEM.replace(**changes)
    Page(render_report(advice(plan_of(pr.Stationary((0, 1)), problem))))


def test_a_report_is_written_whole_or_not_at_all_with_the_same_bytes_again(tmp_path, page):
    target = tmp_path / "report.html"
    write_report(PLAN, target)
    assert target.read_text("utf-8") == page
    with pytest.raises(InvalidFile, match="no such folder"):
        write_report(advice(PLAN), tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.full
def test_pictures_are_drawn_without_matplotlib():
    code = (
        "import sys, preceptor as pr\n"
        "from preceptor.report.html import render_report\n"
        "problem = pr.Problem(pr.World([1.0], [[1.0]]), pr.Learner([0.0], pr.Geometric(1.1)), 1)\n"
        "assert render_report(pr.solve(problem)).count('<svg') == 4\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_timeline_speaks_of_a_shade_only_where_there_is_one():
    for name, is_shaded in {"explores": True, "stationary": False, "alternating": False}.items():
        words = words_of(render_report(advice(plan_of(POLICIES[name]))))
        assert ("In the shaded part" in words) == is_shaded


def test_without_jinja_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"preceptor\[cli\]"):
        render_report(advice(PLAN))
