"""Small tables and plans for the commands, each in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import preceptor as pr
from preceptor.cli import app
from preceptor.model.units import Units
from tests.commands import CliRunner

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: RUNNER.invoke(app, [str(a) for a in arguments])


@pytest.fixture
def cases(tmp_path) -> Path:
    """Sixty cases with three tests in large units, and their outcome y."""
    drawn = pr.World.equicorrelated([2.0, 1.0, -1.0], 0.5, 0.5).sample(60, rng=1)
    values = drawn.features * [10.0, 1.0, 0.1] + [100.0, 5.0, 0.0]
    lines = ["bmi,bp,age,y"]
    lines += [
        ",".join(f"{v:.6f}" for v in (*row, y + 20.0))
        for row, y in zip(values, drawn.outcomes, strict=True)
    ]
    path = tmp_path / "cases.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def plan_file(tmp_path) -> Path:
    """A plan for two tests that teaches bp first."""
    world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    world = pr.World(
        world.coefficients,
        world.covariance,
        0.1,
        world.names,
        units=Units([25.0, 90.0], [4.0, 10.0], "risk", 3.0),
    )
    problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, 0.9)
    policy = pr.ExploreThenCommit([(1,)] * 3, (0,))
    value = pr.evaluate(problem, policy)
    path = tmp_path / "plan.json"
    pr.Plan(problem, policy, value, value / 2, pr.Status.BOUNDED, "by hand", 0.0).save(path)
    return path


def no_traceback(result) -> str:
    """The message of a command that failed, in one block and without anything on stdout."""
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert not isinstance(result.exception, (ValueError, TypeError, KeyError, OSError))
    return " ".join(result.stderr.split())
