"""Honest advice: what the cases cannot tell from a simple habit is not sold as a plan."""

from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.progress import Deadline
from preceptor.advice.advising import advice_on
from preceptor.advice.alternatives import alternatives
from preceptor.advice.comparing import (
    RESAMPLES,
    SEARCHED,
    WORTH_HAVING,
    Resampled,
    gain_of,
    prefers_habit,
    resample,
    strongest_habit,
    with_policy,
)
from preceptor.advice.options import PersonOptions, TableOptions
from preceptor.data.world_fitting import fit_source
from preceptor.model.evaluation import expected_costs
from preceptor.model.policies import Stationary
from tests.advice.people import crowd_plan

QUICK = {"person": "by-showings", "half_life": 3, "cases": 12, "tests": 1, "vary": False}


def table(seed, rows, noise):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=rows)
    a, b = (common + 0.7 * rng.normal(size=rows) for _ in range(2))
    c = rng.normal(size=rows)
    return {"a": a, "b": b, "c": c, "y": a + 0.8 * b + 0.4 * c + noise * rng.normal(size=rows)}


@pytest.fixture(scope="module")
def unsure():
    return pr.advise(table(4, 40, 2.0), "y", **QUICK)


@pytest.fixture(scope="module")
def sure():
    return pr.advise(table(0, 4_000, 0.3), "y", **QUICK)


def test_one_set_is_nothing_to_plan():
    advice = pr.advise(table(0, 40, 2.0), "y", **QUICK | {"tests": 2})
    assert advice.headline[0] == "No schedule is needed: always show a and b."
    assert advice.free is None
    assert advice.explain().startswith("In short\n  No schedule is needed: always show a and b.\n")


def test_where_the_only_other_set_shows_nothing_there_is_advice_all_the_same():
    """Of two tests, both are habits: one the best for this person, one for a perfect reader."""
    drawn = pr.World.equicorrelated([2.0, 1.0], 0.5, 0.5).sample(60, rng=1)
    cases = {"a": drawn.features[:, 0], "b": drawn.features[:, 1], "y": drawn.outcomes}
    starting_with_b = PersonOptions("by-showings", half_life=30, beliefs={"b": 2.0})
    advice = pr.advise(cases, "y", person=starting_with_b, tests=1, cases=3, vary=False)
    assert advice.plan.policy.commit == (1,)
    assert advice.rivals[1].policy.commit == (0,)
    assert advice.resampled is not None


def test_a_tiny_gain_is_said_first_and_the_habit_is_the_plan(unsure):
    free = unsure.free
    assert unsure.plan.policy == Stationary(unsure.rivals[0].policy.commit)
    assert unsure.plan.value == pytest.approx(unsure.rivals[0].value)
    assert unsure.headline[0] == "No schedule is needed: always show b."
    saved = 1 - free.value / unsure.plan.value
    assert 0 < saved < WORTH_HAVING
    worth = f"A schedule would save {saved:.2%} of the loss: one fixed set is as good."
    assert unsure.headline[1].startswith(worth)
    assert unsure.plan.lower_bound == free.lower_bound
    assert "The plan found by search" in unsure.explain()
    assert "--full-plan" in unsure.plan.notes[-1]


def test_the_plan_is_kept_on_request():
    kept = pr.advise(table(4, 40, 2.0), "y", full_plan=True, **QUICK)
    assert kept.free is None
    assert kept.plan.exploration_length > 0
    assert "one fixed set is as good" in kept.headline[1]


def test_a_gain_that_the_cases_can_tell_is_kept(sure):
    assert sure.free is None
    assert sure.plan.exploration_length > 0
    low, high = sure.resampled.interval
    assert WORTH_HAVING < low < high
    saved = 1 - sure.plan.value / sure.rivals[0].value
    assert f"Saves {saved:.1%} of the loss compared with always showing a" in sure.headline[1]
    assert f"saves {low:.1%} to {high:.1%} compared with a" in sure.headline[2]
    assert "(y): " in sure.headline[1]


def test_a_gain_that_may_be_nothing_is_not():
    advice = pr.advise(table(2, 120, 0.5), "y", **QUICK)
    saved = 1 - advice.free.value / advice.plan.value
    assert saved > WORTH_HAVING
    assert advice.resampled.least_benefit <= 0.0
    assert "these cases cannot distinguish from zero" in advice.headline[1]


def test_a_plan_that_was_simplified_can_be_proven_again():
    advice = pr.advise(table(4, 40, 2.0), "y", verify=True, **QUICK)
    assert advice.free is not None
    assert advice.verification.ok


@pytest.mark.parametrize(
    ("benefit", "gains", "habit"),
    [
        (0.001, None, True),
        (0.05, None, False),
        (0.05, np.linspace(0.03, 0.07, 20), False),
        (0.05, np.linspace(-0.03, 0.13, 20), True),
        (0.05, np.linspace(-0.01, 0.05, 20), True),
        (0.05, np.linspace(0.001, 0.05, 20), False),
    ],
)
def test_what_is_preferred(benefit, gains, habit):
    found = None if gains is None else Resampled((0,), gains, gains, (), (), 20)
    assert prefers_habit(benefit, found) is habit


def test_gains_are_those_of_the_worlds_drawn(sure):
    estimate = fit_source(table(0, 4_000, 0.3), "y")
    plan, habit = sure.plan, sure.rivals[0].policy
    found = resample(estimate, plan, habit, [(1,), (2,)], deadline=Deadline(None), seed=5)
    drawn = estimate.bootstrap(RESAMPLES, seed=5)
    assert found.replicates == RESAMPLES == len(found.gains)
    for i in (0, 7):
        other = plan.problem.replace(world=drawn.world_of(i))
        saved = 1 - pr.evaluate(other, plan.policy) / pr.evaluate(other, habit)
        assert found.gains[i] == pytest.approx(saved)
    best = [
        min(((0,), (1,), (2,)), key=lambda s: pr.evaluate(world, Stationary(s)))
        for world in (plan.problem.replace(world=drawn.world_of(i)) for i in range(RESAMPLES))
    ]
    for shown in ((0,), (1,), (2,)):
        assert found.share_of(shown) == pytest.approx(best.count(shown) / RESAMPLES)
    ends = drawn.coefficient_intervals(0.9) * np.sqrt(np.diag(estimate.world.covariance))[:, None]
    assert [(row.low, row.high) for row in found.weights] == [
        (pytest.approx(low), pytest.approx(high)) for low, high in ends
    ]


def test_without_time_nothing_is_drawn_and_that_is_said(sure):
    estimate = fit_source(table(0, 4_000, 0.3), "y")
    now = iter(np.arange(0.0, 1e6, 10.0))
    over = Deadline(1.0, clock=lambda: float(next(now)))
    assert resample(estimate, sure.plan, sure.rivals[0].policy, [], deadline=over) is None


def test_signs_that_disagree_are_marked():
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    copy = x + 0.15 * rng.normal(size=400)
    outcome = 2.0 * x - 0.8 * copy + 0.2 * rng.normal(size=400)
    data = {"x": x, "copy": copy, "y": outcome}
    advice = pr.advise(data, "y", **QUICK | {"tests": 2}, full_plan=True)
    by_name = {row.name: row for row in advice.resampled.weights}
    assert by_name["copy"].weight < 0 < by_name["copy"].correlation
    assert by_name["copy"].disagrees
    assert not by_name["x"].disagrees
    text = advice.explain()
    assert "Estimated weights" in text
    assert "* The weight has the opposite sign" in text
    weights = {row["name"]: row for row in advice.to_dict()["resampled"]["weights"]}
    assert weights["copy"]["disagrees"] is True


def test_what_a_crowd_gains():
    plan = crowd_plan()
    habit = alternatives(plan)[0]
    ours, theirs = (expected_costs(plan.problem, each.policy) for each in (plan, habit))
    gain = gain_of(plan, habit)
    assert gain.mean == pytest.approx(1 - plan.value / habit.value, abs=1e-9)
    worst = np.max(theirs / plan.regrets.best) - np.max(ours / plan.regrets.best)
    assert gain.benefit == pytest.approx(max(gain.mean, worst), abs=1e-9)
    assert gain.benefit > gain.mean
    mean = replace(plan, regrets=replace(plan.regrets, objective="mean"))
    assert gain_of(mean, habit).benefit == gain.mean
    said = advice_on(plan, vary=False).headline
    assert "the worst-off person loses" in said[1]
    assert "loses most" in said[3]


def test_a_plan_has_to_beat_both_habits():
    plan = crowd_plan()
    fixed, predictive, _ = alternatives(plan)
    worse = replace(fixed, value=2 * fixed.value, policy=Stationary(()))
    assert strongest_habit(plan, (worse, predictive)) is predictive
    assert strongest_habit(plan, (predictive, worse)) is predictive


def test_a_simpler_plan_for_a_crowd_keeps_its_books():
    free = crowd_plan()
    policy = Stationary((2,))
    value = pr.evaluate(free.problem, policy)
    plan = with_policy(free, policy, value, "Simple.")
    regrets = plan.regrets
    assert regrets.costs[0] == pytest.approx(expected_costs(free.problem, policy))
    assert regrets.policies[-1] == SEARCHED
    assert np.array_equal(regrets.costs[-1], free.regrets.costs[0])
    assert np.all(regrets.best <= free.regrets.best)
    assert (plan.notes[-1], plan.status) == ("Simple.", pr.Status.BOUNDED)
    assert pr.Plan.from_dict(plan.to_dict()).regrets.policies == regrets.policies
    assert not plan.how_sure().startswith("no one was found")


def test_a_limit_covers_all_of_it(monkeypatch):
    """With a clock that jumps, everything but the plan and its rivals is left out, and said."""
    now = iter(np.arange(0.0, 1e6, 0.5))
    tick = Deadline.__init__

    def hurried(self, seconds, *, clock=None):
        tick(self, seconds, clock=lambda: float(next(now)))

    monkeypatch.setattr(Deadline, "__init__", hurried)
    advice = pr.advise(table(0, 60, 1.0), "y", **QUICK | {"vary": True}, time_limit=0.6)
    assert len(advice.rivals) == 3
    assert advice.resampled is None
    assert advice.changes == ()
    assert any("changed assumption" in note for note in advice.notes)
    assert "Left out" in advice.explain()


def test_where_it_comes_from():
    advice = pr.advise(table(0, 40, 2.0), "y", table=TableOptions(source="t.csv"), **QUICK)
    advice = advice.as_run("2026-11-16", "preceptor plan")
    origin = advice.provenance
    assert (origin.source, origin.when, origin.command) == (
        "t.csv",
        "2026-11-16",
        "preceptor plan",
    )
    assert advice.to_dict()["provenance"]["when"] == "2026-11-16"


@pytest.mark.full
def test_few_sets_say_what_they_cost():
    person = PersonOptions("by-showings", beliefs={"a": -2.0, "b": 3.0, "c": 2.0})
    options = QUICK | {"person": person, "full_plan": True}
    free = pr.advise(table(0, 400, 0.3), "y", **options)
    used = len(set(free.plan.policy.schedule(12)))
    assert used > 1
    advice = pr.advise(table(0, 400, 0.3), "y", simple=1, **options)
    assert len(set(advice.plan.policy.schedule(12))) == 1
    assert advice.free.value == pytest.approx(free.plan.value)
    more = advice.plan.value / advice.free.value - 1
    assert f"At most 1 set instead of any number costs {more:.1%} more." in advice.headline[1]
