"""The descent that can be stopped: where it ends if it is not, and that it never makes worse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import preceptor as pr
from preceptor.engine.search import descend_until, evaluate_schedule, lookup_tables, tries_every_set
from preceptor.planning.reduction import to_instance
from preceptor.planning.search import quick_search


def problem(horizon: int | None = None) -> pr.Problem:
    world = pr.World.equicorrelated([1.0, 0.8, 0.6, 0.4], 0.6)
    return pr.Problem(world, pr.Learner(np.zeros(4), pr.Geometric(1.1)), 2, 0.95, horizon)


@pytest.mark.parametrize("horizon", [None, 40])
def test_not_stopped_it_ends_where_the_compiled_one_ends(horizon):
    from preceptor.engine._search_kernels import descend

    instance = to_instance(problem(horizon))
    start = np.full(horizon or 60, instance.n_sets - 1, dtype=np.int64)
    own, compiled = start.copy(), start.copy()
    commit = descend_until(instance, own, lambda: False)
    rounds, n = start.size, instance.n_features
    U, Q, K = np.empty((rounds + 1, n)), np.empty((rounds + 1, n, n)), np.empty((n, n))
    value, other = descend(
        compiled, int(start[-1]), horizon is None, U, Q, K, instance.factor, instance.set_cost,
        instance.members, instance.shown, 1.0 / instance.alpha, instance.discount,
        tries_every_set(instance), *lookup_tables(instance), 0, np.array([1], dtype=np.uint64),
    )  # fmt: skip
    assert_array_equal(own, compiled)
    assert commit == other
    assert evaluate_schedule(instance, own, commit) == pytest.approx(value)


def test_stopped_at_once_it_is_better_than_its_start_and_bounded():
    asked = problem()
    instance = to_instance(asked)
    start = np.full(60, instance.n_sets - 1, dtype=np.int64)
    own = start.copy()
    commit = descend_until(instance, own, lambda: True)
    before = evaluate_schedule(instance, start, int(start[-1]))
    assert evaluate_schedule(instance, own, commit) < before
    plan = quick_search(asked, 1e-6)
    assert plan.lower_bound <= plan.value == pytest.approx(pr.evaluate(asked, plan.policy))
    assert quick_search(asked, 5.0).value == pytest.approx(pr.solve(asked).value, rel=1e-2)
