"""Whatever is wrong with one place of a problem file, parser and schema refuse it alike."""

import copy
import functools
import re

import pytest
from jsonschema_rs import Draft202012Validator

import preceptor as pr
from tests.problem_files import whole_files

SCHEMA = pr.schema()
VALIDATOR = Draft202012Validator(SCHEMA)
FILES = list(whole_files())
# Neither may be given without the other, not even as null.
NO_BREAK_SPACE = {"beta_shape", "latent_correlation"}

files = pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))


def places(data, way=()):
    """The way to everything in a file: tables, lists and what is in them."""
    if way:
        yield way
    if isinstance(data, (dict, list)):
        for key, item in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(item, (*way, key))


def with_change(data, way, value):
    data = copy.deepcopy(data)
    table = data
    for key in way[:-1]:
        table = table[key]
    table[way[-1]] = value
    return data


def without(data, way):
    data = with_change(data, way, None)
    table = data
    for key in way[:-1]:
        table = table[key]
    del table[way[-1]]
    return data


def faults_of(data):
    try:
        pr.Problem.from_dict(data)
    except pr.InvalidInput as error:
        return error.faults
    return ()


def within_one_place(faults):
    """Without those about levels, whose columns other places name."""
    return [fault for fault in faults if "units: levels of" not in fault]


# What holds only between several values, which no schema of ours can say.
BETWEEN_VALUES = re.compile(
    "lengths must agree|there are only|give one, or one for each|must be square|must be symmetric|"
    "must be positive definite|variance of test|one curve, or one per test|column 7, must be among|"
    "appears twice|must be in exactly one test|groups columns as|tests have . columns|"
    "below the cheapest test|no set shows anything|nothing is learned before|must never rise|"
    "give both or neither|must stay 0|units: of . tests|must have the same tests|"
    "is there twice|one for each of the|that begins with 1|would never settle|"
    "units: levels of|needs one for each test, and the level"
)
RAGGED = "cannot be read as numbers"
NO_NUMBERS = [True, "x", [], {}, [{}], ["x", "x"], [None], {"kind": "x"}]
NUMBERS = [-1, -0.5, 0, 0.5, 1, 1.5, 7, [-1], [0.5]]


@pytest.mark.few(8)
@files
def test_the_schema_refuses_what_is_of_the_wrong_type(data):
    VALIDATOR.validate(data)
    assert not faults_of(data)
    refused = 0
    for way in places(data):
        for wrong in NO_NUMBERS:
            broken = with_change(data, way, wrong)
            faults = within_one_place(faults_of(broken))
            refused += bool(faults)
            assert not faults or not VALIDATOR.is_valid(broken), (way, wrong, faults)
    assert refused > 80


@pytest.mark.few(8)
@files
def test_the_schema_refuses_numbers_that_are_out_of_range(data):
    refused = 0
    for way in places(data):
        before = functools.reduce(lambda table, key: table[key], way, data)
        for wrong in [None, *NUMBERS]:
            broken = with_change(data, way, wrong)
            faults = [fault for fault in faults_of(broken) if not BETWEEN_VALUES.search(fault)]
            if isinstance(before, list) and isinstance(wrong, list):  # a row of another length
                faults = [fault for fault in faults if RAGGED not in fault]
            refused += bool(faults)
            assert not faults or not VALIDATOR.is_valid(broken), (way, wrong, faults)
    assert refused > 50


@files
def test_schema_and_parser_agree_on_which_keys_may_be_left_out(data):
    for way in places(data):
        if isinstance(way[-1], str) and way[-2:-1] != ("groups",):
            shorter = without(data, way)
            assert VALIDATOR.is_valid(shorter) == (not within_one_place(faults_of(shorter))), way


@files
def test_schema_and_parser_refuse_unknown_keys_everywhere(data):
    for way, _ in tables(data):
        broken = with_change(data, (*way, "colour"), 1)
        assert not VALIDATOR.is_valid(broken), way
        assert faults_of(broken), way


def tables(item, rule=SCHEMA, way=()):
    """The way to every table of a file, and what the schema says of its keys."""
    if "$ref" in rule:
        rule = SCHEMA["$defs"][rule["$ref"].removeprefix("#/$defs/")]
    for option in rule.get("oneOf", []) + rule.get("anyOf", []):
        yield from tables(item, option, way)
    keys = rule.get("properties", {})
    named = keys.get("kind", {}).get("const")
    without_kind = None if named != "by-showings" else "by-showings"  # the paper's needs none
    if isinstance(item, dict) and keys and item.get("kind", without_kind) == named:
        yield way, keys
        for key, inner in item.items():
            yield from tables(inner, keys[key], (*way, key))
    if isinstance(item, list) and "items" in rule:
        for position, inner in enumerate(item):
            yield from tables(inner, rule["items"], (*way, position))


def test_stated_defaults_are_what_the_parser_takes_for_a_missing_key():
    seen = set()
    for data in FILES:
        for way, keys in tables(data):
            for key in [key for key, rule in keys.items() if "default" in rule]:
                stated = with_change(data, (*way, key), keys[key]["default"])
                bare = without(stated, (*way, key))
                if not faults_of(bare):
                    assert VALIDATOR.is_valid(stated) or key in NO_BREAK_SPACE, key
                    assert pr.Problem.from_dict(stated) == pr.Problem.from_dict(bare), key
                    seen.add(key)
    every = {
        key
        for part in [SCHEMA, *SCHEMA["$defs"].values()]
        for key, rule in part.get("properties", {}).items()
        if "default" in rule
    }
    assert seen == every
