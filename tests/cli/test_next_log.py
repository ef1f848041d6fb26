"""`preceptor next --log --tutor`: what a tutor advises who has seen all answers."""

import json

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.log import Log
from tests.cli.conftest import no_traceback

WORLD = pr.World.equicorrelated([1.0, 0.8], 0.8, 0.1, names=["bmi", "bp"])


def plan_for(person, path):
    problem = pr.Problem(WORLD, person, 1, 0.9)
    policy = pr.Stationary((0,))
    value = pr.evaluate(problem, policy)
    pr.Plan(problem, policy, value, 0.0, pr.Status.BOUNDED, "by hand", 0.0).save(path)
    return problem


@pytest.fixture
def problem(tmp_path):
    crowd = pr.Crowd(
        {
            "by showings": pr.Learner([0.2, 1.3], pr.Geometric(1.1)),
            "by outcomes": pr.DeltaRule([0.2, 1.3], rate=0.1),
        }
    )
    return plan_for(crowd, tmp_path / "crowd.json")


def log_of(*people, rounds=6):
    rng = np.random.default_rng(1)
    total = rounds * len(people)
    shown = np.zeros((total, 2), dtype=bool)
    shown[np.arange(total), np.arange(total) % 2] = True
    values = np.where(shown, rng.normal(size=(total, 2)), np.nan)
    return Log(
        ["bmi", "bp"],
        np.repeat(people, rounds),
        np.tile(np.arange(1, rounds + 1), len(people)),
        shown,
        values,
        prediction=rng.normal(size=total),
        outcome=rng.normal(size=total),
        feedback=np.arange(total) % 3 > 0,
    )


def test_it_says_what_a_tutor_would(run, problem):
    log = log_of("ann")
    log.write("log.csv")
    tutor = pr.Tutor(problem).through(log)
    said = tutor.recommendation()
    result = run("next", "crowd.json", "--tutor", "--log", "log.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(said.reason)
    assert "How ann seems to learn, after 6 rounds:" in result.stdout
    for name, share in tutor.groups.items():
        said_as = "not learning" if name == "none" else name
        assert (f"{share:>4.0%}  {said_as}\n" in result.stdout) == (share >= 0.005)
    data = json.loads(run("next", "crowd.json", "--tutor", "--log", "log.csv", "--json").stdout)
    assert data["show"] == list(said.names)
    assert data["kinds"] == pytest.approx(tutor.kinds)
    assert data["groups"] == pytest.approx(tutor.groups)
    assert data["reason"] == said.reason
    assert (data["participant"], data["rounds"]) == ("ann", 6)


def test_one_of_several_people_has_to_be_named(run, problem):
    log = log_of("ann", "bob")
    log.write("log.jsonl")
    refused = run("next", "crowd.json", "--tutor", "--log", "log.jsonl")
    assert refused.exit_code == 2
    assert "--participant: required, since log.jsonl has several: ann, bob" in no_traceback(refused)
    found = run(
        "next", "crowd.json", "--tutor", "--log", "log.jsonl", "--participant", "bob", "--json"
    )
    expected = pr.Tutor(problem).through(log.for_participant("bob")).kinds
    assert json.loads(found.stdout)["kinds"] == pytest.approx(expected)
    unknown = run("next", "crowd.json", "--tutor", "--log", "log.jsonl", "--participant", "eve")
    assert "--participant: 'eve' is not in the log" in no_traceback(unknown)


def test_columns_may_be_called_otherwise(run, problem, tmp_path):
    log_of("ann").write("log.csv")
    text = (tmp_path / "log.csv").read_text().replace("prediction", "answer")
    (tmp_path / "log.csv").write_text(text)
    assert run("next", "crowd.json", "--tutor", "--log", "log.csv").exit_code == 2
    renamed = ("--columns", "prediction=answer")
    assert run("next", "crowd.json", "--tutor", "--log", "log.csv", *renamed).exit_code == 0


def test_a_plan_for_one_person_is_followed_too(run, tmp_path):
    plan_for(pr.Learner([0.2, 1.3], pr.Geometric(1.1)), tmp_path / "one.json")
    log_of("ann").write("log.csv")
    data = json.loads(run("next", "one.json", "--tutor", "--log", "log.csv", "--json").stdout)
    assert len(data["kinds"]) == 2
    assert data["show"] in (["bmi"], ["bp"], [])


def test_options_that_do_not_go_together(run, problem, plan_file, tmp_path):
    log_of("ann").write("log.csv")
    (tmp_path / "counts.json").write_text('{"bp": 2}')
    both = run("next", "crowd.json", "--tutor", "--log", "log.csv", "--shown", "counts.json")
    assert "--shown: --log already says" in no_traceback(both)
    for option in (("--participant", "ann"), ("--columns", "a=b"), ("--report", "x.html")):
        alone = run("next", plan_file, *option)
        assert f"{option[0]}: " in no_traceback(alone)
        assert "--log" in alone.stderr
    replaced = run("next", "crowd.json", "--tutor", "--log", "log.csv", "--report", "log.csv")
    assert "already uses that file" in no_traceback(replaced)


def test_a_page_of_the_run_is_written(run, problem, tmp_path):
    log_of("ann").write("log.csv")
    result = run("next", "crowd.json", "--tutor", "--log", "log.csv", "--report", "run.html")
    assert result.exit_code == 0, result.stderr
    assert "Wrote the session page to run.html" in result.stderr
    assert "ann after 6 rounds" in (tmp_path / "run.html").read_text("utf-8")
