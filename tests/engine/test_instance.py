"""What an instance says a schedule costs is what it costs; the arrays are checked once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.engine.instance import DualInstance, evaluate_schedule
from tests.engine.exact import factor_members, random_instance, read_matrix, schedule_cost


def test_a_schedule_costs_what_its_rounds_do():
    instance = random_instance(4, 3, (0, 1, 2))
    schedule = np.random.default_rng(0).integers(0, instance.n_sets, 30)
    rounds = np.concatenate([schedule, np.full(400, 5)])
    slow = schedule_cost(instance, rounds)
    assert_allclose(evaluate_schedule(instance, schedule, 5), slow, rtol=1e-10)


def test_factors_are_roots_of_the_loss():
    instance = random_instance(2, 4, (0, 1, 2, 3))
    outer = np.outer(instance.initial_error, instance.initial_error)
    for S in range(instance.n_sets):
        root = instance.factor[S]
        assert_allclose(root.T @ root, read_matrix(instance, S) * outer, atol=1e-12)


def test_every_fault_is_named():
    eye = np.eye(2)
    members = factor_members(2, (0, 1))
    with pytest.raises(ValueError, match=r"covariance.*alpha.*set_cost.*discount.*horizon"):
        DualInstance(eye[:1], np.ones(2), np.full(2, 0.5), members, np.ones(2), 1.5, 0)
    with pytest.raises(ValueError, match="members"):
        DualInstance(eye, np.ones(2), np.ones(2), members + 5, np.ones(3), 0.5)
