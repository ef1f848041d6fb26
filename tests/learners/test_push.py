"""The push test: right size for whoever does not follow outcomes, power for whoever does."""

from __future__ import annotations

import numpy as np
import pytest

import preceptor as pr
from preceptor.learners.push_test import (
    FADING,
    Push,
    PushTest,
    contradicts,
    push_test,
    push_test_of_rounds,
)
from preceptor.learners.records import AnsweredRounds, best_reading, simulate_answers
from tests.learners.crowds import crowd, log_of, random_pairs, rounds_with

WORLD = pr.World.equicorrelated([0.6, 0.4, 0.5, -0.3], 0.5, 0.3)
NOVICE = np.zeros(4)
FIXED = np.tile([True, True, False, False], (80, 1))
UNMOVED = {
    "by showings": pr.Learner(NOVICE, pr.Geometric(1 / 0.95)),
    "by showings, ignoring": pr.Learner(NOVICE, pr.Geometric(1 / 0.95), 1.0),
    "none": pr.NoLearning([0.5, 0.0, 0.0, 0.5]),
}


def sets(name, rng):
    return FIXED if name == "fixed" else random_pairs(4, 80, rng)


def test_the_best_reading_is_the_regression_on_what_was_shown():
    cases = WORLD.sample(200_000, 0)
    shown = np.array([[True, False, True, False]])
    slope = np.linalg.lstsq(cases.features[:, [0, 2]], cases.outcomes, rcond=None)[0]
    np.testing.assert_allclose(best_reading(WORLD, shown)[0, [0, 2]], slope, atol=0.01)


def test_people_at_play_are_those_of_the_acting_face():
    rng = np.random.default_rng(1)
    rounds = rounds_with(WORLD, random_pairs(4, 12, rng), 3, rng)
    for person in (pr.DeltaRule([0.1, 0.2, 0.0, 0.3], 0.1, 0.5), *UNMOVED.values()):
        answers = simulate_answers(WORLD, person, rounds).answers
        acting = person.acting(WORLD)
        for t in range(12):
            seen = tuple(np.flatnonzero(rounds.shown[t]).tolist())
            case = rounds.values[1, t, list(seen)]
            assert acting.predict(seen, case) == pytest.approx(answers[1, t])
            acting.feedback(seen, case, float(rounds.outcomes[1, t]))


def test_the_coefficient_is_that_of_a_plain_regression():
    rng = np.random.default_rng(2)
    [rounds] = crowd(WORLD, pr.DeltaRule(NOVICE, 0.05, 1.0), FIXED, 1, rng)
    rest = rounds.outcomes - np.sum(best_reading(WORLD, FIXED) * rounds.values, axis=1)
    z = [
        sum(FADING ** (t - s) * rest[s] * rounds.values[s] @ rounds.values[t] for s in range(t))
        for t in range(80)
    ]
    time = np.arange(80.0)
    columns = [rounds.values[:, [i]] * time[:, None] ** p for i in (0, 1) for p in (0, 1, 2)]
    last = np.r_[0.0, rest[:-1]]
    design = np.column_stack([*columns, np.ones(80), last, z])
    slopes = np.linalg.lstsq(design, rounds.answers, rcond=None)[0]
    found = push_test_of_rounds(WORLD, [rounds]).past
    # both ways to fill in give the same columns when the same two tests are always shown
    assert found.coefficient == pytest.approx(slopes[-1], rel=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("by showings", "fixed"),
        ("by showings", "random pairs"),
        ("by showings, ignoring", "random pairs"),
        ("none", "fixed"),
    ],
)
def test_size_for_whoever_does_not_follow_outcomes(kind, name):
    rng = np.random.default_rng(3)
    people = crowd(WORLD, UNMOVED[kind], sets(name, rng), 80, rng)
    tests = [push_test_of_rounds(WORLD, [person]) for person in people]
    allowed = 0.05 + 4 * np.sqrt(0.05 * 0.95 / 80)
    assert np.mean([test.past.p < 0.05 for test in tests]) < allowed
    assert np.mean([test.future.p < 0.05 for test in tests]) < allowed
    assert abs(np.mean([test.past.t for test in tests])) < 4 * 1.1 / np.sqrt(80)
    together = [push_test_of_rounds(WORLD, people[i : i + 20]).past.t for i in range(0, 80, 20)]
    assert abs(np.mean(together)) < 4 / np.sqrt(4)


@pytest.mark.parametrize(("name", "kappa"), [("fixed", 0.0), ("random pairs", 1.0)])
def test_power_for_whoever_learns_from_outcomes(name, kappa):
    rng = np.random.default_rng(4)
    person = pr.DeltaRule(NOVICE, 0.05, kappa)
    people = crowd(WORLD, person, sets(name, rng), 80, rng)
    alone = [push_test_of_rounds(WORLD, [each]).past for each in people[:40]]
    assert np.mean([push.t for push in alone]) > 0.4
    tests = [push_test_of_rounds(WORLD, people[i : i + 20]) for i in range(0, 80, 20)]
    assert sum(test.follows for test in tests) >= 3
    assert np.mean([test.past.coefficient for test in tests]) == pytest.approx(0.06, abs=0.025)
    assert sum(test.future.p < 0.05 for test in tests) <= 2


def test_outcomes_that_were_not_told_do_not_push():
    rng = np.random.default_rng(5)
    told = np.arange(120) % 2 == 0
    shown = np.tile([True, True, False, False], (120, 1))
    people = crowd(WORLD, pr.DeltaRule(NOVICE, 0.1), shown, 40, rng, told=told)
    found = push_test_of_rounds(WORLD, people)
    assert found.follows
    assert found.untold is not None
    assert abs(found.untold.t) < 3.5
    assert "not told" in found.in_words()


def test_a_log_says_the_same_and_a_short_one_says_so():
    rng = np.random.default_rng(6)
    people = crowd(WORLD, pr.DeltaRule(NOVICE, 0.05), FIXED, 3, rng)
    assert push_test(WORLD, log_of(WORLD, people)) == push_test_of_rounds(WORLD, people)
    short = [
        AnsweredRounds(r.shown[:10], r.told[:10], r.values[:10], r.answers[:10], r.outcomes[:10])
        for r in people
    ]
    found = push_test(WORLD, log_of(WORLD, short))
    assert found.past is None
    assert "too short" in found.in_words()
    assert contradicts(found, 0.99) is None
    with pytest.raises(pr.errors.InvalidInput, match="its tests are"):
        push_test(pr.World([1.0], [[1.0]]), log_of(WORLD, people))


def test_words_and_doubts():
    clear, zero = Push(0.06, 0.01, 19.0), Push(0.0, 0.01, 19.0)
    follows = PushTest(clear, zero, None, 20, 1600)
    stays = PushTest(zero, zero, None, 20, 1600)
    unsure = PushTest(Push(0.05, 0.05, 60.0), zero, None, 1, 80)
    assert follows.in_words().startswith("Answers follow the outcomes")
    assert stays.in_words().startswith("Answers do not follow")
    assert "would give t = 1.0" in unsure.in_words()
    assert contradicts(follows, 0.95) is None
    assert "unlikely (0.02)" in str(contradicts(follows, 0.02))
    assert "expected 5.0" in str(contradicts(stays, 0.97))
    assert contradicts(unsure, 0.97) is None
    assert contradicts(unsure, 0.02) is None
    assert "still to come" in str(contradicts(PushTest(zero, clear, None, 1, 80), 0.5))
    assert PushTest.from_dict(follows.to_dict()).to_dict() == follows.to_dict()
