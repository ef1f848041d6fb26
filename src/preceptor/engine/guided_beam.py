"""A beam over counts that a bound guides: it raises the bound and looks for plans.

Layer t holds what can have been shown after t rounds, ranked by what was paid so far plus what the
bound says of the rest. Every plan is pruned (its bound reaches the best known cost), shares its
counts with a cheaper one, is dropped because the layer is full, stops, or is in the last layer. The
least bound of the last three kinds, if below the best cost, holds for all plans, wherever the beam
ends.

What differs from one kind of bound to another is its `Guide`: `multiplier_guide` and
`potential_guide`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from preceptor._base.deadline import counted_seconds
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.dual import DualBound
from preceptor.engine.merging import CountKeys, padded_members
from preceptor.engine.potentials import PotentialBound

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]
Ending = Literal["complete", "time_limit", "stopped"]

# What a beam keeps of a layer at the least.
LEAST_WIDTH = 8
# A plan is better if it costs less by more than rounding, as a share.
_ROUNDING = 1e-12
# Children that are looked at for each that is kept; many of them have the same counts.
_LOOKED_AT = 3
_BINS = 4096


class Guide(Protocol):
    """What a beam asks of a bound."""

    @property
    def bound(self) -> DualBound | PotentialBound:
        """What is proven before the first layer."""

    @property
    def most(self) -> IntArray:
        """(n,) showings beyond which nothing about a test changes, so that they need no count."""

    def expand(
        self, t: int, counts: IntArray, prefix: FloatArray, limit: float, F: FloatArray,
        G: FloatArray,
    ) -> None:  # fmt: skip
        """Bounds F and costs so far G (nodes, actions) of all children of layer t.

        `counts` (nodes, n) and `prefix` (nodes,) are the nodes and what was paid on the way. F is
        infinite where it would be at or above `limit`; G need not be filled in there.
        """

    def nodes_tried(self, t: int) -> int:
        """How many nodes of layer t are worth trying with each set shown forever."""

    def best_repeat(self, counts: IntArray, limit: float) -> tuple[int, float]:
        """The set that is cheapest shown forever from there, about, and what that costs.

        Nothing at or above `limit` need be looked for.
        """

    def price(self, path: IntArray, commit: int, /) -> float:
        """What a plan costs exactly: sets of its rounds, and the set that stays from then on."""


@dataclass(frozen=True, eq=False)
class BeamResult:
    """Best plan known (the one it began with if none better), its exact value, a lower bound.

    `exhausted` says that no node was dropped for lack of room: a wider beam would prove nothing
    more.
    """

    schedule: IntArray
    commit: int
    value: float
    lower_bound: float
    layers: int
    widest: int
    status: Ending
    exhausted: bool
    seconds: float


def memory_width(guide: Guide, megabytes: float) -> int:
    """Largest width whose children and back pointers fit."""
    instance = guide.bound.instance
    n = instance.shown.shape[1]
    per_node = 16 * len(instance.actions) + 8 * guide.bound.length + 3 * (8 * n + 64)
    return max(LEAST_WIDTH, int(megabytes * 1e6 / per_node))


def guided_beam(
    guide: Guide,
    path: IntArray,
    commit: int,
    value: float,
    width: int,
    time_limit: float = np.inf,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
) -> BeamResult:
    """One pass of that width, against a plan (`path`, then `commit`) that costs `value`.

    Deterministic unless the clock or `should_stop` ends it.
    """
    began = counted_seconds()
    bound = guide.bound
    best = _Best(guide, np.asarray(path, dtype=np.int64), commit, value)
    members, back = padded_members(bound.instance.shown), _BackPointers()
    keys = CountKeys.of(members, guide.most.size, bound.length + 1)
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
        layer, lost = _next_layer(guide, t, layer, best.value, width, keys, back)
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
        seconds=counted_seconds() - began,
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
class _BackPointers:
    """Where each node of each layer came from, enough to read a path off it."""

    parents: list[NDArray[np.int32]] = field(default_factory=list)
    sets: list[NDArray[np.int32]] = field(default_factory=list)

    def add(self, parents: IntArray, sets: IntArray) -> None:
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
    """The best plan so far, and ways to end from a layer that may be better."""

    guide: Guide
    path: IntArray
    commit: int
    value: float

    def offer_stopping(self, t: int, layer: _Layer, back: _BackPointers) -> float:
        """Show nothing more after t rounds, or be at the end; what that costs.

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

    def offer_commits(self, t: int, layer: _Layer, back: _BackPointers) -> None:
        """One set forever, from the most promising nodes of layer t."""
        tried = self.guide.nodes_tried(t)
        if not tried:
            return
        weight = self.guide.bound.instance.discount**t
        for node in np.argsort(layer.bounds, kind="stable")[:tried]:
            so_far = layer.prefix[node]
            limit = (self.value - so_far) / weight
            commit, rest = self.guide.best_repeat(layer.counts[node], limit)
            if rest < limit:
                self._offer(t, int(node), int(commit), float(so_far + weight * rest), back)

    def _offer(self, t: int, node: int, commit: int, about: float, back: _BackPointers) -> None:
        """Take a plan that costs about so much, if it costs less than the best one, exactly."""
        if about >= self.value - _ROUNDING * abs(self.value):
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
    guide: Guide, t: int, layer: _Layer, limit: float, width: int, keys: CountKeys,
    back: _BackPointers,
) -> tuple[_Layer, float]:  # fmt: skip
    """The best children below `limit`, one for equal counts; and the least bound dropped."""
    from preceptor.engine._beam_kernels import threshold

    instance, most = guide.bound.instance, guide.most
    actions = instance.actions
    F, G = np.empty((layer.size, actions.size)), np.empty((layer.size, actions.size))
    guide.expand(t, layer.counts, layer.prefix, limit, F, G)
    room = min(_LOOKED_AT * width, F.size)
    cut, finite = threshold(F, room, _BINS)
    room = min(room + room // 10 + 16, finite)
    if finite == 0:
        return _Layer(layer.counts[:0], layer.prefix[:0], layer.bounds[:0]), np.inf
    merged = keys.merge(layer.counts, F, actions, most, cut, room)
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
