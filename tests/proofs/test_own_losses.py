"""The checkers' losses: the same as the oracle's by other means, exact between near copies."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.matrices import covariance_root
from preceptor.proofs.losses import ReferenceLosses, exact_root
from preceptor.proofs.slow_value import slow_loss, slow_value
from tests.oracles import schedule_value
from tests.strategies import examples, problems


@examples(60)
@given(problems())
def test_they_are_what_the_oracle_says(problem):
    losses = ReferenceLosses.of(problem)
    errors = np.stack(
        [problem.initial_errors, 0.3 * problem.initial_errors, 0.0 * problem.initial_errors]
    )
    found = np.stack([losses.losses(row, errors) for row in range(len(losses.sets))], axis=1)
    assert list(losses.sets) == list(problem.sets)
    assert_allclose(found, problem.oracle.losses(errors), rtol=1e-9, atol=losses.slack)
    assert_allclose(losses.floors, problem.oracle.floors(), rtol=1e-9, atol=losses.slack)
    beliefs = problem.world.coefficients - errors[1]
    slow = [slow_loss(problem, beliefs, shown) for shown in losses.sets]
    assert_allclose(found[1], slow, rtol=1e-8, atol=1e-10)
    assert found.max() <= losses.scale * (1 + 1e-12)


@examples(40)
@given(problems())
def test_no_error_in_the_interval_costs_less_than_the_least(problem):
    losses = ReferenceLosses.of(problem)
    rng = np.random.default_rng(0)
    errors = problem.initial_errors * rng.uniform(0.5, 1.0, (4, problem.size))
    low, high = np.minimum(errors, 0.2 * errors), np.maximum(errors, 0.2 * errors)
    inside = rng.uniform(low, high, (50, *errors.shape))
    for row in range(len(losses.sets)):
        least = losses.least(row, errors, low, high)
        for people in inside:
            assert np.all(losses.losses(row, people) >= least - losses.slack)


@examples(40)
@given(problems())
def test_a_schedule_costs_what_dense_algebra_says(problem):
    plan = pr.solve(problem, "finite")
    schedule = plan.policy.schedule(problem.horizon)
    assert_allclose(slow_value(problem, plan.policy), schedule_value(problem, schedule), rtol=1e-8)


def exact_floor(sigma, a, shown):
    """In rational numbers, which forget nothing."""
    n, s = len(a), list(shown)
    cov = [[Fraction(float(x)) for x in row] for row in sigma]
    truth = [Fraction(float(x)) for x in a]
    target = [sum(cov[i][j] * truth[j] for j in range(n)) for i in range(n)]
    rows = [[cov[i][j] for j in s] + [target[i]] for i in s]
    for i in range(len(s)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(s)):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    explained = sum(rows[i][-1] * target[s[i]] for i in range(len(s)))
    return float(sum(truth[i] * target[i] for i in range(n)) - explained)


@pytest.mark.parametrize("apart", [1e-6, 1e-9, 6e-11])
def test_floors_between_near_copies_keep_eight_digits(apart):
    """As alike as a world allows; subtracting what is explained would keep one or two."""
    rng = np.random.default_rng(3)
    sigma = np.full((4, 4), 1.0 - apart)
    sigma[3, :3] = sigma[:3, 3] = 0.4
    np.fill_diagonal(sigma, 1.0)
    world = pr.World(rng.standard_normal(4), sigma, 0.0)
    problem = pr.Problem(world, pr.Learner(rng.standard_normal(4), pr.Geometric(1.1)), 3)
    exact = [exact_floor(sigma, world.coefficients, shown) for shown in problem.sets]
    assert_allclose(problem.oracle.floors(), exact, rtol=1e-8)
    assert_allclose(ReferenceLosses.of(problem).floors, exact, rtol=1e-8)


@pytest.mark.parametrize("apart", [0.5, 1e-6, 1e-12, 1e-15])
def test_both_roots_keep_the_difference_of_near_copies(apart):
    sigma = np.array([[1.0, 1.0 - apart, 0.3], [1.0 - apart, 1.0, 0.3], [0.3, 0.3, 2.0]])
    assert_allclose(covariance_root(sigma), exact_root(sigma), rtol=1e-15, atol=1e-30)
    difference = Fraction(1) - Fraction(1.0 - apart) ** 2
    assert_allclose(covariance_root(sigma)[1, 1] ** 2, float(difference), rtol=1e-15)


@pytest.mark.parametrize("root", [covariance_root, exact_root])
def test_what_is_no_covariance_has_no_root(root):
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        root(np.array([[1.0, 2.0], [2.0, 1.0]]))
