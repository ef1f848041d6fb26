"""Seconds per decision with the case in view, against the time that a page may take to answer."""

from __future__ import annotations

from typing import Any

import numpy as np

import preceptor as pr
from benchmarks.measure import Row, best_time
from benchmarks.people import body_fat
from preceptor.learners import CasePool, Plausibility
from preceptor.learners.case_choice import kind_shares

# Seconds that a decision may take: of a live case, of a pool, and of a pool with 4,845 sets.
LIVE, TRAINING, LARGE = 0.03, 0.03, 0.3
ROUNDS = 10


def _taught(world: pr.World, tests: int, **options: Any) -> pr.Tutor:
    """A tutor with the default crowd after some rounds."""
    problem = pr.Problem(world, pr.Crowd.default(world, tests=tests), pr.Exactly(tests), 0.99)
    tutor = pr.Tutor(problem, **options)
    shown = list(range(tests))
    values, outcomes = _cases(world, ROUNDS)
    for results, outcome in zip(values, outcomes, strict=True):
        tutor = tutor.after(shown, results[shown], float(outcomes.mean()), float(outcome))
    return tutor


def _cases(world: pr.World, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cases in the units that people read."""
    results, outcomes = world.sample(count, rng=1)
    if world.units is None:
        return results, outcomes
    return world.units.restore(results), world.units.uncentre(outcomes)


def live() -> Row:
    """One live case of body fat: 286 sets, default crowd."""
    world = body_fat()
    tutor = _taught(world, 3)
    values, _ = _cases(world, 1)
    half = np.where(np.arange(world.size) % 2, values[0], np.nan)
    took = best_time(lambda: tutor.next(case=values[0]))
    return Row(
        work="a decision with the case in view, default crowd, body fat (13, 3)",
        against="30 ms",
        ratio=LIVE / took,
        wanted=1.0,
        details={
            "seconds": took,
            "half known": best_time(lambda: tutor.next(case=half)),
            "nothing known": best_time(tutor.next),
        },
    )


def pool() -> Row:
    """One case out of a table, and its set."""
    return _pool(body_fat(), 3, "200 cases x 286 sets, default crowd, body fat (13, 3)", TRAINING)


def large_pool() -> Row:
    """The same with four of twenty tests."""
    world = pr.World.equicorrelated(np.random.default_rng(0).random(20), 0.5, 0.3)
    return _pool(world, 4, "200 cases x 4,845 sets, default crowd (20, 4)", LARGE)


def _pool(world: pr.World, tests: int, work: str, limit: float) -> Row:
    cases = CasePool(*_cases(world, 200))
    tutor, usual = (
        _taught(world, tests, plausible=Plausibility(considered=considered))
        for considered in (None, 50)
    )
    took = best_time(lambda: tutor.next(pool=cases))
    return Row(
        work=f"a decision over {work}",
        against=f"{1000 * limit:.0f} ms",
        ratio=limit / took,
        wanted=1.0,
        details={
            "seconds": took,
            "kinds": int(np.sum(kind_shares(tutor.bank) > 0.0)),
            "50 cases drawn": best_time(lambda: usual.next(pool=cases)),
        },
    )


ROWS = {"cases-live": live, "cases-pool": pool, "cases-large-pool": large_pool}
