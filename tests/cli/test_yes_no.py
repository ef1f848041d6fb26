"""Commands about a diagnosis: words, options, and answers as people type them."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor.cli._app import app
from preceptor.cli._session import Stopped, YesNo, ask, summary
from preceptor.learners.tutor import Tutor
from preceptor.model.world import Units
from preceptor.report.session import least_square, outcome_given, render_session
from tests.commands import CliRunner

DIAGNOSIS = Path(__file__).parents[2] / "examples" / "diagnosis.toml"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0, typed=None):
        result = CliRunner().invoke(app, list(map(str, words)), input=typed)
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


@pytest.fixture
def plan_file(tmp_path):
    problem = pr.Problem.load(DIAGNOSIS)
    units = Units([0.0, 5.0], [1.0, 2.0], "ill")
    world = pr.World(
        problem.world.coefficients,
        problem.world.covariance,
        names=problem.world.names,
        units=units,
        outcome=problem.world.outcome,
    )
    plan = pr.solve(problem.replace(world=world, horizon=6))
    plan.save(tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_solve_tells_a_diagnosis_in_misses_and_false_alarms(run):
    said = " ".join(run("solve", DIAGNOSIS, "--output", "plan.json").stdout.split())
    assert "Per 100 cases: 2.3 misses and 3.8 false alarms" in said
    assert "(the best reader of scan: sensitivity 77%, specificity 96%)." in said
    again = " ".join(run("explain", "plan.json").stdout.split())
    assert "Per 100 cases: 2.3 misses and 3.8 false alarms" in again
    parts = json.loads(run("explain", "plan.json", "--json").stdout)
    costs = next(part for part in parts["sections"] if part["title"] == "What it costs")
    assert any("misses" in str(text) for text in costs["text"])


def test_a_risk_that_does_not_fit_the_outcome_is_refused(run, tmp_path):
    text = DIAGNOSIS.read_text("utf-8")
    wrong = text.split("[risk]")[0] + '[risk]\nkind = "absolute-error"\n'
    (tmp_path / "wrong.toml").write_text(wrong, "utf-8")
    said = run("solve", "wrong.toml", code=2).stderr
    assert "risk: AbsoluteError charges numeric outcomes" in said
    (tmp_path / "costly.toml").write_text(text.replace("miss = 2.0", "miss = -2.0"), "utf-8")
    assert "miss: -2.0, must be a number above 0" in run("solve", "costly.toml", code=2).stderr


def test_costs_need_an_outcome_that_is_yes_or_no(run, tmp_path):
    rows = ["age,weight", *(f"{40 + i},{60.5 + 1.7 * i % 9}" for i in range(12))]
    (tmp_path / "cases.csv").write_text("\n".join(rows), "utf-8")
    ask = ("plan", "cases.csv", "--outcome", "weight", "--dry-run")
    said = run(*ask, "--miss-cost", 5, "--false-alarm-cost", 2, code=2).stderr
    for option in ("--miss-cost", "--false-alarm-cost"):
        assert (
            f"{option}: is about outcomes that are yes or no, but weight is read as a number; "
            "leave it out"
        ) in said
    assert "--risk: is about outcomes that are yes or no" in run(*ask, "--risk", "brier",
                                                                 code=2).stderr  # fmt: skip


@pytest.fixture
def cases(tmp_path):
    """A table of which every column is a test but the last, which is yes or no."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 3))
    ill = x @ [1.2, 0.8, 0.0] + rng.normal(size=150) > 0.8
    rows = ["age,bmi,bp,state"]
    for (a, b, c), y in zip(x, ill, strict=True):
        rows.append(f"{a:.3f},{b:.3f},{c:.3f},{'ill' if y else 'well'}")
    (tmp_path / "cases.csv").write_text("\n".join(rows), "utf-8")
    return float(ill.mean())


PLAN = ("plan", "cases.csv", "--outcome", "state", "--positive", "ill", "--tests", 1,
        "--person", "by-showings", "--cases", 12)  # fmt: skip


@pytest.mark.full
def test_a_table_becomes_a_plan_in_misses_and_false_alarms(run, cases, tmp_path):
    said = " ".join(run(*PLAN, "--miss-cost", 5).stdout.split())
    assert "Cost per 100 cases (a miss costs 5, a false alarm 1): " in said
    assert f"{100 * (1 - cases):.1f} false alarms by always saying yes (refer all)" in said
    plan = pr.Plan.load(tmp_path / "plan.json")
    assert plan.problem.risk == pr.Decision(5.0, 1.0)
    assert plan.problem.world.outcome.prevalence == pytest.approx(cases)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f"yes (ill) in {100 * cases:.3g}% of all cases" in page
    assert "In held-out cases" in page
    assert "oot-mean-square" not in page + said


def test_other_readings_of_the_same_table(run, cases, tmp_path):
    ask = (*PLAN, "--time-limit", 0.1, "--no-report")
    said = " ".join(run(*ask, "--as-number").stdout.split())
    assert "No linear reader of the allowed tests can be below" in said
    assert "Root-mean-square error" in said
    run(*ask, "--risk", "brier")
    problem = pr.Plan.load(tmp_path / "plan.json").problem
    assert problem.risk == pr.Brier()
    assert "--risk: 'brie', must be decision" in run(*ask, "--risk", "brie", code=2).stderr


def test_next_speaks_of_cases_like_this_one(run, plan_file):
    said = run("next", plan_file).stdout
    assert "Expected cost per 100 cases like this one: " in said
    data = json.loads(run("next", plan_file, "--json").stdout)
    assert data["scale"] == "cost per 100 cases"
    assert data["expected"] == pytest.approx(100.0 * data["expected_loss"])


@pytest.mark.parametrize(
    ("typed", "answer"), [("yes", 1.0), ("N", 0.0), ("0.7", 0.7), ("70 %", 0.7), ("0,7", 0.7)]
)
def test_probabilities_may_be_typed_in_many_ways(typed, answer):
    assert YesNo(decides=False).answer(typed) == pytest.approx(answer)


@pytest.mark.parametrize("typed", ["1.2", "120%", "perhaps", "", "-0.1", "nan"])
def test_what_is_no_answer_is_refused(typed):
    for question in (YesNo(), YesNo(decides=False)):
        with pytest.raises(ValueError, match="is "):
            question.answer(typed)


def test_words_of_the_table_are_answers():
    question = YesNo(words=("benign", "malignant"))
    assert question.answer("Benign") == 0.0
    assert question.answer("malignant") == 1.0
    assert question.in_words() == "malignant or benign (yes or no)"
    assert question.said(1.0) == "malignant"


def taught(risk, rounds=12):
    """A tutor after some rounds of a person who goes by the scan."""
    problem = pr.Problem.load(DIAGNOSIS).replace(horizon=None, risk=risk)
    cases = problem.world.sample(rounds, rng=1)
    tutor = Tutor(problem)
    for i in range(rounds):
        seen = float(cases.features[i, 0])
        tutor = tutor.answered((0,), (seen,), float(seen > 1.2) if risk.decides else 0.3)
        tutor = tutor.told(float(cases.outcomes[i]))
    return tutor, cases.outcomes


def test_the_end_of_a_session_tells_how_often_somebody_was_wrong():
    tutor, outcomes = taught(pr.Decision(2.0))
    said = " ".join(summary(tutor, "ann", 12, "ill").split())
    wrong = [tutor.record[i].answer != outcomes[i] for i in range(12)]
    first, last = np.mean(wrong[:6]), np.mean(wrong[-6:])
    assert (
        f"{first:.0%} wrong in the first 6 rounds and {last:.0%} wrong in the last 6 (ill)" in said
    )
    tutor, outcomes = taught(pr.Brier())
    said = " ".join(summary(tutor, "ann", 12, "ill").split())
    score = np.mean((0.3 - outcomes[:6]) ** 2)
    assert f"a Brier score of {score:.3g} in the first 6 rounds and" in said
    assert "root-mean-square" not in said + render_session(tutor, name="ann")


def test_the_best_reader_of_single_cases_is_that_of_all_of_them():
    """What the right weights would come to, averaged over many cases, is the floor."""
    tutor, _ = taught(pr.Decision(), rounds=1)
    world = tutor.problem.world
    seen = world.sample(4_000, rng=3).features[:, 0]
    squares = [
        least_square(tutor.problem, *outcome_given(world, (0,), np.array([value])))
        for value in seen
    ]
    floor = dict(zip(tutor.problem.sets, tutor.problem.oracle.floors(), strict=True))[(0,)]
    assert abs(np.mean(squares) - floor) < 4.0 * np.std(squares) / np.sqrt(len(squares))


def test_a_question_is_asked_until_there_is_an_answer(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("perhaps\nwhy\n?\nMalignant\n"))
    question = YesNo(words=("benign", "malignant"))
    assert ask(question, lambda: "Because of that.") == 1.0
    said = capsys.readouterr().out
    assert "'perhaps' is no answer; type malignant or benign (yes or no), or q to stop." in said
    assert "Because of that." in said
    assert "Type malignant or benign (yes or no), and press Enter." in said
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    with pytest.raises(Stopped):
        ask(question, str)


@pytest.mark.parametrize(
    ("decides", "answer", "outcome", "words"),
    [
        (True, 1.0, 1.0, "It was malignant: right."),
        (True, 0.0, 1.0, "It was malignant: a miss."),
        (True, 1.0, 0.0, "It was benign: a false alarm."),
        (False, 0.7, 1.0, "It was malignant: you gave that 70%."),
        (False, 0.7, 0.0, "It was benign: you gave that 30%."),
    ],
)
def test_the_truth_names_the_mistake(decides, answer, outcome, words):
    question = YesNo("", ("benign", "malignant"), decides)
    assert question.verdict(answer, outcome) == words
