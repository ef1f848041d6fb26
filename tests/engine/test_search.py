"""What the search says a schedule costs is what it costs; the arrays are checked once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preceptor.engine.search import evaluate_schedule, search_schedule
from tests.engine.exact import (
    brute_force,
    random_instance,
    read_matrix,
    schedule_cost,
)


def test_a_schedule_costs_what_its_rounds_do():
    instance = random_instance(4, 3, (0, 1, 2))
    schedule = np.random.default_rng(0).integers(0, instance.n_sets, 30)
    rounds = np.concatenate([schedule, np.full(400, 5)])
    slow = schedule_cost(instance, rounds)
    assert_allclose(evaluate_schedule(instance, schedule, 5), slow, rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_short_plans_are_found(seed):
    instance = random_instance(seed, 3, (0, 1, 2), horizon=3)
    found = search_schedule(instance, time_limit=60, max_kicks=20)
    assert found.commit == -1
    assert_allclose(found.value, schedule_cost(instance, found.schedule), rtol=1e-12)
    assert_allclose(found.value, brute_force(instance), rtol=1e-9)


def test_the_seed_decides():
    instance = random_instance(1, 4, (2,))
    one, two = (search_schedule(instance, 20, time_limit=60, max_kicks=5, seed=3) for _ in "ab")
    assert_array_equal(one.schedule, two.schedule)
    assert (one.value, one.commit, one.seed) == (two.value, two.commit, 3)


def test_factors_are_roots_of_the_loss():
    instance = random_instance(2, 4, (0, 1, 2, 3))
    outer = np.outer(instance.initial_error, instance.initial_error)
    for S in range(instance.n_sets):
        root = instance.factor[S]
        assert_allclose(root.T @ root, read_matrix(instance, S) * outer, atol=1e-12)
