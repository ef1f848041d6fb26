"""`preceptor diagnose`: a schedule from a table, and its log read back."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import preceptor as pr
from preceptor.diagnosis.blocks import Block
from preceptor.diagnosis.courses import decisive, drawn
from preceptor.estimation.world import fit_source
from preceptor.evidence.lockstep import played
from tests.cli.conftest import no_traceback

TABLE = ("--outcome", "y")


@pytest.fixture
def planned(run, cases):
    """A block of 16 rounds in block.csv."""
    return run("diagnose", cases, *TABLE, "--rounds", 16, "-k", 1, "-o", "block.csv")


@pytest.fixture
def log(cases, tmp_path):
    """Two people who follow outcomes play a block of 24 rounds, and the schedule is filled in."""
    world = fit_source(cases, "y").world
    block = Block(world.labels, decisive(world, (2,), (0,), 24))
    block.write(tmp_path / "block.csv")
    rounds = drawn(world, block.rounds, 2, 1)
    done = played(world, pr.DeltaRule(np.zeros(3), 0.2), rounds, scatter=0.3, rng=2)
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
    assert "will be decided rightly" in planned.stdout
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
    assert "Note: The block has 24 rounds, but there are others for bob (21)." in result.stdout


def test_dry_run_and_json(run, cases, tmp_path):
    result = run("diagnose", cases, *TABLE, "--rounds", 12, "--dry-run", "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert len(data["block"]["rounds"]) == 12
    assert data["verdicts"]
    assert not (tmp_path / "block.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cases.csv", "--outcome", "y", "--rounds", "3"], "--rounds: 3, must be a whole number"),
        (["cases.csv", "--outcome", "y", "--scatter", "-1"], "--scatter"),
        (["cases.csv", "--outcome", "y", "-k", "9"], "--tests: 9, but the table has 3 tests"),
        (["cases.csv", "--outcome", "y", "-o", "block.txt"], "must end in .csv"),
        (["cases.csv", "--outcome", "y", "-o", "no/block.csv"], "no such folder"),
        (["cases.csv", "--outcome", "y", "-o", "cases.csv"], "already uses that file"),
        (["cases.csv", "--outcome", "y", "--data", "cases.csv"], "--data: goes with --read"),
        (["no.csv", "--outcome", "y"], "no.csv"),
        (["--read", "no.csv", "--data", "cases.csv", "--outcome", "y"], "no.csv: no such file"),
        (["cases.csv", "--read", "no.csv", "--data", "cases.csv", "--outcome", "y"],
         "must have round, shown"),
    ],
)  # fmt: skip
def test_bad_input(run, cases, arguments, message):
    result = run("diagnose", *arguments)
    assert result.exit_code == 2
    assert message in no_traceback(result)
