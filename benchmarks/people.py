"""Planning for people who learn from outcomes: prices against replay, a crowd, and many people."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from tests.body_fat import load_body_fat

import preceptor as pr
from benchmarks.measure import Row, one_time
from preceptor._base.parallel import LocalProcesses, Serial

ROUNDS, DISCOUNT = 400, 0.99
# Rounds at which changes are also priced by playing what follows again.
_SAMPLED_ROUNDS = (5, 105, 205, 305)
# People to plan for; a few of them first, so that everything is loaded; the best of some runs.
_PEOPLE, _FEW, _REPEATS = 64, 4, 3


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
        walk.forward(schedule, ())
        for t in range(ROUNDS - 1, -1, -1):
            found = walk.prices(t, everything)
            if t in _SAMPLED_ROUNDS:
                seen[t] = found
            walk.step_back(t, int(schedule[t]))
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


def many() -> Row:
    """Plans for 64 people: here, in two local processes, and on two real workers of Dask.

    Two processes can only be faster if the second core is free. The load before says whether it
    was; CPU seconds a person say what going elsewhere costs, however busy the machine is.
    """
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    world = pr.World.equicorrelated(rng.uniform(size=5), 0.8)
    people = [pr.Learner(rng.uniform(size=5), pr.Geometric(1.1)) for _ in range(_PEOPLE)]
    problems = [pr.Problem(world, person, budget=2, discount=DISCOUNT) for person in people]
    loopback = {"host": "127.0.0.1", "dashboard_address": None}
    details: dict[str, float] = {"load before": os.getloadavg()[0]}
    seconds: dict[str, float] = {}
    worked: dict[str, float] = {}
    with (
        LocalProcesses(2) as processes,
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **loopback) as cluster,
        Client(cluster) as client,
    ):
        ways = {"one process": Serial(), "two processes": processes, "two Dask workers": client}
        for name, where in ways.items():  # start processes, load kernels
            details[f"seconds to start {name}"], _ = _plans(problems[:_FEW], where)
        alone = None
        for _ in range(_REPEATS):  # by turns, so that a busy minute hits all alike
            for name, where in ways.items():
                before = _cpu_seconds()
                took, plans = _plans(problems, where)
                worked[name] = min(_cpu_seconds() - before, worked.get(name, np.inf))
                seconds[name] = min(took, seconds.get(name, np.inf))
                policies = [plan.policy for plan in plans]
                alone = alone or policies
                assert policies == alone, name
    details |= {f"people a second, {name}": _PEOPLE / took for name, took in seconds.items()}
    details |= {f"CPU seconds a person, {name}": cpu / _PEOPLE for name, cpu in worked.items()}
    return Row(
        work=f"solve_many for {_PEOPLE} people, small beams at (5, 2), two processes",
        against="one process",
        ratio=seconds["one process"] / seconds["two processes"],
        wanted=1.5,
        details=details,
    )


def _plans(problems: list[pr.Problem], where: Any) -> tuple[float, list[pr.Plan]]:
    return one_time(lambda: pr.solve_many(problems, "beam", width=3, layers=60, cluster=where))


def _cpu_seconds() -> float:
    """Of this process and all that it started."""
    import psutil

    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


ROWS = {"people-prices": prices, "people-crowd": crowd, "people-many": many}
