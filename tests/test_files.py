"""Problems and plans as files: nothing lost, nothing half-written, faults that name the file."""

import json

import numpy as np
import pytest
from hypothesis import given

import preceptor as pr
from tests.strategies import problems


@given(problems(horizons=(3, None)))
def test_a_problem_survives_json_and_toml_bit_by_bit(problem):
    assert pr.Problem.from_json(problem.to_json()) == problem
    assert pr.Problem.from_toml(problem.to_toml()) == problem


@pytest.mark.parametrize(
    "change",
    [
        {"loss": pr.Empirical(64, "cubic", 3), "risk": pr.Huber(0.5)},
        {"budget": pr.Knapsack([1.0, 2.0], 2.0, price=[0.1, 0.2])},
        {"world": pr.World.beta_copula([1.0, 0.8], 0.8, names=["bmi", "bp"])},
        {"start": (3, 0)},
    ],
)
def test_every_kind_of_part_survives(tmp_path, change):
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1).replace(**change)
    for name in ("problem.json", "problem.toml"):
        problem.save(tmp_path / name)
        assert pr.Problem.load(tmp_path / name) == problem


def test_a_file_may_give_one_correlation():
    text = """
    budget = 1
    [world]
    coefficients = [1.0, 0.8]
    correlation = 0.8
    [learner]
    initial = [0.2, 1.3]
    curves = {kind = "geometric", alpha = 1.1}
    """
    problem = pr.Problem.from_toml(text)
    assert problem.world == pr.World.equicorrelated([1.0, 0.8], 0.8)
    assert problem.horizon is None


GOOD = {
    "world": {"coefficients": [1.0, 0.8], "correlation": 0.8},
    "learner": {"initial": [0.2, 1.3], "curves": {"kind": "geometric", "alpha": 1.1}},
    "budget": 1,
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"world": None}, "world: got None, expected a table"),
        ({"speed": 3}, "Problem: unknown key 'speed'"),
        ({"budget": 3}, "3 tests per round, but there are only 2"),
        ({"budget": {"kind": "most"}}, "kind 'most' is not known; known are at-most"),
        ({"budget": {"kind": "at-most"}}, "AtMost: 'k' missing"),
        ({"budget": "two"}, "budget: 'two'"),
        ({"discount": 1.0}, "discount: 1.0, must be at least 0 and below 1"),
        ({"discount": "high"}, "discount: 'high'"),
        ({"horizon": 0}, "horizon: 0"),
        ({"risk": {"kind": "cubed"}}, "risk: kind 'cubed'"),
        ({"learner": {"initial": [0.2], "curves": {"kind": "one-shot"}}}, "lengths must agree"),
        ({"start": [1]}, "1 counts for 2 tests"),
        ({"start": [1, -2]}, "one whole number for each test"),
        ({"format": "preceptor-problem/9"}, "this version reads"),
        ({"world": GOOD["world"] | {"covariance": [[1.0]]}}, "not both"),
        ({"world": {"coefficients": [1.0], "covarience": 1}}, "unknown key 'covarience'"),
        ({"world": {"coefficients": 3, "correlation": 0.3}}, "coefficients: shape"),
        ({"world": {"coefficients": [1.0, 2.0], "correlation": "x"}}, "correlation 'x'"),
        ({"world": GOOD["world"] | {"noise_variance": 10**400}}, "noise_variance: 1000"),
        ({"world": {"coefficients": [10**400, 1], "correlation": 0.1}}, "read as numbers"),
        ({"budget": {"kind": ["a"], "k": 1}}, r"kind \['a'\] is not known"),
        ({"budget": {"kind": "at-most", "k": 1, "price": "x"}}, "price: 'x'"),
        ({"budget": {"kind": "at-most", "k": 1, "price": [[1.0], [1.0]]}}, "price: shape"),
        ({"budget": {"kind": "at-most", "k": 1, "price": [1.0]}}, "1 prices for 2 tests"),
        ({"learner": GOOD["learner"] | {"imputation": [[1, 2], [3]]}}, "read as numbers"),
        ({"learner": GOOD["learner"] | {"imputation": "some"}}, "imputation: 'some'"),
        ({"start": [float("inf"), 0]}, "start: "),
        ({"horizon": 10**20}, "at most 100,000 rounds"),
        ({"world": {"coefficients": [1e200, 1e200], "correlation": 0.1}}, "losses overflow"),
        ({"learner": GOOD["learner"] | {"initial": [1e200, 0.0]}}, "losses overflow"),
        ({"learner": {"curves": {"kind": "one-shot"}}}, "Learner: 'initial' missing"),
    ],
)
def test_faults_name_key_value_and_remedy(change, words):
    with pytest.raises(pr.InvalidInput, match=words):
        pr.Problem.from_dict(GOOD | change)


def test_several_faults_come_together():
    with pytest.raises(pr.InvalidInput) as caught:
        pr.Problem.from_dict(GOOD | {"discount": 2, "horizon": -1, "start": [1], "budget": 7})
    assert len(caught.value.faults) == 4


FIVE = """
budget = {kind = "at-most", k = 0}
discount = 1.5
horizon = -3
speed = 3
start = [1]
[world]
coefficients = [1.0, 0.8]
correlation = 2
noise_variance = -1
colour = "red"
[learner]
initial = [0.2, 1.3, 0.1]
curves = {kind = "geometric", alpha = 0.5}
imputation = 7
[risk]
kind = "cubed"
"""


def test_a_file_hears_of_all_its_faults_at_once(tmp_path):
    (tmp_path / "neg.toml").write_text(FIVE)
    with pytest.raises(pr.InvalidFile) as caught:
        pr.Problem.load(tmp_path / "neg.toml")
    said = str(caught.value)
    for words in (
        "k: 0, must be", "discount: 1.5", "horizon: -3", "unknown key 'speed'",
        "1 counts for 2 tests", "correlation 2, must be above -1 and below 1",
        "noise_variance: -1", "unknown key 'colour'", "alpha: 0.5", "imputation: 7", "kind 'cubed'",
        "3 initial coefficients, but the world has 2",
    ):  # fmt: skip
        assert words in said, said
    assert len(set(caught.value.faults)) == len(caught.value.faults)
    assert all(fault.startswith(str(tmp_path)) for fault in caught.value.faults)


def test_a_plan_file_hears_of_all_its_faults_at_once(tmp_path):
    data = pr.solve(pr.Problem.from_dict(GOOD), "stationary").to_dict()
    wrong = {
        "value": "x", "lower_bound": None, "status": "great", "notes": 3, "certificate": 4,
        "regrets": {}, "colour": "red", "rounds_before": -1,
        "policy": {"kind": "stationary", "shown": [99]},
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(data | wrong))
    with pytest.raises(pr.InvalidFile) as caught:
        pr.Plan.load(tmp_path / "plan.json")
    for words in (
        "value: 'x'", "lower_bound: None", "set (99,)", "status: 'great'", "notes: 3",
        "certificate: got 4", "Regrets", "rounds_before: -1", "unknown key 'colour'",
    ):  # fmt: skip
        assert any(words in fault for fault in caught.value.faults), (words, caught.value.faults)
    data["problem"]["budget"] = -1
    (tmp_path / "plan.json").write_text(json.dumps(data | {"status": "great"}))
    with pytest.raises(pr.InvalidFile, match=r"(?s)budget: -1.*status: 'great'"):
        pr.Plan.load(tmp_path / "plan.json")


def test_missing_parts_do_not_hide_other_faults():
    with pytest.raises(pr.InvalidFile) as caught:
        pr.Problem.from_dict({"learner": GOOD["learner"], "discount": 2})
    assert "world, budget missing" in str(caught.value)
    assert "discount: 2" in str(caught.value)


def test_a_budget_is_judged_although_the_world_is_wrong():
    world = {"coefficients": [1.0, 0.8], "correlation": 3}
    with pytest.raises(pr.InvalidInput, match="only 2; must be at most 2"):
        pr.Problem.from_dict(GOOD | {"world": world, "budget": 5})


@pytest.mark.parametrize("text", ["a = " + "[" * 200 + "]" * 200, "a = 1979-02-30", "a.b = [1"])
def test_odd_toml_is_refused_in_words(text):
    with pytest.raises(pr.InvalidFile):
        pr.Problem.from_toml(text)


def test_sentences_with_many_points_are_no_keys():
    text = 'a = """\n' + "One. Two. Three, four.\n" * 100 + '"""\n'
    with pytest.raises(pr.InvalidFile, match="unknown key 'a'"):
        pr.Problem.from_toml(text + "b = [" + "0.5, " * 100 + "]")


def test_faults_of_a_file_name_the_file(tmp_path):
    for name, text, words in [
        ("a.toml", "budget = ", "not valid TOML"),
        ("a.json", "{", "not valid JSON: .* line 1"),
        ("b.json", "[]", "must be a JSON object"),
        ("c.json", "{}", "world, learner, budget missing"),
    ]:
        (tmp_path / name).write_text(text)
        with pytest.raises(pr.InvalidFile, match=rf"{name}: .*{words}"):
            pr.Problem.load(tmp_path / name)
    with pytest.raises(pr.InvalidFile, match="no such file"):
        pr.Problem.load(tmp_path / "nowhere.toml")
    with pytest.raises(pr.InvalidFile, match=r"must end in \.toml or \.json"):
        pr.Problem.load(tmp_path / "problem.yaml")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(pr.InvalidFile, match="is a folder"):
        pr.Problem.load(tmp_path / "folder.json")
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    with pytest.raises(pr.InvalidFile, match="not text in UTF-8"):
        pr.Problem.load(tmp_path / "latin.json")


def test_nothing_half_written_is_left(tmp_path):
    problem = pr.Problem.from_dict(GOOD)
    with pytest.raises(pr.InvalidFile, match="no such folder"):
        problem.save(tmp_path / "nowhere" / "problem.json")
    with pytest.raises(pr.NotSerializable):
        problem.replace(risk=pr.ResidualRisk(np.abs)).save(tmp_path / "problem.json")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_loses_nothing(tmp_path):
    plan = pr.solve(pr.Problem.from_dict(GOOD), "truncated", length=20)
    plan.save(tmp_path / "plan.json")
    assert pr.Plan.load(tmp_path / "plan.json") == plan
    data = json.loads((tmp_path / "plan.json").read_text())
    for key, words in [("format", "this version reads"), ("policy", "policy missing")]:
        broken = {k: v for k, v in data.items() if k != key}
        (tmp_path / "broken.json").write_text(json.dumps(broken))
        with pytest.raises(pr.InvalidFile, match=words):
            pr.Plan.load(tmp_path / "broken.json")
    for change, words in [
        ({"policy": {"kind": "stationary", "shown": [7]}}, "tests 0..1"),
        ({"policy": {"kind": "stationary", "shown": [0, 1]}}, "not allowed by the budget"),
        ({"policy": {"kind": "explore-then-commit", "prefix": 3, "final": [0]}}, "prefix: 3"),
        ({"value": "x"}, "value: 'x', must be a number"),
        ({"notes": 3}, "notes: 3"),
        ({"value": 0.5 * data["lower_bound"]}, "lower_bound: .* is above"),
        ({"problem": 3}, "problem: got 3"),
    ]:
        (tmp_path / "broken.json").write_text(json.dumps(data | change))
        with pytest.raises(pr.InvalidInput, match=words):
            pr.Plan.load(tmp_path / "broken.json")
    (tmp_path / "broken.json").write_text(json.dumps(data | {"status": "fine"}))
    with pytest.raises(pr.InvalidFile, match="status: 'fine', must be one of optimal"):
        pr.Plan.load(tmp_path / "broken.json")
