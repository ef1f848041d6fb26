"""Pictures of a diagnosis say what the model says, in lines and in words."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice import alternatives
from preceptor.evaluation.mistakes import best_mistakes, mistakes_along, readers_after
from preceptor.report import mistake_figures as figures
from preceptor.report.html import render_report
from preceptor.report.mistake_words import in_100
from preceptor.report.plots import rounds_shown
from tests.oracles import operating_curve

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
    svg = figures.misses(plan, rivals)
    assert f"this plan from {first:.3g} to {last:.3g}" in heard(svg)
    assert "always saying no 10 throughout" in heard(svg)
    assert "always saying yes" not in heard(svg)  # it misses nothing
    best = 100.0 * float(best_mistakes(plan.problem, (0,)).misses)
    assert f"best reader of scan {best:.3g} throughout" in heard(svg)
    assert "misses per 100 cases" in texts(svg)


def test_a_line_far_above_all_others_is_told_and_not_drawn(plan, rivals):
    svg = figures.false_alarms(plan, rivals)
    assert "Beyond the picture: always saying yes (refer all) 90.0." in heard(svg)
    assert not [words for words in texts(svg) if words == "Always saying yes (refer all)"]
    assert "(beyond the picture: always saying yes (refer all) 90.0)" in " ".join(texts(svg))


def test_rates_end_beside_those_of_the_best_reader(plan):
    svg = figures.rates(plan)
    along = mistakes_along(plan.problem, plan.policy.schedule(rounds_shown(plan)))
    first, last = 100.0 * along.sensitivity[[0, -1]]
    best = best_mistakes(plan.problem, (0,))
    assert f"sensitivity from {first:.3g} to {last:.3g}" in heard(svg)
    assert f"has a sensitivity of {100 * float(best.sensitivity):.0f}" in heard(svg)


@pytest.mark.parametrize("risk", [pr.Decision(2.0), pr.Brier()])
def test_curves_are_those_of_the_scores(problem, risk):
    """One person's curve is that of their pair of scores, wherever limits are put."""
    plan = plan_of(problem.replace(risk=risk))
    shown, found = figures.curves(plan)
    assert shown == (0,)
    ((_, pair),) = readers_after(plan.problem, plan.policy.schedule(19), (0,))
    curve = found["This plan, in case 20"]
    rate, sensitivity = operating_curve(pair, 8001)
    # Where curves are steep a straight line between two points of theirs is not the curve.
    seen = rate > 1e-3
    ours = np.interp(rate[seen], curve.false_alarm_rate, curve.sensitivity)
    np.testing.assert_allclose(ours, sensitivity[seen], atol=2e-3)
    assert curve.area == pytest.approx(np.trapezoid(sensitivity, rate), abs=1e-3)
    assert (curve.at is None) == (not risk.decides)
    best = found["Best reader of scan"]
    assert found["At first, with the same tests"].area <= curve.area + 1e-9 <= best.area + 2e-9


def test_decisions_lie_on_their_curve(plan):
    _, found = figures.curves(plan)
    for name, curve in found.items():
        rate, sensitivity = curve.at
        on = np.interp(rate, curve.false_alarm_rate, curve.sensitivity)
        assert on == pytest.approx(sensitivity, abs=2e-3), name
    best = best_mistakes(plan.problem, (0,))
    rate, sensitivity = found["Best reader of scan"].at
    assert sensitivity == pytest.approx(float(best.sensitivity), abs=1e-9)
    assert rate == pytest.approx(1.0 - float(best.specificity), abs=1e-9)


def test_several_people_are_one_reader_who_may_be_any_of_them(problem):
    """At the same limit, shares are averages over people, each as likely as they are."""
    risk = problem.risk
    world = problem.world
    pairs = []
    for weights in ([0.5, 0.1], [2.5, 0.0]):
        errors = world.coefficients - np.array([weights])
        pairs.append(problem.oracle.pair_of(errors, (0,)))
    together = figures.curve_of(risk, 0.1, [(0.25, pairs[0]), (0.75, pairs[1])])
    alone = [figures.curve_of(risk, 0.1, [(1.0, pair)]) for pair in pairs]
    mean = 0.25 * np.array(alone[0].at) + 0.75 * np.array(alone[1].at)
    np.testing.assert_allclose(together.at, mean, atol=1e-12)
    assert 0.5 < together.area <= max(each.area for each in alone) + 1e-9
    assert np.all(np.diff(together.false_alarm_rate) >= -1e-12)


def test_somebody_who_weighs_nothing_is_no_better_than_chance(problem):
    novice = problem.replace(learner=pr.Learner([0.0, 0.0], pr.Geometric(1.1)))
    _, found = figures.curves(plan_of(novice))
    first = found["At first, with the same tests"]
    assert first.area == 0.5
    np.testing.assert_allclose(first.false_alarm_rate, first.sensitivity, atol=1e-12)


def test_the_curves_are_heard(plan):
    svg = figures.roc(plan)
    _, found = figures.curves(plan)
    rate, sensitivity = found["This plan, in case 20"].at
    area = found["This plan, in case 20"].area
    assert heard(svg).startswith(
        f"Receiver operating curves, area under each: this plan, in case 20 {area:.3f} (decides "
        f"with sensitivity {sensitivity:.0%}, specificity {1.0 - rate:.0%}), at first"
    )
    marks = [f for f in ElementTree.fromstring(svg).iter() if f.tag in (f"{SVG}circle",)]
    assert len(marks) == 1
    assert f"Best reader of scan: area {found['Best reader of scan'].area:.3f}" in texts(svg)


def test_the_page_has_all_of_them_and_cards_per_100(plan, rivals):
    page = render_report(plan)
    for name in ("misses", "false-alarms", "rates", "roc"):
        assert f'id="{name}"' in page
    assert 'id="losses"' not in page
    fixed = rivals[0].mistakes
    assert f"{in_100(float(fixed.misses))} with the best fixed set" in page
    assert "False alarms per 100" in page
    brier = render_report(plan_of(plan.problem.replace(risk=pr.Brier())))
    assert 'id="roc"' in brier
    assert 'id="losses"' in brier
    assert 'id="misses"' not in brier
