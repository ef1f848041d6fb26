"""What a picture shows is said in numbers to those who do not see it."""

import re

import numpy as np
import pytest

from preceptor.advice.alternatives import alternatives
from preceptor.advice.sensitivity import sensitivity
from preceptor.model.evaluation import losses_along
from preceptor.report import figures, schedule_view
from preceptor.report.charts import escaped
from preceptor.report.figures import correlations_alt_text, lines_alt_text
from preceptor.report.phrases import scale_of
from preceptor.report.schedule_view import abridged, rounds_shown
from tests.report.test_figures import PLAN, POLICIES, PROBLEM, plan_of
from tests.report.test_html import Page, page_of_plan
from tests.report.test_people import with_regrets
from tests.report.test_session import PAGE as SESSION
from tests.report.test_session import TUTOR


def heard(svg):
    return re.search(r'role="img" aria-label="([^"]*)"', svg).group(1)


def test_the_timeline_says_how_often_and_how_it_ends():
    schedule = PLAN.policy.schedule(rounds_shown(PLAN))
    said = heard(schedule_view.timeline(PLAN))
    for test, name in enumerate(("bmi", "bp", "co$t &amp; more")):
        assert f"{name} in {sum(test in shown for shown in schedule)}" in said
    assert f"first {len(schedule)} cases" in said
    assert "from case 14: always bmi + co$t" in said


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_heard(name):
    assert len(heard(schedule_view.timeline(plan_of(POLICIES[name])))) > 40


def test_losses_say_where_lines_begin_and_end():
    rivals = alternatives(PLAN)
    said = heard(figures.losses(PLAN, rivals))
    rounds = rounds_shown(PLAN)
    losses = scale_of(PROBLEM).of(losses_along(PROBLEM, PLAN.policy.schedule(rounds)))
    assert f"this plan from {losses[0]:.3g} to {losses[-1]:.3g}" in said
    assert "best achievable" in said
    assert "throughout" in said
    assert f"number {rounds}" in said


def test_learning_says_what_is_believed_and_what_is_right():
    said = heard(figures.learning(PLAN))
    last = PROBLEM.learner.beliefs(
        PROBLEM.world,
        np.array([sum(t in s for s in PLAN.policy.schedule(rounds_shown(PLAN))) for t in range(3)]),
    )
    assert f"bp from 1.3 to {last[1]:.2g} (right would be 0.8)" in said


def test_correlations_name_the_strongest_pairs():
    values = [[1.0, 0.8, -0.3], [0.8, 1.0, 0.1], [-0.3, 0.1, 1.0]]
    said = correlations_alt_text(values, ["a", "b", "c"], [0, 2])
    assert said == (
        "Correlations of 3 columns, from -0.30 (c with a) to 0.80 (b with a); among those that the "
        "plan commits to -0.30 to -0.30."
    )
    assert "commits to b" in correlations_alt_text(values, ["a", "b", "c"], [1])
    assert correlations_alt_text([[1.0]], ["a"], []) == "Correlations of 1 column."


@pytest.mark.full
def test_changes_say_what_each_saves():
    changes = sensitivity(PLAN)
    said = heard(figures.sensitivities(changes))
    assert all(f"if {change.direction}, " in said for change in changes)
    assert said.count("%") >= len(changes)


def test_lines_that_are_nowhere_known_are_left_out():
    said = lines_alt_text("Errors", [("a", [np.nan, 2.0, 3.0]), ("b", [np.nan])], 3)
    assert said == "Errors, from the first to number 3: a from 2 to 3."
    assert "nothing" in lines_alt_text("Errors", [], 3)


def test_few_things_are_told_one_by_one():
    assert abridged([], "test") == "nothing"
    assert abridged(["a", "b"], "test") == "a and b"
    nine = [str(i) for i in range(9)]
    assert abridged(nine, "test").endswith("7 and 8")
    assert abridged([*nine, "9"], "test").endswith("7 and 2 more tests")


@pytest.mark.parametrize("page", [page_of_plan, lambda: SESSION], ids=["plan", "session"])
def test_every_picture_has_numbers_to_hear(page):
    pictures = [given for tag, given in Page(page()).attributes if tag == "svg"]
    assert len(pictures) >= 4
    for given in pictures:
        assert given["role"] == "img"
        assert len(re.findall(r"\d", given["aria-label"])) >= 2
        assert given["aria-label"].endswith(".")


def test_a_run_says_who_it_may_be_and_what_they_believe():
    said = [g["aria-label"] for tag, g in Page(SESSION).attributes if tag == "svg"]
    likeliest, share = max(TUTOR.kinds.items(), key=lambda item: item[1])
    assert any(f"{likeliest} from" in words and f"to {share:.0%}" in words for words in said)
    assert any("bmi" in words and "right would be 1" in words for words in said)
    often = sum(0 in entry.shown for entry in TUTOR.record)
    assert any(f"bmi in {often}" in words for words in said)


def test_a_crowd_says_who_loses_what():
    plan = with_regrets(0.10, 0.0, 0.05, 0.0)
    said = heard(figures.people(plan))
    for name, share in zip(plan.regrets.people, plan.regrets.table[0], strict=True):
        assert f"{100 * share:.1f}% for {escaped(name)}" in said
