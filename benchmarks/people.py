"""Planning for people who learn from outcomes: prices against replay, and a plan for a crowd."""

from __future__ import annotations

import time

import numpy as np

import preceptor as pr
from benchmarks.measure import Row
from preceptor.datasets import load_body_fat

ROUNDS, DISCOUNT = 400, 0.99
# Rounds at which changes are also priced by playing what follows again.
_SAMPLED_ROUNDS = (5, 105, 205, 305)


def body_fat() -> pr.World:
    """Thirteen tests of the body fat data, with the misprint of a height corrected."""
    cases = load_body_fat().frame
    cases.loc[41, "height"] = 69.5
    return pr.fit_world(cases, "brozek", outcome="body fat, %").world


def prices() -> Row:
    """One backward sweep: what would any of 378 sets cost in any of 400 rounds?"""
    world = body_fat()
    sets = pr.AtMost(3).sets(world.size)
    person = pr.DeltaRule(np.zeros(world.size), rate=0.05).expected(world, sets)
    everything = np.arange(len(sets))
    schedule = np.random.default_rng(0).integers(len(sets), size=ROUNDS)
    walk = person.walk(ROUNDS, DISCOUNT)

    def sweep() -> dict[int, np.ndarray]:
        seen = {}
        walk.lay(schedule, ())
        for t in range(ROUNDS - 1, -1, -1):
            found = walk.prices(t, everything)
            if t in _SAMPLED_ROUNDS:
                seen[t] = found
            walk.back(t, int(schedule[t]))
        return seen

    def replay(t: int, position: int) -> float:
        changed = schedule.copy()
        changed[t] = position
        return person.total(changed, DISCOUNT, ())

    sweep()
    started = time.perf_counter()
    priced = sweep()
    by_prices = time.perf_counter() - started
    some = everything[::20]
    started = time.perf_counter()
    replayed = {t: np.array([replay(t, int(s)) for s in some]) for t in _SAMPLED_ROUNDS}
    spent = time.perf_counter() - started
    # A replay of the whole schedule; one from the changed round on takes half of that on average.
    by_replay = 0.5 * spent / (len(some) * len(_SAMPLED_ROUNDS)) * ROUNDS * len(sets)
    error = max(float(np.max(np.abs(priced[t][some] / replayed[t] - 1.0))) for t in _SAMPLED_ROUNDS)
    assert error < 1e-9, error
    return Row(
        work="sweep of 400 rounds by prices, delta rule, (13, 3)",
        against="the same by replay",
        ratio=by_replay / by_prices,
        wanted=50.0,
        details={"seconds": by_prices, "by replay": by_replay, "largest error": error},
    )


def crowd() -> Row:
    """A robust plan for the default crowd on the body fat data, kernels compiled."""
    world = body_fat()
    problem = pr.Problem(world, pr.Crowd.default(world, tests=3), budget=3, discount=DISCOUNT)
    pr.solve(problem, time_limit=1.0)
    started = time.perf_counter()
    plan = pr.solve(pr.Problem(world, problem.learner, budget=3, discount=DISCOUNT), time_limit=4.0)
    seconds = time.perf_counter() - started
    assert plan.regrets is not None
    return Row(
        work="robust plan for the default crowd, body fat (13, 3)",
        against="five seconds",
        ratio=5.0 / seconds,
        wanted=1.0,
        details={"seconds": seconds, "worst regret": plan.regrets.worst},
    )


ROWS = {"people-prices": prices, "people-crowd": crowd}
