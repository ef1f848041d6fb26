"""The examples do what their comments say."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import preceptor as pr

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_examples_load_and_survive_a_round_trip(path):
    problem = pr.Problem.load(path)
    assert pr.Problem.from_toml(problem.to_toml()) == problem


def test_two_tests_is_the_instance_of_the_paper():
    plan = pr.solve(pr.Problem.load(EXAMPLES / "two_tests.toml"))
    assert plan.value == pytest.approx(25.72743856, abs=5e-9)
    assert plan.exploration_length == 46
    assert plan.status is pr.Status.OPTIMAL


@pytest.mark.full
def test_diabetes_explores_then_commits_with_a_small_gap():
    problem = pr.Problem.load(EXAMPLES / "diabetes.toml")
    plan = pr.solve(problem)
    fixed = pr.solve(problem, "stationary")
    assert 0 < plan.exploration_length < 60
    assert plan.gap < 0.03
    assert plan.value < 0.95 * fixed.value


def test_diabetes_numbers_come_from_the_data():
    pytest.importorskip("sklearn")
    path = EXAMPLES / "make_diabetes.py"
    spec = importlib.util.spec_from_file_location("make_diabetes", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    problem = pr.Problem.load(EXAMPLES / "diabetes.toml")
    found = script.numbers()
    close = {"rtol": 0, "atol": 0.51 * 10.0**-script.DIGITS}
    np.testing.assert_allclose(problem.world.coefficients, found["coefficients"], **close)
    np.testing.assert_allclose(problem.world.covariance, found["covariance"], **close)
    np.testing.assert_allclose(problem.world.noise_variance, found["noise_variance"], **close)
    np.testing.assert_allclose(problem.learner.initial, found["initial"], **close)
    np.testing.assert_allclose(problem.learner.curves.alpha, found["alpha"], **close)
    assert problem.world.names == tuple(script.TESTS.values())
    # All the rest of the file, comments included, up to the last digit of a number.
    written = (EXAMPLES / "diabetes.toml").read_text(encoding="utf-8").splitlines()
    assert len(written) == len(script.text().splitlines())


@pytest.mark.full
def test_an_experiment_of_ones_own_runs_as_a_script(tmp_path):
    """In processes of its own, with the table that the page shows."""
    script = EXAMPLES / "own_experiment.py"
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    page = (EXAMPLES.parent / "docs" / "experiments.md").read_text("utf-8")
    shown = [line.rstrip() for line in done.stdout.splitlines()]
    assert "\n".join(shown) in page
