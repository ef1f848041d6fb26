"""The tracker is exact Bayesian regression, one answer at a time; and plans from where one is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.estimation import Tracker
from preceptor.model.units import Units
from tests.strategies import examples

from .answering import simulate, told_in, world_of

WORLD = world_of(3)
CURVES = {
    "geometric": pr.Geometric(1.2),
    "floor": pr.Geometric(1.3, floor=0.09),
    "power": pr.PowerLaw(0.8),
    "each": (pr.Geometric(1.1), pr.PowerLaw(1.0), pr.Tabulated([1.0, 0.5, 0.4])),
}


def a_tracker(curves=CURVES["geometric"], **options):
    learner = pr.Learner([0.2, -0.4, 1.0], curves, options.pop("imputation", 0.3))
    return Tracker(WORLD, learner, **{"noise_sd": 0.3, "spread": [0.5, 1.0, 0.7]} | options)


def rounds_of(rng, count=25, told=0.8):
    for _ in range(count):
        seen = np.flatnonzero(rng.random(3) < 0.6).tolist()
        values = rng.normal(size=len(seen))
        outcome = float(rng.normal()) if rng.random() < told else None
        yield seen, values, float(rng.normal()), outcome


def by_regression(tracker, rounds):
    """Posterior of the initial errors from all rounds at once, then moved to the present."""
    learner, a = tracker.learner, WORLD.coefficients
    prior = np.diag([0.5**2, 1.0, 0.7**2])
    omega = learner.imputing_covariance(WORLD)
    counts, rows, targets = np.zeros(3), [], []
    for seen, values, prediction, outcome in rounds:
        filled = np.zeros(3)
        if seen:
            filled = omega[:, seen] @ np.linalg.inv(omega[np.ix_(seen, seen)]) @ values
        rows.append(-filled * learner.retention(counts))
        targets.append(prediction - tracker.bias - filled @ a)
        if outcome is not None:
            counts[seen] += 1
    design, noise = np.array(rows), tracker.noise_sd**2
    spread = np.linalg.inv(np.linalg.inv(prior) + design.T @ design / noise)
    begin = np.linalg.inv(prior) @ (a - learner.initial)
    mean = spread @ (begin + design.T @ np.array(targets) / noise)
    left = learner.retention(counts)
    return counts, mean * left, spread * np.outer(left, left)


@pytest.mark.parametrize("name", CURVES)
@given(seed=st.integers(0, 10_000))
@examples(10)
def test_it_is_bayesian_regression_on_all_rounds(name, seed):
    start = a_tracker(CURVES[name], bias=0.2)
    rounds = list(rounds_of(np.random.default_rng(seed)))
    tracker = start
    for seen, values, prediction, outcome in rounds:
        tracker = tracker.after(seen, values, prediction, outcome)
    counts, errors, covariance = by_regression(start, rounds)
    assert tracker.counts.tolist() == counts.tolist()
    assert_allclose(tracker.errors, errors, rtol=1e-7, atol=1e-10)
    assert_allclose(tracker.covariance, covariance, rtol=1e-7, atol=1e-10)
    assert_allclose(tracker.coefficients, WORLD.coefficients - errors, rtol=1e-7, atol=1e-10)
    assert tracker.rounds == 25


def test_without_feedback_nothing_is_learned_and_without_an_answer_nothing_inferred():
    start = a_tracker()
    quiet = start.after(["t0"], [1.0], prediction=0.5)
    assert quiet.counts.tolist() == [0, 0, 0]
    assert quiet.standard_deviations[0] < start.standard_deviations[0]
    taught = start.after(["t0"], [1.0], outcome=2.0)
    assert taught.counts.tolist() == [1, 0, 0]
    assert_allclose(taught.errors, start.errors * [1 / 1.2, 1, 1])
    assert_allclose(taught.standard_deviations, start.standard_deviations * [1 / 1.2, 1, 1])


def test_drift_adds_its_variance_every_round():
    start = a_tracker(drift=0.1)
    after = start.after([], [], prediction=0.0).after([], [])
    assert_allclose(after.covariance, start.covariance + 2 * 0.01 * np.eye(3))
    assert_allclose(after.errors, start.errors)


def test_somebody_who_changes_is_found_with_drift_and_lost_without():
    rng = np.random.default_rng(1)
    curve = pr.Geometric(1.0)
    steady = Tracker(WORLD, pr.Learner([0.0] * 3, curve), 0.2, spread=1.0)
    wary = Tracker(WORLD, pr.Learner([0.0] * 3, curve), 0.2, spread=1.0, drift=0.1)
    for beliefs in ([1.0, 0.0, 0.0], [-1.0, 1.0, 0.0]):
        for _ in range(100):
            x = rng.normal(size=3)
            answer = float(x @ beliefs) + 0.2 * rng.normal()
            steady, wary = (
                steady.after(range(3), x, answer, 0.0),
                wary.after(range(3), x, answer, 0.0),
            )
    off = [np.abs(t.coefficients - [-1.0, 1.0, 0.0]).max() for t in (steady, wary)]
    assert off[1] < 0.3 < off[0]


def test_one_shot_learners_know_and_stay_known():
    tracker = a_tracker(pr.OneShot())
    for _ in range(3):
        tracker = tracker.after(["t1"], [1.0], 0.7, 1.0)
    assert tracker.errors[1] == 0.0
    assert tracker.covariance[1, 1] == 0.0
    now = tracker.problem(budget=1)
    assert_allclose(now.initial_errors, tracker.errors)


@pytest.mark.parametrize("name", CURVES)
def test_the_problem_begins_where_the_person_is(name):
    tracker = a_tracker(CURVES[name])
    for seen, values, prediction, outcome in rounds_of(np.random.default_rng(3)):
        tracker = tracker.after(seen, values, prediction, outcome)
    problem = tracker.problem(budget=2, discount=0.9)
    assert problem.start_counts == tuple(tracker.counts)
    assert_allclose(problem.initial_errors, tracker.errors, rtol=1e-9)
    before = pr.Problem(WORLD, tracker.learner, budget=2, discount=0.9)
    plan = tracker.replan(before, method="stationary")
    assert_allclose(plan.value, pr.solve(problem, method="stationary").value)
    assert plan.value != pr.solve(before, method="stationary").value


def test_json_both_ways_continues_as_if_nothing_happened():
    tracker = a_tracker(CURVES["each"], bias=0.1, drift=0.01)
    rounds = list(rounds_of(np.random.default_rng(4), count=10))
    kept = tracker
    for round_ in rounds:
        tracker = tracker.after(*round_)
        kept = Tracker.from_json(kept.to_json()).after(*round_)
    assert kept == tracker
    assert Tracker.from_json(kept.to_json()) == tracker
    with pytest.raises(InvalidFile, match="unknown key 'mood'"):
        Tracker.from_dict(tracker.to_dict() | {"mood": 1})


def test_a_log_is_followed_round_by_round_in_its_own_units():
    units = Units([10.0, 20.0, 30.0], [2.0, 3.0, 4.0], outcome_mean=7.0)
    world = pr.World(WORLD.coefficients, WORLD.covariance, 0.1, WORLD.names, units=units)
    rng = np.random.default_rng(5)
    log = simulate(WORLD, initial=[0.0] * 3, retention=lambda m: 1.2**-m, rng=rng, rounds=30)
    plain = Tracker(WORLD, pr.Learner([0.0] * 3, pr.Geometric(1.2)), 0.3)
    read = Tracker(world, pr.Learner([0.0] * 3, pr.Geometric(1.2)), 0.3)
    told = told_in(units, log)
    after, in_units = plain.through(log), read.through(told)
    assert_allclose(in_units.coefficients, after.coefficients, rtol=1e-9)
    assert_allclose(
        in_units.expected(["t1"], [23.0]).answer, after.expected(["t1"], [1.0]).answer + 7.0
    )


def test_expected_answers_have_the_right_spread():
    tracker = a_tracker(bias=0.5)
    answer, deviation = tracker.expected([0, 1, 2], [1.0, 2.0, 3.0])
    x = np.array([1.0, 2.0, 3.0])
    assert_allclose(answer, 0.5 + x @ [0.2, -0.4, 1.0])
    assert_allclose(deviation, np.sqrt(x**2 @ [0.25, 1.0, 0.49] + 0.09))


def test_intervals_are_those_of_a_normal_distribution():
    intervals = a_tracker().intervals(0.95)
    assert intervals.shape == (3, 2)
    assert_allclose(intervals[0], 0.2 + 1.959964 * 0.5 * np.array([-1, 1]), rtol=1e-6)


@pytest.mark.slow
def test_intervals_cover_at_their_rate():
    """People drawn from the prior: 95% of intervals hold the present coefficient."""
    rng = np.random.default_rng(6)
    start = a_tracker()
    inside = []
    for _ in range(400):
        begin = start.coefficients + rng.normal(size=3) * [0.5, 1.0, 0.7]
        log = simulate(
            WORLD, initial=begin, retention=lambda m: 1.2**-m, rng=rng, rounds=15, dial=0.3
        )
        tracker = start.through(log)
        now = WORLD.coefficients - (WORLD.coefficients - begin) * 1.2**-tracker.counts
        low, high = tracker.intervals().T
        inside.append((low <= now) & (now <= high))
    rate = np.mean(inside, axis=0)
    assert np.all(np.abs(rate - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)), rate


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_sd": 0.0}, "noise_sd: 0.0, must be positive"),
        ({"bias": np.nan}, "bias: nan"),
        ({"drift": -1.0}, "drift: -1.0"),
        ({"counts": [1, 2]}, r"counts: \[1, 2\]"),
        ({"counts": [1, 2, -3]}, r"counts: \[1, 2, -3\]"),
        ({"spread": [1.0, -1.0, 1.0]}, "spread: "),
        ({"spread": None, "covariance": -np.eye(3)}, "covariance: has a negative eigenvalue"),
        ({"covariance": np.eye(3)}, "give one of them"),
        ({"errors": [1.0]}, r"errors: shape \(1,\)"),
        ({"rounds": -1}, "rounds: -1"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        a_tracker(**options)


def test_rounds_that_cannot_be_meant_are_refused():
    tracker = a_tracker()
    for call, message in [
        (lambda: tracker.after(["age"], [1.0], 1.0), "'age' not known; tests are t0, t1, t2"),
        (lambda: tracker.after([3], [1.0], 1.0), "3 not known"),
        (lambda: tracker.after([0, 0], [1.0, 1.0], 1.0), "shown once in a round"),
        (lambda: tracker.after([0], [], 1.0), "one finite number for each test shown"),
        (lambda: tracker.after([0], [np.nan], 1.0), "one finite number for each test shown"),
        (lambda: tracker.after([0], [1.0], np.inf), "prediction: inf"),
        (lambda: tracker.after([0], [1.0], 1.0, np.nan), "outcome: nan"),
        (lambda: tracker.intervals(2.0), "level: 2.0"),
        (lambda: Tracker(world_of(2), tracker.learner, 0.1), "of 3 tests, but the world has 2"),
        (lambda: Tracker(WORLD, None, 0.1), "must be a World and a Learner"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            call()
    rng = np.random.default_rng(1)
    two = simulate(WORLD, initial=[0.0] * 3, retention=lambda m: 1.0, rng=rng, people=2, rounds=2)
    with pytest.raises(InvalidInput, match="2 participants, a tracker follows one"):
        tracker.through(two)
