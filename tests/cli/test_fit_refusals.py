"""`preceptor fit` writes no learner from a log that makes no sense, and says why."""

import pytest

import preceptor as pr
from preceptor.data.world_fitting import fit_world
from preceptor.simulation.rollouts import rollout
from tests.cli.conftest import no_traceback


@pytest.fixture
def log(cases):
    """Two people who learn, and the table that their cases are from."""
    pandas = pytest.importorskip("pandas")
    world = fit_world(pandas.read_csv(cases), "y").world
    problem = pr.Problem(world, pr.Learner([0.0] * 3, pr.Geometric(1.2)), 2, horizon=30)
    return rollout(problem, pr.Stationary((0, 1)), 30, people=2, rng=0).log.to_frame()


def test_other_units_and_other_outcomes_at_once(run, cases, log, tmp_path):
    log["bmi"] /= 2.54
    log["outcome"] *= 1000.0
    log.to_csv("log.csv", index=False)
    result = run("fit", "log.csv", "--data", cases, "--outcome", "y")
    assert result.exit_code == 1
    said = no_traceback(result)
    assert "no learner was written: - log.csv, bmi: " in said
    assert "use the units of the table" in said
    assert "- log.csv, outcome, y: " in said
    assert not (tmp_path / "learner.json").exists()


def test_answers_that_say_nothing(run, cases, log, tmp_path):
    log["prediction"] = 20.0
    log.to_csv("log.csv", index=False)
    result = run("fit", "log.csv", "--data", cases, "--outcome", "y")
    assert result.exit_code == 1
    assert "no learner was written. log.csv: all answers are the same (20)" in result.stderr
    assert "plan without --learner" in result.stderr
    assert not (tmp_path / "learner.json").exists()


def test_a_learner_file_that_was_there_stays(run, cases, log, tmp_path):
    (tmp_path / "learner.json").write_text("mine")
    log["prediction"] = 20.0
    log.to_csv("log.csv", index=False)
    assert run("fit", "log.csv", "--data", cases, "--outcome", "y").exit_code == 1
    assert (tmp_path / "learner.json").read_text() == "mine"
