"""`preceptor diagnose`: a schedule from a table, and its log read back."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.world_fitting import fit_source
from preceptor.learners.diagnostic_blocks import Block, decisive_design, draw_cases
from preceptor.learners.records import simulate_answers

TABLE = ("--outcome", "y")


@pytest.fixture
def planned(run, cases):
    """A block of 16 rounds in block.csv."""
    return run("diagnose", cases, *TABLE, "--rounds", 16, "-k", 1, "-o", "block.csv")


@pytest.fixture
def log(cases, tmp_path):
    """Two people who follow outcomes play a block of 24 rounds, and the schedule is filled in."""
    world = fit_source(cases, "y").world
    block = Block(world.labels, decisive_design(world, (2,), (0,), 24))
    block.write(tmp_path / "block.csv")
    rounds = draw_cases(world, block.rounds, 2, 1)
    done = simulate_answers(world, pr.DeltaRule(np.zeros(3), 0.2), rounds, scatter=0.3, rng=2)
    path = tmp_path / "log.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["participant", "round", "shown", "values", "prediction", "outcome"])
        for who, name in enumerate(("ann", "bob")):
            for t, each in enumerate(block.rounds):
                seen = list(world.columns_of(each.show))
                results = world.units.restore(done.values[who, t])[seen]
                told = world.units.uncentre(done.outcomes[who, t]) if each.feedback else ""
                answer = world.units.uncentre(done.answers[who, t])
                shown = [world.labels[i] for i in seen]
                writer.writerow([name, t + 1, ";".join(shown), ";".join(map(str, results)),
                                 answer, told])  # fmt: skip
    return path


def test_a_schedule_is_written_and_said_in_words(planned, tmp_path):
    assert planned.exit_code == 0, planned.stderr
    assert planned.stdout.startswith("A diagnostic block of 16 rounds")
    assert "without telling any outcome" in planned.stdout
    assert "will be decided correctly" in planned.stdout
    assert "Wrote the schedule to block.csv" in planned.stderr
    block = Block.read(tmp_path / "block.csv", ("bmi", "bp", "age"))
    assert len(block) == 16
    assert all(len(each.show) == 1 for each in block.rounds if each.feedback)


def test_the_log_is_read_back(run, log, cases):
    result = run("diagnose", "block.csv", "--read", log, "--data", cases, *TABLE)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("by outcomes") >= 2
    assert "ann:" in result.stdout
    assert "Note:" not in result.stdout
    again = run("diagnose", "--read", log, "--data", cases, *TABLE, "--json")
    data = json.loads(again.stdout)
    assert [each["name"] for each in data["people"]] == ["ann", "bob"]
    assert sum(data["people"][0]["groups"].values()) == pytest.approx(1.0)


def test_where_people_did_not_follow_the_schedule(run, log, cases):
    text = log.read_text().splitlines()
    log.write_text("\n".join(text[:-3]) + "\n")
    result = run("diagnose", "block.csv", "--read", log, "--data", cases, *TABLE)
    assert "Note: The block has 24 rounds" in result.stdout
    assert "bob (21)" in result.stdout


def test_dry_run_and_json(run, cases, tmp_path):
    result = run("diagnose", cases, *TABLE, "--rounds", 12, "--dry-run", "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert len(data["block"]["rounds"]) == 12
    assert data["verdicts"]
    assert not (tmp_path / "block.csv").exists()


@pytest.mark.parametrize(
    "words",
    [
        "cases.csv --outcome y --rounds 3",
        "cases.csv --outcome y --scatter -1",
        "cases.csv --outcome y -k 9",
        "cases.csv --outcome y -o block.txt",
        "cases.csv --outcome y -o no/block.csv",
        "cases.csv --outcome y -o cases.csv",
        "cases.csv --outcome y --data cases.csv",
        "no.csv --outcome y",
        "--read no.csv --data cases.csv --outcome y",
        "cases.csv --read no.csv --data cases.csv --outcome y",
    ],
)
def test_bad_input(refuses, cases, words):
    refuses("diagnose", *words.split())
