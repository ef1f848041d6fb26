"""Which sets each round of the dual keeps in mind, and the pass over all of them that certifies.

A small family lists every set in every round. A large one starts with none and lists those that
come near a round's minimum (column generation); sets that are not listed are screened by cheap
bounds, so a certified minimum always covers the whole family.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.instance import DualInstance
from preceptor.engine.newton import (
    ROUNDS_A_PIECE,
    Rounds,
    boxes,
    constants,
    stop_terms,
)

FULL_LISTS = 120  # families up to this size list every set in every round, larger ones grow lists
LIST_LENGTH = 96


def prepare_rounds(instance: DualInstance, T: int) -> Rounds:
    """Boxes and lists; a small family lists every set, a large one starts with none."""
    actions = instance.actions
    low, high = boxes(instance, T)
    R = T + int(instance.horizon is None)
    width = len(actions) if len(actions) <= FULL_LISTS else LIST_LENGTH
    lists = np.zeros((R, width), dtype=np.int64)
    if width == len(actions):
        lists[:] = actions
    stop_cost = None
    if instance.empty_set >= 0:
        stop_cost = np.array([instance.stop_cost(t) for t in range(T + 1)])
    singles = (
        instance.covariance
        / np.sqrt(np.diag(instance.covariance))[:, None]
        * instance.initial_error
    )
    return Rounds(
        instance=instance,
        length=T,
        low=low,
        high=high,
        lists=lists,
        sizes=np.full(R, width if width == len(actions) else 0, dtype=np.int64),
        best=np.zeros(R, dtype=np.int64),
        z=np.zeros((R, width, instance.factor.shape[1])),
        centres=high[:R].copy(),
        singles=singles,
        stop_cost=stop_cost,
    )


def all_sets(
    rounds: Rounds,
    theta: FloatArray,
    margin: float,
    tolerance: float,
    width: int,
    newton_steps: int = 40,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Every set in every round.

    Returns near-minimal sets (R, width), how many (R,), warm starts, certified minima (R,): -inf
    for rounds that were not reached before `rounds.halt` was set.
    """
    from preceptor.engine._dual_kernels import all_sets_rounds

    instance, R = rounds.instance, rounds.count
    actions = instance.actions
    position = np.minimum(rounds.best, np.maximum(rounds.sizes - 1, 0))
    guess = np.where(rounds.sizes > 0, rounds.lists[np.arange(R), position], actions[0])
    lists, sizes = np.zeros((R, width), dtype=np.int64), np.zeros(R, dtype=np.int64)
    z, g = np.zeros((R, width, instance.factor.shape[1])), np.full(R, -np.inf)
    arguments = (
        theta, rounds.low, rounds.high, instance.factor, rounds.singles, instance.members,
        instance.set_cost, instance.discount, 1.0 / instance.alpha, np.log(instance.alpha),
        rounds.has_tail, actions, rounds.centres, guess, margin, tolerance, newton_steps,
        lists, sizes, z, g, rounds.halt,
    )  # fmt: skip
    in_threads(lambda part: all_sets_rounds(part.start, part.stop, *arguments), R, ROUNDS_A_PIECE)
    return lists, sizes, z, g


def refresh_lists(rounds: Rounds, theta: FloatArray, tau: float) -> FloatArray:
    """Certify over every set, list each round's nearly active ones; the certified minima (R,).

    Sets already listed stay as long as there is room: replacing lists outright lets the multipliers
    cycle.
    """
    width = rounds.lists.shape[1]
    lists, sizes, z, g = all_sets(rounds, theta, 12.0 * tau, 1e-2 * tau, width)
    for t in range(rounds.count):
        new, room = lists[t, : sizes[t]], width - int(sizes[t])
        old = rounds.lists[t, : rounds.sizes[t]]
        stay = np.flatnonzero(~np.isin(old, new))[:room]
        z[t, sizes[t] : sizes[t] + len(stay)] = rounds.z[t, stay]
        lists[t, sizes[t] : sizes[t] + len(stay)] = old[stay]
        sizes[t] += len(stay)
    rounds.lists[:], rounds.sizes[:], rounds.z[:] = lists, sizes, z
    rounds.best[:] = 0
    return g


def bound_value(rounds: Rounds, theta: FloatArray, g: FloatArray) -> float:
    """What the multipliers prove when `g` (R,) are certified minima of their rounds."""
    stop, _, _ = stop_terms(rounds, theta)
    C = constants(rounds.instance, rounds.length, g, stop)
    return float(theta[0, 1].sum() - theta[0, 2].sum() + C[0])
