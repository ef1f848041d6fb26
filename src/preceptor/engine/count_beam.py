"""The beam over counts that potentials guide: it raises the bound and looks for plans.

Layer t holds counts after t rounds, ranked by prefix + delta^t (phi_t + C_t). Every plan is pruned
(its bound reaches the best known cost), shares its counts with a cheaper one, is dropped because
the layer is full, stops, or is in the last layer. The least bound of the last three kinds, if below
the best cost, holds for all plans, wherever the beam stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.certified_beam import BeamResult, _Layers
from preceptor.engine.counted import CountInstance
from preceptor.engine.potentials import PotentialBound

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]
# What a plan costs exactly: sets of its rounds, and the set that stays from then on.
Price = Callable[[IntArray, int], float]

# Every so many layers the best nodes are tried with each set shown forever.
_TRIED_LAYERS, _TRIED_NODES = 10, 3


@dataclass(eq=False)
class _Incumbent:
    """The best plan so far."""

    path: IntArray
    commit: int
    value: float


def memory_width(instance: CountInstance, megabytes: float) -> int:
    """Largest width whose children and back pointers fit."""
    per_node = 16 * len(instance.actions) + 8 * instance.length + 3 * (8 * instance.n_tests + 64)
    return max(8, int(megabytes * 1e6 / per_node))


def count_beam(
    bound: PotentialBound,
    path: IntArray,
    commit: int,
    value: float,
    price: Price,
    width: int,
    time_limit: float,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
) -> BeamResult:
    """One pass of that width, against a plan (`path`, then `commit`) that costs `value`."""
    from preceptor.engine import _beam_kernels as kernels

    began = time.perf_counter()
    instance, T = bound.instance, bound.length
    delta, actions, n = instance.discount, instance.actions, instance.n_tests
    best = _Incumbent(np.asarray(path, dtype=np.int64), commit, value)
    most = np.where(instance.settled, instance.caps, T)
    members = padded_members(instance)
    least = np.array([instance.charge(S, instance.floor[S]) for S in actions])
    counts, prefix = np.zeros((1, n), dtype=np.int64), np.zeros(1)
    bits = max(1, int(T + 1).bit_length())
    words = -(-n // (64 // bits))
    layers = _Layers([], [])
    dropped, last, stopping, widest, status = np.inf, bound.value, np.inf, 1, "complete"
    t = 0
    while t < T and len(prefix):
        late = time.perf_counter() - began > time_limit
        if late or (should_stop is not None and should_stop()):
            status = "time_limit" if late else "stopped"
            break
        if instance.empty_set >= 0:
            node = int(prefix.argmin())
            cost = float(prefix[node] + delta**t * instance.stop_cost(t))
            stopping = min(stopping, cost)
            offer(instance, best, price, layers.schedule(t, node), instance.empty_set, cost)
        F, G = np.empty((len(prefix), actions.size)), np.empty((len(prefix), actions.size))
        expand(bound, t, counts, prefix, most, least, best.value, F, G)
        room = min(3 * width, F.size)
        cut, finite = kernels.threshold(F, room, 4096)
        room = min(room + room // 10 + 16, finite)
        if finite == 0:
            counts, prefix, last = counts[:0], prefix[:0], np.inf
            t += 1
            break
        best_of, key_of = np.empty(room), np.empty((room, words), dtype=np.uint64)
        parent_of, action_of = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        table = np.empty(1 << max(4, int(2 * room).bit_length()), dtype=np.int64)
        kept, lost = kernels.merge_children(
            counts, F, G, members, actions, most, cut, words, bits, best_of, parent_of, action_of,
            key_of, table,
        )  # fmt: skip
        dropped = min(dropped, lost)
        chosen = np.arange(kept)
        if kept > width:
            order = np.argpartition(best_of[:kept], width - 1)
            chosen, rest = np.sort(order[:width]), order[width:]
            dropped = min(dropped, float(best_of[rest].min()))
        parents, moves = parent_of[chosen], actions[action_of[chosen]]
        prefix = G[parents, action_of[chosen]]
        counts = np.minimum(counts[parents] + instance.shown[moves], most)
        bounds = best_of[chosen]
        layers.parents.append(parents.astype(np.int32))
        layers.sets.append(moves.astype(np.int32))
        t += 1
        last, widest = float(bounds.min()), max(widest, len(prefix))
        finish(instance, t, counts, prefix, bounds, most, layers, best, price)
        if progress is not None:
            progress("beam", t, min(best.value, dropped, last, stopping))
    lower = min(best.value, dropped, stopping, last if len(prefix) else np.inf)
    return BeamResult(
        schedule=best.path,
        commit=best.commit,
        value=best.value,
        lower_bound=max(lower, min(bound.value, best.value)),
        layers=t,
        widest=widest,
        status=status,  # type: ignore[arg-type]
        exhausted=dropped == np.inf,
        seconds=time.perf_counter() - began,
    )


def expand(
    bound: PotentialBound, t: int, counts: IntArray, prefix: FloatArray, most: IntArray,
    least: FloatArray, limit: float, F: FloatArray, G: FloatArray,
) -> None:  # fmt: skip
    """Bounds of all children, by both cores."""
    from preceptor.engine._count_beam_kernels import expand_counts

    instance = bound.instance
    arguments = (
        counts, prefix, instance.errors, instance.caps, most, *instance.loss_arrays,
        instance.actions, least, bound.potential(t + 1), float(bound.constants[t + 1]),
        instance.discount**t, instance.discount, limit, F, G,
    )  # fmt: skip
    in_threads(lambda part: expand_counts(part.start, part.stop, *arguments), len(prefix))


def finish(
    instance: CountInstance, t: int, counts: IntArray, prefix: FloatArray, bounds: FloatArray,
    most: IntArray, layers: _Layers, best: _Incumbent, price: Price,
) -> None:  # fmt: skip
    """Ways to end from this layer: the end of the horizon, or one set forever."""
    from preceptor.engine._count_beam_kernels import best_repeat

    if instance.horizon is not None:
        if t == instance.horizon:
            node = int(prefix.argmin())
            offer(instance, best, price, layers.schedule(t, node), -1, float(prefix[node]))
        return
    if t % _TRIED_LAYERS and t != instance.length:
        return
    weight = instance.discount**t
    for node in np.argsort(bounds, kind="stable")[:_TRIED_NODES]:
        limit = (best.value - prefix[node]) / weight
        commit, rest = best_repeat(
            counts[node], instance.errors, most, *instance.loss_arrays, instance.actions,
            instance.discount, limit,
        )  # fmt: skip
        if rest < limit:
            path = layers.schedule(t, int(node))
            offer(instance, best, price, path, int(commit), float(prefix[node] + weight * rest))


def offer(
    instance: CountInstance,
    best: _Incumbent,
    price: Price,
    path: IntArray,
    commit: int,
    about: float,
) -> None:
    """Take a plan that costs about so much, if it costs less than the best one, exactly."""
    if about >= best.value - 1e-12 * abs(best.value):
        return
    if instance.horizon is not None and len(path) < instance.horizon:
        filler = np.full(instance.horizon - len(path), instance.empty_set, dtype=np.int64)
        path, commit = np.concatenate([path, filler]), -1
    elif not path.size:  # stopping at once
        path = np.full(1, commit, dtype=np.int64)
    value = price(path, commit)
    if value < best.value:
        best.path, best.commit, best.value = path, commit, value


def padded_members(instance: CountInstance) -> IntArray:
    """Tests of each set (sets, widest), padded with -1."""
    widest = int(instance.shown.sum(axis=1).max())
    members = np.full((len(instance.shown), max(widest, 1)), -1, dtype=np.int64)
    for row, shown in enumerate(instance.shown):
        tests = np.flatnonzero(shown)
        members[row, : tests.size] = tests
    return members
