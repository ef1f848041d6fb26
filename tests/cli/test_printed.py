"""What the commands print in ordinary use, word for word (`snapshots/`)."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.simulation.rollouts import rollout
from tests.cli.test_plan import QUICK


@pytest.mark.parametrize("words", ["--tests 2 --schedule schedule.csv", "--tests 1 --verify"])
def test_plan(prints, cases, words):
    prints("plan", cases, *QUICK, *words.split())


@pytest.mark.parametrize("words", ["", "--shown counts.json", "--available bmi"])
def test_next(prints, plan_file, tmp_path, words):
    (tmp_path / "counts.json").write_text('{"bp": 3, "bmi": 1}')
    prints("next", "plan.json", *words.split())


def test_explain(prints, plan_file):
    prints("explain", "plan.json")


@pytest.mark.parametrize("human", ["paper", "all"])
def test_simulate(prints, plan_file, human):
    prints("simulate", "plan.json", "--people", 5, "--rounds", 8, "--human", human)


def test_fit(prints, cases, tmp_path):
    from preceptor.data.world_fitting import fit_source

    world = fit_source(cases, "y").world
    problem = pr.Problem(world, pr.Learner(np.zeros(3), pr.Geometric(1.2)), 2, horizon=30)
    log = rollout(problem, pr.Stationary((0, 1)), 30, people=2, rng=0).log.to_frame()
    log["prediction"] += np.random.default_rng(1).normal(0.0, 0.3, len(log))
    log.to_csv(tmp_path / "log.csv", index=False)
    prints("fit", "log.csv", "--data", "cases.csv", "--outcome", "y")


def test_diagnose(prints, cases):
    prints("diagnose", "cases.csv", "--outcome", "y", "--rounds", 12, "-k", 1)


@pytest.mark.parametrize("command", ["examples", "methods"])
def test_lists(prints, command):
    prints(command)
