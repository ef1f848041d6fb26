"""`preceptor plan`: options mean what they say, and files appear as promised."""

import json
import sys

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.planning import MORE_SECONDS, QUICK_SECONDS
from preceptor.data.world_fitting import fit_world

Y = ("--outcome", "y")
# Somebody who learns fast in few cases is planned for in no time.
FAST = (*Y, "--half-life", 1, "--cases", 4)
ALONE = ("--person", "by-showings")
QUICK = (*FAST, *ALONE)


def planned(run, *arguments, quick=QUICK):
    result = run("plan", *arguments, *quick, "--dry-run", "--json")
    assert result.exit_code == 0, result.stderr
    return pr.Plan.from_dict(json.loads(result.stdout)["plan"])


def test_it_prints_words_and_a_table_and_writes_two_files(run, cases, tmp_path):
    result = run("plan", cases, *QUICK, "--tests", 1)
    assert result.exit_code == 0, result.stderr
    for words in ("What to show", "The best fixed set", "The most predictive tests"):
        assert words in result.stdout
    assert "A random order" in result.stdout
    assert "above the best possible" in result.stdout or "No plan can" in result.stdout
    assert "plan.policy" not in result.stdout
    assert "Wrote the plan to plan.json and the report to report.html" in result.stderr
    plan = pr.Plan.load(tmp_path / "plan.json")
    assert plan.problem.world.names == ("bmi", "bp", "age")
    assert f"{plan.value:.6g}" in result.stdout
    assert "<!DOCTYPE html>" in (tmp_path / "report.html").read_text("utf-8")
    assert {p.name for p in tmp_path.iterdir()} == {"cases.csv", "plan.json", "report.html"}


def test_a_dry_run_writes_nothing(run, cases, tmp_path):
    planned(run, cases)
    assert list(tmp_path.iterdir()) == [cases]


def test_people_s_words_become_the_model_s_numbers(run, cases):
    alone = (*Y, *ALONE)
    options = ("--tests", 2, "--half-life", 3, "--cases", 5)
    problem = planned(run, cases, *options, quick=alone).problem
    assert problem.learner.curves.alpha == pytest.approx(2 ** (1 / 3))
    assert (problem.discount, problem.horizon) == (1.0, 5)
    open_ended = planned(run, cases, "--about", 5, "--half-life", 3, quick=alone).problem
    assert open_ended.discount == pytest.approx(1 - 1 / 5)
    assert open_ended.horizon is None
    assert problem.budget == pr.AtMost(2)
    assert np.all(problem.learner.initial == 0)
    usual = planned(run, cases, "--drop", "bp", "--tests", 1, quick=alone).problem
    assert usual.learner.curves.retention(14) == pytest.approx(0.5)
    assert usual.discount == pytest.approx(0.99)


def test_the_world_is_that_of_the_table(run, cases):
    import pandas as pd

    world = planned(run, cases, "--unit", "mg").problem.world
    direct = fit_world(pd.read_csv(cases), "y", outcome="y, mg").world
    assert world == direct
    assert planned(run, cases, "--drop", "bp").problem.world.names == ("bmi", "age")


def test_beliefs_by_name(run, cases):
    world = planned(run, cases).problem.world
    equal = planned(run, cases, "--beliefs", "equal").problem.learner.initial
    assert np.ptp(np.abs(equal) * np.sqrt(np.diag(world.covariance))) == pytest.approx(0)
    marginal = planned(run, cases, "--beliefs", "marginal").problem.learner.initial
    slopes = (world.covariance @ world.coefficients) / np.diag(world.covariance)
    assert np.allclose(marginal, slopes)


def test_beliefs_from_a_file_are_in_people_s_units(run, cases, tmp_path):
    scales = planned(run, cases).problem.world.units.scales
    (tmp_path / "b.csv").write_text("name,weight\nbmi,0.5\nage,-3\n")
    (tmp_path / "b.json").write_text('{"bmi": 0.5, "age": -3}')
    for name in ("b.csv", "b.json"):
        initial = planned(run, cases, "--beliefs", name).problem.learner.initial
        assert np.allclose(initial, np.array([0.5, 0.0, -3.0]) * scales)


def test_costs_become_a_knapsack_and_prices_are_charged(run, cases, tmp_path):
    (tmp_path / "c.csv").write_text("name,cost,price\nbmi,2,0.5\nbp,1,\nage,1,0.25\n")
    budget = planned(run, cases, "--costs", "c.csv", "--limit", 2).problem.budget
    assert budget == pr.Knapsack([2.0, 1.0, 1.0], 2.0, price=[0.5, 0.0, 0.25])
    (tmp_path / "p.csv").write_text("name,price\nbmi,0.5\n")
    budget = planned(run, cases, "--costs", "p.csv", "--tests", 2).problem.budget
    assert budget == pr.AtMost(2, price=[0.5, 0.0, 0.0])


def test_json_holds_the_comparison(run, cases):
    result = run("plan", cases, *QUICK, "--json", "--tests", 2)
    data = json.loads(result.stdout)
    plan = pr.Plan.from_dict(data["plan"])
    fixed, predictive, random = data["alternatives"]
    shown = plan.problem.world.columns_of(fixed["shows"])
    assert fixed["value"] == pytest.approx(pr.evaluate(plan.problem, pr.Stationary(shown)))
    assert fixed["value"] <= predictive["value"] + 1e-9
    assert random["standard_error"] > 0
    assert data["per_case"] == pytest.approx(np.sqrt(plan.value / 4))
    assert len(data["sensitivity"]) == 6
    assert data["world"]["cases"] == 60


def test_seeds_and_verification(run, cases):
    first = run("plan", cases, *QUICK, "--json", "--dry-run", "--seed", 3, "--verify")
    again = run("plan", cases, *QUICK, "--json", "--dry-run", "--seed", 3)
    assert first.exit_code == 0, first.stderr
    orders = [json.loads(r.stdout)["alternatives"][2]["value"] for r in (first, again)]
    assert orders[0] == orders[1]


def test_categories_are_one_test(run, cases, tmp_path):
    lines = cases.read_text().splitlines()
    sites = ["site"] + ["ABC"[i % 3] for i in range(len(lines) - 1)]
    mixed = tmp_path / "mixed.csv"
    rows = (f"{s},{line}" for s, line in zip(sites, lines, strict=True))
    mixed.write_text("\n".join(rows) + "\n")
    plan = planned(run, mixed, "--tests", 1)
    assert plan.problem.world.tests[0] == "site"
    assert run("plan", mixed, *QUICK).exit_code == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", [".tsv", ".jsonl", ".parquet"])
def test_other_kinds_of_tables(run, cases, tmp_path, suffix):
    import pandas as pd

    frame, path = pd.read_csv(cases), tmp_path / f"cases{suffix}"
    if suffix == ".tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_parquet(path)
    assert np.allclose(
        planned(run, path).problem.world.coefficients,
        planned(run, cases).problem.world.coefficients,
    )


def test_without_a_table_it_plans_diabetes(run, tmp_path):
    result = run("plan", "--dry-run", "--json", "--time-limit", "0.05", *ALONE)
    assert result.exit_code == 0
    plan = pr.Plan.from_dict(json.loads(result.stdout)["plan"])
    assert plan.problem.size == 10
    assert plan.problem.world.units.outcome == "progression score"
    assert "Progression of diabetes" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("gap", "asked", "seconds"),
    [
        (0.02, (), [QUICK_SECONDS]),
        (0.5, (), [QUICK_SECONDS, MORE_SECONDS]),
        (0.5, ("--time-limit", 3), [1.8]),
    ],
)
def test_a_wide_gap_is_worth_more_time(run, cases, monkeypatch, gap, asked, seconds):
    spent = []

    def solve(problem, method, *, time_limit, seed, progress):
        spent.append(time_limit)
        value = pr.evaluate(problem, pr.Stationary((0,))) * (1 - time_limit / 100)
        status = pr.Status.TIME_LIMIT
        bound = value / (1 + gap)
        return pr.Plan(problem, pr.Stationary((0,)), value, bound, status, method, time_limit)

    monkeypatch.setattr("preceptor.advice.planning.solve", solve)
    plan = planned(run, cases, *asked)
    # Of a limit on the whole command the plan itself takes six tenths.
    assert spent == pytest.approx(seconds, rel=0.5 if asked else 1e-9)
    assert plan.seconds == spent[-1]


def test_what_to_show_case_by_case_as_a_table(run, cases, tmp_path):
    result = run("plan", cases, *QUICK, "--tests", 2, "--schedule", "schedule.csv")
    assert result.exit_code == 0, result.stderr
    assert "Wrote the case-by-case schedule to schedule.csv" in result.stderr
    lines = (tmp_path / "schedule.csv").read_text("utf-8").splitlines()
    assert lines[0].startswith("case,show,test 1")
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "words",
    [
        "--schedule s.csv --dry-run",
        "--schedule s.xlsx",
        "--schedule cases.csv",
        "--simple 0",
        "--about 50",
    ],
)
def test_options_that_make_no_sense(refuses, cases, words):
    refuses("plan", cases, *QUICK, *words.split())


def test_the_first_lines_say_what_to_do_and_what_it_is_worth(run, cases):
    result = run("plan", cases, *QUICK, "--tests", 2, "--dry-run")
    assert result.exit_code == 0, result.stderr
    first = result.stdout.splitlines()
    assert first[0] == "In short"
    assert "show" in first[1]
    head = " ".join(result.stdout.split("\n\n")[0].split())
    for words in ("of the loss", "How sure:", "Wrong for:"):
        assert words in head or "No schedule was found that costs less" in head
    assert "(y):" in head
    assert "squared error of y" in result.stdout


def test_the_day_and_the_command_travel_with_the_advice(run, cases, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["preceptor", "plan", "my cases.csv", "--outcome", "y"])
    data = json.loads(run("plan", cases, *QUICK, "--dry-run", "--json").stdout)
    origin = data["provenance"]
    assert origin["command"] == "preceptor plan 'my cases.csv' --outcome y"
    assert len(origin["when"]) == 10
    assert origin["source"] == "cases.csv"
    assert [row["case"] for row in data["schedule"]] == ["1", "2", "3", "4"]
    assert len(data["headline"]) == 5


def test_what_was_left_out_of_the_table_is_said_once(run, cases):
    lines = cases.read_text().splitlines()
    rows = [f"{line},same" if i else f"{line},ward" for i, line in enumerate(lines)]
    cases.write_text("\n".join(rows) + "\n")
    result = run("plan", cases, *QUICK, "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("ward was left out") == 1


@pytest.mark.full
def test_open_ended_teaching_is_called_so(run, cases):
    result = run("plan", cases, *Y, *ALONE, "--half-life", 1, "--about", 6, "--dry-run")
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "open-ended teaching, of which about 6 cases matter" in said
    assert "unlimited" not in said
