"""A beam ranked by a certified cost-to-go: it looks for a plan and proves a lower bound.

Every plan is pruned (its bound reaches the best known cost), dominated by a merged plan with the
same counts, dropped because the layer is full, or in the last layer. The smallest bound of the last
two kinds, if below the best cost, is a lower bound for all plans; that holds wherever the beam
stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.dual import DualBound
from preceptor.engine.instance import DualInstance
from preceptor.engine.search import evaluate_schedule

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class BeamResult:
    """Best plan known (the incumbent if none better), its exact value, a lower bound.

    `exhausted` says that no node was dropped for lack of room: a wider beam would prove nothing
    more.
    """

    schedule: IntArray
    commit: int
    value: float
    lower_bound: float
    layers: int
    widest: int
    status: Literal["complete", "time_limit", "stopped"]
    exhausted: bool
    seconds: float


@dataclass(eq=False)
class _Layers:
    """Back pointers of every layer, enough to read a schedule off a node."""

    parents: list[NDArray[np.int32]]
    sets: list[NDArray[np.int32]]

    def schedule(self, layer: int, node: int) -> IntArray:
        rounds = []
        for t in range(layer, 0, -1):
            rounds.append(int(self.sets[t - 1][node]))
            node = int(self.parents[t - 1][node])
        return np.array(rounds[::-1], dtype=np.int64)


def memory_width(instance: DualInstance, layers: int, megabytes: float) -> int:
    """Largest width whose children and back pointers fit."""
    actions = len(instance.actions())
    per_node = 16 * actions + 8 * layers + 3 * (8 * instance.n_features + 64)
    return max(8, int(megabytes * 1e6 / per_node))


def certified_beam(
    bound: DualBound,
    incumbent: IntArray,
    incumbent_commit: int,
    width: int | None = None,
    time_limit: float = 20.0,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
    memory_megabytes: float = 1500.0,
) -> BeamResult:
    """Run the beam over the rounds of `bound`.

    A given `width` is one pass (deterministic unless the clock ends it). None repeats the pass,
    each time wider, while the time allows and something was still dropped; every pass starts from
    the best plan so far and the largest lower bound is kept, so each is valid and the last may be
    cut short.
    """
    began = time.perf_counter()
    instance = bound.instance
    most = memory_width(instance, bound.length, memory_megabytes)
    widths = [width] if width is not None else [1000 * 3**j for j in range(20)]
    best: BeamResult | None = None
    for K in widths:
        K = max(8, min(most, K if width is not None else max(K * 15 // len(instance.actions()), 8)))
        left = time_limit - (time.perf_counter() - began)
        plan = (incumbent, incumbent_commit) if best is None else (best.schedule, best.commit)
        result = _one_pass(bound, plan[0], plan[1], K, left, progress, should_stop)
        if best is not None:
            lower = min(result.value, max(best.lower_bound, result.lower_bound))
            result = replace(result, lower_bound=lower, widest=max(result.widest, best.widest))
        best = replace(result, seconds=time.perf_counter() - began)
        left = time_limit - best.seconds
        closed = best.value - best.lower_bound <= 1e-10 * abs(best.value)
        if (
            closed
            or result.status != "complete"
            or result.exhausted
            or most <= K
            or left < 0.05 * time_limit
        ):
            break
    assert best is not None
    return best


def _one_pass(
    bound: DualBound, incumbent: IntArray, incumbent_commit: int, K: int, time_limit: float,
    progress: Progress | None, should_stop: Stop | None,
) -> BeamResult:  # fmt: skip
    from preceptor.engine import _beam_kernels as kernels

    began = time.perf_counter()
    instance, T = bound.instance, bound.length
    infinite, delta, n = instance.horizon is None, instance.discount, instance.n_features
    actions, log_alpha = instance.actions(), np.log(instance.alpha)
    value = evaluate_schedule(instance, incumbent, incumbent_commit)
    best, best_commit_set = np.asarray(incumbent, dtype=np.int64), incumbent_commit
    empty = instance.empty_set
    if empty >= 0:  # the bounds of the first layer do not cover stopping before it
        stop_at_once = float(instance.set_cost[empty] * instance.rounds_value(0))
        if stop_at_once < value:
            value, best, best_commit_set = stop_at_once, np.full(1, empty, dtype=np.int64), empty
    counts, prefix = np.zeros((1, n), dtype=np.int64), np.zeros(1)
    most = np.full(n, T + 1, dtype=np.int64)
    bits = max(1, int(T + 1).bit_length())
    words = -(-n // (64 // bits))
    layers = _Layers([], [])
    dropped, last, widest = np.inf, bound.value, 1
    status: Literal["complete", "time_limit", "stopped"] = "complete"
    probes = max(1, min(12, 30000 // instance.n_sets))
    t = 0
    while t < T and len(prefix):
        late = time.perf_counter() - began > time_limit
        if late or (should_stop is not None and should_stop()):
            status = "time_limit" if late else "stopped"
            break
        F, G = np.empty((len(prefix), len(actions))), np.empty((len(prefix), len(actions)))
        arguments = (
            counts, prefix, log_alpha, instance.factor, instance.members, instance.set_cost,
            actions, padded_potential(bound, t + 1), float(bound.constants[t + 1]), delta**t, delta,
            value, F, G,
        )  # fmt: skip
        _expand(arguments, len(prefix))
        room = min(3 * K, F.size)
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
            counts, F, G, instance.members, actions, most, cut, words, bits, best_of, parent_of,
            action_of, key_of, table,
        )  # fmt: skip
        dropped = min(dropped, lost)
        chosen = np.arange(kept)
        if kept > K:
            order = np.argpartition(best_of[:kept], K - 1)
            chosen, rest = np.sort(order[:K]), order[K:]
            dropped = min(dropped, float(best_of[rest].min()))
        parents, moves = parent_of[chosen], actions[action_of[chosen]]
        prefix = G[parents, action_of[chosen]]
        counts = counts[parents] + instance.shown[moves]
        bounds = best_of[chosen]
        layers.parents.append(parents.astype(np.int32))
        layers.sets.append(moves.astype(np.int32))
        t += 1
        last, widest = float(bounds.min()), max(widest, len(prefix))
        found = finish(instance, t, counts, prefix, bounds, probes, empty, infinite)
        if found is not None and found[0] < value - 1e-12 * abs(value):
            value, best_commit_set = found[0], found[2]
            best = layers.schedule(t, found[1])
        if progress is not None:
            progress("beam", t, min(value, dropped, last))
    lower = min(value, dropped, last if len(prefix) else np.inf)
    lower = max(lower, min(bound.value, value))
    best, best_commit_set = complete_schedule(instance, best, best_commit_set)
    return BeamResult(
        schedule=best,
        commit=best_commit_set,
        value=evaluate_schedule(instance, best, best_commit_set),
        lower_bound=lower,
        layers=t,
        widest=widest,
        status=status,
        exhausted=dropped == np.inf,
        seconds=time.perf_counter() - began,
    )


def _expand(arguments: tuple[Any, ...], states: int) -> None:
    """Bounds of all children, by both cores."""
    from preceptor.engine import _beam_kernels as kernels

    in_threads(lambda part: kernels.expand_layer(part.start, part.stop, *arguments), states)


def padded_potential(bound: DualBound, t: int) -> FloatArray:
    """(n, t+1) terms of phi_t for counts 0..t."""
    return np.ascontiguousarray(bound.potential(t, t))


def finish(
    instance: DualInstance,
    t: int,
    counts: IntArray,
    prefix: FloatArray,
    bounds: FloatArray,
    probes: int,
    empty: int,
    infinite: bool,
) -> tuple[float, int, int] | None:
    """Cheapest way to end from this layer: stop from any node, or commit from promising ones.

    Stopping is priced for every node, because the bound of a node whose children are kept no longer
    covers it.
    """
    from preceptor.engine._schedule_kernels import best_commit

    found: tuple[float, int, int] | None = None
    weight = instance.discount**t
    if empty >= 0:
        node = int(prefix.argmin())
        found = (
            float(prefix[node] + weight * instance.set_cost[empty] * instance.rounds_value(t)),
            node,
            empty,
        )
    if not infinite:
        if instance.horizon == t:
            node = int(prefix.argmin())
            return (float(prefix[node]), node, -1)
        return found
    s = 1.0 / instance.alpha
    for node in np.argsort(bounds, kind="stable")[:probes]:
        u = np.exp(-counts[node] * np.log(instance.alpha))
        commit, rest = best_commit(
            u, instance.factor, instance.set_cost, instance.shown, s, instance.discount
        )
        total = float(prefix[node] + weight * rest)
        if found is None or total < found[0]:
            found = (total, int(node), int(commit))
    return found


def complete_schedule(
    instance: DualInstance, schedule: IntArray, commit: int
) -> tuple[IntArray, int]:
    """A finite plan that stopped early is filled up with the empty set; others stay as they are."""
    if instance.horizon is None or len(schedule) >= instance.horizon:
        return schedule, commit if instance.horizon is None else -1
    filler = np.full(instance.horizon - len(schedule), instance.empty_set, dtype=np.int64)
    return np.concatenate([schedule, filler]), -1
