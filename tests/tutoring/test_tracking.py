"""One person of any kind is followed: exact regression on the record, late truths, plans, files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.people.acting import Imputer
from preceptor.tutoring import Tracker
from preceptor.tutoring.states import state_from_plain, state_to_plain
from tests.people.examples import EXAMPLES, INDIVIDUALS, INITIAL, WORLD

SPREAD, NOISE, BIAS, ROUNDS = np.array([0.5, 1.0, 0.7]), 0.3, 0.2, 18

individuals = pytest.mark.parametrize("person", INDIVIDUALS.values(), ids=INDIVIDUALS)


def is_affine(person):
    """Whether answers are affine in the first weights, so that there is a regression to do."""
    if getattr(person, "cap", None) is not None:
        return False  # which surprises are capped depends on the weights
    # Whoever unlearns in one round what one showing had taught comes back to first beliefs of
    # which the weights in between say nothing.
    return not (isinstance(person, pr.Forgetful) and pr.OneShot() in person.curve_of)


AFFINE = {name: person for name, person in INDIVIDUALS.items() if is_affine(person)}


def record(seed=2, rounds=ROUNDS):
    """Cases that are shown, answered, and mostly told."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        seen = tuple(np.flatnonzero(rng.random(3) < 0.6).tolist())
        told = float(rng.normal()) if rng.random() < 0.8 else None
        yield seen, rng.normal(size=len(seen)), float(rng.normal()), told


def a_tracker(person, **options):
    return Tracker(WORLD, person, NOISE, spread=SPREAD, bias=BIAS, **options)


def followed(tracker, rounds):
    for each in rounds:
        tracker = tracker.after(*each)
    return tracker


def answers_and_end(person, first):
    """What somebody with these first weights answers to the record, and their last weights."""
    state = person.fresh(WORLD, (), None)
    person = person.from_here(WORLD, state, first)
    state, imputer = person.fresh(WORLD, (), None), Imputer(person.imputing_covariance(WORLD))
    answers = []
    for seen, values, _, outcome in record():
        filled = imputer.one(seen, values)
        answers.append(person.weights_of(WORLD, state) @ filled)
        if outcome is not None:
            shown = np.isin(np.arange(3), seen)
            state = person.learn(WORLD, state, filled, shown, np.array(outcome))
    return np.array(answers), person.weights_of(WORLD, state)


@pytest.mark.parametrize("person", AFFINE.values(), ids=AFFINE)
def test_it_is_bayesian_regression_on_the_record(person):
    first = np.array(INITIAL)
    base, end = answers_and_end(person, first)
    others = [answers_and_end(person, first + unit) for unit in np.eye(3)]
    design = np.column_stack([answers - base for answers, _ in others])
    carried = np.column_stack([last - end for _, last in others])
    targets = np.array([prediction for _, _, prediction, _ in record()]) - BIAS - base
    covariance = np.linalg.inv(np.diag(SPREAD**-2) + design.T @ design / NOISE**2)
    mean = covariance @ design.T @ targets / NOISE**2

    tracker = followed(a_tracker(person), record())
    assert_allclose(tracker.coefficients, end + carried @ mean, rtol=1e-8, atol=1e-10)
    assert_allclose(tracker.covariance, carried @ covariance @ carried.T, rtol=1e-8, atol=1e-10)
    assert tracker.rounds == ROUNDS
    taught = np.zeros(3, dtype=int)
    for seen, _, _, outcome in record():
        taught[list(seen)] += outcome is not None
    assert tracker.counts.tolist() == taught.tolist()


@individuals
def test_files_keep_everything_also_in_the_middle_of_a_round(person):
    tracker = kept = a_tracker(person, drift=0.01)
    for seen, values, prediction, outcome in record(rounds=6):
        tracker = tracker.answered(seen, values, prediction).told(outcome)
        kept = Tracker.from_json(kept.to_json()).answered(seen, values, prediction)
        kept = Tracker.from_json(kept.to_json()).told(outcome)
    assert kept == tracker
    assert type(kept.state) is type(tracker.state)


@individuals
def test_plans_begin_where_the_person_is(person):
    tracker = followed(a_tracker(person), record(rounds=8))
    problem = tracker.problem(budget=1, discount=0.9, horizon=5)
    assert_allclose(problem.initial_errors, tracker.errors, rtol=1e-9, atol=1e-12)
    # One more round, whatever it says, moves weights as it moves those of the person planned for.
    now = tracker.present_learner()
    state = now.fresh(WORLD, (), tuple(tracker.counts) if problem.start else None)
    filled = Imputer(person.imputing_covariance(WORLD)).one((1,), np.array([0.4]))
    state = now.learn(WORLD, state, filled, np.array([False, True, False]), np.array(0.3))
    if is_affine(person):
        later = tracker.after([1], [0.4], outcome=0.3)
        assert_allclose(now.weights_of(WORLD, state), later.coefficients, rtol=1e-9, atol=1e-12)
    whole = pr.Problem(WORLD, person, budget=1, discount=0.9, horizon=5)
    plan = tracker.replan(whole, method="stationary")
    assert plan.value == pytest.approx(pr.solve(problem, method="stationary").value)


def test_a_late_truth_counts_once():
    start = a_tracker(pr.DeltaRule(INITIAL, 0.1), drift=0.1)
    at_once = start.after([0, 2], [1.0, -0.5], 0.7, 1.2)
    open_ = start.answered([0, 2], [1.0, -0.5], 0.7)
    assert (open_.rounds, open_.counts.tolist()) == (1, [0, 0, 0])
    assert open_.open_round == ((0, 2), (1.0, -0.5))
    assert open_.told(1.2) == at_once
    assert (at_once.rounds, at_once.counts.tolist(), at_once.open_round) == (1, [1, 0, 1], None)
    # One drift only, on top of a filter without any.
    still = a_tracker(pr.DeltaRule(INITIAL, 0.1)).after([0, 2], [1.0, -0.5], 0.7, 1.2)
    assert_allclose(at_once.covariance, still.covariance + 0.01 * np.eye(3), atol=1e-12)


def test_what_was_never_told_teaches_nothing():
    start = a_tracker(pr.Learner(INITIAL, pr.Geometric(1.2)), drift=0.1)
    moved_on = start.answered([0], [1.0], 0.7).answered([1], [0.5], 0.1)
    assert moved_on.open_round == ((1,), (0.5,))
    assert moved_on.told(0.4) == start.after([0], [1.0], 0.7).after([1], [0.5], 0.1, 0.4)
    assert start.answered([0], [1.0], 0.7).told(None) == start.after([0], [1.0], 0.7)


def test_truths_without_a_case_are_refused():
    tracker = a_tracker(pr.NoLearning(INITIAL))
    with pytest.raises(InvalidInput, match="told: no round is open"):
        tracker.told(1.0)
    with pytest.raises(InvalidInput, match="outcome: nan"):
        tracker.answered([0], [1.0]).told(np.nan)
    with pytest.raises(InvalidInput, match="prediction: inf"):
        tracker.answered([0], [1.0], np.inf)


def test_whom_one_cannot_follow_is_refused():
    with pytest.raises(InvalidInput, match="a crowd"):
        a_tracker(EXAMPLES["crowd"][0])
    with pytest.raises(InvalidInput, match="DeltaRule does not go by showings"):
        a_tracker(pr.DeltaRule(INITIAL, 0.1), counts=[1, 0, 0])


@pytest.mark.parametrize("kind", ["by-showings", "forgetful", "drifting"])
def test_showings_before_leave_less_of_the_spread(kind):
    person = EXAMPLES[kind][0]
    tracker = a_tracker(person, counts=[3, 0, 1])
    assert_allclose(tracker.standard_deviations, SPREAD * 1.2 ** -np.array([3, 0, 1]), rtol=1e-9)
    assert_allclose(
        tracker.errors, (WORLD.coefficients - INITIAL) * 1.2 ** -np.array([3, 0, 1]), rtol=1e-9
    )


@individuals
def test_states_survive_as_plain_data(person):
    state = followed(a_tracker(person), record(rounds=4)).state
    again = state_from_plain(person, WORLD, state_to_plain(state))
    assert type(again) is type(state)
    assert state_to_plain(again) == state_to_plain(state)


@pytest.mark.parametrize(
    ("person", "data", "words"),
    [
        (EXAMPLES["bayesian"][0], [[0.0, 0.0, 0.0]], "must be a list of 2"),
        (EXAMPLES["delta-rule"][0], [[0.0, 0.0], 1], r"shape \(2,\), must be \(3,\)"),
        (EXAMPLES["delta-rule"][0], [[0.0, 0.0, 0.0], "one"], "'one', must be a number"),
        (EXAMPLES["by-showings"][0], "many", "'many', must be numbers"),
    ],
)
def test_states_of_somebody_else_are_refused(person, data, words):
    with pytest.raises(InvalidFile, match=words):
        state_from_plain(person, WORLD, data)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shown": [0]}, "must be a table with 'shown' and 'values'"),
        ({"shown": [0], "values": [1.0, 2.0]}, "2 values for 1 tests"),
    ],
)
def test_open_rounds_that_make_no_sense_are_refused(given, words):
    with pytest.raises(InvalidFile, match=words):
        a_tracker(pr.NoLearning(INITIAL), open_round=given)
