"""Floors over all sets without a list of them, against lists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.planning.bounds import floor_over_all_sets, least_round
from tests.strategies import covariance, examples, problems, seeds

OWN = pr.ResidualRisk(lambda r: np.where(r > 0, 0.9 * r, -0.1 * r))


@pytest.fixture
def rng():
    return np.random.default_rng(16)


@examples(80)
@given(problems(sizes=(3, 4, 5)))
def test_the_least_floor_of_listed_sets(problem):
    listed = float(problem.oracle.floors().min())
    assert_allclose(least_round(problem), listed, rtol=1e-9, atol=1e-12)
    assert least_round(problem) <= listed * (1 + 1e-12) + 1e-14


@given(problems(sizes=(4,)), seeds, st.sampled_from([pr.SquaredError(), pr.Huber(0.5), OWN]))
def test_prices_that_differ_are_exact_for_squared_error_and_a_bound_otherwise(problem, seed, risk):
    prices = np.random.default_rng(seed).uniform(0.0, 0.5, 4)
    priced = problem.replace(budget=pr.AtMost(3, price=prices), risk=risk)
    listed = float(priced.oracle.floors().min())
    assert least_round(priced) <= listed * (1 + 1e-12) + 1e-14
    if isinstance(risk, pr.SquaredError):
        assert_allclose(least_round(priced), listed, rtol=1e-9)


def test_tests_of_several_columns_are_not_streamed(rng):
    world = pr.World(rng.standard_normal(4), covariance(rng, 4), 0.1, groups={"site": [1, 2]})
    problem = pr.Problem(world, pr.Learner(np.zeros(4), pr.Geometric(1.2)), 2, 0.9)
    assert least_round(problem) is None


@pytest.mark.parametrize("risk", [pr.Brier(), pr.LogLoss(), pr.Decision()], ids=str)
def test_yes_or_no(risk, rng):
    world = pr.World(rng.standard_normal(5), covariance(rng, 5), outcome=pr.Binary(0.3))
    problem = pr.Problem(
        world, pr.Learner(np.zeros(5), pr.Geometric(1.2)), pr.AtMost(2, price=0.01), 0.9, risk=risk
    )
    assert_allclose(least_round(problem), problem.oracle.floors().min(), rtol=1e-9)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-8, 4e-10])
def test_near_copies_take_slack_off_or_are_not_streamed(apart, rng):
    """Exact floors of near copies: in the basis of a common factor and differences."""
    n = 6
    own = rng.uniform(0.5, 1.0, n)
    matrix = np.ones((n, n)) + apart * np.diag(own)
    a = rng.standard_normal(n)
    problem = pr.Problem(
        pr.World(a, matrix, 0.0), pr.Learner(np.zeros(n), pr.Geometric(1.2)), 2, 0.9
    )
    least = np.inf
    for s in itertools.combinations(range(n), 2):
        hidden = [i for i in range(n) if i not in s]
        precision = 1.0 + sum(1.0 / (apart * own[i]) for i in s)
        least = min(
            least,
            sum(a[i] ** 2 * apart * own[i] for i in hidden) + a[hidden].sum() ** 2 / precision,
        )
    found = least_round(problem)
    assert found is None if apart < 1e-9 else found <= least
    assert floor_over_all_sets(problem) <= 10.0 * least * (1 + 1e-9)
    if apart >= 1e-3:
        assert_allclose(found, least, rtol=1e-5)


class _Mine(pr.AtMost):
    """Somebody's own budget may allow anything."""


def test_what_is_not_streamed(rng):
    world = pr.World(rng.standard_normal(4), covariance(rng, 4), 0.1)
    problem = pr.Problem(world, pr.Learner(np.zeros(4), pr.Geometric(1.2)), 2, 0.9)
    assert least_round(problem) is not None
    assert least_round(problem, 1e-12) is None
    assert least_round(problem.replace(budget=_Mine(2))) is None
    assert least_round(problem.replace(loss=pr.Empirical(50))) is None
    assert floor_over_all_sets(problem.replace(loss=pr.Empirical(50))) == 0.0
    falling = pr.ResidualRisk(lambda r: np.exp(-np.abs(r)))
    assert least_round(problem.replace(risk=falling)) is None


def test_a_hundred_tests_have_the_floor_that_equal_correlations_have():
    """With equal correlations the k largest weights are best, and their floor is known."""
    rng = np.random.default_rng(3)
    a, rho, n, k = rng.uniform(0, 1, 40), 0.8, 40, 4
    world = pr.World.equicorrelated(a, rho)
    problem = pr.Problem(world, pr.Learner(np.zeros(n), pr.Geometric(1.1)), k, 0.9)
    hidden = np.sort(a)[: n - k]
    factor = 1.0 / (1.0 / rho + k / (1 - rho))  # variance of the common factor, given k tests
    floor = world.noise_variance + (1 - rho) * hidden @ hidden + factor * hidden.sum() ** 2
    assert_allclose(least_round(problem), floor, rtol=1e-10)
