"""Finding out who somebody is: evidence from a log, a tutor's next plan, many logs at once."""

from __future__ import annotations

import os
import time

import numpy as np

import preceptor as pr
from benchmarks.measure import Row, one_time
from benchmarks.people import body_fat
from preceptor.data.log import Log
from preceptor.learners.populations import weigh_people
from preceptor.learners.records import Record
from preceptor.learners.simulated_tutoring import tutored
from preceptor.learners.weighing import weigh

ROUNDS, REPEATS = 80, 9
# What is done with all people together takes half a second anyway, so there must be many.
PEOPLE = 160


def _log(people: int, rounds: int = ROUNDS) -> tuple[pr.World, Log]:
    """Delta-rule people who see random pairs of five tests."""
    rng = np.random.default_rng(0)
    world = pr.World.equicorrelated(rng.random(5), 0.5, 0.3)
    noise = 0.6 * float(np.sqrt(world.outcome_variance))
    pairs = [(i, j) for i in range(5) for j in range(i)]
    rows: dict[str, list[object]] = {
        name: [] for name in ("participant", "round", "shown", "values", "prediction", "outcome")
    }
    for person in range(people):
        acting = pr.DeltaRule(0.3 * rng.standard_normal(5), 0.05, 1.0).acting(world, None, noise)
        acting.reset(person)
        cases = world.sample(rounds, rng=person)
        for t in range(rounds):
            tests = tuple(sorted(pairs[rng.integers(len(pairs))]))
            values, outcome = cases.features[t, list(tests)], float(cases.outcomes[t])
            shown, whole = np.zeros(5, dtype=bool), np.full(5, np.nan)
            shown[list(tests)], whole[list(tests)] = True, values
            for name, entry in zip(
                rows,
                (f"p{person}", t, shown, whole, acting.predict(tests, values), outcome),
                strict=True,
            ):
                rows[name].append(entry)
            acting.feedback(tests, values, outcome)
    fields = [np.array(rows[name]) for name in rows]
    return world, Log(world.labels, *fields)


def evidence() -> Row:
    """All families with three ways to fill in, on one person's 80 rounds."""
    world, log = _log(1)
    record = Record.of(world, log, "p0")
    weigh(world, record)
    took = min(one_time(lambda: weigh(world, record))[0] for _ in range(REPEATS))
    return Row(
        work="evidence of all families x 3 ways to fill in, one log of 80 rounds",
        against="50 ms",
        ratio=0.05 / took,
        wanted=1.0,
        details={"seconds": took},
    )


def replan() -> Row:
    """A tutor's plans for the default crowd on body fat, first beliefs unknown."""
    world = body_fat()
    problem = pr.Problem(world, pr.Crowd.default(world, tests=3), budget=3, discount=0.99)
    person = problem.learner.people["by outcomes, ignoring correlations, fast"]  # type: ignore[attr-defined]
    tutor, spent = pr.Tutor(problem), []
    began = time.perf_counter()
    tutor.next()
    first = time.perf_counter() - began
    noise = 0.3 * float(np.sqrt(world.outcome_variance))
    run = tutored(tutor, person.acting(world), 60, 0, response_noise=noise)
    for rounds in (1, 2, 3, 5, 8, 12, 17, 24, 33, 45):
        before = pr.Tutor(problem)
        for entry in run.tutor.record[:rounds]:
            before = before.after(entry.shown, entry.values, entry.answer, entry.outcome)
        spent.append(one_time(before.next)[0])
    return Row(
        work="a tutor's new plan, default crowd of seven, body fat (13, 3)",
        against="half a second",
        ratio=0.5 / max(spent),
        wanted=1.0,
        details={"first": first, "median": float(np.median(spent)), "longest": max(spent)},
    )


def many_logs() -> Row:
    """People a second who are weighed: here, in two processes, on two workers of Dask."""
    from distributed import Client, LocalCluster

    from preceptor._base.parallel import LocalProcesses

    world, log = _log(PEOPLE)
    details: dict[str, float] = {"load before": os.getloadavg()[0]}
    seconds: dict[str, float] = {}
    found = {}
    few = log.for_participant("p0", "p1", "p2", "p3")
    loopback = {"host": "127.0.0.1", "dashboard_address": None}
    with (
        LocalProcesses(2) as processes,
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **loopback) as cluster,
        Client(cluster) as client,
    ):
        ways = {
            "one process": {"workers": 1},
            "two processes": {"cluster": processes},
            "two Dask workers": {"cluster": client},
        }
        for name, where in ways.items():
            weigh_people(world, few, **where)
            took = [one_time(lambda w=where: weigh_people(world, log, **w)) for _ in range(2)]
            seconds[name] = min(t for t, _ in took)
            found[name] = took[0][1].people["p7"].groups
            assert found[name] == found["one process"], name
    details |= {f"people a second, {name}": PEOPLE / took for name, took in seconds.items()}
    return Row(
        work=f"evidence for {PEOPLE} people, two processes",
        against="one process",
        ratio=seconds["one process"] / seconds["two processes"],
        wanted=1.3,
        details=details,
    )


ROWS = {"knowing-evidence": evidence, "knowing-replan": replan, "knowing-many": many_logs}
