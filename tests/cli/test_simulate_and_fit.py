"""The README's own sequence: plan, simulate, fit; with columns that no Gaussian world has."""

import json

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.log import Log
from tests.cli.conftest import no_traceback


@pytest.mark.full
def test_what_simulate_writes_can_be_fitted(run, tmp_path):
    """A yes/no column, one of 0 and 1, a category, and an outcome of two values."""
    rng = np.random.default_rng(0)
    rows = 150
    smoker, chf = rng.choice(["yes", "no"], rows), rng.integers(0, 2, rows)
    grade = rng.choice(["I", "II", "III"], rows)
    risk = 2.0 * chf + 2.0 * (smoker == "yes") + (grade == "III")
    died = np.where(risk + rng.normal(size=rows) > 2.0, "yes", "no")
    lines = [",".join(row) for row in zip(smoker, map(str, chf), grade, died, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["smoker,chf,grade,died", *lines]) + "\n")
    options = ("--tests", 3, "--cases", 20, "--person", "by-showings", "--time-limit", 0.5)
    made = run("plan", "t.csv", "--outcome", "died", *options, "--no-report")
    assert made.exit_code == 0, made.stderr
    hint = "What to show a person next: preceptor next plan.json --log log.csv --participant NAME"
    assert hint in made.stderr
    played = run(
        "simulate", "plan.json", "--people", 2, "--noise", 0.05, "--rounds", 20, "--log", "s.csv"
    )
    assert played.exit_code == 0, played.stderr
    fitted = run("fit", "s.csv", "--data", "t.csv", "--outcome", "died")
    assert fitted.exit_code == 0, fitted.stderr
    assert "Wrote the learner to learner.json" in fitted.stderr


def test_steps_of_the_delta_rule_are_said_in_words():
    said = pr.DeltaRule([0.0], 0.0233).learning_in_words()
    assert "moves by 2.33% of the surprise times its result" in said


@pytest.mark.full
def test_an_assistant_that_looks_at_cases_is_compared_and_written(run, cases):
    options = ("--tests", 1, "--cases", 20, "--person", "by-showings", "--no-report")
    assert run("plan", cases, "--outcome", "y", *options).exit_code == 0
    aware = ("--policy", "case-aware", "--tau", 5, "--rounds", 6, "--people", 3)
    played = run("simulate", "plan.json", *aware, "--human", "exemplar", "--log", "s.csv", "--json")
    assert played.exit_code == 0, played.stderr
    problem = pr.Plan.load("plan.json").problem
    human = pr.simulation.ExemplarLearner(problem.world, 0.7)
    same = pr.simulation.rollout(problem, pr.CaseAware(5.0), 6, 3, rng=0, human=human)
    row = json.loads(played.stdout)["rows"][0]
    assert (row["policy"], row["human"]) == ("case-aware", "exemplar")
    assert row["loss"] == pytest.approx(same.total)
    log = Log.read("s.csv", problem.world)
    assert np.array_equal(log.shown, same.log.shown)
    known = run("simulate", "plan.json", *aware, "--knows", "bmi", "--knows", "bp")
    assert "case-aware" in known.stdout
    everyone = run("simulate", "plan.json", "--human", "all", "--people", 2, "--rounds", 3)
    assert "exemplar" in everyone.stdout


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tau", 3), "--tau, --knows: describe --policy case-aware; add it"),
        (("--policy", "best"), "--policy: 'best', must be one of plan, case-aware"),
        (("--policy", "case-aware", "--knows", "x9"), "x9"),
        (("--human", "me"), "exemplar, all"),
    ],
)
def test_policies_and_people_that_do_not_exist_are_refused(run, cases, options, said):
    plan = ("--tests", 1, "--cases", 5, "--person", "by-showings", "--no-report")
    assert run("plan", cases, "--outcome", "y", *plan).exit_code == 0
    assert said in no_traceback(run("simulate", "plan.json", "--rounds", 2, *options))
