"""Tomorrow morning: every case has a box, cases that show the same stand together."""

import re
from types import SimpleNamespace

import preceptor as pr
from preceptor.advice import Advice, Provenance
from preceptor.report.html import render_report
from preceptor.report.morning import Stretch, stretches
from tests.report.test_html import PLAN, PROBLEM, Page, plan_of, words_of


def row(case, text):
    return SimpleNamespace(case=case, text=text, shown=(text,))


def test_cases_in_a_row_that_show_the_same_stand_together():
    rows = [row("1", "a"), row("2", "a"), row("3", "b"), row("4", "a")]
    found = stretches(rows)
    assert found == [
        Stretch("a", ("1", "2")),
        Stretch("b", ("3",)),
        Stretch("a", ("4",)),
    ]
    assert [each.label for each in found] == ["cases 1 to 2", "case 3", "case 4"]


def test_a_set_for_good_has_boxes_for_the_next_cases():
    (later,) = stretches([row("from 1,005 on", "a")])
    assert later.goes_on
    assert later.has_boxes
    assert later.cases[:2] == ("1,005", "1,006")
    assert later.label == "from case 1,005 on"
    (always,) = stretches([row("every case", "a")])
    assert always.cases[0] == "1"
    assert always.label == "every case"


def test_remarks_have_no_boxes():
    rows = [
        SimpleNamespace(case="from 9 on", text="goes on changing", shown=()),
        SimpleNamespace(case="10 to 90", text="left out here", shown=()),
    ]
    found = stretches(rows)
    assert [each.has_boxes for each in found] == [False, False]
    assert [each.label for each in found] == ["from 9 on", "cases 10 to 90"]


def test_large_numbers_and_ranges_are_told_apart():
    found = stretches([row("1,200", "a"), row("1,201", "a"), row("1,202 to 1,300", "left out")])
    assert found[0].cases == ("1,200", "1,201")
    assert found[1].cases == ("1,202 to 1,300",)
    assert stretches([]) == []


def section_of(page):
    begin = page.index('<section aria-labelledby="tomorrow"')
    return page[begin : page.index("</section>", begin) + len("</section>")]


def page_of(plan):
    return render_report(Advice(plan, (), (), Provenance("a plan", "", None, 0, "1.2")))


def test_every_case_has_a_box_to_tick():
    page = page_of(PLAN)
    section = section_of(page)
    cases = [int(n) for n in re.findall(r'class="tick"><i></i>(\d+)', section)]
    assert cases[:13] == list(range(1, 14))
    assert "bmi + <b>bp</b>" in words_of(section)
    assert Page(section).tags.count("li") >= 9  # five alike, then eight that alternate


def test_a_plan_for_some_cases_has_as_many_boxes():
    problem = PROBLEM.replace(horizon=20, discount=1.0)
    section = section_of(page_of(plan_of(pr.ExploreThenCommit([(0,)] * 3, (1,)), problem)))
    cases = [int(n) for n in re.findall(r'class="tick"><i></i>(\d+)', section)]
    assert cases == list(range(1, 21))


def test_a_long_plan_stays_on_a_few_pages():
    policy = pr.ExploreThenCommit([(0,), (1,)] * 300, (0,))
    section = section_of(page_of(plan_of(policy)))
    assert 50 <= section.count('class="tick"') <= 220


def test_it_prints_on_pages_of_its_own():
    sheet = page_of(PLAN).split("</style>")[0]
    printed = sheet[sheet.index("@media print") :]
    assert re.search(r"\.tomorrow \{ break-before: page; break-after: page; \}", printed)
    assert "thead { display: table-header-group; }" in printed
    assert re.search(r"figure, tr, \.cards, \.lead \{ break-inside: avoid; \}", printed)
