"""What is said and drawn of a plan for a crowd, and of plans that end in a word of sets."""

import functools
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.advice import Advice, Provenance
from preceptor.advice.alternatives import alternatives
from preceptor.advice.planning import with_proofs
from preceptor.report import figures, schedule_view
from preceptor.report.charts import Axis, Dots, row_chart
from preceptor.report.html import render_report
from preceptor.report.mistakes_and_people import (
    person_rows,
    proven,
    regret_in_words,
    worth_of_knowing,
)
from preceptor.report.palette import PLAN as PLAN_COLOUR
from preceptor.report.plots import plot_plan
from preceptor.report.schedule_view import (
    commits_in_sight,
    repeated_word,
    rounds_shown,
    settles_after,
)
from preceptor.report.tables import assumptions
from preceptor.report.words import explain
from tests.advice.people import CROWD, INITIAL, PROBLEM, WORLD, crowd_plan

SVG = "{http://www.w3.org/2000/svg}"
FORGETS = pr.Problem(WORLD, pr.Forgetful(INITIAL, pr.Geometric(1.3), 0.1), 2, 0.9)
WORD = pr.ExploreThenRepeat([(1, 2)] * 100, [(0,), (0, 1), (0, 1)] * 3)


@functools.cache
def the_plan():
    """The plan for the crowd."""
    return with_proofs(crowd_plan(), 0.2)


@functools.cache
def the_advice():
    """The plan for the crowd, with others to compare it with."""
    plan = the_plan()
    return Advice(plan, alternatives(plan), (), Provenance("a table", "risk", 60, 0, "1"))


def plan_of(policy, problem):
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, 0.5 * value, pr.Status.BOUNDED, "by hand", 0.0)


def with_regrets(*regrets):
    """The plan as if its people lost so much by it."""
    plan = the_plan()
    known = plan.regrets
    costs = np.array(known.costs)
    costs[0] = known.best * (1 + np.array(regrets))
    return replace(plan, regrets=replace(known, costs=costs))


def on_one_line(text):
    return " ".join(text.split())


def test_the_table_has_everybody_s_regrets_and_marks_the_largest():
    plan = with_regrets(0.012, 0.0, 0.0342, 0.0)
    rows = person_rows(plan)
    assert [row.plan for row in rows] == ["1.2%", "0.0%", "3.5%", "0.0%"]
    assert [row.is_worst for row in rows] == [False, False, True, False]
    assert [row.weight for row in rows] == ["40%", "30%", "20%", "10%"]
    table = plan.regrets.table
    assert [row.fixed for row in rows] == [regret_in_words(regret) for regret in table[2]]
    own = np.sqrt(plan.regrets.best * (1 - 0.9))
    assert [float(row.own) for row in rows] == pytest.approx(own, rel=5e-3)
    text = Advice(plan, (), (), the_advice().provenance).explain()
    lines = text.splitlines()
    assert "Who would lose by this plan" in lines
    (marked,) = [line for line in lines if re.search(r"\d%\*", line)]
    assert marked.split("  ")[1] == "by showings, with a floor"
    assert "3.5%*" in marked
    assert any(line.startswith("  ann ") for line in lines)
    assert max(map(len, lines)) <= 100


def test_regrets_are_rounded_up_but_nothing_stays_nothing():
    assert [regret_in_words(x) for x in (0.0, 1e-5, 0.0101, np.inf)] == [
        "0.0%",
        "0.0%",
        "1.1%",
        "unbounded",
    ]


def test_what_to_do_depends_on_what_knowing_is_worth():
    nothing = " ".join(worth_of_knowing(with_regrets(0, 0, 0, 0).regrets))
    assert "costs nothing" in nothing
    little = " ".join(worth_of_knowing(with_regrets(0.02, 0, 0.01, 0).regrets))
    assert "at most 2.0% (ann), and 1.0% on average" in little
    assert "Take this plan" in little
    much = " ".join(worth_of_knowing(with_regrets(0.2, 0, 0.01, 0).regrets))
    assert "at most 20.0% (ann)" in much
    assert "`preceptor fit`" in much
    assert "Take this plan" not in much


def test_what_is_proven_and_what_is_not_is_said():
    plan = the_plan()
    kinds = ("floor of every case", "dual bound", "exact method", "floor of every case")
    costs = plan.regrets.costs[0]
    bounds = costs / [2.0, 1.05, 1.0, 1.5]
    # No bound is above the best plan's cost.
    regrets = replace(plan.regrets, best=costs, bounds=bounds, bound_kinds=kinds)
    text = " ".join(proven(replace(plan, regrets=regrets)))
    assert (
        'Proven excess over the best possible plan: 0% for "by showings, with a floor" and '
        'at most 5.0% for "by showings".' in text
    )
    assert "the only bound is what a person who knows every weight would cost" in text
    assert "(50.0%)" in text
    assert "(100%)" in text
    assert "found by search, not proven" in text
    alone = replace(regrets, bounds=costs / [2.0, 1.05, 1.0, 1.1])
    text = " ".join(proven(replace(plan, regrets=alone)))
    assert 'For "ann" (100%) the only bound' in text


def test_words_of_a_crowd():
    plan = the_plan()
    text = on_one_line(explain(plan))
    assert "it is for 4 kinds of person at once" in text
    assert "averaged over the people" in text
    worst = plan.regrets.worst
    assert plan.how_sure().startswith("no one") or worst == 0
    assert repr(plan).startswith(f"Plan: {plan.how_sure()}")


def test_json_has_everybody():
    plan = the_plan()
    data = json.loads(json.dumps(the_advice().to_dict()))
    assert [person["name"] for person in data["people"]] == list(CROWD.names)
    for i, person in enumerate(data["people"]):
        assert person["regret"] == pytest.approx(plan.regrets.table[0, i])
        assert person["lower_bound"] <= person["own_plan"] * (1 + 1e-9)
    assert data["worst_regret"] == pytest.approx(plan.regrets.worst)
    assert data["sensitivity"] == []
    assert pr.Plan.from_dict(data["plan"]).regrets == plan.regrets


def test_assumptions_name_everybody():
    rows = assumptions(the_plan())
    people = [text for label, text in rows if label.endswith("%")]
    assert len(people) == 4
    assert people[0].startswith("ann: by outcomes (delta rule)")
    assert people[0].endswith("the person ignores correlations")


def test_dots_stand_where_their_values_are():
    svg = figures.people(with_regrets(0.10, 0.0, 0.05, 0.0))
    tree = ElementTree.fromstring(svg)
    circles = [c for c in tree.iter(f"{SVG}circle") if c.get("fill") == PLAN_COLOUR.light]
    x = [float(c.get("cx")) for c in circles][:4]
    assert x[1] == x[3] < x[2] < x[0]
    assert x[2] - x[1] == pytest.approx((x[0] - x[1]) / 2, abs=0.02)
    assert "by this plan: 10.0% for ann, 5.0% for" in tree.get("aria-label")
    words = [t.text for t in tree.iter(f"{SVG}text")]
    assert {"This plan", "Most predictive tests", "Best fixed set", "ann (40%)"} <= set(words)


def test_shapes_tell_series_apart_without_colours():
    series = [Dots("a", [1.0], "#000", "circle"), Dots("b", [2.0], "#000", "square")]
    series += [Dots("c", [np.inf], "#000", "triangle"), Dots("d", [0.0], "#000", "diamond")]
    svg = row_chart("x", "y", ["row"], series, x_axis=Axis.covering([0.0, 2.0]), x_label="z")
    tree = ElementTree.fromstring(svg)
    assert len(list(tree.iter(f"{SVG}circle"))) == 2  # the dot and its sample
    # The third has no finite value, so only its sample is drawn.
    assert len(list(tree.iter(f"{SVG}polygon"))) == 2 + 1 + 2


def test_huge_regrets_are_drawn_at_the_edge():
    svg = figures.people(with_regrets(40.0, 0.0, 0.01, np.inf))
    tree = ElementTree.fromstring(svg)
    words = [t.text for t in tree.iter(f"{SVG}text")]
    assert "300 or more at the right edge" in " ".join(word for word in words if word)


def test_the_report_of_a_crowd():
    page = render_report(the_advice())
    assert 'id="who"' in page
    assert 'id="people"' in page
    assert 'id="learned"' not in page  # one person's weights mean nothing here
    assert 'id="wrong"' not in page  # people are varied instead
    assert "averaged over the people" in page
    assert "Largest regret" in page
    for name in CROWD.names:
        assert name in page


@pytest.mark.few(1)
@pytest.mark.parametrize("person", [pr.DeltaRule(INITIAL, 0.1), pr.NoLearning(INITIAL)])
def test_the_report_of_somebody_who_does_not_learn_by_showings(person):
    plan = plan_of(pr.ExploreThenCommit([(1,)] * 4, (0,)), pr.Problem(WORLD, person, 1, 0.8))
    page = render_report(plan)
    assert 'id="who"' not in page
    assert 'id="learned"' not in page
    assert "so it says little" in page
    figure = plot_plan(plan)
    assert len(figure.axes) == 2


def test_a_word_in_words():
    plan = plan_of(WORD, FORGETS)
    assert settles_after(WORD) == 100
    assert len(repeated_word(WORD)) == 9
    text = on_one_line(explain(plan))
    assert "over and over: bmi + bp in 6 of 9 cases and bmi in 3" in text
    several = pr.ExploreThenRepeat([(1, 2), (0,)] * 50, WORD.word)
    text = on_one_line(explain(plan_of(several, FORGETS)))
    assert "from case 101 over and over: bmi + bp in 6 of 9 cases and bmi in 3" in text
    assert "For the first 100 cases" in text
    shown = on_one_line(repr(plan))
    assert "from case 101 over and over: bmi + bp in 6 of 9 cases and bmi in 3" in shown


@pytest.mark.full
def test_a_word_in_pictures():
    plan = plan_of(WORD, FORGETS)
    assert rounds_shown(plan) == 133
    assert commits_in_sight(plan)
    note = "from case 101 over and over: bmi + bp in 6 of 9 cases and bmi in 3"
    assert note in schedule_view.timeline(plan)
    assert plot_plan(plan).axes[0].get_title(loc="left") == note
    page = render_report(plan)
    assert "repeats 9 cases from case 101 on" in page


def test_words_of_policies_that_commit_are_what_they_were():
    commits = pr.ExploreThenRepeat([(1, 2)] * 10, [(0,)])
    text = on_one_line(explain(plan_of(commits, FORGETS)))
    assert "Show bp and age for 10 cases, then always show bmi." in text
    assert settles_after(commits) == 10
    assert repeated_word(commits) == ()
    assert PROBLEM.horizon is None
