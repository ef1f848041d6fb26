"""The one-round loss: two ways to write it, the oracle, and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.theory.one_step import (
    conditional_covariance,
    explained_covariance,
    one_step_loss_by_blocks,
    one_step_loss_by_quadratic_form,
)
from tests.strategies import covariance, seeds


@given(seeds, st.integers(1, 5))
def test_both_forms_and_the_oracle_agree(seed, size):
    rng = np.random.default_rng(seed)
    world = pr.World(rng.standard_normal(size), covariance(rng, size), rng.uniform(0, 0.5))
    beliefs = rng.standard_normal(size)
    problem = pr.Problem(world, pr.Learner(beliefs, pr.OneShot()), size)
    parts = (world.coefficients, beliefs, world.covariance, world.noise_variance)
    errors = problem.initial_errors[None, :]
    all_at_once = problem.oracle.losses(errors)[0]
    for position, shown in enumerate(problem.sets):
        blocks = one_step_loss_by_blocks(*parts, shown)
        scale = 1e-9 * (1.0 + world.outcome_variance)
        assert_allclose(one_step_loss_by_quadratic_form(*parts, shown), blocks, atol=scale)
        assert_allclose(problem.oracle.loss_of(errors, shown)[0], blocks, atol=scale)
        assert_allclose(all_at_once[position], blocks, atol=scale)


@given(seeds, st.integers(2, 5))
def test_filled_in_and_left_over_covariance_add_up(seed, size):
    rng = np.random.default_rng(seed)
    sigma = covariance(rng, size)
    shown = sorted(rng.permutation(size)[: rng.integers(0, size + 1)].tolist())
    left = sigma - explained_covariance(sigma, shown)
    hidden = [i for i in range(size) if i not in shown]
    block = left[np.ix_(hidden, hidden)]
    assert_allclose(block, conditional_covariance(sigma, shown), atol=1e-10 * sigma.max())
    assert_allclose(left[shown, :], 0.0, atol=1e-9 * sigma.max())


@pytest.mark.parametrize("shown", [(), (0,), (1, 2), (0, 1, 2)])
def test_simulated_people_err_as_much(shown):
    rng = np.random.default_rng(7)
    sigma = covariance(rng, 3)
    truth, beliefs = np.array([1.0, -0.5, 0.7]), np.array([0.2, 0.9, 0.7])
    cases = pr.World(truth, sigma, noise_variance=0.3).sample(200_000, rng)
    seen = list(shown)
    weights = np.linalg.solve(sigma[np.ix_(seen, seen)], sigma[seen, :])
    predicted = cases.features[:, seen] @ weights @ beliefs
    squares = (cases.outcomes - predicted) ** 2
    standard_error = squares.std() / np.sqrt(squares.size)
    expected = one_step_loss_by_blocks(truth, beliefs, sigma, 0.3, shown)
    assert abs(squares.mean() - expected) < 4 * standard_error
