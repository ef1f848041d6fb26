"""Worlds: what is refused, and that drawn cases have the moments they should."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import preceptor as pr

GOOD = {"coefficients": [1.0, 0.5], "covariance": [[1.0, 0.3], [0.3, 2.0]]}


def test_names_default_to_x1_xn():
    assert pr.World(**GOOD).labels == ("x1", "x2")


def test_a_world_cannot_be_changed_after_it_was_checked():
    world = pr.World(**GOOD)
    with pytest.raises(ValueError, match="read-only"):
        world.coefficients[0] = 7.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"covariance": [[1.0, 0.3]]}, r"shape \(1, 2\), must be square"),
        ({"covariance": np.eye(3)}, "3 x 3, but there are 2 coefficients"),
        ({"covariance": [[1.0, 0.3], [0.2, 1.0]]}, "must be symmetric"),
        ({"covariance": [[1.0, 1.2], [1.2, 1.0]]}, "smallest eigenvalue .*positive definite"),
        ({"covariance": [[1.0, 1.0], [1.0, 1.0]]}, "positive definite"),
        ({"covariance": [[1.0, np.nan], [np.nan, 1.0]]}, r"nan at \(0, 1\), must be finite"),
        ({"covariance": [[0.0, 0.0], [0.0, 1.0]]}, "variance of test 0 is 0, must be positive"),
        ({"covariance": "abc"}, "cannot be read as numbers"),
        ({"coefficients": [[1.0]]}, r"coefficients: shape \(1, 1\)"),
        ({"coefficients": [np.inf, 0.0]}, "coefficients: inf at 0"),
        ({"noise_variance": -1.0}, "noise_variance: -1.0"),
        ({"noise_variance": "loud"}, "noise_variance: 'loud'"),
        ({"names": ["a", "a"]}, "'a' repeated"),
        ({"names": ["a"]}, "1 names for 2 tests"),
        ({"beta_shape": (2, 5)}, "give both or neither"),
    ],
)
def test_faults_name_the_value_and_what_is_allowed(change, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        pr.World(**(GOOD | change))


def test_all_faults_come_in_one_message():
    with pytest.raises(pr.InvalidProblem) as caught:
        pr.World([1.0, 0.5], [[1.0, 2.0], [2.0, 1.0]], noise_variance=-1, names=["a", "a"])
    assert len(caught.value.faults) == 3


def test_too_close_to_singular_is_refused_and_units_do_not_matter():
    rho = 1 - 1e-12
    with pytest.raises(pr.InvalidProblem, match=r"condition number .* above 1e"):
        pr.World.equicorrelated([1.0, 1.0], rho)
    # a test measured in tiny units is as good as any
    pr.World([1.0, 1e-9], np.diag([1.0, 1e18]))


def test_drawn_cases_have_the_right_moments():
    world = pr.World([1.0, -0.5], [[1.0, 0.6], [0.6, 2.0]], noise_variance=0.3)
    cases = world.sample(200_000, 1)
    assert cases.features.shape == (200_000, 2)
    assert_allclose(np.cov(cases.features.T), world.covariance, atol=0.03)
    assert_allclose(cases.outcomes.var(), world.outcome_variance, rtol=0.02)
    again = world.sample(200_000, np.random.default_rng(1))
    assert np.array_equal(cases.features, again.features)


@pytest.mark.few(2)
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.99, -0.6])
def test_beta_copula_has_beta_marginals_and_the_covariance_it_claims(rho):
    world = pr.World.beta_copula([1.0, 1.0], rho)
    draws = world.sample(100_000, 3).features
    assert_allclose(np.cov(draws.T), world.covariance, atol=0.02)
    law = stats.beta(2, 5)
    standard = (law.ppf([0.1, 0.5, 0.9]) - law.mean()) / law.std()
    assert_allclose(np.quantile(draws[:, 0], [0.1, 0.5, 0.9]), standard, atol=0.02)
