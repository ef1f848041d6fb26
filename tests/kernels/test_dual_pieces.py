"""Pieces of the dual and its beam: kernels against dense algebra, sorting and grids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preceptor._base._array_kernels import copy_into, fill_with, largest_of, smallest_of
from preceptor.planning import _beam_kernels, _dual_kernels
from tests.doors import Doors, door
from tests.planning.exact import beam_against, enclosure, good_schedule, solve_errors

beams, dual = map(Doors, (_beam_kernels, _dual_kernels))
copy_into, fill_with = door(copy_into), door(fill_with)
largest_of, smallest_of = door(largest_of), door(smallest_of)

GRID = 20_001


def test_copying_and_filling_short_vectors(rng):
    for size in (0, 1, 7):
        values = np.round(rng.standard_normal(size), 1)
        target = np.empty(size)
        copy_into(target, values)
        assert_array_equal(target, values)
        fill_with(target, 3.0)
        assert_array_equal(target, np.full(size, 3.0))


@pytest.mark.parametrize("tail", [False, True])
def test_one_coordinate_against_a_grid(rng, tail):
    for _ in range(30):
        p, a, mu = rng.normal(), rng.choice([0.0, rng.uniform(0, 2)]), rng.choice([0.0, 0.7])
        lo, hi = 0.05, 1.0
        u = np.linspace(lo, hi, GRID)
        values = p * u + a * u * u - mu * np.log(u)
        found = dual.coordinate_minimiser(p, a, mu, lo, hi)
        least = p * found + a * found**2 - mu * math.log(found)
        assert lo <= found <= hi
        assert_allclose(least, values.min(), atol=1e-6)
        certified = dual.coordinate_value(p, a, mu, lo, hi, tail)
        assert certified <= least + 1e-12
        if not tail:
            assert_allclose(certified, least, atol=1e-12)
        else:
            below = np.linspace(1e-9, lo, 1001)
            far = p * below + a * below**2 - mu * math.log(lo)
            assert certified <= min(values.min(), far.min()) + 1e-9


def test_small_systems(rng):
    for k in (1, 2, 4):
        root = rng.standard_normal((k, k))
        A, d = root @ root.T + np.eye(k), rng.standard_normal(k)
        wanted = np.linalg.solve(A, d)
        dual.solve_small(A.copy(), d)
        assert_allclose(d, wanted)


def bracket(W, const, b, a, mu, u):
    """What a round costs minus what its potentials pay, at u (..., n)."""
    return const + np.sum((u @ W.T) ** 2, axis=-1) + u @ b + (u * u) @ a - np.log(u) @ mu


def test_the_certified_value_of_a_set_is_a_bound_and_newton_closes_its_gap(rng):
    k, n, const = 2, 2, 0.3
    for _ in range(5):
        W, z = rng.standard_normal((k, n)), rng.standard_normal(k)
        b, a, mu = rng.normal(size=n), rng.uniform(0, 1, n), rng.uniform(0, 0.5, n)
        lo, hi = np.full(n, 0.1), np.ones(n)
        axis = np.linspace(0.1, 1.0, 301)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1)
        least = bracket(W, const, b, a, mu, grid).min()
        u, D = np.empty(n), np.empty(n)
        first = dual.lower_value(W, z, b, a, mu, lo, hi, const, False, u, D)
        gap = np.sum((z - W @ u) ** 2)
        assert first <= least + 1e-9
        assert_allclose(first + gap, bracket(W, const, b, a, mu, u), atol=1e-9)
        free = (u > lo) & (u < hi)
        assert_allclose(D, np.where(free, 1.0 / (2 * a + mu / u**2), 0.0))
        work = u, D, np.empty((k, k)), np.empty(k), np.empty(k)
        raised = dual.newton_lower(W, z, b, a, mu, lo, hi, const, False, np.inf, 1e-14, 60, *work)
        assert first - 1e-12 <= raised <= least + 1e-9
        assert_allclose(raised, least, atol=1e-4)


def test_not_a_number_proves_nothing():
    n = k = 1
    nan = np.array([np.nan])
    work = [np.empty(n), np.empty(n), np.empty((k, k)), np.empty(k), np.empty(k)]
    arguments = np.zeros(1), np.zeros(1), np.full(1, 0.1), np.ones(1), 0.0
    found = dual.newton_lower(
        np.ones((1, 1)), np.zeros(1), nan, *arguments, False, np.inf, 1e-12, 5, *work
    )
    assert found == -math.inf


def potential(theta, u):
    kap, rho, ome = theta
    return np.log(u) @ kap + u @ rho - (u * u) @ ome


def test_coefficients_of_a_round(instance, rng):
    """The separable part is δφ(A_S u) - φ(u), whatever the set."""
    n, delta, s = instance.n_features, instance.discount, 1.0 / instance.alpha
    here, follow = rng.uniform(0, 1, (3, n)), rng.uniform(0, 1, (3, n))
    b0, b1, a0, a1, mu, shift, b, a = np.empty((8, n))
    beta = np.log(instance.alpha)
    dual.round_coefficients(here, follow, delta, s, b0, b1, a0, a1, mu, shift, beta)
    u = rng.uniform(0.2, 1.0, n)
    for S in range(instance.n_sets):
        const = dual.load_set(S, instance.members, instance.set_cost, b0, b1, a0, a1, shift, b, a)
        wanted = (
            instance.set_cost[S]
            + delta * potential(follow, np.where(instance.shown[S], s * u, u))
            - potential(here, u)
        )
        assert_allclose(bracket(np.zeros((1, n)), const, b, a, mu, u), wanted)


def test_curvature_of_a_set(rng):
    k, n, w, tau = 2, 3, 0.4, 0.1
    W, D = rng.standard_normal((k, n)), rng.uniform(0.1, 1.0, n)
    Minv = np.empty((n, n))
    dual.inverse_curvature(W, D, Minv, np.empty((k, k)), np.empty(k))
    assert_allclose(Minv, np.linalg.inv(np.diag(1 / D) + 2 * W.T @ W))
    psi, jac, H = rng.standard_normal(6 * n), rng.standard_normal(6 * n), np.zeros((6 * n, 6 * n))
    dual.add_curvature(H, psi, jac, Minv, w, tau)
    blocks = np.tile(Minv, (6, 6)) * np.outer(jac, jac)
    assert_allclose(np.tril(H), np.tril(w * (blocks + np.outer(psi, psi) / tau)))


def test_banded_form_of_a_block_matrix(rng):
    B, m, damping = 3, 2, 0.5
    diagonal, below = rng.standard_normal((B, m, m)), rng.standard_normal((B - 1, m, m))
    free, ridge = np.array([[1, 1], [0, 1], [1, 1]], dtype=bool), np.array([1.0, 2.0, 3.0])
    banded = np.full((B * m, 2 * m), np.nan)
    dual.fill_banded(0, B, diagonal, below, free, damping, ridge, banded)
    dense = np.zeros((B * m, B * m))
    for t in range(B):
        here = slice(t * m, t * m + m)
        dense[here, here] = np.tril(diagonal[t])
        if t + 1 < B:
            dense[(t + 1) * m : (t + 2) * m, here] = below[t]
    scale = np.diag(dense) * (1 + damping) + np.repeat(ridge, m) * (1e-6 + damping)
    dense[np.diag_indices(B * m)] = scale
    fixed = ~free.ravel()
    dense[fixed], dense[:, fixed] = 0.0, 0.0
    dense[fixed, fixed] = 1.0
    for column, offset in np.ndindex(*banded.shape):
        row = column + offset
        wanted = dense[row, column] if row < B * m else 0.0
        assert banded[column, offset] == pytest.approx(wanted), (row, column)


def test_the_slack_of_stopping_against_a_grid(rng):
    T, n = 2, 2
    theta = rng.uniform(0.0, 1.0, (T + 1, 3, n))
    lo, hi = np.full((T + 1, n), 0.1), np.ones((T + 1, n))
    cost = rng.uniform(1, 2, T + 1)
    value, grad, curve = np.empty(T + 1), np.empty((T + 1, 3 * n)), np.empty((T + 1, n, 3, 3))
    dual.stop_rounds(0, T + 1, theta, lo, hi, -1, cost, value, grad, curve)
    u = np.linspace(0.1, 1.0, GRID)
    for t in range(T + 1):
        kap, rho, ome = theta[t]
        most = [np.max(kap[i] * np.log(u) + rho[i] * u - ome[i] * u**2) for i in range(n)]
        assert_allclose(value[t], cost[t] - sum(most), atol=1e-6)
        for kind, i in np.ndindex(3, n):
            up, down = theta.copy(), theta.copy()
            up[t, kind, i] += 1e-6
            down[t, kind, i] -= 1e-6
            ends = []
            for moved in (up, down):
                there = value.copy()
                work = there, grad.copy(), curve.copy()
                dual.stop_rounds(0, T + 1, moved, lo, hi, -1, cost, *work)
                ends.append(there[t])
            assert_allclose(grad[t, kind * n + i], (ends[0] - ends[1]) / 2e-6, atol=1e-4)


def test_the_smallest_stay_in_order(rng):
    values = np.round(rng.standard_normal(60), 1)
    kept, names, count = np.empty(7), np.empty(7, dtype=np.int64), 0
    for S, value in enumerate(values):
        if count < 7 or value < kept[-1]:
            count = dual.insert_sorted(kept, names, count, value, S)
    assert_allclose(kept, np.sort(values)[:7])
    assert_array_equal(values[names], kept)


def test_children_of_a_beam(instance, rng):
    n, delta, weight, constant = instance.n_features, instance.discount, 0.8, 0.4
    m, prefix = rng.integers(0, 4, (5, n)), rng.uniform(0, 1, 5)
    pot, actions = rng.uniform(0, 1, (n, 8)), np.arange(instance.n_sets)
    F, G = np.zeros((5, actions.size)), np.zeros((5, actions.size))
    limit, over_counts = 2.5, instance.counted(7)
    beams.expand_layer(
        0, 5, m, prefix, over_counts.errors, over_counts.caps, over_counts.loss_arrays,
        instance.members, actions, instance.set_cost, pot, constant, weight, delta, limit, F, G,
    )  # fmt: skip
    for p, S in np.ndindex(*F.shape):
        u = instance.alpha ** -m[p].astype(float)
        loss = instance.set_cost[S] + np.sum((instance.factor[S] @ u) ** 2)
        child = m[p] + instance.shown[S]
        paid = prefix[p] + weight * loss
        bound = paid + weight * delta * (constant + sum(pot[i, child[i]] for i in range(n)))
        if bound >= limit:
            assert F[p, S] == np.inf
        else:
            assert_allclose((G[p, S], F[p, S]), (paid, bound))


@pytest.mark.parametrize("horizon", [None, 4])
def test_bounds_of_tiny_instances_hold(instance, horizon):
    """All kernels of the dual and the beam at work, against a table over all counts."""
    from dataclasses import replace

    instance = replace(instance, horizon=horizon, discount=0.5)
    found = good_schedule(instance, length=4)
    bound = solve_errors(
        instance, found.schedule, time_limit=60, max_iterations=6, length=None if horizon else 4
    )
    beam = beam_against(bound, found.schedule, found.commit, width=8)
    low, high = enclosure(instance, 12)
    assert bound.value <= high + 1e-9
    assert beam.lower_bound <= high + 1e-9
    assert low <= beam.value + 1e-9
    assert bound.value >= 0.5 * low  # useful, not only valid


@pytest.mark.parametrize("seed", range(5))
def test_ends_of_a_vector_and_a_reading_are_numpys(seed):
    rng = np.random.default_rng(seed)
    values, u = rng.normal(size=7), rng.uniform(size=4)
    assert smallest_of(values) == values.min()
    assert largest_of(values) == values.max()
    rows, z = rng.normal(size=(3, 4)), np.empty(3)
    dual.read_state(rows, u, z)
    assert_allclose(z, rows @ u)
