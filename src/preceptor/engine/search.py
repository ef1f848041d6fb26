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
from preceptor.engine.descent import Descent, Entry
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
    halt: IntArray | None = None,
) -> SearchResult:
    """Best schedule of `length` rounds found from `start`, stationary, greedy and random ones.

    `halt` (1,) may be set by another thread, and then ends it within a sweep. The same seed and
    `max_kicks` give the same answer when the clock does not end the search.
    """
    began = time.perf_counter()
    halt = np.zeros(1, dtype=np.int64) if halt is None else halt
    T = instance.horizon if instance.horizon is not None else (length or 400)
    infinite = instance.horizon is None
    state = np.array([(seed * 2654435761 + 12345) % 2**64], dtype=np.uint64)
    descent = Descent(instance, T, tries_every_set(instance), state, halt)
    stride = 1 if instance.n_features <= 6 else 5

    def finished() -> bool:
        return time.perf_counter() - began > time_limit or (
            should_stop is not None and should_stop()
        )

    best: Entry | None = None
    pool: list[Entry] = []
    for schedule in starts(instance, T, state, start, halt):
        pool.append(descent.down(schedule, int(schedule[-1]), 0 if best is None else stride))
        if best is None or pool[-1][0] < best[0]:
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
        steps = min(batch, max_kicks - kicks)
        pool[index] = descent.kicked(pool[index], steps, stride)
        kicks += steps
        pool.sort(key=lambda entry: entry[0])
        if progress is not None:
            progress("search", kicks, pool[0][0])
    best = min([best, *pool], key=lambda entry: entry[0])
    value = evaluate_schedule(instance, best[2], best[1])
    return SearchResult(
        best[2], best[1] if infinite else -1, value, kicks, time.perf_counter() - began, seed
    )


def starts(
    instance: DualInstance,
    T: int,
    state: NDArray[np.uint64],
    start: IntArray | None,
    halt: IntArray,
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
            schedule, lookahead, instance.factor, instance.set_cost, instance.shown, s, delta, ids,
            halt,
        )  # fmt: skip
        found.append(schedule)
    found += [np.full(T, q, dtype=np.int64) for q in ranking[1:4]]
    cheap = np.argsort(instance.set_cost, kind="stable")[:1]
    found += [np.full(T, q, dtype=np.int64) for q in cheap]
    random = np.array([int(next_random(state) * instance.n_sets) for _ in range(T)], dtype=np.int64)
    found.append(random)
    return found


def stationary_values(instance: DualInstance, u: FloatArray, delta: float) -> FloatArray:
    """Cost of each set shown forever from relative errors u."""
    from preceptor.engine._schedule_kernels import commit_values

    values = np.empty(instance.n_sets)
    commit_values(
        u, instance.factor, instance.set_cost, instance.shown, 1.0 / instance.alpha, delta, values
    )
    return values
