"""People who play over HTTP leave the log that `rollout` leaves, bit for bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import preceptor as pr
from preceptor.logs import Log
from preceptor.simulation import rollout
from preceptor.simulation.cases import Stream, draw_cases, stream
from tests.service.servers import said

PEOPLE, ROUNDS, SEED = 3, 6, 11


@pytest.mark.parametrize("kind", ["own", "delta rule"])
def test_the_log_of_the_store_is_that_of_a_rollout(http, plan_file, kind):
    plan = pr.Plan.load(plan_file)
    world = plan.problem.world
    person = plan.problem.learner if kind == "own" else pr.DeltaRule([0.2, 1.3, 0.0], rate=0.1)
    cases = draw_cases(world, ROUNDS, PEOPLE, SEED)
    for who in range(PEOPLE):
        name = f"{kind.replace(' ', '-')}-{who}"
        said(http.put(f"/v1/people/{name}", json={"is_bot": True}))
        human = person.acting(world, response_noise=0.3)
        human.reset(stream(SEED, who, Stream.ANSWERS))
        for t in range(ROUNDS):
            opened = said(http.post(f"/v1/people/{name}/rounds"))
            there = f"/v1/people/{name}/rounds/{opened['round']}"
            shown = world.columns_of(opened["recommended"])
            values, outcome = cases.features[who, t, list(shown)], float(cases.outcomes[who, t])
            sent = dict(zip(world.name_of(shown), values.tolist(), strict=True))
            said(http.put(f"{there}/shown", json={"values": sent}))
            guess = human.predict(shown, values)
            said(http.put(f"{there}/prediction", json={"prediction": guess}))
            human.feedback(shown, values, outcome)
            said(http.put(f"{there}/outcome", json={"outcome": outcome}))
    lines = http.get("/v1/log", params={"limit": 10_000}).text.splitlines()
    rows = [row for row in map(json.loads, lines) if row["participant"].startswith(kind[:3])]
    kept = log_of(world, sorted(rows, key=lambda row: (row["participant"], row["round"])))
    human = person.acting(world, response_noise=0.3)
    expected = rollout(plan.problem, plan, ROUNDS, PEOPLE, rng=SEED, human=human).log
    for field in ("rounds", "shown", "values", "prediction", "outcome", "feedback"):
        ours, theirs = getattr(kept, field), getattr(expected, field)
        assert ours.tobytes() == theirs.tobytes(), field
    assert all(row["is_bot"] for row in rows)


def log_of(world: pr.World, rows: list[dict]) -> Log:
    shown = np.array([[name in row["shown"] for name in world.labels] for row in rows])
    values = np.array(
        [
            [
                dict(zip(row["shown"], row["values"], strict=True)).get(n, np.nan)
                for n in world.labels
            ]
            for row in rows
        ]
    )
    columns = {
        name: [row[name] for row in rows] for name in ("participant", "prediction", "outcome")
    }
    return Log(
        world.labels,
        columns["participant"],
        [row["round"] for row in rows],
        shown,
        values,
        columns["prediction"],
        columns["outcome"],
    )
