"""Beam search over counts, guided by a dual bound: it raises the bound and finds plans.

Layer t holds vectors of counts after t rounds, ranked by the cost so far plus the bound on the
rest. Every plan is pruned (its bound reaches the best known cost), shares its counts with a cheaper
one, is dropped because the layer is full, stops, or is in the last layer. The smallest bound of the
last three kinds, if below the best cost, holds for all plans, wherever the beam ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from preceptor._base.parallel import in_threads
from preceptor._base.progress import counted_seconds
from preceptor._base.values import FloatArray, IntArray
from preceptor.planning.anytime import Stop
from preceptor.planning.dual import ROUNDING, DualBound, Progress

Ending = Literal["complete", "time_limit", "stopped"]

# Minimum width of a beam.
LEAST_WIDTH = 8
# Bounds that are ranked; ranking all of them took 8% of a proof with ten tests.
_RANKED = 20_000


@dataclass(frozen=True, eq=False)
class BeamGuide:
    """A bound that ranks counts, and the exact cost of a plan.

    `price` takes the sets of a plan's rounds and the set shown after them (-1 at a horizon).
    """

    bound: DualBound
    price: Callable[[IntArray, int], float]

    @cached_property
    def most(self) -> IntArray:
        """Showings (n,) beyond which the error of a test does not change."""
        instance = self.bound.instance
        return np.where(instance.settled, instance.caps, instance.length)

    @cached_property
    def _least(self) -> FloatArray:
        """Smallest loss of each action over all errors (actions,)."""
        instance = self.bound.instance
        return np.array([instance.charge(S, instance.floor[S]) for S in instance.actions])

    def expand(
        self, t: int, counts: IntArray, prefix: FloatArray, limit: float, F: FloatArray,
        G: FloatArray,
    ) -> None:  # fmt: skip
        """Bounds F and costs so far G (nodes, actions) of all children of layer t.

        `counts` (nodes, n) and `prefix` (nodes,) are the nodes and what was paid on the way. F is
        infinite where it would be at or above `limit`; G is not filled in there.
        """
        from preceptor.planning._beam_kernels import expand_layer

        bound, instance = self.bound, self.bound.instance
        arguments = (
            counts, prefix, instance.errors, instance.caps, instance.loss_arrays, instance.members,
            instance.actions, self._least, bound.potential(t + 1), float(bound.constants[t + 1]),
            instance.discount**t, instance.discount, limit, F, G,
        )  # fmt: skip
        in_threads(lambda part: expand_layer(part.start, part.stop, *arguments), prefix.size)

    def best_repeat(self, counts: IntArray, limit: float) -> tuple[int, float]:
        """The set that is approximately cheapest if shown forever from these counts, and its cost.

        Sets that cost `limit` or more are skipped.
        """
        from preceptor.planning._beam_kernels import best_repeat

        instance = self.bound.instance
        found: tuple[int, float] = best_repeat(
            counts, instance.errors, self.most, instance.loss_arrays, instance.actions,
            self._least, instance.discount, limit,
        )  # fmt: skip
        return found


@dataclass(frozen=True, eq=False)
class BeamResult:
    """Best plan known (the initial one if none is better), its exact value, a lower bound.

    `exhausted` means that no node was dropped: a wider beam would prove nothing more.
    """

    schedule: IntArray
    commit: int
    value: float
    lower_bound: float
    layers: int
    widest: int
    status: Ending
    exhausted: bool


def memory_width(guide: BeamGuide, megabytes: float) -> int:
    """Largest width whose children and back pointers fit."""
    instance = guide.bound.instance
    n = instance.shown.shape[1]
    per_node = 24 * len(instance.actions) + 8 * guide.bound.length + 3 * (8 * n + 64)
    return max(LEAST_WIDTH, int(megabytes * 1e6 / per_node))


def guided_beam(
    guide: BeamGuide,
    path: IntArray,
    commit: int,
    value: float,
    width: int,
    time_limit: float = np.inf,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
) -> BeamResult:
    """One pass of this width, starting from a known plan (`path`, then `commit`) of cost `value`.

    Deterministic unless the clock or `should_stop` ends it.
    """
    began = counted_seconds()
    bound = guide.bound
    best = _Best(guide, np.asarray(path, dtype=np.int64), commit, value)
    back = BackPointers()
    layer = _Layer(
        np.zeros((1, guide.most.size), dtype=np.int64), np.zeros(1), np.array([bound.value])
    )
    dropped, stopping, widest = np.inf, best.offer_stopping(0, layer, back), 1
    status: Ending = "complete"
    t = 0
    while t < bound.length and layer.size:
        late = counted_seconds() - began > time_limit
        if late or (should_stop is not None and should_stop()):
            status = "time_limit" if late else "stopped"
            break
        layer, lost = _next_layer(guide, t, layer, best.value, width, back)
        t += 1
        dropped = min(dropped, lost)
        if layer.size:
            widest = max(widest, layer.size)
            best.offer_commits(t, layer, back)
            stopping = min(stopping, best.offer_stopping(t, layer, back))
        if progress is not None:
            progress("beam", t, min(best.value, dropped, stopping, layer.least))
    lower = min(best.value, dropped, stopping, layer.least)
    return BeamResult(
        schedule=best.path,
        commit=best.commit,
        value=best.value,
        lower_bound=max(lower, min(bound.value, best.value)),
        layers=t,
        widest=widest,
        status=status,
        exhausted=dropped == np.inf,
    )


@dataclass(frozen=True, eq=False)
class _Layer:
    """Nodes after some rounds: counts (K, n), discounted cost so far and lower bound (K,)."""

    counts: IntArray
    prefix: FloatArray
    bounds: FloatArray

    @property
    def size(self) -> int:
        return int(self.prefix.size)

    @property
    def least(self) -> float:
        return float(self.bounds.min()) if self.size else np.inf


@dataclass(frozen=True, eq=False)
class BackPointers:
    """Where each node of each layer came from, enough to read a path off it."""

    parents: list[NDArray[np.int32]] = field(default_factory=list)
    sets: list[NDArray[np.int32]] = field(default_factory=list)

    def add(self, parents: IntArray, sets: IntArray) -> None:
        """One more layer: rows in the layer before, and the sets that led here."""
        self.parents.append(parents.astype(np.int32))
        self.sets.append(sets.astype(np.int32))

    def path(self, t: int, node: int) -> IntArray:
        """Sets that were shown on the way to a node of layer t."""
        rounds = []
        for s in range(t - 1, -1, -1):
            rounds.append(int(self.sets[s][node]))
            node = int(self.parents[s][node])
        return np.array(rounds[::-1], dtype=np.int64)


@dataclass(eq=False)
class _Best:
    """The best plan so far, with attempts to finish a layer's nodes more cheaply."""

    guide: BeamGuide
    path: IntArray
    commit: int
    value: float

    def offer_stopping(self, t: int, layer: _Layer, back: BackPointers) -> float:
        """Try to end after t rounds, by the horizon or by showing nothing; return the cost.

        The bound of a node covers stopping there, but those of its children do not.
        """
        instance = self.guide.bound.instance
        rest = 0.0 if t == instance.horizon else instance.stop_cost(t)
        if rest == np.inf:
            return rest
        node = int(layer.prefix.argmin())
        cost = float(layer.prefix[node] + instance.discount**t * rest)
        self._offer(t, node, instance.empty_set, cost, back)
        return cost

    def offer_commits(self, t: int, layer: _Layer, back: BackPointers) -> None:
        """Try to commit to one set from the three best nodes of layer t, in every fifth layer."""
        instance = self.guide.bound.instance
        if instance.horizon is not None or (t % 5 and t != instance.length):
            return
        weight = instance.discount**t
        for node in np.argsort(layer.bounds, kind="stable")[:3]:
            so_far = layer.prefix[node]
            limit = (self.value - so_far) / weight
            commit, rest = self.guide.best_repeat(layer.counts[node], limit)
            if rest < limit:
                self._offer(t, int(node), int(commit), float(so_far + weight * rest), back)

    def _offer(self, t: int, node: int, commit: int, about: float, back: BackPointers) -> None:
        """Take a plan of cost `about` if its exact cost is below that of the best one."""
        if about >= self.value - ROUNDING * abs(self.value):
            return
        horizon, path = self.guide.bound.instance.horizon, back.path(t, node)
        if horizon is not None:
            filler = np.full(horizon - path.size, commit, dtype=np.int64)
            path, commit = np.concatenate([path, filler]), -1
        elif not path.size:  # stopping at once
            path = np.full(1, commit, dtype=np.int64)
        value = self.guide.price(path, commit)
        if value < self.value:
            self.path, self.commit, self.value = path, commit, value


def _next_layer(
    guide: BeamGuide, t: int, layer: _Layer, limit: float, width: int, back: BackPointers
) -> tuple[_Layer, float]:
    """The best children below `limit`, one for equal counts; and the least bound dropped."""
    instance, most = guide.bound.instance, guide.most
    actions = instance.actions
    F, G = np.empty((layer.size, actions.size)), np.empty((layer.size, actions.size))
    guide.expand(t, layer.counts, layer.prefix, limit, F, G)
    finite = F[np.inf > F]
    if not finite.size:
        return _Layer(layer.counts[:0], layer.prefix[:0], layer.bounds[:0]), np.inf
    # Three children are considered for each that is kept: many of them have equal counts.
    # How many exactly does not matter, so a sample of the bounds is ranked.
    room, every = 3 * width, 1 + finite.size // _RANKED
    rank = room // every
    cut = np.partition(finite[::every], rank)[rank] if finite.size > room + every else np.inf
    merged = merge(layer.counts, F, instance.members, actions, most, cut)
    bounds, dropped = merged.best, merged.dropped
    chosen = np.arange(bounds.size)
    if bounds.size > width:
        order = np.argpartition(bounds, width - 1)
        chosen, rest = np.sort(order[:width]), order[width:]
        dropped = min(dropped, float(bounds[rest].min()))
    parents, taken = merged.parents[chosen], merged.actions[chosen]
    sets = actions[taken]
    back.add(parents, sets)
    counts = np.minimum(layer.counts[parents] + instance.shown[sets], most)
    return _Layer(counts, G[parents, taken], bounds[chosen]), dropped


@dataclass(frozen=True, eq=False)
class Merged:
    """One child for each vector of counts, the cheapest, the first if tied.

    best, parents, actions (children,); `dropped` is the least cost for which there was no room.
    """

    best: FloatArray
    parents: IntArray
    actions: IntArray
    dropped: float


def merge(
    counts: IntArray, costs: FloatArray, members: IntArray, actions: IntArray, most: IntArray,
    cut: float = np.inf,
) -> Merged:  # fmt: skip
    """Children of states with `counts` (K, n) by sets `actions` (A,), at `costs` (K, A).

    Infinite costs are no children, and those above `cut` are dropped. Counts stand still at `most`
    (n,); members (sets, widest) are the tests of sets, padded with -1. Counts are packed into as
    few 64-bit words as hold them, so that no two different ones can be taken for the same; a hash
    only chooses where to look.
    """
    from preceptor.planning._beam_kernels import merge_children

    bits = (int(counts.max()) + 1).bit_length()
    words = -(-counts.shape[1] // (64 // bits))
    room = int(np.sum((costs <= cut) & (costs < np.inf)))
    best, keys = np.empty(room), np.empty((room, words), dtype=np.uint64)
    parents, chosen = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    table = np.empty(1 << max(4, int(2 * room).bit_length()), dtype=np.int64)
    kept, dropped = merge_children(
        counts, np.ascontiguousarray(costs), members, actions, most, cut, words, bits, best,
        parents, chosen, keys, table,
    )  # fmt: skip
    return Merged(best[:kept], parents[:kept], chosen[:kept], float(dropped))
