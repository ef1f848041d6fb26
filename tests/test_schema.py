"""The published schema says exactly what the parser reads; both are derived from the classes."""

import copy
import dataclasses
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

import preceptor as pr
from preceptor._base.values import Kind
from preceptor.loss import LossModel
from preceptor.model.units import Units
from preceptor.problem import FORMAT
from tests.strategies import problems

SCHEMA = pr.schema()
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = Path(__file__).parents[1] / "examples"
FAMILIES = [pr.Curve, pr.Budget, pr.Risk, LossModel]
# What a file may say beside the fields of the class.
SHORTHANDS = {"world": {"correlation"}, "problem": {"format"}}


def own_kinds(family: type[Kind]) -> dict[str, type]:
    """Built-in kinds only: other tests and users may register their own."""
    return {
        kind: cls
        for kind, cls in family.registry.items()
        if cls.__module__.startswith("preceptor.") and not kind.endswith("-example")
    }


def tables():
    """Every table of a problem file: its name in the schema, its part of it, its class."""
    yield "problem", SCHEMA, pr.Problem
    yield "world", SCHEMA["$defs"]["world"], pr.World
    yield "units", SCHEMA["$defs"]["units"], Units
    yield "learner", SCHEMA["$defs"]["learner"], pr.Learner
    for family in FAMILIES:
        for kind, cls in own_kinds(family).items():
            yield kind, SCHEMA["$defs"][kind], cls


def written_fields(cls: type) -> list[dataclasses.Field]:
    """Fields that a file holds: not those that follow from others."""
    return [field for field in dataclasses.fields(cls) if field.init]


TABLES = {name: (part, cls) for name, part, cls in tables()}
named = pytest.mark.parametrize(("part", "cls"), TABLES.values(), ids=TABLES)


def test_schema_is_itself_valid_and_readable():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    for name, part in SCHEMA["$defs"].items():
        assert part["title"], name
        assert part["description"].endswith("."), name


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kind_is_in_the_schema_and_no_other(family):
    options = SCHEMA["$defs"][family.family]["oneOf"]
    kinds = [o["$ref"].removeprefix("#/$defs/") for o in options if "$ref" in o]
    assert sorted(kinds) == sorted(own_kinds(family))


@named
def test_keys_are_the_fields_of_the_class(part, cls):
    name = next(name for name, (_, owner) in TABLES.items() if owner is cls)
    keys = {field.name for field in written_fields(cls)}
    if issubclass(cls, Kind):
        keys.add("kind")
        assert part["properties"]["kind"]["const"] == cls.kind == name
        assert "kind" in part["required"]
    assert set(part["properties"]) == keys | SHORTHANDS.get(name, set())
    assert part["additionalProperties"] is False


@named
def test_required_keys_are_the_fields_without_default(part, cls):
    required = set(part["required"]) - {"kind"}
    bare = {f.name for f in written_fields(cls) if _has_no_default(f)}
    assert required == bare - {"covariance"}  # which may be given as a correlation


@named
def test_defaults_are_those_of_the_class(part, cls):
    for field in written_fields(cls):
        stated = part["properties"][field.name].get("default")
        if stated is not None:
            assert stated == field.default


@named
def test_null_is_allowed_where_the_class_allows_none(part, cls):
    for field in written_fields(cls):
        optional = "None" in str(field.type)
        rule = VALIDATOR.evolve(schema={**part["properties"][field.name], "$defs": SCHEMA["$defs"]})
        assert rule.is_valid(None) == optional, field.name


def _has_no_default(field):
    return field.default is field.default_factory is dataclasses.MISSING


@given(problems(horizons=(None, 1, 3)))
def test_what_is_written_is_valid(problem):
    VALIDATOR.validate(json.loads(problem.to_json()))
    VALIDATOR.validate(tomllib.loads(problem.to_toml()))


def full_problem():
    """One with as many keys as possible."""
    world = pr.World.beta_copula([1.0, 0.5], 0.4, names=["a", "b"], noise_variance=0.2)
    curves = [pr.Geometric(1.2, floor=0.1), pr.Tabulated([1.0, 0.5], floor=0.2)]
    return pr.Problem(
        world,
        pr.Learner([0.0, 0.1], curves),
        pr.Knapsack([1.0, 2.0], 2.5, price=[0.1, 0.2]),
        discount=1.0,
        horizon=5,
        risk=pr.Huber(0.5),
        loss=pr.Empirical(64, "cubic", 3),
        start=(1, 0),
    )


def grouped_world():
    return pr.World([1.0, 0.5, 0.2], np.eye(3), names=["a", "b", "c"], groups={"bc": [1, 2]})


@pytest.mark.parametrize("budget", [1, pr.Exactly(1, price=[0.1, 0.2]), pr.Knapsack([1, 2], 2)])
def test_grouped_problems_are_valid_and_read_back(budget):
    problem = pr.Problem(grouped_world(), pr.Learner(np.zeros(3), pr.OneShot()), budget)
    for data in (json.loads(problem.to_json()), tomllib.loads(problem.to_toml())):
        VALIDATOR.validate(data)
        assert data["budget"]["kind"] == "grouped"
        assert pr.Problem.from_dict(data) == problem
        # somebody who writes a file by hand need not repeat the groups
        by_hand = data | {"budget": data["budget"]["budget"]}
        VALIDATOR.validate(by_hand)
        assert pr.Problem.from_dict(by_hand) == problem


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"risk": pr.AbsoluteError()},
        {"risk": pr.SquaredError(), "loss": pr.ClosedForm()},
        {"budget": pr.Exactly(1)},
        {"budget": pr.AtMost(2, price=0.3)},
        {"learner": pr.Learner([0.0, 0.1], pr.PowerLaw(0.7, floor=0.05))},
        {"learner": pr.Learner([0.0, 0.1], pr.OneShot())},
    ],
)
def test_rich_problems_are_valid_and_read_back(change):
    problem = full_problem().replace(**change)
    data = json.loads(problem.to_json())
    VALIDATOR.validate(data)
    assert pr.Problem.from_dict(data) == problem


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_examples_are_valid(path):
    VALIDATOR.validate(tomllib.loads(path.read_text()))


SHORT = {
    "world": {"coefficients": [1.0, 0.5], "correlation": 0.3},
    "learner": {"initial": [0.0, 0.0], "curves": {"kind": "geometric", "alpha": 1.1}},
    "budget": 1,
}


def changed(**changes):
    """A copy of SHORT with `a__b=value` set at data["a"]["b"]; None removes the key."""
    data = copy.deepcopy(SHORT)
    for path, value in changes.items():
        *way, last = path.split("__")
        table = data
        for key in way:
            table = table[key]
        if value is None:
            del table[last]
        else:
            table[last] = value
    return data


GOOD = [
    changed(),
    changed(format=FORMAT, horizon=7, discount=1.0, start=[2, 0]),
    changed(budget={"kind": "at-most", "k": 2, "price": [0.1, 0.2]}),
    changed(budget={"kind": "knapsack", "costs": [1.0, 2.0], "limit": 2, "price": 0.1}),
    changed(learner__imputation=0.5),
    changed(learner__imputation=[[1.0, 0.1], [0.1, 1.0]]),
    changed(learner__curves=[{"kind": "one-shot"}, {"kind": "power-law", "exponent": 1}]),
    changed(risk={"kind": "huber"}, loss={"kind": "closed-form"}),
    changed(world__correlation=None, world__covariance=[[1.0, 0.2], [0.2, 1.0]]),
    changed(world__names=["bmi", "bp"], world__noise_variance=0),
    changed(world__units={"means": [80.0, 20.0], "scales": [8.0, 2.0], "outcome": "fat"}),
]

BAD = {
    "no world": changed(world=None),
    "no budget": changed(budget=None),
    "unknown key": changed(colour="red"),
    "unknown key in world": changed(world__colour="red"),
    "unknown key in curve": changed(learner__curves__speed=2),
    "unknown kind of curve": changed(learner__curves__kind="magic"),
    "curve without kind": changed(learner__curves__kind=None),
    "wrong format": changed(format="preceptor-problem/99"),
    "negative noise": changed(world__noise_variance=-1.0),
    "both covariance and correlation": changed(world__covariance=np.eye(2).tolist()),
    "neither of them": changed(world__correlation=None),
    "alpha below 1": changed(learner__curves__alpha=0.5),
    "budget of nothing": changed(budget=0),
    "budget as text": changed(budget="two"),
    "k missing": changed(budget={"kind": "at-most"}),
    "negative price": changed(budget={"kind": "at-most", "k": 1, "price": -0.1}),
    "knapsack without costs": changed(budget={"kind": "knapsack", "limit": 1.0}),
    "threshold 0": changed(risk={"kind": "huber", "threshold": 0}),
    "one sample": changed(loss={"kind": "empirical", "samples": 1}),
    "unknown imputation": changed(loss={"kind": "empirical", "imputation": "magic"}),
    "imputation beyond 1": changed(learner__imputation=1.5),
    "discount 1 for ever": changed(discount=1.0),
    "discount above 1": changed(discount=1.5, horizon=3),
    "horizon 0": changed(horizon=0),
    "negative start": changed(start=[-1, 0]),
    "beta alone": changed(world__beta_shape=[2.0, 5.0]),
    "repeated names": changed(world__names=["bmi", "bmi"]),
    "floor above 1": changed(learner__curves__floor=1.5),
    "a scale of 0": changed(world__units={"means": [0.0, 0.0], "scales": [1.0, 0.0]}),
    "a group that is no list": changed(world__groups={"both": 1}),
    "a group without columns": changed(world__groups={"both": []}),
    "grouped without blocks": changed(budget={"kind": "grouped", "budget": 1}),
    "grouped without a budget": changed(budget={"kind": "grouped", "blocks": [[0], [1]]}),
    "text as numbers": changed(learner__initial="zero"),
}


@pytest.mark.parametrize("data", GOOD)
def test_schema_and_parser_accept(data):
    VALIDATOR.validate(data)
    pr.Problem.from_dict(data)


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_schema_and_parser_refuse(data):
    assert not VALIDATOR.is_valid(data)
    with pytest.raises(pr.InvalidInput):
        pr.Problem.from_dict(data)
