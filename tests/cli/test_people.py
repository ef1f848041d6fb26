"""`preceptor plan` for a crowd and for every kind of person, and what reads such plans."""

import json

import pytest

import preceptor as pr

FAST = ("--outcome", "y", "--half-life", 2, "--cases", 4, "--tests", 1, "--time-limit", 0.2)


@pytest.fixture
def crowd_file(run, cases, tmp_path):
    result = run("plan", cases, *FAST)
    assert result.exit_code == 0, result.stderr
    (tmp_path / "said.txt").write_text(result.stdout)
    (tmp_path / "told.txt").write_text(result.stderr)
    return tmp_path / "plan.json"


def test_the_crowd_is_planned_for_by_default(crowd_file, tmp_path):
    plan = pr.Plan.load(crowd_file)
    assert plan.problem.learner.kind == "crowd"
    text, told = (tmp_path / "said.txt").read_text(), (tmp_path / "told.txt").read_text()
    assert "Who would lose by this plan" in text
    assert "found by search, not proven" in text
    for name in plan.regrets.people:
        assert name in text
    assert max(map(len, text.splitlines())) <= 100
    assert "Planning for 7 kinds of person" in told
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Who would lose by this plan" in page


def test_what_reads_a_plan_reads_that_of_a_crowd(run, crowd_file, tmp_path):
    explained = run("explain", crowd_file)
    assert "Who would lose by this plan" in explained.stdout
    first = json.loads(run("next", crowd_file, "--json").stdout)
    assert first["expected_loss"] > 0
    (tmp_path / "counts.json").write_text(json.dumps({"bmi": 3}))
    later = run("next", crowd_file, "--shown", "counts.json")
    assert later.exit_code == 0, later.stderr
    assert later.stdout.startswith("Show ")
    assert "Expected" not in later.stdout  # counts do not say what a crowd knows
    played = run("simulate", crowd_file, "--people", 2, "--rounds", 3, "--log", "log.csv")
    assert played.exit_code == 0, played.stderr
    assert "by showings, slow" in played.stdout
    assert (tmp_path / "log.csv").exists()
    other = run("simulate", crowd_file, "--people", 2, "--rounds", 3, "--human", "forgets")
    assert other.exit_code == 0, other.stderr


def test_people_and_objectives_by_name(run, cases):
    options = (*FAST, "--dry-run", "--json")
    mean = json.loads(run("plan", cases, *options, "--objective", "mean").stdout)
    assert mean["objective"] == "mean"
    assert len(mean["people"]) == 7
    alone = json.loads(run("plan", cases, *options, "--person", "delta-rule").stdout)
    assert alone["plan"]["problem"]["learner"]["kind"] == "delta-rule"
    assert "people" not in alone


@pytest.mark.parametrize(
    "words",
    [
        "--person wizard",
        "--person crowd --learner l.json",
        "--person no-learning --half-life 3",
        "--person bayesian --half-life 3",
        "--objective median",
        "--person bayesian --objective mean",
    ],
)
def test_bad_people(refuses, cases, words):
    refuses("plan", cases, "--outcome", "y", *words.split())


def test_a_problem_file_with_a_crowd_is_solved_for_an_objective(run, crowd_file, tmp_path):
    pr.Plan.load(crowd_file).problem.save(tmp_path / "problem.toml")
    options = ("--objective", "mean", "--time-limit", 0.1)
    solved = run("solve", "problem.toml", *options, "--output", "other.json")
    assert solved.exit_code == 0, solved.stderr
    assert "Who would lose by this plan" in solved.stdout
    assert pr.Plan.load(tmp_path / "other.json").regrets.objective == "mean"
    refused = run("solve", "problem.toml", "--objective", "median")
    assert refused.exit_code == 2
    assert "--objective: 'median'" in refused.stderr


def test_a_plan_for_a_crowd_is_proven_again(run, cases):
    result = run("plan", cases, *FAST, "--dry-run", "--verify")
    assert result.exit_code == 0, result.stderr
    assert "Verified." in result.stderr
