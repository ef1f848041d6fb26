"""Figures of the report: each says what the plan, its rivals and its changes say."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.alternatives import alternatives
from preceptor.advice.sensitivity import sensitivity
from preceptor.model.evaluation import losses_along
from preceptor.report import figures, schedule_view
from preceptor.report.palette import PLAN as PLAN_COLOUR
from preceptor.report.palette import TESTS
from preceptor.report.phrases import scale_of
from preceptor.report.schedule_view import commits_in_sight, rounds_shown

COLOURS = [colour.light for colour in TESTS]
SVG = "{http://www.w3.org/2000/svg}"
WORLD = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.6, names=["bmi", "bp", "co$t & more"])
PROBLEM = pr.Problem(WORLD, pr.Learner([0.2, 1.3, -0.4], pr.Geometric(1.1)), budget=2)
POLICIES = {
    "explores": pr.ExploreThenCommit([(0, 1)] * 5 + [(2,), (1,)] * 4, (0, 2)),
    "long": pr.ExploreThenCommit([(0,), (1,)] * 400, (0,)),
    "alternating": pr.Alternating([(0,), (1,)]),
    "stationary": pr.Stationary((0, 1)),
    "nothing": pr.Stationary(()),
}


def plan_of(policy, problem=PROBLEM):
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, 0.9 * value, pr.Status.BOUNDED, "by hand", 0.0)


PLAN = plan_of(POLICIES["explores"])


def texts(svg):
    return [found.text for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def place_of(svg, words):
    found = next(f for f in ElementTree.fromstring(svg).iter(f"{SVG}text") if f.text == words)
    return float(found.get("x")), float(found.get("y"))


@pytest.mark.parametrize("name", ["explores", "alternating", "stationary", "nothing"])
def test_bars_are_where_tests_are_shown(name):
    plan = plan_of(POLICIES[name])
    svg = schedule_view.timeline(plan)
    schedule = plan.policy.schedule(rounds_shown(plan))
    # Cases are read off the axis: two of its numbers say where all the others are.
    (x, _), (further, _) = place_of(svg, "10"), place_of(svg, "20")
    case = (further - x) / 10
    shown = sorted({test for tests in schedule for test in tests})
    found = {test: set() for test in shown}
    for box in ElementTree.fromstring(svg).iter(f"{SVG}rect"):
        if box.get("fill") in COLOURS:
            begin = 10 + (float(box.get("x")) - x) / case
            end = begin + float(box.get("width")) / case
            # The world has its tests in the order of their weights, and so have the colours.
            test = shown[COLOURS.index(box.get("fill"))]
            found[test] |= set(range(round(begin + 0.5), round(end + 0.5)))
    for test in shown:
        assert found[test] == {t + 1 for t, tests in enumerate(schedule) if test in tests}


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("explores", "from case 14: always bmi + co$t & more"),
        ("long", "changes sets until case 800, then always bmi"),
        ("alternating", "over and over: bmi in 1 of 2 cases and bp in 1"),
        ("stationary", "always bmi + bp"),
        ("nothing", "always nothing"),
    ],
)
def test_the_timeline_says_how_it_ends(name, note):
    plan = plan_of(POLICIES[name])
    svg = schedule_view.timeline(plan)
    assert note in texts(svg)
    dashed = [f for f in ElementTree.fromstring(svg).iter() if f.get("stroke-dasharray")]
    assert len(dashed) == commits_in_sight(plan) == (name == "explores")


def test_losses_are_those_of_the_plan_beside_all_others():
    rivals = alternatives(PLAN)
    svg = figures.losses(PLAN, rivals)
    words = " ".join(texts(svg))
    for title in ["This plan", "Best achievable", *(rival.title for rival in rivals)]:
        assert title.lower() in words.lower()
    schedule = PLAN.policy.schedule(rounds_shown(PLAN))
    losses = scale_of(PROBLEM).of(losses_along(PROBLEM, schedule))
    own = next(
        path.get("d")
        for path in ElementTree.fromstring(svg).iter(f"{SVG}path")
        if path.get("stroke") == PLAN_COLOUR.light
    )
    drawn = [float(y) for y in re.findall(r"(?:M\S+ |V)([\d.]+)", own)]
    jumps = losses[np.insert(np.abs(np.diff(losses)) > 1e-3, 0, True)]
    assert len(drawn) >= len(jumps) > 5
    # Heights are losses up to one scale and one shift, which the extremes settle.
    share = (np.array([max(drawn), min(drawn)]) - drawn[0]) / (max(drawn) - min(drawn))
    expected = (losses[0] - np.array([losses.min(), losses.max()])) / np.ptp(losses)
    np.testing.assert_allclose(share, expected, atol=1e-3)


def test_weights_are_drawn_for_tests_that_are_shown():
    plan = plan_of(POLICIES["stationary"])
    words = texts(figures.learning(plan))
    assert {"bmi", "bp"} <= set(words)
    assert "co$t & more" not in words
    assert ElementTree.fromstring(figures.learning(plan_of(POLICIES["nothing"]))) is not None


def test_few_tests_differ_in_colour_and_in_dash():
    svg = figures.learning(PLAN)
    paths = [p for p in ElementTree.fromstring(svg).iter(f"{SVG}path") if p.get("stroke")]
    assert len(paths) == 3
    assert len({path.get("stroke") for path in paths}) == 3
    assert len({path.get("stroke-dasharray") for path in paths}) == 3


def test_the_committed_set_is_bold():
    heard, rows = figures.correlation_rows(PLAN)
    assert {row.name for row in rows if row.is_committed} == {"bmi", "co$t & more"}
    words = [words for row in rows for words, _, _ in row.cells]
    assert words.count("0.6") == 6
    assert words.count("1.0") == 3
    assert "0.60" in heard


def test_changes_are_named_with_what_they_save():
    changes = sensitivity(PLAN)
    words = texts(figures.sensitivities(changes))
    for change in changes:
        saving = 100.0 * change.saving
        saved = f"{saving:.2g}%" if saving >= 0.005 else "0%"
        assert f"{change.direction[0].upper()}{change.direction[1:]}: {saved}" in words


def test_a_test_of_several_columns_has_one_row():
    world = pr.World([1.0, 0.5, 0.2], np.eye(3), names=["age", "a", "b"], groups={"site": [1, 2]})
    problem = pr.Problem(world, pr.Learner(np.zeros(3), pr.Geometric(1.1)), 1)
    svg = schedule_view.timeline(plan_of(pr.ExploreThenCommit([(1, 2)] * 3, (0,)), problem))
    assert {"age", "site"} <= set(texts(svg))
    assert not {"a", "b"} & set(texts(svg))
