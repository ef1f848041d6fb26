"""The exact finite-horizon planner: against Algorithm 1 literally, and at 36 million states."""

from __future__ import annotations

import resource

import numpy as np

import preceptor as pr
from benchmarks.measure import Row, best_time, one_time
from preceptor.paper.algorithm import algorithm1


def two_tests() -> Row:
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    learner = pr.Learner([0.2, 1.3], pr.Geometric(1.10))
    problem = pr.Problem(world, learner, pr.Exactly(1), discount=0.99, horizon=600)
    plain, (value, schedule) = one_time(lambda: algorithm1(problem))
    ours = best_time(lambda: pr.solve(problem, "finite"))
    plan = pr.solve(problem, "finite")
    assert np.isclose(plan.value, value, rtol=1e-12)
    assert plan.policy.schedule(600) == schedule
    return Row(
        work="finite, (2,1), exactly one, T=600",
        against="Algorithm 1 literally, dicts",
        ratio=plain / ours,
        wanted=1000.0,
        details={"dicts_seconds": plain, "solve_seconds": ours, "same_schedule": True},
    )


def three_tests() -> Row:
    rng = np.random.default_rng(0)
    world = pr.World.equicorrelated(rng.uniform(0, 1, 3), 0.99)
    learner = pr.Learner(rng.uniform(0, 1, 3), pr.Geometric(1.05))
    problem = pr.Problem(world, learner, pr.Exactly(2), discount=0.99, horizon=600)
    seconds = best_time(lambda: pr.solve(problem, "finite"), seconds=3.0)
    plan = pr.solve(problem, "finite")
    # What the same bytes take when they are only written and read once: parents and two layers.
    buffer = np.empty(plan.states, dtype=np.float64)
    stream = best_time(lambda: buffer.fill(1.0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Row(
        work="finite, (3,2), exactly two, T=600: one number written a state",
        against="filling as many doubles (bandwidth), how many times longer: at most 1/ratio",
        ratio=stream / seconds,
        wanted=0.0,
        details={
            "states": plan.states,
            "solve_seconds": seconds,
            "million_states_a_second": plan.states / seconds / 1e6,
            "peak_memory_mb": peak / 2**20,
        },
    )


ROWS = {"finite-two": two_tests, "finite-three": three_tests}
