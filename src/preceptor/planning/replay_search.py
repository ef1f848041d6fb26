"""Local search on schedules for any curve and any built-in risk.

Every change is priced by replaying the rounds after it, which is slower than the closed prices of
geometric learning (`engine/search.py`) but asks nothing of the curve or the risk.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preceptor._base.discounting import negligible_after
from preceptor._base.values import IntArray
from preceptor.planning.bounds import least_loss
from preceptor.planning.by_prices import Found
from preceptor.problem import Problem

# Rounds that are searched; later ones repeat the last set.
_ROUNDS = 120
# Rounds that are replayed to price a change, at most; the final value is exact anyway.
_REPLAYED = 1500
_SWEEPS = 30
_TRIED_SETS = 60


def replay_search(
    problem: Problem,
    *,
    starts: list[IntArray],
    seed: int,
    max_kicks: int,
    stop: Callable[[], bool],
    improved: Callable[[float], None],
) -> Found:
    """The best schedule found from these starts, then from kicks of it, until told to stop."""
    from preceptor.planning._replay_kernels import improve_rounds

    forms = problem.oracle.forms()
    assert forms is not None
    horizon = problem.horizon
    replayed = (
        horizon if horizon is not None else min(negligible_after(problem.discount), _REPLAYED)
    )
    rounds = min(replayed, max(_ROUNDS, *(start.size for start in starts)))
    table = problem.by_showings.retention_table(problem.start_counts, replayed)
    errors = table * (problem.world.coefficients - problem.learner.initial)[:, None]
    rest = np.zeros(replayed + 1)
    least = least_loss(problem)
    for u in range(1, replayed + 1):
        rest[u] = least + problem.discount * rest[u - 1]
    now = problem.oracle.losses(problem.initial_errors[None, :])[0]
    order = np.argsort(np.minimum(now, problem.oracle.floors() * 1.5), kind="stable")[:_TRIED_SETS]

    def improve(path: IntArray, first: int) -> float:
        value = improve_rounds(
            path,
            first,
            first + 1,
            replayed,
            problem.discount,
            rest,
            problem.sets.membership,
            errors,
            *forms.arrays,
            order,
        )
        return float(value)

    def descend(path: IntArray) -> float:
        """Round after round until a whole sweep brings nothing, or it is time to stop."""
        value = np.inf
        for _ in range(_SWEEPS):
            before = value
            for first in range(rounds):
                value = improve(path, first)
                if stop():
                    return value
            if before - value <= 1e-9 * abs(value):
                break
        return value

    best, value = np.empty(0, dtype=np.int64), np.inf
    for start in starts:
        path = np.resize(start[:rounds], rounds) if start.size < rounds else start[:rounds].copy()
        path[start.size :] = start[-1]
        found = descend(path)
        if found < value:
            best, value = path, found
            improved(value)
        if stop():
            break
    rng = np.random.default_rng(seed)
    kicks = 0
    while kicks < max_kicks and not stop():
        path = best.copy()
        begin = int(rng.random() ** 2 * rounds)
        length = 1 + int(rng.random() ** 3 * 40)
        path[begin : begin + length] = rng.choice(order)
        found = descend(path)
        kicks += 1
        if found < value * (1 - 1e-12):
            best, value = path, found
            improved(value)
    return Found(best, int(best[-1]), kicks, kicks >= max_kicks)
