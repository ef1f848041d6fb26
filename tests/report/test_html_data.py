"""The page about a table: what was done to it, what it weighs and how surely, nobody's own row."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.advice import Advice, Provenance
from preceptor.report.html import render_report, write_report
from preceptor.report.schedule_view import MOST_ROWS
from preceptor.report.tables import column_rows, in_parts, signed
from tests.report.test_html import Page, words_of


def table(size=4, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, size)) @ (np.eye(size) + 0.3)
    columns = {f"t{i}": 10.0 * (i + 1) + values[:, i] for i in range(size)}
    columns["t1"] = np.where(np.arange(rows) % 9 == 0, np.nan, columns["t1"])
    columns["fixed"] = np.ones(rows)
    columns["y"] = values @ np.linspace(2.0, -1.0, size) + rng.normal(size=rows)
    return columns


FITTED = pr.fit_world(table(), "y")


class Doubtful:
    """An estimate with doubts of our own."""

    doubts = ("A value of t0 lies <far> outside the rest.",)
    rows_in_doubt = ("t0, row 17: 1234.5 is 40 standard deviations away.",)
    signs_that_disagree = (SimpleNamespace(name="t2", weight=0.1, correlation=-0.25),)

    def __init__(self, fitted):
        self._fitted = fitted

    def __getattr__(self, name):
        return getattr(self._fitted, name)


def plan_for(fitted):
    size = fitted.world.size
    person = pr.Learner(np.zeros(size), pr.Geometric(1.2))
    problem = pr.Problem(fitted.world, person, budget=1)
    policy = pr.ExploreThenCommit([(0,), (1,)], (0,))
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, 0.9 * value, pr.Status.BOUNDED, "by hand", 0.0)


def resampled_of(fitted):
    drawn = fitted.bootstrap(12, seed=1)
    ends = drawn.coefficient_intervals(0.9)
    weights = [
        SimpleNamespace(
            name=name, weight=0.0, low=ends[i, 0], high=ends[i, 1], correlation=0.3, disagrees=False
        )
        for i, name in enumerate(fitted.world.labels)
    ]
    return SimpleNamespace(
        weights=tuple(weights),
        replicates=12,
        gains=np.full(12, 0.01),
        interval=(0.0, 0.02),
        habit=(0,),
        share_of=lambda shown: 1.0,
        winners=(((0,), 12),),
    )


def advice_on(fitted, estimate=None, **more):
    origin = Provenance("cases.csv", "y", fitted.rows, 0, "1.2")
    return Advice(plan_for(fitted), (), (), origin, estimate or fitted, **more)


def section(page, heading):
    """What stands between a heading of the third order and the next."""
    begin = page.index(heading)
    return page[begin : page.index("<h3>", begin + 1)]


def test_single_rows_are_named_only_where_asked(tmp_path):
    advice = advice_on(FITTED, Doubtful(FITTED))
    discreet, frank = render_report(advice), render_report(advice, rows=True)
    for told in ("row 17", "1234.5"):
        assert told not in discreet
        assert told in frank
    assert (
        "A remark about single rows of the table is left out here; preceptor plan --rows"
        in words_of(discreet)
    )
    assert "left out here" not in frank
    for page in (discreet, frank):
        assert "A value of t0 lies <far> outside the rest." in words_of(page)
    write_report(advice, tmp_path / "frank.html", rows=True)
    assert (tmp_path / "frank.html").read_text("utf-8") == frank


def test_saving_names_rows_only_where_asked(tmp_path):
    advice = advice_on(FITTED, Doubtful(FITTED))
    pages = []
    for given in ({}, {"rows": True}):
        advice.save(tmp_path / "plan.json", tmp_path / "report.html", **given)
        pages.append((tmp_path / "report.html").read_text("utf-8"))
    assert ["row 17" in page for page in pages] == [False, True]


def test_what_was_done_to_the_table_comes_first_in_its_section():
    page = render_report(advice_on(FITTED))
    done = re.sub(r"<[^>]+>", " ", section(page, "How the table was prepared"))
    assert done.count("fixed was left out") == 1
    assert "missing (t1 7)" in done
    places = [
        page.index(heading)
        for heading in (
            'id="from"',
            "How the table was prepared",
            "Doubts about the table",
            "The tests, and their estimated weights",
            "Assumptions",
        )
    ]
    assert places == sorted(places)
    # Said once, and not again in the words of a terminal.
    assert "<pre>" not in page


def test_what_there_was_no_time_for_is_said():
    words = words_of(render_report(advice_on(FITTED, notes=("The time was up.",))))
    assert "Notes The time was up." in words


def test_weights_are_called_estimated_and_have_intervals():
    advice = advice_on(FITTED, resampled=resampled_of(FITTED))
    rows = {row.name: row for row in column_rows(advice)}
    world, ends = FITTED.world, FITTED.bootstrap(12, seed=1).coefficient_intervals(0.9)
    deviations = np.sqrt(np.diag(world.covariance))
    for i, name in enumerate(world.labels):
        assert rows[name].weight == signed(world.coefficients[i] * deviations[i])
        assert rows[name].interval == f"{signed(ends[i, 0])} to {signed(ends[i, 1])}"
        assert rows[name].average == f"{world.units.means[i]:.4g}"
        assert rows[name].missing == ("7" if name == "t1" else "")
    sizes = [abs(float(row.weight.replace("−", "-"))) for row in column_rows(advice)]
    assert sizes == sorted(sizes, reverse=True)
    words = words_of(render_report(advice))
    assert "90% interval" in words
    assert "from 12 worlds, each estimated" in words
    assert "Estimated weight" in words
    assert "True weight" not in words


def test_without_draws_there_are_weights_but_no_intervals():
    words = words_of(render_report(advice_on(FITTED)))
    assert "Estimated weight" in words
    assert "90% interval" not in words


def test_signs_that_disagree_are_marked_in_their_row():
    page = render_report(advice_on(FITTED, Doubtful(FITTED)))
    (marked,) = re.findall(
        r"<tr><th[^>]*><bdi>(\w+)</bdi><small class=\"mark\">(.*?)</small>", page
    )
    assert marked[0] == "t2"
    assert "sign disagrees with its correlation, −0.25" in marked[1]


def test_a_problem_without_a_table_has_true_weights():
    advice = replace(advice_on(FITTED), estimate=None)
    words = words_of(render_report(advice))
    assert "True weight" in words
    assert "How the table was prepared" not in words
    assert column_rows(advice) == []


@pytest.mark.parametrize("size", [MOST_ROWS + 3, MOST_ROWS + 4, 80])
def test_long_tables_are_folded(size):
    first, rest = in_parts(list(range(size)))
    assert [*first, *rest] == list(range(size))
    assert len(first) <= MOST_ROWS + 3
    assert len(rest) != 1


def test_the_page_is_well_formed_with_everything_in_it():
    advice = advice_on(FITTED, Doubtful(FITTED), resampled=resampled_of(FITTED))
    parsed = Page(render_report(advice, rows=True))
    assert len(parsed.ids) == len(set(parsed.ids))
