"""Simulated people over HTTP leave the log that a rollout leaves, to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import preceptor as pr
from preceptor.bots import Bots, differences, log_of
from preceptor.cli import app
from preceptor.client import Client
from preceptor.logs import Log
from preceptor.model.units import Units
from preceptor.simulation import rollout
from preceptor.simulation.named import human_named
from tests.commands import CliRunner

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})
PEOPLE, ROUNDS, SEED = 3, 5, 7


@pytest.fixture(scope="module")
def wide_plan(tmp_path_factory):
    """Three of six tests, in units that people read: enough for sums to come in any order."""
    rng = np.random.default_rng(3)
    mixing = rng.normal(size=(6, 6))
    names = ["a", "b", "c", "d", "e", "f"]
    world = pr.World(
        rng.normal(size=6),
        mixing @ mixing.T / 6 + np.eye(6),
        0.3,
        names=names,
        units=Units(rng.normal(size=6) * 50, rng.uniform(1, 20, size=6), "score", 152.1),
    )
    problem = pr.Problem(world, pr.Learner(np.full(6, 0.2), pr.Geometric(1.1)), 3, horizon=40)
    path = tmp_path_factory.mktemp("plans") / "wide.json"
    pr.solve(problem, "search", time_limit=0.2).save(path)
    return path


@pytest.fixture(scope="module")
def client(server):
    with Client(server.address) as made:
        yield made


@pytest.mark.parametrize("kind", [None, "delta-rule", "bayesian", "crowd", "forgets"])
def test_the_log_of_the_service_is_that_of_a_rollout(client, wide_plan, kind):
    plan = pr.Plan.load(wide_plan)
    human = human_named(plan.problem, kind, 0.3)
    bots = Bots(wide_plan.read_text("utf-8"), PEOPLE, ROUNDS, human, SEED, prefix=f"{kind}-")
    played = bots.play(client, connections=2)
    assert played.rounds == PEOPLE * ROUNDS
    assert len(played.calls) == PEOPLE * (1 + 4 * ROUNDS)
    expected = rollout(plan.problem, plan, ROUNDS, PEOPLE, rng=SEED, human=human).log
    kept = log_of(client, plan.problem.world, bots.names)
    for field in ("rounds", "shown", "values", "prediction", "outcome", "feedback"):
        assert getattr(kept, field).tobytes() == getattr(expected, field).tobytes(), field
    assert bots.check(client) == []
    assert client.person(bots.names[0]).is_bot


def test_the_command_plays_checks_and_goes_on_where_it_was(server, client, plan_file):
    def bots(*more):
        given = ["serve", "bots", server.address, "--plan", plan_file, "--people", 3, "--seed", 4]
        return RUNNER.invoke(app, [*map(str, [*given, *more])])

    first = bots("--rounds", 2, "--human", "delta-rule", "--json")
    assert first.exit_code == 0, first.stderr
    assert json.loads(first.stdout)["played"] == 6
    client.open_round("p00002")  # as if they had been stopped there
    again = bots("--rounds", 4, "--human", "delta-rule", "--check")
    assert again.exit_code == 0, again.stderr
    assert "3 simulated people (p00001 to p00003) played 6 rounds." in again.stdout
    assert "to the last bit" in again.stderr
    plan = pr.Plan.load(plan_file)
    world, human = plan.problem.world, human_named(plan.problem, "delta-rule", 0.0)
    expected = rollout(plan.problem, plan, 4, 3, rng=4, human=human).log
    assert differences(log_of(client, world, ["p00001", "p00002", "p00003"]), expected) == []
    other = bots("--rounds", 4, "--human", "bayesian", "--check")
    assert other.exit_code == 2
    assert "--prefix: p0000" in other.stderr


def test_a_truth_that_was_not_told_yet_is_told_when_they_go_on(client, plan_file):
    bots = Bots(plan_file.read_text("utf-8"), 1, 2, seed=5, prefix="late-")
    bots.play(client)
    longer = Bots(plan_file.read_text("utf-8"), 1, 3, seed=5, prefix="late-")
    [name] = longer.names
    third = log_of_rollout(plan_file, 3)
    opened = client.open_round(name)
    values = dict(zip(third.names, third.values[2].tolist(), strict=True))
    client.show(name, 2, {test: values[test] for test in opened.recommended})
    client.predict(name, 2, float(third.prediction[2]))
    assert longer.play(client).rounds == 0
    assert client.round(name, 2).status == "told"
    assert longer.check(client) == []


def log_of_rollout(plan_file, rounds) -> Log:
    plan = pr.Plan.load(plan_file)
    return rollout(plan.problem, plan, rounds, 1, rng=5).log


def test_a_difference_of_one_bit_is_found():
    log = Log(["x1"], ["ann"], [0], [[True]], [[1.0]], [0.5], [0.25])
    other = Log(["x1"], ["ann"], [0], [[True]], [[1.0]], [np.nextafter(0.5, 1.0)], [0.25])
    assert differences(log, other) == ["prediction: 1 of 1 rows differ, first in row 0"]
    longer = Log(["x1"], ["ann"] * 2, [0, 1], [[True]] * 2, [[1.0]] * 2, [0.5] * 2, [0.25] * 2)
    assert differences(log, longer) == ["rounds: 1 of them, not 2"]


def test_levels_cannot_be_sent_by_simulated_people():
    units = Units([0.0], [1.0], "y", 0.0, levels={"sex": {"f": "sex=f", "m": ""}})
    world = pr.World([1.0], [[1.0]], names=["sex=f"], units=units, groups={"sex": [0]})
    plan = pr.solve(pr.Problem(world, pr.Learner([0.0], pr.Geometric(1.1)), 1, horizon=3))
    with pytest.raises(pr.InvalidInput, match="sex has levels"):
        Bots(plan.to_json(), 1, 1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--human", "saint"], "--human: 'saint', must be one of paper, lms"),
        (["--policy", "luck"], "--policy: 'luck', must be plan or tutor"),
        (["--policy", "tutor", "--check"], "--check: a simulation follows the plan"),
        (["--rounds", "99"], "--rounds: 99, but the problem ends after 60"),
    ],
)
def test_what_makes_no_sense_is_refused(plan_file, arguments, complaint):
    given = ["serve", "bots", "http://127.0.0.1:9", "--plan", str(plan_file), *arguments]
    refused = RUNNER.invoke(app, given)
    assert refused.exit_code == 2
    assert complaint in refused.stderr
