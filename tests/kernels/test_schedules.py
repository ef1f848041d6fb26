"""What a schedule costs and how moves are priced: kernels against replaying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preceptor.engine import _schedule_kernels, _search_kernels
from preceptor.engine.search import search_schedule
from tests.doors import Doors
from tests.engine.exact import read_matrix, schedule_cost

INFINITE, FINITE = True, False
LONG = 250  # rounds after which nothing is left at a discount of 0.9
RUN, HALTED = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)

schedules, search = Doors(_schedule_kernels), Doors(_search_kernels)


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


def tables(instance, x, commit, infinite):
    """U, Q and K of a schedule, by the kernel that fills them."""
    W, cost, shown, s = arrays(instance)
    T, n = len(x), s.size
    U, Q, K = np.empty((T + 1, n)), np.empty((T + 1, n, n)), np.empty((n, n))
    value = schedules.replay(x, commit, infinite, W, cost, shown, s, instance.discount, U, Q, K)
    return value, U, Q, K


def sorted_sets(instance):
    """Members of all sets in lexicographic order, padded with a large number, and their ids."""
    padded = np.sort(np.where(instance.members < 0, 1 << 40, instance.members), axis=1)
    order = np.lexsort(padded.T[::-1]).astype(np.int64)
    return np.ascontiguousarray(padded[order]), order


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
        K = np.empty((n, n))
        schedules.commit_matrix(S, W, shown, s, delta, K)
        assert_allclose(cost[S] / (1 - delta) + u @ K @ u, wanted)
    best, value = schedules.best_commit(u, W, cost, shown, s, delta)
    assert (best, value) == (int(np.argmin(values)), min(values))


@pytest.mark.parametrize("infinite", [INFINITE, FINITE])
def test_a_schedule_and_its_price_tables(instance, rng, infinite):
    W, cost, shown, s = arrays(instance)
    delta = instance.discount
    x = rng.integers(0, instance.n_sets, 6)
    commit = 1
    wanted = whole_cost(instance, x, commit if infinite else None)
    value, U, Q, _ = tables(instance, x, commit, infinite)
    assert_allclose(value, wanted)
    assert_allclose(schedules.schedule_value(x, commit, infinite, W, cost, shown, s, delta), wanted)
    u, quadratic = np.ones(s.size), []
    for S in x:
        quadratic.append(loss(instance, S, u) - cost[S])
        u = after(instance, S, u)
    assert_allclose(U[-1], u)
    if not infinite:
        later = [sum(delta**r * quadratic[r] for r in range(t, 6)) for t in range(7)]
        assert_allclose(Q.sum(axis=(1, 2)), later, atol=1e-12)


def test_one_round_more_in_a_price_table(instance, rng):
    W, n = instance.factor, instance.n_features
    later, u = rng.standard_normal((n, n)), rng.uniform(0.2, 1.0, n)
    table = np.empty((n, n))
    schedules.price_round(table, later, 1, u, 0.7, W, W.shape[1], n)
    assert_allclose(table, later + 0.7 * (W[1].T @ W[1]) * np.outer(u, u))


@pytest.mark.parametrize("lookahead", [0, 1])
def test_greedy_schedules(instance, lookahead):
    W, cost, shown, s = arrays(instance)
    x = np.empty(5, dtype=np.int64)
    ids = np.arange(instance.n_sets)
    schedules.greedy_schedule(x, lookahead, W, cost, shown, s, instance.discount, ids, RUN)
    u, price = np.ones(s.size), (kept_for_ever if lookahead else loss)
    for S in x:
        assert int(np.argmin([price(instance, other, u) for other in ids])) == S
        u = after(instance, S, u)


def splitmix(state: int) -> tuple[int, float]:
    """The published generator, in whole numbers of any size."""
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    v = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    v = ((v ^ (v >> 27)) * 0x94D049BB133111EB) & mask
    return state, ((v ^ (v >> 31)) >> 11) / 2**53


def test_random_numbers():
    state, twin = np.array([2**64 - 5], dtype=np.uint64), 2**64 - 5
    for _ in range(50):
        twin, wanted = splitmix(twin)
        assert search.next_random(state) == wanted
    assert int(state[0]) == twin


def test_sets_are_found_by_their_members(instance):
    padded, order = sorted_sets(instance)
    row = np.empty(padded.shape[1], dtype=np.int64)
    for S in range(instance.n_sets):
        at = int(np.flatnonzero(order == S)[0])
        assert search.find_set(padded[at], padded, order) == S
    assert search.find_set(np.full_like(row, 1 << 41), padded, order) == -1
    assert search.find_set(np.full_like(row, -7), padded, order) == -1
    family = {frozenset(np.flatnonzero(shown)): S for S, shown in enumerate(instance.shown)}
    tests = [-1, *range(instance.n_features)]
    for S, (out, into) in itertools.product(
        range(instance.n_sets), itertools.product(tests, repeat=2)
    ):
        before = frozenset(np.flatnonzero(instance.shown[S]))
        if into in before or (out >= 0 and out not in before):
            continue
        wanted = family.get((before - {out}) | ({into} - {-1}), -1)
        assert search.exchanged(S, out, into, instance.members, padded, order, row) == wanted


def test_changes_of_one_round_are_priced_without_replaying(instance, rng):
    _, _, shown, s = arrays(instance)
    x = rng.integers(0, instance.n_sets, 5)
    value, U, Q, _ = tables(instance, x, 1, INFINITE)
    t, weight = 2, instance.discount**2
    rows = Q[t + 1].sum(axis=1)
    for S in range(instance.n_sets):
        y = x.copy()
        y[t] = S
        wanted = whole_cost(instance, y, 1) - value
        now = weight * (loss(instance, S, U[t]) - loss(instance, x[t], U[t]))
        later = search.switch_change(x[t], S, rows, Q[t + 1], instance.members, shown, s)
        assert_allclose(now + later, wanted, atol=1e-9)
        factors = (np.where(shown[S], s, 1.0) / np.where(shown[x[t]], s, 1.0)) - 1.0
        changed = np.flatnonzero(factors)
        again = search.later_change(factors, changed, changed.size, Q[t + 1])
        assert_allclose(now + again, wanted, atol=1e-9)


@pytest.mark.parametrize("infinite", [INFINITE, FINITE])
@pytest.mark.parametrize("sweep", ["rounds", "rounds by exchange", "swaps", "blocks"])
def test_a_sweep_gains_what_it_says(instance, rng, sweep, infinite):
    W, cost, shown, s = arrays(instance)
    delta, members = instance.discount, instance.members
    padded, order = sorted_sets(instance)
    x = rng.integers(0, instance.n_sets, 8)
    commit = 1 if infinite else None
    before, U, Q, K = tables(instance, x, 1, infinite)
    if sweep == "swaps":
        gain = search.swap_sweep(x, U, W, cost, shown, s, delta, 5, RUN)
    elif sweep == "blocks":
        lengths = np.array([3, 8])
        gain = search.block_sweep(
            x, 1, infinite, U, Q, K, W, cost, members, shown, s, delta, padded, order, lengths, 0,
            1, RUN,
        )  # fmt: skip
    else:
        all_sets = sweep == "rounds"
        gain = search.round_sweep(
            x, U, Q, W, cost, members, shown, s, delta, all_sets, padded, order, RUN
        )
    assert gain >= 0.0
    assert_allclose(whole_cost(instance, x, commit), before - gain, rtol=1e-9)


def test_a_search_that_is_halted_at_once_still_has_a_schedule(instance):
    found = search_schedule(instance, length=6, time_limit=60, max_kicks=2, halt=HALTED.copy())
    assert_allclose(found.value, whole_cost(instance, found.schedule, found.commit), rtol=1e-9)
    best = search_schedule(instance, length=6, time_limit=60, max_kicks=2)
    assert found.value >= best.value * (1 - 1e-9)


def test_all_sets_forever(instance, rng):
    W, cost, shown, s = arrays(instance)
    u, values = rng.uniform(0.2, 1.0, s.size), np.empty(instance.n_sets)
    schedules.commit_values(u, W, cost, shown, s, instance.discount, values)
    assert_allclose(values, [kept_for_ever(instance, S, u) for S in range(instance.n_sets)])


def test_a_block_costs_what_replaying_it_says(instance, rng):
    W, cost, shown, s = arrays(instance)
    padded, order = sorted_sets(instance)
    n, k = s.size, instance.members.shape[1]
    x = rng.integers(0, instance.n_sets, 7)
    value, U, Q, _ = tables(instance, x, 1, INFINITE)
    for target, (out, into) in itertools.product([-1, 0], [(-1, 0), (0, -1), (0, 1)]):
        y = x.copy()
        work = y, np.empty(n), np.empty(n), np.empty(n, dtype=np.int64), np.empty(k, np.int64)
        change = search.block_change(
            x, 2, 3, out, into, target, U, Q, W, cost, instance.members, shown, s,
            instance.discount, padded, order, *work,
        )  # fmt: skip
        assert_allclose(change, whole_cost(instance, y, 1) - value, atol=1e-9)
        if target >= 0:
            assert_array_equal(y[2:5], target)


def test_kicks_keep_to_the_sets_and_leave_what_came_before():
    state = np.array([1], dtype=np.uint64)
    kinds = set()
    for _ in range(60):
        x = np.arange(12) % 5
        before = x.copy()
        search.kick(x, state, 5)
        kinds.add(tuple(x))
        assert set(x) <= set(range(5))
        assert x.shape == before.shape
    assert len(kinds) > 10


def test_search_ends_where_no_single_change_helps(instance):
    found = search_schedule(instance, length=6, time_limit=60, max_kicks=2)
    x, commit = found.schedule, found.commit
    assert_allclose(found.value, whole_cost(instance, x, commit), rtol=1e-9)
    for t, S in itertools.product(range(len(x)), range(instance.n_sets)):
        y = x.copy()
        y[t] = S
        assert whole_cost(instance, y, commit) >= found.value * (1 - 1e-8)
