"""The schedule of the report: every case has a box, cases that show the same stand together."""

import re

import preceptor as pr
from preceptor.advice.advice import Advice, Provenance, stretches
from preceptor.report.html import render_report
from tests.report.test_html import PLAN, PROBLEM, Page, plan_of, words_of


def test_cases_in_a_row_that_show_the_same_stand_together():
    policy = pr.ExploreThenCommit([(0,), (0,), (1,)], (0,))
    found = stretches(plan_of(policy, PROBLEM.replace(horizon=4)))
    assert [list(each.cases) for each in found] == [[1, 2], [3], [4]]
    assert [each.label for each in found] == ["cases 1 to 2", "case 3", "case 4"]


def test_a_set_for_good_has_boxes_for_the_next_cases():
    *_, later = stretches(plan_of(pr.ExploreThenCommit([(0,), (1,)] * 50, (0,))))
    assert later.goes_on
    assert later.cases[:2] == range(101, 103)
    assert later.label == "from case 101 on"
    (always,) = stretches(plan_of(pr.Stationary((0,))))
    assert always.cases[0] == 1
    assert always.label == "every case"


def test_remarks_have_no_boxes():
    longer = pr.ExploreThenCommit([(0,), (1,)] * 300, (0,))
    *_, left_out, _ = stretches(plan_of(longer))
    assert (left_out.label, left_out.cases) == ("cases 201 to 600", range(0))
    repeats = pr.ExploreThenRepeat([(0,)], word=[(1,), (2,)])
    last = stretches(plan_of(repeats))[-1]
    assert last == ("from case 4 on", "repeat cases 2 to 3", (), range(0), False)
    last = stretches(plan_of(longer, PROBLEM.replace(horizon=1_500)))[-1]
    assert last[:2] == ("from case 201 on", "continues until case 1,500")


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
