"""Small tables and plans for the commands, each in a folder of its own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import preceptor as pr
from preceptor.cli._app import app
from preceptor.model.world import Units
from tests.commands import CliRunner
from tests.registries import only_ours

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


def transcript(arguments, result, folder: Path) -> str:
    """A command with all that it printed, without what differs from day to day."""
    errors = [each for each in result.stderr.splitlines() if "compiling, once per" not in each]
    said = [result.stdout, *(f"! {line}\n" for line in errors)]
    if result.exit_code:
        said.append(f"exit code {result.exit_code}\n")
    text = f"$ preceptor {shlex.join(map(str, arguments))}\n{''.join(said)}"
    text = text.replace(f"{folder}/", "").replace(str(folder), "FOLDER")
    text = re.sub(r"\d+(\.\d+)? (s|seconds?)\b", r"N \2", text)
    return re.sub(r"-?\d(\.\d+)?e-(0[5-9]|[1-9]\d)", "TINY", text)  # rounding errors


@pytest.fixture
def keeps(run, snapshot, tmp_path, monkeypatch):
    """Run a command and compare all that it prints with what is kept for this test."""
    # On a busy machine it would also say what it is doing.
    monkeypatch.setattr("preceptor.cli._console._FIRST_PAUSE", float("inf"))

    def check(*arguments):
        with only_ours():
            result = run(*arguments)
        assert "Traceback" not in result.stderr
        snapshot(str(arguments[0]), transcript(arguments, result, tmp_path))
        return result

    return check


@pytest.fixture
def prints(keeps):
    """The same for a command that has to succeed."""

    def check(*arguments):
        result = keeps(*arguments)
        assert result.exit_code == 0, result.stderr

    return check


@pytest.fixture
def refuses(keeps, tmp_path):
    """The same for a command that has to fail: nothing on stdout, no file made or lost."""

    def check(*arguments):
        before = sorted(tmp_path.rglob("*"))
        result = keeps(*arguments)
        assert result.exit_code in (1, 2), result.stdout
        assert result.stdout == ""
        assert not isinstance(result.exception, (ValueError, TypeError, KeyError, OSError))
        assert sorted(tmp_path.rglob("*")) == before

    return check
