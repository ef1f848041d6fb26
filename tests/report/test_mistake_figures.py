"""Pictures of a diagnosis say what the model says, in lines and in words."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

import preceptor as pr
from preceptor.advice.alternatives import alternatives
from preceptor.model.mistakes import best_mistakes, mistakes_along
from preceptor.report import figures
from preceptor.report.html import render_report
from preceptor.report.mistakes_and_people import in_100
from preceptor.report.schedule_view import rounds_shown

DIAGNOSIS = Path(__file__).parents[2] / "examples" / "diagnosis.toml"
SVG = "{http://www.w3.org/2000/svg}"
POLICY = pr.ExploreThenCommit([(0,)] * 4 + [(1,)] * 2, (0,))


def plan_of(problem, policy=POLICY):
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, 0.9 * value, pr.Status.BOUNDED, "by hand", 0.0)


@pytest.fixture(scope="module")
def problem():
    return pr.Problem.load(DIAGNOSIS).replace(horizon=20)


@pytest.fixture(scope="module")
def plan(problem):
    return plan_of(problem)


@pytest.fixture(scope="module")
def rivals(plan):
    return alternatives(plan, orders=2)


def heard(svg):
    return ElementTree.fromstring(svg).get("aria-label")


def texts(svg):
    return [found.text for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_misses_begin_and_end_where_the_model_says(plan, rivals):
    along = mistakes_along(plan.problem, plan.policy.schedule(rounds_shown(plan)))
    first, last = 100.0 * along.misses[[0, -1]]
    svg = figures.mistakes(plan, rivals, "misses")
    assert f"this plan from {first:.3g} to {last:.3g}" in heard(svg)
    assert "always saying" not in heard(svg)  # that is in the table
    best = 100.0 * float(best_mistakes(plan.problem, (0,)).misses)
    assert f"best reader of scan {best:.3g} throughout" in heard(svg)
    assert "misses per 100 cases" in texts(svg)


@pytest.mark.full
def test_the_page_has_all_of_them_and_cards_per_100(plan, rivals):
    page = render_report(plan)
    for name in ("misses", "false-alarms"):
        assert f'id="{name}"' in page
    assert 'id="losses"' not in page
    fixed = rivals[0].mistakes
    assert f"{in_100(float(fixed.misses))} with the best fixed set" in page
    assert "False alarms per 100" in page
    brier = render_report(plan_of(plan.problem.replace(risk=pr.Brier())))
    assert 'id="losses"' in brier
    assert 'id="misses"' not in brier
