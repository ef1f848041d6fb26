"""`preceptor next --log`: how far along the plan a person is."""

import json

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.next_case import SeenSoFar, next_case
from preceptor.model.world import Units
from tests.cli.conftest import no_traceback

UNITS = Units([25.0, 90.0, 50.0], [4.0, 10.0, 8.0], "risk", 3.0)
BASE = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.3)
WORLD = pr.World(BASE.coefficients, BASE.covariance, 0.1, ["bmi", "bp", "age"], units=UNITS)
PERSON = pr.Learner([0.2, 1.3, 0.0], pr.Geometric(1.1))
HEADER = "participant,round,shown,values,prediction,outcome\n"


def save(path, policy, person=PERSON, **options):
    problem = pr.Problem(WORLD, person, 1, **({"discount": 0.9} | options))
    value = pr.evaluate(problem, policy)
    pr.Plan(problem, policy, value, 0.0, pr.Status.BOUNDED, "by hand", 0.0).save(path)
    return problem


def rows(*shown, who="p07"):
    """A log of one person who was told every outcome."""
    return HEADER + "".join(f"{who},{t},{test},1,2,3\n" for t, test in enumerate(shown, start=1))


@pytest.fixture
def followed(tmp_path, run):
    """A plan of bp twice, then bmi, and a way to ask it."""
    save(tmp_path / "plan.json", pr.ExploreThenCommit([(1,), (1,)], (0,)))

    def ask(log, *options):
        if log is not None:
            (tmp_path / "log.csv").write_text(log)
        return run("next", "plan.json", "--log", "log.csv", *options)

    return ask


def test_it_says_which_case_of_how_many(followed, tmp_path):
    save(tmp_path / "plan.json", pr.ExploreThenCommit([(1,), (1,)], (0,)), horizon=5)
    assert followed(rows("bp")).stdout.startswith("Case 2 of 5: show bp.")
    assert followed(rows("bp", "bp")).stdout.startswith("Case 3 of 5: show bmi.")
    over = followed(rows("bp", "bp", "bmi", "bmi", "bmi")).stdout
    assert over.startswith("Case 6: show bmi.\nThe plan was for 5 cases, which are over")


def test_without_an_end_it_says_when_the_plan_settles(followed):
    assert followed(rows("bp")).stdout.startswith(
        "Case 2, before the plan settles at case 3: show bp."
    )
    later = followed(rows("bp", "bp", "bmi")).stdout
    assert later.startswith("Case 4, the plan has settled: show bmi.")
    assert "off the plan" not in later


def test_cases_without_the_outcome_teach_nothing(followed):
    untold = rows("bp", "bp").replace("2,bp,1,2,3", "2,bp,1,2,")
    # The second showing has to come again, so everything is a case later.
    assert followed(untold).stdout.startswith("Case 3, before the plan settles at case 4: show bp.")


def test_somebody_new_begins_and_is_named(followed):
    result = followed(rows("bp"), "--participant", "p70")
    assert result.stdout.startswith("Case 1, before the plan settles at case 3: show bp.")
    assert "p70 is not in log.csv (it has p07); treated as a new person" in result.stderr


def test_of_several_people_one_has_to_be_named(followed):
    both = rows("bp") + rows("bp", "bp", who="p08").removeprefix(HEADER)
    said = no_traceback(followed(both))
    assert "--participant: required, since log.csv has several: p07, p08" in said
    assert followed(None, "--participant", "p08").stdout.startswith("Case 3, the plan has settled")


def test_somebody_off_the_plan_is_planned_for_from_where_they_are(run, tmp_path):
    """The schedule would begin with bp, of which they have seen all there is to see."""
    problem = save(tmp_path / "plan.json", pr.ExploreThenCommit([(1,)] * 60, (0,)))
    (tmp_path / "counts.json").write_text(json.dumps({"age": 400, "bp": 20}))
    result = run("next", "plan.json", "--shown", "counts.json", "--json")
    data = json.loads(result.stdout)
    assert not data["on_plan"]
    assert "beyond what its first 20 cases show, they have seen age 400 times" in data["reasons"][0]
    assert "new plan" in data["reasons"][1]
    here = problem.replace(start=[0, 20, 400])
    best = pr.solve(here, time_limit=0.5).policy.schedule(1)[0]
    assert data["show"] == list(WORLD.name_of(best))
    assert data["show"] != ["bp"]
    errors = PERSON.errors(WORLD, [0, 20, 400])[None, :]
    assert data["expected_loss"] == pytest.approx(float(here.oracle.loss_of(errors, best)[0]))


def test_by_counts_alone_the_cases_left_are_those_after_what_was_shown(tmp_path):
    """With one case left, what teaches most for later is worth nothing."""
    problem = save(tmp_path / "plan.json", pr.ExploreThenCommit([(1,)] * 4, (0,)), horizon=5)
    plan = pr.Plan.load(tmp_path / "plan.json")
    found = next_case(plan, SeenSoFar((0, 4, 9)))
    here = problem.replace(start=[0, 4, 9], horizon=1)
    assert found.loss == pytest.approx(
        min(pr.evaluate(here, pr.Stationary((i,))) for i in range(3))
    )


def test_where_going_on_is_as_good_the_plan_is_kept(followed):
    beyond = followed(rows("bp", "bp", "bmi", "bp")).stdout
    assert "Case 5: show bmi." in beyond
    assert "beyond what its first 3 cases show, they have seen bp once" in beyond
    assert "Continuing the plan from there is as good as a new plan." in beyond


def test_somebody_off_the_plan_from_its_first_case_is_told_how_it_begins(followed):
    said = followed(rows("age")).stdout
    assert "They are off the plan: it begins with bp, but they have seen age once." in said


def test_a_table_over_counts_has_an_answer_off_the_plan_too(run, tmp_path):
    table = np.zeros((3, 3, 1), dtype=int)
    table[:, :2] = 1
    save(tmp_path / "plan.json", pr.CountPolicy(table, [(0,), (1,)]))
    (tmp_path / "counts.json").write_text(json.dumps({"bmi": 1, "bp": 1}))
    text = run("next", "plan.json", "--shown", "counts.json").stdout
    assert text.startswith("Show bp.")
    assert "The plan covers this state too." in text


def test_somebody_who_learns_from_outcomes_is_followed_through_the_log(followed, tmp_path):
    person = pr.DeltaRule([0.2, 1.3, 0.0], 0.1)
    save(tmp_path / "plan.json", pr.ExploreThenCommit([(1,), (1,)], (0,)), person)
    data = json.loads(followed(rows("bp"), "--json").stdout)
    acting = person.acting(WORLD)
    acting.feedback((1,), UNITS.standardise([[1.0, 1.0, 1.0]])[0][[1]], 0.0)  # 3 is the average
    away = WORLD.coefficients - acting.weights
    left = WORLD.covariance - np.outer(WORLD.covariance[1], WORLD.covariance[1])
    # They know the correlations, so they are off by what weights and hidden tests leave.
    known = WORLD.covariance[1] @ away
    hidden = WORLD.coefficients @ left @ WORLD.coefficients
    assert data["expected_loss"] == pytest.approx(known**2 + hidden + 0.1)


def test_available_keeps_the_plan_or_takes_the_best_of_the_rest(followed):
    kept = followed(rows("bp"), "--available", "bp,age")
    assert ": show bp." in kept.stdout
    other = followed(None, "--available", "bmi, age").stdout
    assert "Next would be bp, which is not available; of what is, this costs least" in other
    problem = pr.Problem(WORLD, PERSON, 1, 0.9, start=[0, 1, 0])
    plan_after = [(1,)]
    costs = {
        name: pr.evaluate(problem, pr.ExploreThenCommit([shown, *plan_after], (0,)))
        for name, shown in (("bmi", (0,)), ("age", (2,)))
    }
    assert f"show {min(costs, key=costs.__getitem__)}." in other
    unknown = no_traceback(followed(None, "--available", "bmi,aeg"))
    assert "--available: 'aeg' is not known; did you mean 'age'?" in unknown
    assert "name at least one" in no_traceback(followed(None, "--available", " , "))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "log.csv: no such file"), (HEADER, "log.csv: the log is empty")],
    ids=["missing", "only a header"],
)
def test_a_log_without_rows_is_refused(followed, content, complaint):
    result = followed(content, "--participant", "p07")
    assert result.exit_code == 2
    assert complaint in no_traceback(result)


def test_a_page_of_a_run_needs_a_tutor(followed):
    result = followed(rows("bp"), "--report", "x.html")
    assert result.exit_code == 2
    said = "--report: describes a tutoring session; add --tutor"
    assert said in no_traceback(result)


def test_options_about_a_log_need_one(run, followed):
    for option in (("--participant", "p07"), ("--tutor",)):
        assert "requires --log" in no_traceback(run("next", "plan.json", *option))


def test_a_plan_made_from_a_log_counts_from_there(run, cases, tmp_path):
    """The same log goes on: its first rounds were before the plan."""
    table = ("--outcome", "y", "--tests", 1, "--person", "by-showings", "--time-limit", 0.1)
    lines = "".join(f"{who},{t},bmi,100,20,21\n" for who in ("p07", "p08") for t in range(3))
    (tmp_path / "log.csv").write_text(HEADER + lines)
    who = ("--log", "log.csv", "--participant", "p07")
    result = run("plan", cases, *table, "--cases", 4, *who)
    assert result.exit_code == 0, result.stderr
    assert "already seen bmi 3 times" in " ".join(result.stdout.split())
    plan = pr.Plan.load("plan.json")
    assert plan.problem.start == (3, 0, 0)
    assert (plan.seen_before, plan.rounds_before) == ((3, 0, 0), 3)
    data = json.loads(run("next", "plan.json", *who, "--json").stdout)
    assert (data["case"], data["on_plan"]) == (1, True)
    new = run("next", "plan.json", "--log", "log.csv", "--participant", "p09")
    assert "the plan was made after 3 rounds of this person" in new.stderr
    unnamed = run("plan", cases, *table, "--log", "log.csv")
    assert "--participant: the log has several, p07, p08" in no_traceback(unnamed)
