"""Local search on whole schedules: a good plan fast, with no promise of being best.

Moves: any other set in one round (large families: one test exchanged), exchanges over blocks of
3, 10, 40 and all later rounds, swaps of rounds up to eleven apart, the final set; then kicks,
repeated descents and restarts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.instance import DualInstance

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]

ALL_SETS_LIMIT = 700  # above this a round tries exchanges of one test instead of every set
# Where some tests come only together, exchanging one of them leads nowhere; every set is tried.
TOGETHER_LIMIT = 20_000


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Set ids (T,), then `commit` forever (-1 for a finite horizon); `value` is the exact cost."""

    schedule: IntArray
    commit: int
    value: float
    kicks: int
    seconds: float
    seed: int


def evaluate_schedule(instance: DualInstance, schedule: IntArray, commit: int) -> float:
    """Exact cost of a schedule followed by `commit` forever (ignored for a finite horizon)."""
    from preceptor.engine._schedule_kernels import schedule_value

    return float(
        schedule_value(
            np.asarray(schedule, dtype=np.int64),
            max(commit, 0),
            instance.horizon is None,
            instance.factor,
            instance.set_cost,
            instance.shown,
            1.0 / instance.alpha,
            instance.discount,
        )
    )


def tries_every_set(instance: DualInstance) -> bool:
    """Whether a round looks at every other set, or only at those with one test exchanged."""
    if instance.n_sets <= ALL_SETS_LIMIT or instance.n_sets > TOGETHER_LIMIT:
        return instance.n_sets <= ALL_SETS_LIMIT
    ever_shown = instance.shown[:, instance.shown.any(axis=0)]
    return bool(np.unique(ever_shown, axis=1).shape[1] < ever_shown.shape[1])


def search_schedule(
    instance: DualInstance,
    length: int | None = None,
    time_limit: float = 5.0,
    max_kicks: int = 1000,
    seed: int = 0,
    start: IntArray | None = None,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
) -> SearchResult:
    """Best schedule of `length` rounds found from `start`, stationary, greedy and random ones.

    The same seed and `max_kicks` give the same answer when the clock does not end the search.
    """
    from preceptor.engine._search_kernels import descend, kicked_search

    began = time.perf_counter()
    T = instance.horizon if instance.horizon is not None else (length or 400)
    infinite = instance.horizon is None
    state = np.array([(seed * 2654435761 + 12345) % 2**64], dtype=np.uint64)
    sorted_members, order = lookup_tables(instance)
    s, stride = 1.0 / instance.alpha, 1 if instance.n_features <= 6 else 5
    shared = (
        infinite, instance.factor, instance.set_cost, instance.members, instance.shown, s,
        instance.discount, tries_every_set(instance), sorted_members, order,
    )  # fmt: skip
    n = instance.n_features
    U, Q, K = np.empty((T + 1, n)), np.empty((T + 1, n, n)), np.empty((n, n))

    def finished() -> bool:
        return time.perf_counter() - began > time_limit or (
            should_stop is not None and should_stop()
        )

    best: tuple[float, int, IntArray] | None = None
    pool: list[tuple[float, int, IntArray]] = []
    for schedule in starts(instance, T, state, start):
        commit = int(schedule[-1])
        value, commit = descend(
            schedule, commit, infinite, U, Q, K, *shared[1:], 0 if best is None else stride, state
        )
        pool.append((float(value), int(commit), schedule))
        if best is None or value < best[0]:
            best = pool[-1]
        if progress is not None:
            progress("search", 0, best[0])
        if finished():
            break
    assert best is not None
    pool.sort(key=lambda entry: entry[0])
    pool = pool[:3]
    kicks = 0
    batch = 4 if instance.n_features <= 10 else 1
    while kicks < max_kicks and not finished():
        index = (kicks // batch) % (2 * len(pool))
        index = index if index < len(pool) else 0  # the best entry gets half of the kicks
        value, commit, schedule = pool[index]
        steps = min(batch, max_kicks - kicks)
        new_value, new_commit = kicked_search(
            schedule, commit, value, steps, *shared, stride, state
        )
        pool[index] = (float(new_value), int(new_commit), schedule)
        kicks += steps
        pool.sort(key=lambda entry: entry[0])
        if progress is not None:
            progress("search", kicks, pool[0][0])
    best = min([best, *pool], key=lambda entry: entry[0])
    value = evaluate_schedule(instance, best[2], best[1])
    return SearchResult(
        best[2], best[1] if infinite else -1, value, kicks, time.perf_counter() - began, seed
    )


def descend_until(instance: DualInstance, schedule: IntArray, stop: Stop) -> int:
    """One descent that is asked after every sweep whether to stop; gives the set to commit to.

    The schedule (T,) is changed in place. Not stopped, it ends where the compiled descent of a
    search ends that tries no blocks; that one takes seconds now and then and cannot be stopped.
    """
    from preceptor.engine._schedule_kernels import best_commit, replay
    from preceptor.engine._search_kernels import round_sweep, swap_sweep

    T, n, infinite = schedule.size, instance.n_features, instance.horizon is None
    sorted_members, order = lookup_tables(instance)
    W, cost, shown = instance.factor, instance.set_cost, instance.shown
    s, delta = 1.0 / instance.alpha, instance.discount
    U, Q, K = np.empty((T + 1, n)), np.empty((T + 1, n, n)), np.empty((n, n))
    all_sets, commit = tries_every_set(instance), int(schedule[-1])
    value = replay(schedule, commit, infinite, W, cost, shown, s, delta, U, Q, K)
    for _ in range(200):
        before = value
        for _ in range(50):
            gain = round_sweep(
                schedule, U, Q, W, cost, instance.members, shown, s, delta, all_sets,
                sorted_members, order,
            )  # fmt: skip
            gain += swap_sweep(
                schedule, commit, infinite, U, Q, K, W, cost, shown, s, delta, 11
            )  # fmt: skip
            value = replay(schedule, commit, infinite, W, cost, shown, s, delta, U, Q, K)
            if gain <= 1e-9 * abs(value) or stop():
                break
        if infinite:
            commit = int(best_commit(U[T], W, cost, shown, s, delta)[0])
        value = replay(schedule, commit, infinite, W, cost, shown, s, delta, U, Q, K)
        if value > before - 1e-8 * abs(before) or stop():
            break
    return commit


def lookup_tables(instance: DualInstance) -> tuple[IntArray, IntArray]:
    """Members in ascending order with empty places last, rows sorted, and the ids in that order."""
    rows = np.where(instance.members < 0, 1 << 40, instance.members)
    rows = np.sort(rows, axis=1)
    order = np.lexsort(rows.T[::-1]).astype(np.int64)
    return np.ascontiguousarray(rows[order]), order


def starts(
    instance: DualInstance, T: int, state: NDArray[np.uint64], start: IntArray | None
) -> list[IntArray]:
    """Schedules to descend from: the caller's, stationary ones, greedy ones, a random one."""
    from preceptor.engine._schedule_kernels import greedy_schedule
    from preceptor.engine._search_kernels import next_random

    s = 1.0 / instance.alpha
    found: list[IntArray] = []
    if start is not None:
        given = np.asarray(start, dtype=np.int64)[:T]
        found.append(np.concatenate([given, np.full(T - len(given), given[-1], dtype=np.int64)]))
    u = np.ones(instance.n_features)
    delta = instance.discount if instance.discount < 1.0 else 1.0 - 1.0 / T
    values = stationary_values(instance, u, delta)
    ranking = np.argsort(values, kind="stable")
    found.append(np.full(T, ranking[0], dtype=np.int64))
    ids = ranking[: min(len(ranking), 2000)].astype(np.int64)
    for lookahead in (1, 0):
        schedule = np.empty(T, dtype=np.int64)
        greedy_schedule(
            schedule, lookahead, instance.factor, instance.set_cost, instance.shown, s, delta, ids
        )
        found.append(schedule)
    found += [np.full(T, q, dtype=np.int64) for q in ranking[1:4]]
    cheap = np.argsort(instance.set_cost, kind="stable")[:1]
    found += [np.full(T, q, dtype=np.int64) for q in cheap]
    random = np.array([int(next_random(state) * instance.n_sets) for _ in range(T)], dtype=np.int64)
    found.append(random)
    return found


def stationary_values(instance: DualInstance, u: FloatArray, delta: float) -> FloatArray:
    """Cost of each set shown forever from relative errors u."""
    from preceptor.engine._schedule_kernels import commit_value

    s = 1.0 / instance.alpha
    return np.array(
        [
            commit_value(S, u, instance.factor, instance.set_cost, instance.shown, s, delta)
            for S in range(instance.n_sets)
        ]
    )
