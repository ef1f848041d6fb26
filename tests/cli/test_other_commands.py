"""`next`, `examples`, `fit`, `simulate` and `explain`."""

import json

import numpy as np
import pandas as pd
import pytest

import preceptor as pr
from preceptor._base.numerics import discounted_sum
from preceptor.data.datasets import load_diabetes
from preceptor.data.log import Log
from preceptor.model.evaluation import losses_along


def test_next_follows_the_plan(run, plan_file, tmp_path):
    assert run("next", plan_file).stdout.startswith("Show bp.")
    (tmp_path / "some.json").write_text('{"bp": 2}')
    assert run("next", plan_file, "--shown", "some.json").stdout.startswith("Show bp.")
    (tmp_path / "all.csv").write_text("name,count\nbp,3\n")
    assert run("next", plan_file, "--shown", "all.csv").stdout.startswith("Show bmi.")


def test_next_as_json_has_the_expected_loss(run, plan_file, tmp_path):
    (tmp_path / "counts.json").write_text('{"bp": 3, "bmi": 1}')
    data = json.loads(run("next", plan_file, "--shown", "counts.json", "--json").stdout)
    problem = pr.Plan.load(plan_file).problem
    errors = problem.learner.errors(problem.world, [1, 3])[None, :]
    assert data["show"] == ["bmi"]
    assert data["forever"]
    assert data["expected_loss"] == pytest.approx(float(problem.oracle.loss_of(errors, (0,))[0]))
    assert data["expected"] == pytest.approx(np.sqrt(data["expected_loss"]))
    assert data["scale"] == "root-mean-square error (risk)"


def test_next_counts_tests_of_several_columns_once(run, tmp_path):
    world = pr.World([1.0, 2.0, 3.0], np.eye(3), names=["age", "a", "b"], groups={"site": [1, 2]})
    problem = pr.Problem(world, pr.Learner(np.zeros(3), pr.Geometric(1.1)), 1)
    policy = pr.ExploreThenCommit([(1, 2)] * 2, (0,))
    value = pr.evaluate(problem, policy)
    pr.Plan(problem, policy, value, 0.0, pr.Status.BOUNDED, "by hand", 0.0).save("plan.json")
    assert run("next", "plan.json").stdout.startswith("Show site.")
    (tmp_path / "counts.json").write_text('{"site": 2}')
    assert run("next", "plan.json", "--shown", "counts.json").stdout.startswith("Show age.")


def test_examples_are_listed_and_written(run, tmp_path):
    text = run("examples").stdout
    assert "diabetes" in text
    assert "Efron, T. Hastie" in text
    written = run("examples", "--write", "diabetes")
    assert written.exit_code == 0
    assert written.stdout == ""
    assert "diabetes.csv" in written.stderr
    frame = pd.read_csv(tmp_path / "diabetes.csv")
    assert frame.equals(load_diabetes().frame)
    assert run("examples", "--write", "diabetes", "-o", "d.csv").exit_code == 0
    assert len(pd.read_csv("d.csv")) == 442
    assert run("examples", "--write", "diabetes", "-o", "d.xlsx").exit_code == 0
    book = pd.read_excel("d.xlsx", sheet_name="diabetes", engine="calamine")
    assert np.array_equal(book, load_diabetes().frame)
    refused = run("examples", "--write", "diabetes", "-o", "d.doc")
    assert refused.exit_code == 2
    assert "d.doc: ends in '.doc', must end in .csv or .xlsx" in refused.stderr


def test_simulation_agrees_with_the_exact_value(run, plan_file):
    result = run("simulate", plan_file, "--people", 400, "--rounds", 20, "--seed", 1, "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    plan = pr.Plan.load(plan_file)
    exact = discounted_sum(losses_along(plan.problem, plan.policy.schedule(20)), 0.9)
    own = next(row for row in data["rows"] if row["policy"] == "this plan")
    assert abs(own["loss"] - exact) < 4 * own["standard_error"]
    assert {row["policy"] for row in data["rows"]} == {
        "this plan",
        "most predictive",
        "random order",
        "best fixed set",
    }
    words = run("simulate", plan_file, "--people", 5, "--rounds", 20).stdout
    assert f"learner: {exact:.6g}." in words


@pytest.mark.parametrize("human", ["lms", "bayes", "forgets", "ignores"])
def test_other_people_can_be_simulated(run, plan_file, human):
    first = run("simulate", plan_file, "--people", 3, "--rounds", 5, "--human", human, "--json")
    again = run("simulate", plan_file, "--people", 3, "--rounds", 5, "--human", human, "--json")
    assert first.exit_code == 0
    assert first.stdout == again.stdout


def test_everybody_at_once(run, plan_file):
    text = run("simulate", plan_file, "--people", 2, "--rounds", 4, "--human", "all").stdout
    for human in ("paper", "least mean squares", "Bayesian", "forgets"):
        assert human in text


def test_from_a_simulated_log_to_a_learner_to_a_plan(run, cases, tmp_path):
    table = ("--outcome", "y")
    quick = ("--half-life", 4, "--about", 4, "--tests", 2, "--person", "by-showings")
    assert run("plan", cases, *table, *quick).exit_code == 0
    simulated = run("simulate", "plan.json", "--people", 6, "--rounds", 20, "--log", "log.csv")
    assert simulated.exit_code == 0, simulated.stderr
    log = Log.read("log.csv", pr.Plan.load("plan.json").problem.world)
    assert len(log) == 120
    fitted = run("fit", "log.csv", "--data", cases, *table)
    assert fitted.exit_code == 0, fitted.stderr
    # Errors halve every four showings: each removes 1 - 2^(-1/4) of them.
    assert "A showing removes a share of 0.16 of an error" in fitted.stdout
    again = run("plan", cases, *table, "--learner", "learner.json", "--cases", 4, "--tests", 2)
    assert again.exit_code == 0, again.stderr
    crowd = pr.Plan.load("plan.json").problem.learner
    likeliest = max(crowd.members, key=lambda member: member.weight).person
    assert isinstance(likeliest, pr.Learner)
    assert likeliest.retention([4.0] * likeliest.size) == pytest.approx(0.5, abs=0.02)
    assert np.allclose(likeliest.initial, 0.0, atol=0.05)
    person = ("--learner", "learner.json", "--participant", "p00002")
    options = (*person, "--cases", 4, "--tests", 2, "--dry-run")
    assert run("plan", cases, *table, *options).exit_code == 0
    assert run("plan", cases, *table, *options[:-6], "nobody", "--dry-run").exit_code == 2


def test_a_learner_is_read_in_the_units_of_the_new_table(run, cases, tmp_path):
    """Weights are for a standard deviation, so another table rescales them."""
    learner = {
        "format": "preceptor-learner/2",
        "tests": ["bmi", "bp", "age"],
        "scales": [1.0, 2.0, 4.0],
        "person": {"initial": [1.0, 1.0, 1.0], "curves": {"kind": "geometric", "alpha": 2.0}},
    }
    (tmp_path / "l.json").write_text(json.dumps(learner))
    arguments = ("--learner", "l.json", "--cases", 4, "--dry-run", "--json")
    data = json.loads(run("plan", cases, "--outcome", "y", *arguments).stdout)
    problem = pr.Plan.from_dict(data["plan"]).problem
    assert np.allclose(problem.learner.initial, problem.world.units.scales / [1.0, 2.0, 4.0])


def test_fit_as_json_and_column_names(run, cases, tmp_path):
    world = {"bmi": 100.0, "bp": 5.0}
    lines = ["who,trial,shown,values,answer"]
    rng = np.random.default_rng(0)
    for t in range(30):
        values = [mean + rng.normal() for mean in world.values()]
        lines.append(f"ann,{t},bmi;bp,{values[0]};{values[1]},{20 + rng.normal()}")
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    names = ("participant=who", "round=trial", "prediction=answer")
    renamed = [part for name in names for part in ("--columns", name)]
    arguments = ("--data", cases, "--outcome", "y", "--dry-run", "--json")
    result = run("fit", "log.csv", *arguments, *renamed)
    assert result.exit_code == 1  # nobody was told an outcome
    assert "no learner was written. log.csv: outcomes were told in 0 rounds" in result.stderr
    data = json.loads(result.stdout)
    assert data["tests"] == ["bmi", "bp", "age"]
    assert data["rows"] == 30
    assert not (tmp_path / "learner.json").exists()


def test_explain_as_json(run, plan_file):
    data = json.loads(run("explain", plan_file, "--json").stdout)
    plan = pr.Plan.load(plan_file)
    assert data["value"] == plan.value
    assert data["commit"] == ["bmi"]
    titles = [section["title"] for section in data["sections"]]
    assert titles[1:3] == ["What to show", "What it costs"]
