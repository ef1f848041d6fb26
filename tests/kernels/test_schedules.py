"""What a schedule costs: kernels against replaying everything."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.engine import _schedule_kernels
from tests.doors import Doors
from tests.engine.exact import read_matrix, schedule_cost

LONG = 250  # rounds after which nothing is left at a discount of 0.9

schedules = Doors(_schedule_kernels)


def arrays(instance):
    """W, cost, shown and s, as kernels want them."""
    return instance.factor, instance.set_cost, instance.shown, 1.0 / instance.alpha


def loss(instance, S, u):
    e = instance.initial_error * u
    return instance.set_cost[S] + e @ read_matrix(instance, S) @ e


def after(instance, S, u):
    return np.where(instance.shown[S], u / instance.alpha, u)


def kept_for_ever(instance, S, u):
    total = 0.0
    for t in range(LONG):
        total += instance.discount**t * loss(instance, S, u)
        u = after(instance, S, u)
    return total


def whole_cost(instance, x, commit=None):
    tail = [] if commit is None else [commit] * LONG
    return schedule_cost(instance, [*x, *tail])


def test_a_round_and_a_commitment(instance, rng):
    W, cost, shown, s = arrays(instance)
    delta, n = instance.discount, s.size
    u = rng.uniform(0.2, 1.0, n)
    values = []
    for S in range(instance.n_sets):
        assert_allclose(schedules.set_loss(S, u, W, cost), loss(instance, S, u))
        wanted = kept_for_ever(instance, S, u)
        values.append(schedules.commit_value(S, u, W, cost, shown, s, delta))
        assert_allclose(values[-1], wanted)
    best, value = schedules.best_commit(u, W, cost, shown, s, delta)
    assert (best, value) == (int(np.argmin(values)), min(values))


@pytest.mark.parametrize("infinite", [True, False])
def test_a_schedule(instance, rng, infinite):
    x, commit = rng.integers(0, instance.n_sets, 6), 1
    wanted = whole_cost(instance, x, commit if infinite else None)
    value = schedules.schedule_value(x, commit, infinite, *arrays(instance), instance.discount)
    assert_allclose(value, wanted)
