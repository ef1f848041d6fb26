"""Rounds of the general dual against plain NumPy: bounds, hulls, tangents, derivatives, beams."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.planning._beam_kernels import best_repeat, expand_layer, merge_children, state_loss
from preceptor.planning._count_dual_kernels import (
    add_outer,
    count_moments,
    keep_hull,
    round_points,
    set_bound,
    soft_least,
    tangent,
)
from preceptor.planning.count_dual import (
    CountDual,
    Exact,
    SmoothedDual,
    bracket_metric,
    stopping,
    thin_counts,
)
from preceptor.planning.dual import ProvenMultipliers, constants, timeline
from preceptor.planning.dual_instances import charge_lines, forms_of, to_counts
from tests.doors import door
from tests.planning.random_problems import log_cosh

add_outer, state_loss, count_moments = door(add_outer), door(state_loss), door(count_moments)
keep_hull, round_points, set_bound = door(keep_hull), door(round_points), door(set_bound)
soft_least = door(soft_least)
NEVER = np.zeros(1, dtype=np.int64)


def small(**changes):
    world = pr.World.equicorrelated([1.0, -0.6], 0.5)
    learner = pr.Learner([0.1, 0.7], [pr.Geometric(1.4, floor=0.1), pr.PowerLaw(0.8)], 0.4)
    return pr.Problem(world, learner, 2, discount=0.7).replace(**changes)


@pytest.fixture(scope="module")
def finite():
    return to_counts(small(horizon=4))


@pytest.mark.parametrize(
    "risk", [pr.SquaredError(), pr.Huber(0.7), pr.AbsoluteError(), pr.ResidualRisk(log_cosh)]
)
def test_tangents_lie_below_the_charge_and_touch_it(risk):
    problem = small(risk=risk)
    lines = np.zeros((0, 3)) if risk.code >= 0 else charge_lines(problem, forms_of(problem))
    tau = risk.parameter
    sizes = np.linspace(0.01, 1.5, 60)
    for s in sizes[::7]:
        height, slope, _ = tangent(risk.code, tau, lines, s)
        charges = risk.expected(sizes**2)
        assert np.all(height + slope * (sizes - s) <= charges + 1e-12)
        assert_allclose(height, risk.expected(s * s), rtol=1e-4)


def test_a_hull_has_the_same_minima(finite):
    rng = np.random.default_rng(0)
    e, f = np.sort(rng.standard_normal(12))[::-1].copy(), rng.standard_normal(12)
    hull_e, hull_f = e.copy(), f.copy()
    kept = keep_hull(hull_e, hull_f, 12)
    assert kept < 12
    for slope in np.linspace(-5, 5, 21):
        assert_allclose((hull_f + slope * hull_e)[:kept].min(), (f + slope * e).min())


def test_soft_minima_and_their_moments():
    rng = np.random.default_rng(1)
    e, f, X = rng.standard_normal(7), rng.standard_normal(7), rng.standard_normal((7, 6))
    weight, tc, slope = np.empty(7), 0.3, 0.8
    least, mean, variance = soft_least(e, f, 7, slope, tc, weight)
    w = np.exp(-(f + slope * e) / tc)
    assert_allclose(least, -tc * np.log(w.sum()))
    w /= w.sum()
    assert_allclose([mean, variance], [w @ e, w @ e**2 - (w @ e) ** 2])
    centre, cross, cov = np.empty(6), np.empty(6), np.zeros((6, 6))
    count_moments(e, f, X, 7, slope, tc, weight, centre, cross, cov)
    assert_allclose(centre, w @ X)
    assert_allclose(cross, (w * (e - mean)) @ X / tc)
    assert_allclose(cov, np.tril(np.cov(X.T, aweights=w, ddof=0) / tc), atol=1e-12)


def brackets(instance, theta, t, S):
    """Cost plus potential after less potential before, for all counts of round t."""
    for m in product(range(t + 1), repeat=instance.n_tests):
        e = np.array([instance.errors[i, m[i]] for i in range(instance.n_tests)])
        after = np.minimum(np.array(m) + instance.shown[S], instance.caps)
        before = np.minimum(m, instance.caps)
        at = np.arange(instance.n_tests)
        y = instance.shift[S] + instance.reading[S] @ e
        loss = instance.floor[S] + y @ y + instance.prices[S]
        later = (theta[t + 1] * instance.basis[at, after]).sum()
        yield loss + instance.discount * later - (theta[t] * instance.basis[at, before]).sum()


def test_round_minima_are_below_every_bracket_and_near_the_least(finite):
    rng = np.random.default_rng(2)
    times = timeline(4, has_tail=False)
    theta = 0.1 * rng.standard_normal((5, 2, 3))
    theta[4] = 0.0
    exact = Exact(finite, times)
    minima, values = exact.minima(theta, np.array([1e-2, 1e-4, 1e-6]))
    for t in range(4):
        least = [min(brackets(finite, theta, t, S)) for S in finite.actions]
        assert np.all(values[t] <= np.array(least) + 1e-12)
        assert minima[t] <= min(least) + 1e-12
    assert_allclose(minima[0], min(min(brackets(finite, theta, 0, S)) for S in finite.actions))
    dual = CountDual(finite, 1.0)
    bound = dual.certify(ProvenMultipliers(theta, minima, 0.0, 0.0), "converged", 0)
    assert bound.value <= pr.solve(small(horizon=4), "finite").value


def test_one_set_at_one_point(finite):
    theta = 0.1 * np.random.default_rng(3).standard_normal((5, 2, 3))
    e, f = np.empty((2, 2, 6)), np.empty((2, 2, 6))
    X, sizes = np.empty((2, 2, 6, 6)), np.empty((2, 2), dtype=np.int64)
    points = e, f, sizes
    round_points(2, theta[2], theta[3], finite.count_arrays, np.arange(4), 0.7, points, X)
    assert sizes.tolist() == [[3, 3], [3, 3]]
    S = int(finite.actions[-1])
    y = np.array([0.3, -0.2])
    room = np.empty((4, 6))
    floor, shift, reading, prices = (part[S] for part in finite.loss_arrays[:4])
    scratch = room[0, :2], room[1, :2], room[2, :2], room[3]
    found = set_bound(S, y, finite.loss_arrays, points, 0.0, scratch)
    slopes = reading.T @ (2.0 * y)
    least = [(f[i, 1, :3] + slopes[i] * e[i, 1, :3]).min() for i in range(2)]
    assert_allclose(found, floor + y @ y + 2.0 * y @ (shift - y) + prices + sum(least))


@pytest.mark.parametrize("budget", [pr.Exactly(1), pr.AtMost(1)])
def test_gradients_are_those_of_finite_differences(budget):
    instance = to_counts(small(horizon=3, budget=budget))
    ascent = SmoothedDual(instance, timeline(3, has_tail=False), NEVER)
    rng = np.random.default_rng(4)
    theta, step = 0.1 * rng.standard_normal((4, 2, 3)), rng.standard_normal((4, 2, 3))
    theta[3] = step[3] = 0.0
    smooth = ascent.evaluate(theta, 0.05, second=True)
    up, down = (ascent.evaluate(theta + h * step, 0.05).merit for h in (1e-5, -1e-5))
    slope = (smooth.gradient * step.reshape(4, 6)).sum()
    assert_allclose(slope, (up - down) / 2e-5, rtol=1e-4)


def test_stopping_and_blocks():
    instance = to_counts(small())
    fine, coarse = timeline(40, has_tail=True), timeline(40, has_tail=True, coarseness=4)
    assert coarse.rows < fine.rows
    theta = 0.05 * np.random.default_rng(5).standard_normal((coarse.rows, 2, 3))
    blocks = Exact(instance, coarse).minima(theta, np.array([1e-4]))[0]
    each = theta[coarse.row]
    single = Exact(instance, fine).minima(each, np.array([1e-4]))[0]
    ends = (stopping(instance, times, rows) for times, rows in ((coarse, theta), (fine, each)))
    below, above = (
        constants(instance, minima, stop)
        for minima, stop in zip((blocks[coarse.piece], single), ends, strict=True)
    )
    assert np.all(below <= above + 1e-6)
    slack = stopping(instance, fine, each)[:3]
    terms = np.einsum("imc,bic->bim", instance.basis[:, :3], each[:3])
    largest = [terms[b, :, : b + 1].max(axis=1).sum() for b in range(3)]
    assert_allclose(slack, [instance.stop_cost(t) - largest[t] for t in range(3)])
    diagonal, below_blocks = bracket_metric(instance, fine, thin_counts(40))
    assert diagonal.shape[0] == below_blocks.shape[0] + 1
    H = np.zeros((3, 3))
    add_outer(H, np.array([1.0, 2.0, 3.0]), 2.0)
    assert_allclose(H, np.tril(2.0 * np.outer([1, 2, 3], [1, 2, 3])))


def test_layers_of_the_beam(finite):
    counts, prefix = np.array([[0, 1], [1, 0]]), np.array([0.5, 0.6])
    pot = np.random.default_rng(6).standard_normal((2, 5))
    F, G = np.empty((2, finite.actions.size)), np.empty((2, finite.actions.size))
    least = np.zeros(finite.actions.size)
    expand_layer(
        0, 2, counts, prefix, finite.errors, finite.caps, finite.loss_arrays,
        finite.members, finite.actions, least, pot, 0.3, 0.7, 0.7, np.inf, F, G,
    )  # fmt: skip
    for p, c in product(range(2), range(finite.actions.size)):
        S = finite.actions[c]
        e = finite.errors[[0, 1], counts[p]]
        loss = state_loss(S, e, finite.loss_arrays)
        y = finite.shift[S] + finite.reading[S] @ e
        assert_allclose(loss, finite.floor[S] + y @ y + finite.prices[S])
        child = np.minimum(counts[p] + finite.shown[S], finite.caps)
        assert_allclose(G[p, c], prefix[p] + 0.7 * loss)
        assert_allclose(F[p, c], G[p, c] + 0.49 * (pot[[0, 1], child].sum() + 0.3))
    room = F.size
    best_of, keys = np.empty(room), np.empty((room, 1), dtype=np.uint64)
    parents, sets = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    kept, dropped = merge_children(
        counts, F, finite.members, finite.actions, np.array([1, 1]), np.inf, 1, 4,
        best_of, parents, sets, keys, np.empty(64, dtype=np.int64),
    )  # fmt: skip
    assert kept < F.size
    assert dropped == np.inf


def test_the_best_set_to_repeat():
    problem = small(discount=0.6)
    instance = to_counts(problem)
    most = np.where(instance.settled, instance.caps, instance.length)
    chosen, cost = best_repeat(
        np.zeros(2, dtype=np.int64), instance.errors, most, instance.loss_arrays,
        instance.actions, np.zeros(instance.actions.size), 0.6, 1e9,
    )  # fmt: skip
    each = [pr.evaluate(problem, pr.Stationary(problem.sets[S])) for S in instance.actions]
    assert instance.actions[int(np.argmin(each))] == chosen
    assert_allclose(cost, min(each), rtol=1e-6)
