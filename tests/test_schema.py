"""The published schema and the parser agree: on files, on faults, on defaults, on kinds."""

import contextlib
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

import preceptor as pr
from preceptor.model.loss import LossModel
from preceptor.model.problem import FORMAT
from tests.problem_files import changed, full_problem, grouped_world
from tests.strategies import problems

SCHEMA = pr.schema()
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = Path(__file__).parents[1] / "examples"
PAGE = Path(__file__).parents[1] / "docs" / "files.md"
KINDS = {
    pr.Curve: {"geometric", "power-law", "one-shot", "tabulated", "branch", "continued"},
    pr.Budget: {"at-most", "exactly", "knapsack", "listed", "grouped"},
    pr.Risk: {"squared-error", "huber", "absolute-error", "decision", "brier", "log-loss"},
    LossModel: {"closed-form", "empirical"},
}


def test_schema_is_itself_valid_and_readable():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    for name, part in [("problem", SCHEMA), *SCHEMA["$defs"].items()]:
        assert part["title"], name
        assert part["description"].endswith("."), name
        for key, rule in part.get("properties", {}).items():
            assert rule.get("description", ".").endswith((".", "...")), (name, key)
            assert "description" in rule or "$ref" in rule, (name, key)


def test_nobody_can_change_the_schema_of_others():
    theirs = pr.schema()
    theirs["$defs"]["world"]["properties"].clear()
    theirs["properties"].clear()
    assert pr.schema() == SCHEMA


def kinds_in(schema, family):
    """What `kind` may be in each alternative of a family."""
    names = [o["$ref"].removeprefix("#/$defs/") for o in schema["$defs"][family]["oneOf"]]
    return {schema["$defs"][name]["properties"]["kind"]["const"] for name in names}


@pytest.mark.parametrize("family", KINDS, ids=lambda family: family.family)
def test_the_published_schema_has_every_kind_of_the_package(family):
    assert kinds_in(SCHEMA, family.family) == KINDS[family]


def test_the_page_on_files_has_every_kind_with_its_keys():
    rows = re.findall(r"^\|.*?\| (`.*`) \|(.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    named = {
        kind: set(re.findall("`(.*?)`", keys))
        for kinds, keys in rows
        for kind in re.findall("`(.*?)`", kinds)
    }
    for part in SCHEMA["$defs"].values():
        keys = part.get("properties", {})
        if "kind" in keys:
            assert named[keys["kind"]["const"]] == set(keys) - {"kind"}


@contextlib.contextmanager
def registering(family):
    """Whatever is defined within is forgotten again."""
    before = dict(family.registry)
    try:
        yield
    finally:
        family.registry.clear()
        family.registry.update(before)


def test_kinds_of_your_own_are_in_the_schema_only_if_asked_for():
    with registering(pr.Curve):

        @dataclass(frozen=True, eq=False)
        class Hyperbolic(pr.Curve):
            """Slower and slower."""

            kind: ClassVar[str] = "hyperbolic"
            rate: float

            def raw(self, counts):
                return 1.0 / (1.0 + self.rate * counts)

        # A docstring's example or a notebook may claim to live in the package.
        Hyperbolic.__module__ = pr.Curve.__module__
        problem = full_problem().replace(learner=pr.Learner([0.0, 0.1], Hyperbolic(0.5)))
        data = json.loads(problem.to_json())
        assert pr.schema() == SCHEMA
        assert not VALIDATOR.is_valid(data)
        wider = Draft202012Validator(pr.schema(own_kinds=True))
        wider.validate(data)
        data["learner"]["curves"]["rate"] = "fast"
        assert not wider.is_valid(data)
        assert kinds_in(wider.schema, "curve") >= KINDS[pr.Curve] | {"hyperbolic"}


def test_kinds_of_two_families_may_share_a_name():
    with registering(pr.Risk):

        @dataclass(frozen=True, eq=False)
        class Geometric(pr.SquaredError):
            """A risk that has the name of a curve."""

            kind: ClassVar[str] = "geometric"

        problem = full_problem().replace(risk=Geometric())
        Draft202012Validator(pr.schema(own_kinds=True)).validate(json.loads(problem.to_json()))


def test_a_field_that_no_file_can_hold_is_named():
    with registering(pr.Risk):

        @dataclass(frozen=True, eq=False)
        class Odd(pr.SquaredError):
            """Holds anything."""

            kind: ClassVar[str] = "odd"
            thing: Any = field(default=0)

        assert pr.schema() == SCHEMA
        with pytest.raises(pr.NotSerializable, match=r"Odd\.thing: .*Any.*InFiles"):
            pr.schema(own_kinds=True)


@given(problems(horizons=(None, 1, 3)))
def test_what_is_written_is_valid(problem):
    VALIDATOR.validate(json.loads(problem.to_json()))
    VALIDATOR.validate(tomllib.loads(problem.to_toml()))


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
        {"budget": pr.Listed([[0, 1], [1], []], price=0.1)},
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


GOOD = [
    changed(),
    changed(format=FORMAT, horizon=7, discount=1.0, start=[2, 0]),
    changed(budget={"kind": "at-most", "k": 2, "price": [0.1, 0.2]}),
    changed(budget={"kind": "knapsack", "costs": [1.0, 2.0], "limit": 2, "price": 0.1}),
    changed(budget={"kind": "listed", "allowed": [[0], [0, 1], []]}),
    changed(
        budget={"kind": "grouped", "budget": 1, "blocks": [[0, 1]]}, world__groups={"a": [0, 1]}
    ),
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
    "a group with a column twice": changed(world__groups={"both": [1, 1]}),
    "a block with a column twice": changed(
        budget={"kind": "grouped", "budget": 1, "blocks": [[0, 0], [1]]}
    ),
    "grouped without blocks": changed(budget={"kind": "grouped", "budget": 1}),
    "grouped without a budget": changed(budget={"kind": "grouped", "blocks": [[0], [1]]}),
    "grouped within grouped": changed(
        world__groups={"both": [0, 1]},
        budget={
            "kind": "grouped",
            "budget": {"kind": "grouped", "budget": 1, "blocks": [[0]]},
            "blocks": [[0, 1]],
        },
    ),
    "listed without sets": changed(budget={"kind": "listed"}),
    "listed sets that are none": changed(budget={"kind": "listed", "allowed": [0, 1]}),
    "a listed set with a test twice": changed(budget={"kind": "listed", "allowed": [[0, 0]]}),
    "rounds beyond counting": changed(horizon=10**8),
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
