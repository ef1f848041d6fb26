"""Walking the sets as a tree gives what looking at each set alone gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from tests.strategies import budgets, covariance, seeds


@given(st.data(), st.integers(1, 7), seeds, st.integers(1, 300))
def test_all_sets_of_any_family(data, size, seed, states):
    rng = np.random.default_rng(seed)
    world = pr.World(rng.standard_normal(size), covariance(rng, size), 0.1)
    budget = data.draw(budgets(size))
    problem = pr.Problem(world, pr.Learner(rng.standard_normal(size), pr.OneShot()), budget)
    errors = rng.standard_normal((states, size))
    together = problem.oracle.losses(errors)
    assert together.shape == (states, len(problem.sets))
    for column, shown in enumerate(problem.sets):
        assert_allclose(together[:, column], problem.oracle.loss_of(errors, shown), rtol=1e-9)


@pytest.mark.parametrize(("budget", "nodes"), [(pr.AtMost(3), 42), (pr.Exactly(3), 34)])
def test_a_walk_visits_each_prefix_once(budget, nodes):
    """Six tests: 1 + 6 + 15 + 20 sets; for exactly three the 4 + 10 + 20 prefixes that lead on."""
    world = pr.World.equicorrelated(np.ones(6), 0.5)
    problem = pr.Problem(world, pr.Learner(np.zeros(6), pr.OneShot()), budget)
    tree = problem.oracle.tree
    assert tree.depth.size == nodes
    assert sorted(tree.set_index[tree.set_index >= 0]) == [*range(len(problem.sets))]
    assert np.all(np.diff(tree.depth) <= 1)  # parents come before their children


def test_deep_sets_take_the_general_path():
    rng = np.random.default_rng(3)
    world = pr.World(rng.standard_normal(8), covariance(rng, 8), 0.1)
    problem = pr.Problem(world, pr.Learner(rng.standard_normal(8), pr.OneShot()), 8)
    errors = rng.standard_normal((5, 8))
    last = len(problem.sets) - 1
    wanted = problem.oracle.loss_of(errors, tuple(range(8)))
    assert_allclose(problem.oracle.losses(errors)[:, last], wanted, rtol=1e-9)
