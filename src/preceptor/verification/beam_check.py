"""The bound-guided beam once more, in plain NumPy, for checking what the fast one claims."""

from __future__ import annotations

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.verification.dual_check import DualProof
from preceptor.verification.own_losses import OwnLosses
from preceptor.verification.potentials import Potentials

_EPS = float(np.finfo(np.float64).eps)


def beam_again(
    proof: DualProof,
    potentials: Potentials,
    losses: OwnLosses,
    value: float,
    width: int,
    layers: int,
) -> float:
    """Lower bound proven by a beam of that width over that many rounds against a plan's value.

    Every schedule is pruned because it costs at least `value`, or passes through a state that was
    dropped for lack of room, or stops, or survives to the last layer; the least bound among these
    holds for all of them. Of equal states the cheapest stands for all; two that are not recognised
    as equal stay apart, which costs room but proves nothing false. Any width and any number of
    layers give a valid bound.
    """
    problem, discount = losses.problem, losses.problem.discount
    active = [row for row in range(len(losses.sets)) if row != losses.waiting_row]
    layers = min(layers, potentials.length)
    errors = losses.errors_after(range(layers + 1))
    settled = _settled_after(losses, layers)
    tests = np.arange(problem.size)
    hashes = np.random.default_rng(0).integers(1, 2**62, problem.size, dtype=np.int64) | 1
    counts = np.zeros((1, problem.size), dtype=np.int64)
    prefix, bounds = np.zeros(1), np.array([proof.value])
    least = np.inf  # of all that was dropped, and of stopping
    for t in range(layers):
        rest = problem.horizon - t if problem.horizon is not None else None
        least = min(least, float(prefix.min()) + discount**t * _stopping(losses, rest))
        table = potentials.at(t + 1, np.broadcast_to(np.arange(t + 2), (problem.size, t + 2)))
        here = table[tests, counts].sum(axis=1)
        people = errors[tests, counts]
        parents, shown, costs, f = [], [], [], []
        for row in active:
            members = list(losses.sets[row])
            cost = prefix + discount**t * losses.losses(row, people)
            steps = table[members, counts[:, members] + 1] - table[members, counts[:, members]]
            later = here + steps.sum(axis=1) + proof.constants[t + 1]
            bound = cost + discount ** (t + 1) * later
            open_ = np.flatnonzero(bound < value)
            parents.append(open_)
            shown.append(np.full(open_.size, row))
            costs.append(cost[open_])
            f.append(bound[open_])
        parent, chosen = np.concatenate(parents), np.concatenate(shown)
        cost, bound = np.concatenate(costs), np.concatenate(f)
        if not parent.size:
            return _lowered(min(value, least), losses)
        children = counts[parent] + losses.member_of[chosen]
        keep = _cheapest(np.minimum(children, settled), cost, hashes)
        if keep.size > width:
            order = keep[np.argsort(bound[keep], kind="stable")]
            least = min(least, float(bound[order[width]]))
            keep = order[:width]
        counts, prefix, bounds = children[keep], cost[keep], bound[keep]
    return _lowered(min(value, least, float(bounds.min())), losses)


def _cheapest(states: IntArray, costs: FloatArray, hashes: IntArray) -> IntArray:
    """Positions of the cheapest of each run of equal states, found by hash and compared whole."""
    with np.errstate(over="ignore"):
        key = (states * hashes).sum(axis=1)
    order = np.lexsort((costs, key))
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = np.any(states[order[1:]] != states[order[:-1]], axis=1)
    return np.asarray(order[first])


def _settled_after(losses: OwnLosses, layers: int) -> IntArray:
    """(n,) the count from which on a test's error is the same whatever is shown."""
    problem = losses.problem
    settled = np.full(problem.size, layers, dtype=np.int64)
    curves = problem.by_showings.curve_of
    for i, (curve, start) in enumerate(zip(curves, problem.start_counts, strict=True)):
        seen = start + np.arange(layers + 1)
        same = curve.to_move(seen) == 0.0
        if same.any():
            settled[i] = int(np.argmax(same))
    return settled


def _stopping(losses: OwnLosses, rounds: int | None) -> float:
    """What showing nothing costs over so many rounds (None: forever); infinite if not allowed."""
    row = losses.waiting_row
    if row is None:
        return np.inf
    price = float(losses.losses(row, losses.first_errors[None, :])[0])
    return price * total_weight(losses.problem.discount, rounds)


def _lowered(bound: float, losses: OwnLosses) -> float:
    """Less what rounding may have added to prefixes and potentials."""
    problem = losses.problem
    weight = total_weight(problem.discount, problem.horizon)
    return bound - weight * losses.slack - 64.0 * _EPS * abs(bound)
