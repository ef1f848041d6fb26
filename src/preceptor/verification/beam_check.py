"""The bound-guided beam once more, in plain NumPy, for checking what the fast one claims."""

from __future__ import annotations

import numpy as np

from preceptor.verification.claim import Claim


def beam_again(bound: Claim, value: float, width: int, layers: int) -> float:
    """Lower bound proven by a beam of that width over that many rounds against a plan's value.

    Every schedule is pruned because it costs at least `value`, or passes through a state that was
    dropped for lack of room, or stops, or survives to the last layer; the least bound among
    these holds for all of them. Equal count vectors are merged by comparing whole rows.
    """
    instance = bound.instance
    delta, alpha = instance.discount, instance.alpha
    actions = np.flatnonzero(instance.shown.any(axis=1))
    shown = instance.shown[actions].astype(np.int64)
    stop_price = instance.set_cost[instance.empty_set] if instance.empty_set >= 0 else np.inf
    counts = np.zeros((1, instance.n_features), dtype=np.int64)
    prefix = np.zeros(1)
    least_dropped, least_stop, bounds = np.inf, np.inf, np.array([bound.value])
    for t in range(min(layers, bound.length)):
        if np.isfinite(stop_price):
            stop = prefix.min() + delta**t * stop_price * instance.rounds_value(t)
            least_stop = min(least_stop, float(stop))
        u = alpha ** -counts.astype(np.float64)
        loss = instance.set_cost[actions] + sum(
            (u @ instance.factor[actions, row].T) ** 2 for row in range(instance.factor.shape[1])
        )
        costs = (prefix[:, None] + delta**t * loss).ravel()
        children = (counts[:, None, :] + shown[None, :, :]).reshape(-1, counts.shape[1])
        potential = bound.potential(t + 1, t + 1)
        later = potential[np.arange(counts.shape[1]), children].sum(axis=1)
        f = costs + delta ** (t + 1) * (later + bound.constants[t + 1])
        open_children = np.flatnonzero(f < value)
        if not open_children.size:
            return min(value, least_dropped, least_stop)
        children, costs, f = children[open_children], costs[open_children], f[open_children]
        order = np.lexsort((costs, *children.T))
        first = np.ones(order.size, dtype=np.bool_)
        first[1:] = np.any(children[order[1:]] != children[order[:-1]], axis=1)
        chosen = order[first]
        if chosen.size > width:
            ranked = chosen[np.argsort(f[chosen], kind="stable")]
            least_dropped = min(least_dropped, float(f[ranked[width]]))
            chosen = ranked[:width]
        counts, prefix, bounds = children[chosen], costs[chosen], f[chosen]
    return min(value, least_dropped, least_stop, float(bounds.min()))
