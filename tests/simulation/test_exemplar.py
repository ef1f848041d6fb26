"""A person who remembers cases: the protocol, and the limits of its similarity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.simulation import ExemplarLearner, check_human

WORLD = pr.World.equicorrelated([1.0, 0.8, 0.3], 0.6)


@pytest.mark.parametrize("sensitivity", [0.7, 3.0])
def test_follows_the_protocol(sensitivity):
    check_human(lambda: ExemplarLearner(WORLD, sensitivity), WORLD)


def taught(sensitivity, rounds=20, shown=(0, 2), world=WORLD):
    person = ExemplarLearner(world, sensitivity)
    cases = world.sample(rounds, rng=1)
    for x, y in zip(cases.features, cases.outcomes, strict=True):
        person.feedback(shown, x[list(shown)], float(y))
    return person, cases


def test_a_novice_answers_with_the_average():
    assert ExemplarLearner(WORLD, 1.0).predict((1,), np.array([2.0])) == 0.0


def test_between_the_mean_of_all_outcomes_and_the_nearest_one():
    (broad, cases), (narrow, _) = taught(1e-9), taught(1e3)
    for x, y in zip(cases.features, cases.outcomes, strict=True):
        assert broad.predict((0, 2), x[[0, 2]]) == pytest.approx(cases.outcomes.mean())
        assert narrow.predict((0, 2), x[[0, 2]]) == pytest.approx(y)


def test_answers_are_the_weighted_mean_and_far_cases_give_finite_ones():
    person, cases = taught(0.7)
    distance = np.abs(cases.features[:, [0, 2]] - np.array([0.4, -1.0])).sum(axis=1)
    expected = np.average(cases.outcomes, weights=np.exp(-0.7 * distance))
    assert person.predict((0, 2), np.array([0.4, -1.0])) == pytest.approx(expected)
    # A test that was always hidden tells nothing: all cases are alike.
    assert person.predict((1,), np.array([1.5])) == pytest.approx(cases.outcomes.mean())
    assert np.isfinite(taught(50.0)[0].predict((0, 2), np.array([1e4, -1e4])))


def test_many_cases_at_once_are_one_after_the_other():
    person, cases = taught(3.0)
    values = cases.features[:, [0, 1]]
    alone = [person.predict((0, 1), each) for each in values]
    assert_allclose(person.predict_cases((0, 1), values), alone)


def test_differences_are_in_standard_deviations():
    scale = np.array([10.0, 0.1, 1.0])
    wide = pr.World(WORLD.coefficients / scale, WORLD.covariance * np.outer(scale, scale))
    person, cases = taught(0.7)
    other = ExemplarLearner(wide, 0.7)
    for x, y in zip(cases.features, cases.outcomes, strict=True):
        other.feedback((0, 2), (scale * x)[[0, 2]], float(y))
    mine = person.predict((0, 1), np.array([0.3, -0.5]))
    assert other.predict((0, 1), np.array([3.0, -0.05])) == pytest.approx(mine)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, np.nan, "near"])
def test_sensitivity_must_be_a_positive_number(sensitivity):
    with pytest.raises(pr.InvalidInput, match="sensitivity"):
        ExemplarLearner(WORLD, sensitivity)


def test_noise_comes_from_the_seed_and_has_its_size():
    noisy = ExemplarLearner(WORLD, 0.7, response_noise=0.5)
    noisy.reset(3)
    said = [noisy.predict((0,), np.array([1.0])) for _ in range(4000)]
    noisy.reset(3)
    assert noisy.predict((0,), np.array([1.0])) == said[0]
    assert np.std(said) == pytest.approx(0.5, rel=0.05)
    with pytest.raises(pr.InvalidInput, match="response_noise: -1"):
        ExemplarLearner(WORLD, 0.7, -1)
    with pytest.raises(pr.InvalidInput, match="yes or no"):
        ExemplarLearner(pr.World([1.0], [[1.0]], outcome=pr.Binary(0.3)), 0.7)
