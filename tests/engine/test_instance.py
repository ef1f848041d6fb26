"""What an instance says a schedule costs is what it costs."""

import numpy as np
from numpy.testing import assert_allclose

from preceptor.engine.instance import evaluate_schedule
from tests.engine.exact import random_instance, read_matrix, schedule_cost


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
